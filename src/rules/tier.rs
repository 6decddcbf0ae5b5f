//! How alerts on objectives are tuned: which windows, which thresholds. The rules are written from these numbers, and
//! `check` simulates by them.

use std::time::Duration;

use super::rule::Severity;

/// One-sided: what is claimed of a share of bad events holds with 99.7 % confidence.
pub const Z: f64 = 2.8;

/// The quick tier alerts when that claim is: at least this many times as bad as the objective allows.
pub const QUICK_FACTOR: f64 = 2.0;

/// Events that are expected to be bad come in clumps. Nothing alerts before there are more bad ones than
/// `m + SPREAD·√m + FLOOR`, where `m` is what the objective itself allows in the window. Wilson's bound alone is too
/// trusting where `m` is far below 1: at 99.9 % it believes in 3 bad of 90, which chance brings about every month.
/// Chosen by simulation: with these, all tiers together alert at most 0.035 times in 90 days at exactly the objective
/// (600 simulated months each; 95 to 99.9 %, probes 10 to 100 s apart).
pub const SPREAD: f64 = 4.5;
pub const FLOOR: f64 = 3.5;

/// Fast detection with stated confidence. A short window finds an outage soon, a longer one finds less.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quick {
    /// What the bound is computed over.
    pub long: Duration,
    /// It must still go on.
    pub short: Duration,
    /// Only where the time between two probes is longer: the shorter windows hold too few of them.
    pub beyond: Duration,
}

/// The usual pair of windows: so much burnt over the long one, and still burning over the short one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Burn {
    /// How many times as fast as would spend the budget exactly.
    pub factor: f64,
    pub long: Duration,
    pub short: Duration,
    pub hold: Duration,
    pub severity: Severity,
}

const fn minutes(minutes: u64) -> Duration {
    Duration::from_secs(60 * minutes)
}

const fn hours(hours: u64) -> Duration {
    minutes(60 * hours)
}

/// How long the quick tier waits before it alerts.
pub const QUICK_HOLD: Duration = minutes(1);

/// How long both kinds of alert go on firing after the condition ended.
pub const KEEP: Duration = minutes(10);

pub const QUICK: [Quick; 5] = [
    Quick { long: minutes(15), short: minutes(5), beyond: Duration::ZERO },
    Quick { long: minutes(30), short: minutes(10), beyond: Duration::ZERO },
    Quick { long: hours(1), short: minutes(20), beyond: Duration::ZERO },
    Quick { long: hours(6), short: hours(2), beyond: Duration::from_secs(60) },
    Quick { long: hours(24), short: hours(8), beyond: Duration::from_secs(360) },
];

pub const BURN: [Burn; 4] = [
    Burn { factor: 14.4, long: hours(1), short: minutes(5), hold: minutes(2), severity: Severity::Critical },
    Burn { factor: 6.0, long: hours(6), short: minutes(30), hold: minutes(5), severity: Severity::Critical },
    Burn { factor: 3.0, long: hours(24), short: hours(2), hold: minutes(15), severity: Severity::Warning },
    Burn { factor: 1.0, long: hours(72), short: hours(6), hold: hours(1), severity: Severity::Warning },
];

impl Quick {
    /// Whether a workload that is probed this often needs it.
    pub fn is_for(&self, interval: Duration) -> bool {
        interval > self.beyond
    }
}

impl Burn {
    /// Whether even an outage could burn a budget this fast.
    pub fn is_reachable(&self, budget: f64) -> bool {
        self.factor * budget < 1.0
    }
}

/// How many bad events there must be more than, where so many are expected at the objective.
pub fn noise(expected: f64) -> f64 {
    expected + SPREAD * expected.sqrt() + FLOOR
}

/// The least share of bad events that is believed, after so many bad ones of so many (Wilson's lower bound).
pub fn least_share(bad: f64, events: f64) -> f64 {
    let square = Z * Z;
    let spread = (bad * (1.0 - bad / events)).max(0.0) + square / 4.0;
    (bad + square / 2.0 - Z * spread.sqrt()) / (events + square)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_is_wilsons() {
        // Written the other way, as the centre less the half width of the interval.
        let (p, n, square) = (0.1_f64, 100.0, Z * Z);
        let half = Z * (p * (1.0 - p) / n + square / (4.0 * n * n)).sqrt();
        let wanted = (p + square / (2.0 * n) - half) / (1.0 + square / n);
        assert!((least_share(10.0, 100.0) - wanted).abs() < 1e-12);
        assert!(least_share(0.0, 50.0).abs() < 1e-12);
        assert!((least_share(90.0, 90.0) - 90.0 / (90.0 + Z * Z)).abs() < 1e-12);
    }

    #[test]
    fn rare_probes_get_longer_windows() {
        let longest = |seconds| {
            let tiers = QUICK.iter().filter(|quick| quick.is_for(Duration::from_secs(seconds)));
            tiers.map(|quick| quick.long).max()
        };
        assert_eq!([10, 60, 61, 361].map(longest), [1, 1, 6, 24].map(|h| Some(hours(h))));
    }

    #[test]
    fn a_tier_that_no_outage_can_reach_is_known() {
        assert!(BURN[0].is_reachable(0.05) && !BURN[0].is_reachable(0.1) && BURN[1].is_reachable(0.1));
    }
}
