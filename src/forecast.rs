//! How alerts on an objective will behave, before anything happens: simulated, not guessed.
//!
//! The rules' own arithmetic ([`watch`]) is fed with probes that are bad by chance. Probes are independent here; in life,
//! bad ones come together, which makes alerts come sooner, true and false ones alike.

pub mod watch;

use std::time::Duration;

use oorandom::Rand64;

use crate::rules::rule::Severity;
use watch::{STEP, Watch};

/// So many times each case is played; the median counts.
const RUNS: u64 = 40;

/// Longer than the longest window: by then every tier that can alert has.
const PATIENCE: Duration = Duration::from_secs(4 * 24 * 3600);
const WARM_UP: Duration = Duration::from_secs(3 * 24 * 3600);

const MONTH: Duration = Duration::from_secs(30 * 24 * 3600);
const MOST_MONTHS: u32 = 12;
/// A workload that is probed fifty times a second is simulated for a shorter time, not for minutes.
const MOST_EVENTS: f64 = 2e7;

/// Whose alerts are forecast.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scene {
    /// The share of events that may be bad.
    pub budget: f64,
    /// The time between two probes.
    pub interval: Duration,
}

/// How an alert came about in the median run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Found {
    pub after: Duration,
    pub severity: Severity,
}

/// How often something alerts though the objective is just met.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FalseAlarms {
    pub alarms: u32,
    pub months: u32,
}

impl Scene {
    /// When something alerts after this share of events becomes bad, if anything does. Until then the objective is just
    /// met, and the median of several runs counts.
    pub fn found(self, share: f64) -> Option<Found> {
        let mut warm = Play::new(self, 1);
        for _ in 0..steps(WARM_UP) {
            warm.step();
        }
        let mut runs: Vec<_> =
            (0..RUNS).map(|run| warm.clone().with_chance(run, share).until_alert()).collect();
        runs.sort_by_key(|found| found.map_or(Duration::MAX, |found| found.after));
        runs[runs.len() / 2]
    }

    /// How many alerts begin while events are bad exactly as often as the objective allows.
    pub fn false_alarms(self) -> FalseAlarms {
        let events = MONTH.as_secs_f64() / self.interval.as_secs_f64();
        let months = (MOST_EVENTS / events).clamp(1.0, f64::from(MOST_MONTHS)) as u32;
        let mut play = Play::new(self, 2);
        let (mut alarms, mut was) = (0, 0);
        for step in 0..steps(WARM_UP) + u64::from(months) * steps(MONTH) {
            play.step();
            let firing = play.watch.firing().count();
            if firing > was && step >= steps(WARM_UP) {
                alarms += 1;
            }
            was = firing;
        }
        FalseAlarms { alarms, months }
    }
}

impl FalseAlarms {
    pub fn per_month(self) -> f64 {
        f64::from(self.alarms) / f64::from(self.months)
    }
}

/// One run of the simulation.
#[derive(Debug, Clone)]
struct Play {
    watch: Watch,
    chance: Rand64,
    /// Time until the next probe.
    due: f64,
    interval: f64,
    /// The share of events that is bad, and how many good ones come before the next bad one.
    share: f64,
    good: f64,
    firing: usize,
}

impl Play {
    fn new(scene: Scene, seed: u128) -> Self {
        let interval = scene.interval.as_secs_f64();
        let watch = Watch::new(scene.budget, scene.interval);
        let chance = Rand64::new(seed);
        Self { watch, chance, due: interval / 2.0, interval, share: 0.0, good: 0.0, firing: 0 }
            .with_share(scene.budget)
    }

    /// The same past, another future: chance and the place of the probes between two scrapes are drawn anew.
    fn with_chance(mut self, run: u64, share: f64) -> Self {
        self.chance = Rand64::new(u128::from(run) + 1000);
        self.due = self.interval * self.chance.rand_float();
        self.firing = self.watch.firing().count();
        self.with_share(share)
    }

    fn with_share(mut self, share: f64) -> Self {
        self.share = share;
        self.draw();
        self
    }

    /// How many good events come first is one draw, rather than one for each of them.
    fn draw(&mut self) {
        let never_zero = 1.0 - self.chance.rand_float();
        self.good = if self.share < 1.0 { (never_zero.ln() / (1.0 - self.share).ln()).floor() } else { 0.0 };
    }

    /// One scrape later.
    fn step(&mut self) {
        let left = STEP.as_secs_f64() - self.due;
        let events = if left > 0.0 { (left / self.interval).ceil() } else { 0.0 };
        self.due += events * self.interval - STEP.as_secs_f64();
        let (mut ahead, mut bad) = (events, 0);
        while self.good < ahead {
            bad += 1;
            ahead -= self.good + 1.0;
            self.draw();
        }
        self.good -= ahead;
        self.watch.step(events as u32, bad);
    }

    fn until_alert(mut self) -> Option<Found> {
        for step in 1..=steps(PATIENCE) {
            self.step();
            // What fires by chance already is none of this.
            if self.watch.firing().count() > self.firing {
                let is_critical = self.watch.firing().any(|tier| tier.kind.severity() == Severity::Critical);
                let severity = if is_critical { Severity::Critical } else { Severity::Warning };
                return Some(Found { after: STEP * step as u32, severity });
            }
        }
        None
    }
}

fn steps(duration: Duration) -> u64 {
    duration.as_secs() / STEP.as_secs()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIX_A_MINUTE: Scene = Scene { budget: 0.05, interval: Duration::from_secs(10) };

    fn minutes(scene: Scene, share: f64) -> f64 {
        scene.found(share).map_or(f64::INFINITY, |found| found.after.as_secs_f64() / 60.0)
    }

    #[test]
    fn the_worse_it_is_the_sooner_it_is_found() {
        let found: Vec<_> = [1.0, 0.5, 0.3, 0.2].map(|share| minutes(SIX_A_MINUTE, share)).into();
        assert!(found.is_sorted(), "{found:?}");
        assert!(found[0] <= 5.0 && found[1] <= 8.0 && found[3] <= 20.0, "{found:?}");
    }

    #[test]
    fn what_the_objective_allows_is_not_found() {
        assert_eq!(SIX_A_MINUTE.found(0.05), None);
        assert_eq!(SIX_A_MINUTE.false_alarms().alarms, 0);
    }

    #[test]
    fn who_probes_rarely_waits_longer() {
        let rare = Scene { interval: Duration::from_secs(600), ..SIX_A_MINUTE };
        let outage = minutes(rare, 1.0);
        assert!((30.0..180.0).contains(&outage), "{outage}");
        assert!(outage > 10.0 * minutes(SIX_A_MINUTE, 1.0));
    }

    #[test]
    fn a_simulation_says_the_same_every_time() {
        assert_eq!(SIX_A_MINUTE.found(0.3), SIX_A_MINUTE.found(0.3));
    }
}
