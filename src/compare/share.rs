//! Shares of probes: how many failed, how many answers were bad.

use std::time::Duration;

use super::evidence;
use super::look::{Bar, how_many_times};
use super::outcome::{Need, Quantile, Shift, Verdict};
use super::wander::Wander;

/// A change of a share within this counts as none: one percentage point.
pub(super) const MARGIN: f64 = 0.01;

/// Failures come in clumps, even where the baseline had too few to show it: each counts as half an independent one at
/// most.
const CLUMPS: f64 = 2.0;

/// Halvings of the range of a share: to a millionth.
const STEPS: usize = 20;

/// What share is usual.
#[derive(Debug, Clone)]
pub(super) struct Usual {
    /// As counted, and as it is taken: that none failed so far is not that none ever does.
    counted: f64,
    share: f64,
    wander: Wander,
    doubt: f64,
}

/// What came after the change.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seen {
    pub(super) share: f64,
    pub(super) count: f64,
    /// In seconds.
    pub(super) length: f64,
}

impl Usual {
    /// `at` rises; there is at least one.
    pub(super) fn learn(at: &[f64], happened: &[bool]) -> Self {
        let count = at.len() as f64;
        let times = happened.iter().filter(|did| **did).count() as f64;
        let (counted, share) = (times / count, (times + 1.0) / (count + 2.0));
        let scores: Vec<f64> = happened.iter().map(|did| f64::from(u8::from(*did)) - counted).collect();
        let wander = Wander::learn(at, &scores, 1);
        let doubt = wander.at(at[at.len() - 1] - at[0]) / count;
        Self { counted, share, wander, doubt }
    }

    pub(super) fn shift(&self, seen: Seen, bar: Bar) -> Shift {
        let worth = self.worth(seen);
        let least = bound(0.0, seen.share, |share| evidence::more(seen.share, share, worth) >= bar.evidence);
        let most = bound(1.0, seen.share, |share| evidence::fewer(seen.share, share, worth) >= bar.evidence);
        let (estimate, lower, upper) =
            (seen.share - self.counted, least - self.share, most - self.counted.min(self.share));
        let verdict = if lower > 0.0 && estimate > MARGIN {
            Verdict::Regressed
        } else if upper < 0.0 && estimate < -MARGIN {
            Verdict::Improved
        } else if upper < MARGIN {
            // A share that is small stays small: that it fell a little is no news.
            Verdict::Same
        } else {
            Verdict::Undecided
        };
        Shift { quantile: Quantile::Share, estimate, lower, upper, verdict }
    }

    pub(super) fn need(&self, seen: Seen, bar: Bar) -> Option<Need> {
        let later = |times| Seen { count: seen.count * times, length: seen.length * times, ..seen };
        let times = how_many_times(|times| self.shift(later(times), bar).verdict != Verdict::Undecided)?;
        let probes = (seen.count * (times - 1.0)).ceil() as usize;
        Some(Need { probes, time: Duration::from_secs_f64(seen.length * (times - 1.0)) })
    }

    fn worth(&self, seen: Seen) -> f64 {
        let one = self.share * (1.0 - self.share);
        let variance = (self.wander.at(seen.length)).max(CLUMPS * one) / seen.count + self.doubt;
        one / variance
    }
}

/// The share farthest from `end` towards `seen` against which there is enough evidence; `end` if there is none.
fn bound(end: f64, seen: f64, is_refuted: impl Fn(f64) -> bool) -> f64 {
    let (mut refuted, mut open) = (end, seen);
    for _ in 0..STEPS {
        let middle = f64::midpoint(refuted, open);
        if is_refuted(middle) { refuted = middle } else { open = middle }
    }
    if (refuted - end).abs() < f64::EPSILON { end } else { refuted }
}
