//! A daemon that stood still is late itself: what it measured then must not count against the endpoint.

mod common;
mod support;

use std::time::Duration;

use common::{Daemon, PATIENCE, Process, config, eventually, sloprobe};
use support::{in_time, punctually};
use tokio::time::sleep;

/// How long the daemon stands still, again and again. Some are longer than the objective allows, some shorter.
const STOPS_MS: [u64; 5] = [100, 150, 300, 400, 350];
const ROUNDS: usize = 4;
/// After those, once for long.
const LONG_STOP: Duration = Duration::from_secs(4);

/// Probes start every 20 ms, so at any time some wait for their first token.
const SETTINGS: &str = "rate = '50/s'\nin_flight = 64\n\
    [[workloads]]\nname = 'w'\nkind = 'chat'\noutput_tokens = 8\n\
    [[slos]]\nname = 'prompt'\nmetric = 'ttft'\nbelow = '250ms'\nobjective = 99\n";

/// All series of a metric added up.
fn sum(metrics: &str, name: &str) -> f64 {
    let series = metrics.lines().filter(|line| line.strip_prefix(name).is_some_and(|l| l.starts_with('{')));
    series.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum()
}

/// Waits until a metric is over a value, and gives what it is then.
async fn until_over(daemon: &Daemon, name: &str, value: f64) -> f64 {
    eventually(name, PATIENCE, async || {
        let metrics = daemon.metrics().await;
        let found = sum(&metrics, name);
        if found > value { Ok(found) } else { Err(found.to_string()) }
    })
    .await
}

async fn stand_still(daemon: &Daemon, time: Duration) {
    until_over(daemon, "sloprobe_in_flight", 0.0).await;
    daemon.process.signal("STOP");
    sleep(time).await;
    daemon.process.signal("CONT");
}

/// A healthy engine in a process of its own, and where it is.
async fn engine() -> (Process, String) {
    let engine = Process::spawn(&mut sloprobe(&[
        "simulate",
        "--profile",
        "fast",
        "--model",
        "m",
        "--listen",
        "127.0.0.1:0",
    ]));
    let engine = engine.expect("it can be started");
    let address = eventually("the address of the engine", PATIENCE, async || {
        let said = engine.stdout() + &engine.stderr();
        let found = said.split_once("http://").map(|(_, rest)| {
            rest.chars().take_while(|c| c.is_ascii_digit() || ".:".contains(*c)).collect::<String>()
        });
        found.filter(|address| !address.is_empty()).ok_or(said)
    })
    .await;
    (engine, address)
}

#[tokio::test]
async fn a_daemon_that_stands_still_takes_nothing_from_the_error_budget_of_a_healthy_engine() {
    punctually(async || {
        let (_engine, address) = engine().await;
        let target = format!("[[targets]]\nname = 't'\nurl = 'http://{address}'\nmodel = 'm'\n");
        let folder = config(&(target + SETTINGS));
        let daemon = Daemon::start(sloprobe(&["run"]).current_dir(&folder)).await;
        until_over(&daemon, "sloprobe_slo_events_total", 20.0).await;
        // A host that is late before anything was stopped proves nothing.
        let metrics = daemon.metrics().await;
        in_time(sum(&metrics, "sloprobe_slo_bad_events_total") == 0.0, &"bad events before the first stop")?;

        for stop in STOPS_MS.iter().cycle().take(STOPS_MS.len() * ROUNDS - 1) {
            stand_still(&daemon, Duration::from_millis(*stop)).await;
        }
        stand_still(&daemon, LONG_STOP).await;

        let metrics = daemon.metrics().await;
        let before = sum(&metrics, "sloprobe_slo_events_total");
        until_over(&daemon, "sloprobe_slo_events_total", before + 20.0).await;
        let metrics = daemon.metrics().await;
        assert!(sum(&metrics, "sloprobe_suspect_total") > 0.0, "{metrics}");
        let bad = sum(&metrics, "sloprobe_slo_bad_events_total");
        let failures = metrics.lines().filter(|line| line.starts_with("sloprobe_failures_total"));
        let failures: Vec<_> = failures.filter(|line| !line.ends_with(" 0")).collect();
        in_time(bad == 0.0, &(bad, before, failures))
    })
    .await;
}
