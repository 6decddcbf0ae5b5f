//! The alert on TTFT that grows against its own past.

use super::chance::Chance;
use super::latency::{self, DAY, Growth, SCRAPE};
use super::outcomes::Slo;
use super::replay::Replay;
use super::rules::{REGRESSION, Rules};
use super::times::{Delays, Firings, HEAD};

/// Seven days to compare with, and nearly six of comparisons to know what is usual.
const HISTORY: u32 = 13 * DAY;

/// Objectives play no part in it.
fn replay() -> Replay {
    let rules = Rules::of(Slo { budget: 0.05, seconds_between_probes: 10 }, REGRESSION);
    Replay::new(rules, SCRAPE, HISTORY)
}

/// Each run grows by this factor after its history, at a moment that differs from run to run.
fn delays(factor: f64, runs: u32) -> Delays {
    let end = HISTORY + DAY / 4;
    let mut replay = replay();
    let mut chance = Chance::new(1);
    let name = |run: u32| format!("run-{run:02}");
    let mut starts = Vec::new();
    for run in 0..runs {
        let growth = Growth { second: HISTORY + chance.below(3600), factor };
        latency::add(&mut replay, &mut chance, &name(run), end, growth);
        starts.push(f64::from(growth.second));
    }
    let firings = Firings::of(&replay, end);
    let delay =
        |(run, start): (u32, &f64)| (firings.first(&name(run)).unwrap_or(f64::INFINITY) - start) / 60.0;
    Delays::new((0..runs).zip(&starts).map(delay).collect())
}

fn show(factor: f64, runs: u32, delays: &Delays) {
    println!("{runs} runs, 6 probes a minute\nTTFT grows by {HEAD}");
    println!("{:12.0}% {}", (factor - 1.0) * 100.0, delays.line());
}

#[test]
fn a_model_that_became_slower_by_a_third_is_found_within_the_hour_or_so() {
    let delays = delays(1.3, 40);
    show(1.3, 40, &delays);
    assert!(delays.median() <= 75.0, "found after {} min", delays.median());
}

#[test]
fn the_slower_a_model_became_the_sooner_it_is_found() {
    let delays = [(1.2, 10), (1.5, 5), (2.0, 5)].map(|(factor, runs)| {
        let delays = delays(factor, runs);
        show(factor, runs, &delays);
        delays.median()
    });
    assert!(delays.is_sorted_by(|less, more| less >= more), "{delays:?}");
}

#[test]
fn the_ups_and_downs_of_days_and_hours_are_no_regression() {
    let end = HISTORY + 12 * DAY;
    let mut replay = replay();
    let mut chance = Chance::new(1);
    for run in 0..5 {
        let none = Growth { second: end, factor: 1.0 };
        latency::add(&mut replay, &mut chance, &format!("run-{run:02}"), end, none);
    }
    let alarms = Firings::of(&replay, end).all();
    println!("60 days without a change: {} false alarms", alarms.len());
    assert_eq!(alarms, [""; 0]);
}
