//! Many reloads under load, with targets, workloads, objectives and secrets coming and going.
//!
//! `SLOPROBE_RELOADS=1000 cargo test --test reload under_load -- --nocapture` does a thousand, and prints what it found.

use std::fmt::Write as _;
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use sloprobe::history::{Pick, Reader};
use tokio::time::{Instant, sleep};

use super::ledger::Ledger;
use super::{engine, reload};
use crate::common::{Daemon, PATIENCE, Process, config, eventually, get, sloprobe};
use crate::support::Server;

/// What a reload at a certain turn finds; of all that is in it, `w` of three targets never changes.
fn text(engine: &Server, turn: usize) -> String {
    let mut text = "[daemon]\nhistory = 'history.db'\nstate = 'state'\n\
         [[workloads]]\nname = 'w'\nkind = 'chat'\ninput_tokens = 30\noutput_tokens = 20\n\
         [[slos]]\nname = 'kept'\nmetric = 'ttft'\nbelow = '2s'\nobjective = 90\n"
        .to_owned();
    let _ = writeln!(text, "[[workloads]]\nname = 'v'\nkind = 'chat'\noutput_tokens = {}", 10 + turn % 4);
    if turn % 3 == 1 {
        text += "[[slos]]\nname = 'passing'\nmetric = 'ttft'\nbelow = '123ms'\nobjective = 90\ntargets = ['mixed']\n";
    }
    let mut target = |name: &str, rate: &str, more: &str| {
        let address = engine.address;
        let _ = writeln!(
            text,
            "[[targets]]\nname = '{name}'\nurl = 'http://{address}'\nmodel = 'm'\nrate = '{rate}'\n{more}"
        );
    };
    target("steady", "30/s", "mix = { w = 1 }");
    target("keyed", ["10/s", "8/s"][turn % 2], "mix = { w = 1 }\napi_key = { file = 'key' }");
    let labels = format!("labels = {{ team = 'a{}' }}", turn % 10 / 9);
    let mix = ["mix = { w = 1 }", "mix = { w = 2, v = 1 }"][turn % 2];
    target("mixed", "10/s", &format!("{mix}\n{labels}"));
    if turn % 2 == 1 {
        target(&format!("passing-{}", turn % 5), "10/s", "mix = { w = 1 }");
    }
    text
}

/// Whether a series belongs to a place that no reload changes.
fn is_unchanged(line: &str) -> bool {
    let of_target =
        ["steady", "keyed", "mixed"].iter().any(|name| line.contains(&format!("target=\"{name}\"")));
    let is_passing = line.contains("slo=\"passing\"") || line.contains("le=\"0.123\"");
    of_target && line.contains("workload=\"w\"") && !is_passing
}

/// What the operating system says of a process.
#[derive(Debug, Clone, Copy)]
struct Footprint {
    descriptors: usize,
    threads: usize,
    resident_mib: f64,
}

fn footprint(process: &Process) -> Footprint {
    let of = |folder: &str| fs::read_dir(format!("/proc/{}/{folder}", process.id())).unwrap().count();
    let status = fs::read_to_string(format!("/proc/{}/status", process.id())).unwrap();
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    let kib: f64 = resident.trim().trim_end_matches(" kB").parse().unwrap();
    Footprint { descriptors: of("fd"), threads: of("task"), resident_mib: kib / 1024.0 }
}

/// Scrapes without a pause until told to stop.
async fn scrape(address: &str, stop: &AtomicBool) -> Ledger {
    let mut ledger = Ledger::default();
    while !stop.load(Ordering::Relaxed) {
        ledger.enter(&get(address, "/metrics").await.unwrap(), is_unchanged);
        sleep(Duration::from_millis(10)).await;
    }
    ledger
}

fn probes(engine: &Server) -> usize {
    engine.requests().iter().filter(|request| request.starts_with("POST ")).count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_counter_and_no_probe_is_lost_by_many_reloads_under_load() {
    let asked_for = std::env::var("SLOPROBE_RELOADS").ok().map(|count| count.parse::<usize>().unwrap());
    let reloads = asked_for.unwrap_or(100);
    let engine = engine().await;
    let folder = config(&text(&engine, 0));
    let at = |name: &str| folder.path().join(name);
    fs::write(at("key"), "sk-0").unwrap();
    let daemon = Daemon::start(sloprobe(&["run"]).current_dir(&folder)).await;
    let turn = async |turn: usize| {
        fs::write(at("sloprobe.toml"), text(&engine, turn)).unwrap();
        if turn.is_multiple_of(5) {
            fs::write(at("key"), format!("sk-{turn}")).unwrap();
        }
        let (status, said) = reload(&daemon).await;
        assert_eq!(status, 200, "{said}");
    };
    // What is allocated once has been by now.
    for early in 1..=10 {
        turn(early).await;
    }
    turn(0).await;
    sleep(Duration::from_secs(1)).await;
    let before = footprint(&daemon.process);

    let stop = AtomicBool::new(false);
    let start = Instant::now();
    let reloading = async {
        for number in 1..=reloads {
            turn(number).await;
            if asked_for.is_some() && number % (reloads / 10).max(1) == 0 {
                println!("after {number}: {:?}", footprint(&daemon.process));
            }
            sleep(Duration::from_millis(if asked_for.is_some() { 100 } else { 30 })).await;
        }
        turn(0).await;
        stop.store(true, Ordering::Relaxed);
    };
    let (ledger, ()) = tokio::join!(scrape(&daemon.address, &stop), reloading);
    let took = Instant::now() - start;
    assert!(ledger.scrapes >= 10 && ledger.series() >= 3 * 20, "{ledger:?}");
    let sent = probes(&engine);

    // Connections that are no longer used are closed after a while, and threads that wait for work go home.
    let after = eventually("as many descriptors and threads as at the beginning", PATIENCE, async || {
        let now = footprint(&daemon.process);
        let is_as_before = now.descriptors <= before.descriptors + 8 && now.threads <= before.threads + 4;
        if is_as_before { Ok(now) } else { Err(format!("{now:?} after {before:?}")) }
    })
    .await;
    println!(
        "{reloads} reloads in {took:?}, {sent} probes, {} scrapes: {before:?}, then {after:?}",
        ledger.scrapes
    );
    assert!(after.resident_mib <= before.resident_mib * 1.5 + 16.0, "{after:?} after {before:?}");

    daemon.process.signal("TERM");
    let ended = daemon.process.ended(PATIENCE).await;
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(!ended.stderr.contains("abandoned") && !ended.stderr.contains("panicked"), "{}", ended.stderr);
    let all = Pick { with_mixed: true, ..Pick::default() };
    let kept = Reader::open(&at("history.db")).unwrap().probes(&all).unwrap();
    assert_eq!(kept.len(), probes(&engine), "every probe that was sent is in the history, and no other");
}
