//! Values gathered into stretches of equal length.

use super::day::median;

/// One value for each stretch that has any, in order of time.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Blocks {
    /// The middle of each stretch.
    pub(super) at: Vec<f64>,
    pub(super) value: Vec<f64>,
}

impl Blocks {
    pub(super) fn medians(at: &[f64], values: &[f64], length: f64) -> Self {
        let mut blocks = Self::default();
        each(at, length, |start, from, to| {
            blocks.at.push(start + length / 2.0);
            blocks.value.push(median(&values[from..to]));
        });
        blocks
    }
}

/// Calls `work` with the start of each stretch and the range of what lies in it. `at` rises.
pub(super) fn each(at: &[f64], length: f64, mut work: impl FnMut(f64, usize, usize)) {
    let mut from = 0;
    while let Some(first) = at.get(from) {
        let start = (first / length).floor() * length;
        let to = from + at[from..].partition_point(|at| *at < start + length);
        // A number that does not fit its own stretch by rounding is a stretch of its own.
        let to = to.max(from + 1);
        work(start, from, to);
        from = to;
    }
}
