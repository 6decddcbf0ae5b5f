//! Values in order, so that what a lens sees of all of them is found without looking at each.

use super::baseline::{Kind, Lens};

#[derive(Debug, Clone)]
pub(super) struct Sorted {
    values: Vec<f64>,
    /// The sum of the first so many.
    sums: Vec<f64>,
}

impl Sorted {
    pub(super) fn new(mut values: Vec<f64>) -> Self {
        values.sort_by(f64::total_cmp);
        let mut sums = vec![0.0; values.len() + 1];
        for (index, value) in values.iter().enumerate() {
            sums[index + 1] = sums[index] + value;
        }
        Self { values, sums }
    }

    pub(super) fn values(&self) -> &[f64] {
        &self.values
    }

    pub(super) fn count(&self) -> f64 {
        self.values.len() as f64
    }

    /// The mean of what a lens sees if all values had moved by `shift`: falls as the shift grows.
    pub(super) fn mean(&self, lens: &Lens, shift: f64) -> f64 {
        let from = lens.centre + shift;
        let below = |bound: f64| self.values.partition_point(|value| *value <= bound);
        let sum = match lens.kind {
            Kind::Beyond => (self.values.len() - below(from)) as f64,
            Kind::Middle { clamp } => {
                let (low, high) = (below(from - clamp), below(from + clamp));
                let inside = self.sums[high] - self.sums[low] - from * (high - low) as f64;
                inside + clamp * ((self.values.len() - high) as f64 - low as f64)
            }
        };
        sum / self.count()
    }
}
