//! One look at a release: how each quantile of one metric moved since the baseline, within which bounds.

use std::time::Duration;

use super::baseline::{Baseline, Lens};
use super::outcome::{Need, Quantile, Shift, Verdict};
use super::sorted::Sorted;

/// How far the whole search for a bound goes, in logarithms: a factor of 400 up or down.
const FARTHEST: f64 = 6.0;

/// Halvings of that range: to a millionth.
const STEPS: usize = 24;

/// How many times as many probes as there are may be needed, before "it will take long" is all that can be said.
const MOST_TIMES: f64 = 1000.0;

/// What came after the change, as it deviates from the day of the baseline.
#[derive(Debug)]
pub(super) struct After {
    values: Sorted,
    /// From the first value to the last, in seconds, and what may be the hour of the day.
    length: f64,
    drift: f64,
}

/// When to be sure, and what matters.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bar {
    /// The logarithm that evidence must reach.
    pub(super) evidence: f64,
    /// In logarithms.
    pub(super) margin: f64,
}

impl After {
    /// `at` rises; there is at least one value.
    pub(super) fn new(baseline: &Baseline, at: &[f64], values: &[f64]) -> Self {
        let deviate = at.iter().zip(values).map(|(at, value)| value - baseline.day.expected(*at));
        let length = at[at.len() - 1] - at[0];
        Self { values: Sorted::new(deviate.collect()), length, drift: baseline.drift(at[0], length) }
    }

    /// How one lens says that the values moved.
    pub(super) fn shift(&self, lens: &Lens, quantile: Quantile, bar: Bar) -> Shift {
        let estimate = last_where(|by| self.values.mean(lens, by) > lens.usual);
        let least = last_where(|by| self.is_higher(lens, self.values.mean(lens, by), 1.0, bar)) - self.drift;
        let most = -last_where(|by| self.is_lower(lens, self.values.mean(lens, -by), 1.0, bar)) + self.drift;
        let margin = margin(quantile, bar.margin);
        Shift {
            quantile,
            estimate: estimate.exp(),
            lower: if least <= -FARTHEST { 0.0 } else { least.exp() },
            upper: if most >= FARTHEST { f64::INFINITY } else { most.exp() },
            verdict: verdict(estimate, least, most, margin),
        }
    }

    /// How many more values would decide it: if it is as it looks, where that is a change, and otherwise if nothing
    /// changed in truth. None if no number would.
    pub(super) fn need(&self, before: &Sorted, lens: &Lens, shift: &Shift, bar: Bar) -> Option<Need> {
        let (estimate, margin) = (shift.estimate.ln(), margin(shift.quantile, bar.margin));
        let as_it_looks = |times| {
            let moved = |by| self.values.mean(lens, by);
            (estimate > margin && self.is_higher(lens, moved(self.drift), times, bar))
                || (estimate < -margin && self.is_lower(lens, moved(-self.drift), times, bar))
        };
        let unchanged = |times| {
            let within = margin - self.drift;
            within > 0.0
                && self.is_higher(lens, before.mean(lens, -within), times, bar)
                && self.is_lower(lens, before.mean(lens, within), times, bar)
        };
        let times = how_many_times(as_it_looks).or_else(|| how_many_times(unchanged))?;
        let probes = (self.values.count() * (times - 1.0)).ceil() as usize;
        Some(Need { probes, time: Duration::from_secs_f64(self.length * (times - 1.0)) })
    }

    /// Whether `times` as many values with this mean would show that they moved by more than was allowed for.
    fn is_higher(&self, lens: &Lens, mean: f64, times: f64, bar: Bar) -> bool {
        lens.higher(mean, self.values.count() * times, self.length * times) >= bar.evidence
    }

    fn is_lower(&self, lens: &Lens, mean: f64, times: f64, bar: Bar) -> bool {
        lens.lower(mean, self.values.count() * times, self.length * times) >= bar.evidence
    }
}

/// How many times as many values as there are it takes until `decided`, in steps of a tenth.
pub(super) fn how_many_times(decided: impl Fn(f64) -> bool) -> Option<f64> {
    let steps = std::iter::successors(Some(1.1), |times| Some(times * 1.1));
    steps.take_while(|times| *times < MOST_TIMES).find(|times| decided(*times))
}

/// A tail is known less well than the middle, and a change of it matters less: what counts as none there is more.
pub(super) fn margin(quantile: Quantile, margin: f64) -> f64 {
    match quantile {
        Quantile::Middle | Quantile::P50 | Quantile::Share => margin,
        Quantile::P90 => 2.0 * margin,
        Quantile::P99 => 4.0 * margin,
    }
}

fn verdict(estimate: f64, least: f64, most: f64, margin: f64) -> Verdict {
    if least > 0.0 && estimate > margin {
        Verdict::Regressed
    } else if most < 0.0 && estimate < -margin {
        Verdict::Improved
    } else if least > -margin && most < margin {
        Verdict::Same
    } else {
        Verdict::Undecided
    }
}

/// The largest number for which `holds`, which holds up to some number and not beyond.
fn last_where(holds: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (-FARTHEST, FARTHEST);
    for _ in 0..STEPS {
        let middle = f64::midpoint(low, high);
        if holds(middle) { low = middle } else { high = middle }
    }
    low
}
