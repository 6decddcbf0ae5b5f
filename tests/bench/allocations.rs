//! `cargo bench --bench allocations`: how often the daemon allocates, per token and per probe.
//!
//! The daemon runs in this binary, because its allocator counts. It measures answers of 32 and of 96 tokens at the same
//! rate: what the longer ones cost more is the share of the tokens, the rest is the share of the probe, with all that
//! goes on in the background. The two bare clients of `cargo bench --bench truth` are counted likewise.

#[path = "truth/bare.rs"]
mod bare;
#[path = "truth/client.rs"]
mod client;
#[path = "truth/daemon.rs"]
mod daemon;
#[path = "truth/engine.rs"]
mod engine;
#[path = "truth/load.rs"]
mod load;
#[path = "truth/process.rs"]
mod process;
#[path = "truth/raw.rs"]
mod raw;
#[path = "truth/script.rs"]
mod script;
#[path = "truth/trip.rs"]
mod trip;

use std::alloc::System;
use std::io::BufRead as _;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser as _;
use sloprobe::cli::{self, Cli};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

use client::Ask;
use daemon::Daemon;
use load::Load;
use process::{Dialogue, Engine, Process, itself, pass};
use script::Script;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const FEW_TOKENS: u32 = 32;
const MANY_TOKENS: u32 = 96;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args[..] {
        ["serve", ttft, itl, tokens] => {
            let script = Script { ttft: micros(ttft), itl: micros(itl), tokens: number(tokens) };
            engine::serve(script).expect("the engine can listen");
        }
        ["daemon", ref args @ ..] => return run_daemon(args),
        ["bare", address, step, tokens, targets] => {
            answer_with_counts();
            bare::run("one", &Ask::new(address, number(tokens), number(targets)), micros(step));
        }
        ["raw", address, step, tokens, targets] => {
            answer_with_counts();
            raw::run(&Ask::new(address, number(tokens), number(targets)), micros(step));
        }
        _ => compare(),
    }
    ExitCode::SUCCESS
}

/// As the real binary does it.
fn run_daemon(args: &[&str]) -> ExitCode {
    answer_with_counts();
    cli::start(Cli::parse_from(["sloprobe"].iter().chain(args)))
}

/// Tells for every line of the standard input how often this process has allocated.
fn answer_with_counts() {
    std::thread::spawn(|| {
        for _ in std::io::stdin().lock().lines() {
            let stats = ALLOCATOR.stats();
            println!("{}", stats.allocations + stats.reallocations);
        }
    });
}

fn compare() {
    println!("\nallocations (and reallocations) per token and per probe");
    for client in ["daemon", "bare", "raw"] {
        let [few, many] = [FEW_TOKENS, MANY_TOKENS].map(|tokens| allocations_per_probe(client, tokens));
        let per_token = (many - few) / f64::from(MANY_TOKENS - FEW_TOKENS);
        let per_probe = few - per_token * f64::from(FEW_TOKENS);
        println!("  {client:<6}  {per_token:>5.1} per token  {per_probe:>6.0} per probe");
    }
}

fn allocations_per_probe(client: &str, tokens: u32) -> f64 {
    let script = Script { tokens, ..Load::STEADY.script };
    let load = Load { script, ..Load::STEADY };
    let mut engine = Engine::start(script);
    if client == "daemon" {
        let (daemon, mut counts) = Daemon::start_talking(itself(&["daemon"]), &engine.address, &load);
        let counted = count(&mut counts, &mut engine, &load);
        let found = daemon.end();
        assert!(found.failed.is_empty(), "probes of a healthy engine failed: {:?}", found.failed);
        return counted;
    }
    let micros = load.step().as_micros().to_string();
    let mut command =
        itself(&[client, &engine.address, &micros, &tokens.to_string(), &load.targets.to_string()]);
    let (_process, mut counts) = Process::start_talking(&mut command);
    count(&mut counts, &mut engine, &load)
}

/// Over the load's window, once it is steady.
fn count(counts: &mut Dialogue, engine: &mut Engine, load: &Load) -> f64 {
    pass(load.warm_up());
    let mut look = || {
        let counted: u64 = counts.ask().parse().expect("a count is a number");
        (counted, engine.written().tokens)
    };
    let (before, _) = look();
    pass(load.window);
    let (after, tokens) = look();
    let probes = tokens as f64 / f64::from(load.script.tokens);
    (after - before) as f64 / probes
}

fn micros(text: &str) -> Duration {
    Duration::from_micros(u64::from(number(text)))
}

fn number(text: &str) -> u32 {
    text.parse().expect("this bench wrote a number")
}
