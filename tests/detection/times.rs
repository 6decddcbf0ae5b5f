//! When alerts fired, and how long that took.

use std::collections::BTreeMap;

use super::replay::{FIRST_FIRING, Replay, Sample};

/// What fired for whom, and when first, in seconds from the start.
#[derive(Debug)]
pub struct Firings(BTreeMap<(String, String), f64>);

impl Firings {
    /// Evaluates the rules up to this second.
    pub fn of(replay: &Replay, seconds: u32) -> Self {
        let answers = replay.ask(seconds, &[FIRST_FIRING.to_owned()]);
        let of = |sample: &Sample| {
            ((sample.labels["target"].clone(), sample.labels["alertname"].clone()), sample.value)
        };
        let mut firsts = BTreeMap::new();
        for (place, second) in answers[0].iter().map(of) {
            // One alert has several tiers, told apart by labels.
            let first = firsts.entry(place).or_insert(second);
            *first = second.min(*first);
        }
        Self(firsts)
    }

    /// When the first alert of a target fired.
    pub fn first(&self, target: &str) -> Option<f64> {
        let of_target = self.0.iter().filter(|((of, _), _)| of == target);
        of_target.map(|(_, second)| *second).min_by(f64::total_cmp)
    }

    /// Forgets what fired for a target, and says whether anything did.
    pub fn remove(&mut self, target: &str) -> bool {
        let before = self.0.len();
        self.0.retain(|(of, _), _| of != target);
        self.0.len() < before
    }

    /// All of them, for a message: "SloprobeX of run-07 after 61 min".
    pub fn all(&self) -> Vec<String> {
        let line = |((target, alert), second): (&(String, String), &f64)| {
            format!("{alert} of {target} after {:.0} min", second / 60.0)
        };
        self.0.iter().map(line).collect()
    }
}

/// Minutes until an alert, one of each run; infinite where none came.
#[derive(Debug)]
pub struct Delays(Vec<f64>);

impl Delays {
    pub fn new(mut minutes: Vec<f64>) -> Self {
        minutes.sort_by(f64::total_cmp);
        assert!(minutes.first().is_some_and(|least| *least >= 0.0), "an alert before its cause: {minutes:?}");
        Self(minutes)
    }

    pub fn median(&self) -> f64 {
        self.within(0.5)
    }

    /// Within so many minutes, this share of the runs had their alert.
    fn within(&self, share: f64) -> f64 {
        let needed = (share * self.0.len() as f64).ceil() as usize;
        self.0[needed.max(1) - 1]
    }

    /// A line of a table: median, nine of ten, worst, and how many were found while they were watched.
    pub fn line(&self) -> String {
        let found = self.0.iter().filter(|minutes| minutes.is_finite()).count();
        let cells = [0.5, 0.9, 1.0].map(|share| cell(self.within(share))).join(" ");
        format!("{cells} {found:4} of {}", self.0.len())
    }
}

/// Minutes in a table; whether it would have come after the end of the replay is not known.
pub fn cell(minutes: f64) -> String {
    if minutes.is_finite() { format!("{minutes:8.1}") } else { format!("{:>8}", "later") }
}

pub const HEAD: &str = "  median      p90    worst   found  (minutes until the alert)";
