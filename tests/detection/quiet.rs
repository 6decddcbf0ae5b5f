//! Months in which an objective is met exactly: no alert on it may fire.
//!
//! Two replays for each objective: days side by side for the windows of up to an hour, and longer stretches for the
//! others, which only say something once they are full.

use super::chance::Chance;
use super::foresight;
use super::outcomes::{POINTS, Probes, Slo, Stretch};
use super::replay::Replay;
use super::rules::{QUICK, Rules, SLOW};
use super::times::Firings;

const HOUR: u32 = 3600;
const DAY: u32 = 24 * HOUR;

/// So many targets, each for so long beyond the longest window of the group.
struct Months {
    group: &'static str,
    targets: u32,
    seconds: u32,
    longest: u32,
    /// Seconds between two scrapes; rarer than in life where windows are long: promtool takes its time for every sample,
    /// and lets no window hold more than some thousand.
    scrape: u32,
    /// Seconds between two evaluations. Where there are more in life, they see what comes and goes within minutes: that
    /// is left to the arithmetic of the forecast, over the same probes.
    every: u64,
}

const MONTHS: [Months; 2] = [
    Months { group: QUICK, targets: 90, seconds: DAY, longest: HOUR, scrape: 15, every: 30 },
    Months { group: SLOW, targets: 10, seconds: 9 * DAY, longest: 3 * DAY, scrape: 240, every: 480 },
];

/// All of whose probes are bad: a replay that does not find this one finds nothing.
const BROKEN: &str = "broken";

/// What fires in 90 days, or before its windows are full.
fn false_alarms(slo: Slo, months: &Months) -> Vec<String> {
    let mut replay = Replay::new(Rules::of(slo, months.group), months.scrape / POINTS, 0).every(months.every);
    let mut chance = Chance::new(1);
    let mut alarms = Vec::new();
    let stretch = Stretch { seconds: months.longest + months.seconds, bad: slo.budget };
    for target in 0..months.targets {
        let probes = Probes::new(&mut chance, slo, &[stretch]);
        probes.add_to(&mut replay, &format!("target-{target:02}"));
        let foreseen = foresight::first(slo, months.group, &probes);
        if foreseen.is_finite() {
            alarms.push(format!("forecast for target-{target:02} after {:.0} min", foreseen / 60.0));
        }
    }
    let outage = Stretch { bad: 1.0, ..stretch };
    Probes::new(&mut chance, slo, &[outage]).add_to(&mut replay, BROKEN);
    let mut firings = Firings::of(&replay, stretch.seconds);
    assert!(firings.remove(BROKEN), "an outage of {} % is not found by {}", slo.percent(), months.group);
    alarms.extend(firings.all());
    alarms
}

fn hold(budget: f64, seconds_between_probes: u32) {
    let slo = Slo { budget, seconds_between_probes };
    let [quick, slow] = MONTHS;
    // Where bad probes are rare, so are the moments at which anything changes.
    let quick = if budget < 0.02 { Months { scrape: 30, every: 120, ..quick } } else { quick };
    let alarms = [quick, slow].map(|months| false_alarms(slo, &months)).concat();
    println!(
        "90 days at exactly {} %, a probe every {seconds_between_probes} s: {} false alarms",
        slo.percent(),
        alarms.len()
    );
    assert_eq!(alarms, [""; 0]);
}

#[test]
fn ninety_five_percent_met_exactly_are_no_alarm() {
    hold(0.05, 10);
}

#[test]
fn ninety_nine_percent_met_exactly_are_no_alarm() {
    hold(0.01, 10);
}

#[test]
fn three_nines_met_exactly_are_no_alarm() {
    hold(0.001, 10);
}

#[test]
fn rare_probes_are_no_alarm() {
    hold(0.01, 100);
}
