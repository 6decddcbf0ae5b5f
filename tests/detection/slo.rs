//! The alerts on SLOs in outages of every depth, and whether the forecast of `sloprobe check` foresees them.

use std::time::Duration;

use sloprobe::forecast::Scene;

use super::chance::Chance;
use super::foresight;
use super::outcomes::{POINTS, Probes, SCRAPE, Slo, Stretch};
use super::replay::Replay;
use super::rules::{QUICK, Rules, SLOW};
use super::times::{Delays, Firings, HEAD, cell};

const RUNS: usize = 40;
const HOUR: u32 = 3600;
const DAY: u32 = 24 * HOUR;

/// One probe in ten seconds, of which 5 % may be bad.
const USUAL: Slo = Slo { budget: 0.05, seconds_between_probes: 10 };

/// Runs that meet the objective exactly for so long, before this share of their probes is bad.
fn runs(chance: &mut Chance, before: u32, after: u32, share: f64) -> Vec<Probes> {
    let stretches = [Stretch { seconds: before, bad: USUAL.budget }, Stretch { seconds: after, bad: share }];
    (0..RUNS).map(|_| Probes::new(chance, USUAL, &stretches)).collect()
}

/// When the first alert of this group fired in each of the runs, in seconds, as Prometheus sees it with a scrape
/// in every `scrape` seconds and an evaluation in `every`.
fn replayed(group: &str, scrape: u32, every: u64, runs: &[Probes], seconds: u32) -> Vec<f64> {
    let mut replay = Replay::new(Rules::of(USUAL, group), scrape / POINTS, 0).every(every);
    let name = |run: usize| format!("run-{run:03}");
    for (run, probes) in runs.iter().enumerate() {
        probes.add_to(&mut replay, &name(run));
    }
    let firings = Firings::of(&replay, seconds);
    (0..runs.len()).map(|run| firings.first(&name(run)).unwrap_or(f64::INFINITY)).collect()
}

fn delays(firings: &[f64], change: u32) -> Delays {
    Delays::new(firings.iter().map(|second| (second - f64::from(change)) / 60.0).collect())
}

/// What `sloprobe check` would say, in minutes.
fn forecast(share: f64) -> f64 {
    let scene =
        Scene { budget: USUAL.budget, interval: Duration::from_secs(USUAL.seconds_between_probes.into()) };
    scene.found(share).map_or(f64::INFINITY, |found| found.after.as_secs_f64() / 60.0)
}

/// What becomes of a share of bad probes.
struct Case {
    share: f64,
    /// The most minutes that half of the runs may take.
    bound: f64,
    /// How long it is watched, in minutes: well beyond the slowest of most runs.
    watched: u32,
}

const CASES: [Case; 4] = [
    Case { share: 1.0, bound: 5.0, watched: 15 },
    Case { share: 0.5, bound: 8.0, watched: 30 },
    Case { share: 0.3, bound: f64::INFINITY, watched: 45 },
    Case { share: 0.2, bound: 20.0, watched: 90 },
];

#[test]
fn outages_are_found_in_time_and_as_forecast() {
    let mut chance = Chance::new(1);
    println!(
        "{RUNS} runs at an objective of 95 %, 6 probes a minute\nshare bad  forecast  same probes {HEAD}"
    );
    for Case { share, bound, watched } in CASES {
        let runs = runs(&mut chance, HOUR, HOUR * 3 / 2, share);
        let found = delays(&replayed(QUICK, SCRAPE, 30, &runs, HOUR + 60 * watched), HOUR);
        let same = runs.iter().map(|probes| foresight::first(USUAL, QUICK, probes)).collect::<Vec<_>>();
        let same = delays(&same, HOUR).median();
        let (median, forecast) = (found.median(), forecast(share));
        println!("{:8.0}%  {} {}     {}", share * 100.0, cell(forecast), cell(same), found.line());
        assert!(median <= bound, "{share} bad is found after {median} min, not {bound}");
        assert!(
            (median - forecast).abs() <= (0.15 * median).max(1.5),
            "{share} bad is found after {median} min, but forecast for {forecast}"
        );
        assert!((median - same).abs() <= 0.5, "{share} bad is found after {median} min, foreseen for {same}");
    }
}

/// Twice what is allowed is as much as the quick alerts let pass, so the longest windows have to find it.
/// It is evaluated half as often as in life, which would find it sooner if anything.
#[test]
fn a_slight_miss_is_found_within_the_day() {
    let (before, after) = (3 * DAY, 14 * HOUR);
    let runs = runs(&mut Chance::new(1), before, after, 0.1);
    let slow = replayed(SLOW, 16 * SCRAPE, 240, &runs, before + after);
    let late: Vec<_> = runs.into_iter().map(|probes| probes.since(before - HOUR)).collect();
    let quick = replayed(QUICK, 2 * SCRAPE, 60, &late, HOUR + after);
    let skipped = f64::from(before - HOUR);
    let first: Vec<_> = slow.iter().zip(&quick).map(|(slow, quick)| slow.min(quick + skipped)).collect();
    let found = delays(&first, before);
    println!("{RUNS} runs at an objective of 95 %, 6 probes a minute\nshare bad  forecast {HEAD}");
    println!("      10%  {} {}", cell(forecast(0.1)), found.line());
    assert!(found.median().is_finite(), "10 % bad is not found within {} h", after / HOUR);
}
