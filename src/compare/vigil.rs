//! A release watched value by value: only whether it got worse, for looks by the million.
//!
//! [`super::Before::against`] finds bounds at each look and sorts all values for it. A simulation that looks every minute for
//! a week, a thousand times over, cannot; it keeps running sums of the same scores. A test holds the two together.

use super::baseline::Baseline;
use super::judge::{Settings, bar_of};
use super::look::margin;
use super::outcome::Quantile;

/// One metric of the only workload of a target.
#[derive(Debug)]
pub struct Vigil {
    baseline: Baseline,
    settings: Settings,
    /// For each lens: the scores at no shift, and at a shift by the margin.
    sums: Vec<[f64; 2]>,
    /// All values, while the allowance for the hour of the day changes from look to look.
    values: Vec<f64>,
    count: f64,
    first: f64,
    last: f64,
}

impl Vigil {
    /// Learns from durations in seconds and when they were measured, in order; there are thirty at least.
    pub fn new(at: &[f64], seconds: &[f64], settings: Settings) -> Self {
        let logs: Vec<f64> = seconds.iter().map(|seconds| seconds.ln()).collect();
        let baseline = Baseline::learn(at, &logs);
        let sums = vec![[0.0; 2]; baseline.lenses.len()];
        Self { baseline, settings, sums, values: Vec::new(), count: 0.0, first: f64::NAN, last: f64::NAN }
    }

    /// The next one, measured at `at`.
    pub fn add(&mut self, at: f64, seconds: f64) {
        let value = seconds.ln() - self.baseline.day.expected(at);
        if self.count == 0.0 {
            self.first = at;
        }
        (self.count, self.last) = (self.count + 1.0, at);
        let log_margin = bar_of(1, self.settings).margin;
        for ((quantile, lens), sums) in self.baseline.lenses.iter().zip(&mut self.sums) {
            sums[0] += lens.sees(value, 0.0);
            sums[1] += lens.sees(value, margin(*quantile, log_margin));
        }
        if !self.baseline.day.is_known() {
            self.values.push(value);
        }
    }

    /// By which part of the distribution it is worse, if it is.
    pub fn regressed(&self) -> Option<Quantile> {
        let (bar, length) = (bar_of(1, self.settings), self.last - self.first);
        let drift = self.baseline.drift(self.first, length);
        let lenses = self.baseline.lenses.iter().zip(&self.sums);
        let mut worse = lenses.filter(|((_, lens), sums)| {
            // The estimate is the shift at which the mean is the usual one: it lies beyond the margin if more is left there.
            let is_large = sums[1] / self.count > lens.usual;
            let moved = if drift > 0.0 {
                self.values.iter().map(|value| lens.sees(*value, drift)).sum()
            } else {
                sums[0]
            };
            is_large && lens.higher(moved / self.count, self.count, length) >= bar.evidence
        });
        worse.next().map(|((quantile, _), _)| *quantile)
    }
}
