//! `cargo bench --bench truth`: how true the daemon's numbers are, and what they cost.
//!
//! An engine in a process of its own sends tokens on a known schedule and states in each answer when it really wrote
//! the first one. Three clients measure it in turn, at the same rate: the daemon as users run it, with history on; bare
//! reqwest; and a raw socket, which is the floor. The error of a TTFT is what the client measured less what the
//! engine did, so neither is blamed for an engine that is late. All targets have one address here; each client keeps
//! connections of its own for each of them, as it would have to elsewhere.
//!
//! | part | what is judged |
//! |---|---|
//! | `cpu` | processor time per 1000 tokens at 64 probes a second, against both bare clients |
//! | `ttft` | the 99th percentile of the TTFT's error at 1, 32, 128 and 512 streams, against bare reqwest; and the above |
//! | `scrape` | how much that error changes while `/metrics` of 300 targets is read 20 times a second |
//! | `formats` | of 1000 targets: bytes and processor time of a scrape in each format and packing, memory, and the lag of probes meanwhile |
//! | `allocations` | nothing; it prints allocations per token and per probe (`cargo bench --bench allocations`) |
//!
//! `cargo bench --bench truth -- cpu scrape --rounds 7` runs two parts with seven rounds instead of five; without a
//! word all parts run, which takes a quarter of an hour. Every round is printed; judged are medians of rounds, and a
//! bar that is missed makes the exit code 1. Only ratios within one run mean anything, best on a quiet machine.

#[path = "truth/bare.rs"]
mod bare;
#[path = "truth/client.rs"]
mod client;
#[path = "truth/daemon.rs"]
mod daemon;
#[path = "truth/engine.rs"]
mod engine;
#[path = "truth/formats.rs"]
mod formats;
#[path = "truth/load.rs"]
mod load;
#[path = "truth/process.rs"]
mod process;
#[path = "truth/raw.rs"]
mod raw;
#[path = "truth/round.rs"]
mod round;
#[path = "truth/scrape.rs"]
mod scrape;
#[path = "truth/script.rs"]
mod script;
#[path = "truth/trip.rs"]
mod trip;
#[path = "truth/verdict.rs"]
mod verdict;
#[path = "truth/versus.rs"]
mod versus;

use std::process::{Command, ExitCode};
use std::time::Duration;

use clap::{Parser, ValueEnum};
use client::Ask;
use load::Load;
use script::Script;
use verdict::Verdict;

/// What a person asks for.
#[derive(Debug, Parser)]
struct Options {
    /// Parts to run; all without
    parts: Vec<Part>,
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..))]
    rounds: u64,
    /// Cargo adds this to every bench
    #[arg(long, hide = true)]
    bench: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    Cpu,
    Ttft,
    Scrape,
    Formats,
    Allocations,
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    // The other processes of the bench are this file, too.
    match args[..] {
        ["serve", ttft, itl, tokens] => {
            let script = Script { ttft: micros(ttft), itl: micros(itl), tokens: number(tokens) };
            engine::serve(script).expect("the engine can listen");
        }
        ["bare", threads, address, step, tokens, targets] => {
            bare::run(threads, &Ask::new(address, number(tokens), number(targets)), micros(step));
        }
        ["raw", _, address, step, tokens, targets] => {
            raw::run(&Ask::new(address, number(tokens), number(targets)), micros(step));
        }
        _ => return judge(&Options::parse()),
    }
    ExitCode::SUCCESS
}

fn judge(options: &Options) -> ExitCode {
    let asks = |part| options.parts.is_empty() || options.parts.contains(&part);
    let rounds = options.rounds as usize;
    let mut verdict = Verdict::default();
    println!("{}", verdict::machine());
    if asks(Part::Ttft) {
        versus::run(&Load::ALL, rounds, &mut verdict);
    } else if asks(Part::Cpu) {
        versus::run(&[Load::STEADY], rounds, &mut verdict);
    }
    if asks(Part::Scrape) {
        scrape::run(rounds, &mut verdict);
    }
    if asks(Part::Formats) {
        formats::run(&mut verdict);
    }
    if asks(Part::Allocations) {
        count_allocations();
    }
    verdict.exit_code()
}

/// Counting takes time, so it happens in a binary of its own: nothing that is compared here may pay for it.
fn count_allocations() {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["bench", "--quiet", "--bench", "allocations"]).current_dir(env!("CARGO_MANIFEST_DIR"));
    // What cargo told this process about itself would make it build every dependency that looks at it anew.
    for (name, _) in std::env::vars_os() {
        let told = name.to_string_lossy();
        if told == "CARGO"
            || ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_"].iter().any(|p| told.starts_with(p))
        {
            cargo.env_remove(&name);
        }
    }
    let status = cargo.status().expect("cargo can be started");
    assert!(status.success(), "allocations cannot be counted");
}

fn micros(text: &str) -> Duration {
    Duration::from_micros(u64::from(number(text)))
}

fn number(text: &str) -> u32 {
    text.parse().expect("this bench wrote a number")
}
