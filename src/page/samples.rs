//! The probes behind a comparison, by workload, and what is read off them.

use crate::compare::Metric;
use crate::domain::Kept;

/// What is shorter is drawn as this: an axis of equal ratios has no place for zero.
const SHORTEST: f64 = 1e-6;

/// The probes of one workload on both sides.
#[derive(Debug)]
pub struct Sides<'a> {
    pub before: Vec<&'a Kept>,
    pub after: Vec<&'a Kept>,
}

impl<'a> Sides<'a> {
    pub fn of(workload: &str, before: &'a [Kept], after: &'a [Kept]) -> Self {
        let pick = |probes: &'a [Kept]| probes.iter().filter(|kept| &*kept.workload == workload).collect();
        Self { before: pick(before), after: pick(after) }
    }

    /// Those of both sides in order of size.
    pub fn sorted(&self, metric: Metric) -> [Vec<f64>; 2] {
        [&self.before, &self.after].map(|probes| {
            let mut values: Vec<f64> = probes.iter().filter_map(|kept| value(kept, metric)).collect();
            values.sort_by(f64::total_cmp);
            values
        })
    }
}

/// What a probe shows of a metric; nothing for a share.
pub fn value(kept: &Kept, metric: Metric) -> Option<f64> {
    let value = match metric {
        Metric::Ttft => kept.ttft,
        Metric::Tpot => kept.tpot,
        Metric::ItlP99 => kept.itl_p99,
        Metric::Stall => kept.stall,
        Metric::Latency => kept.latency,
        Metric::Failures | Metric::BadAnswers => None,
    };
    value.filter(|value| value.is_finite()).map(|value| value.max(SHORTEST))
}

/// The smallest value that so large a part does not exceed.
pub fn quantile(sorted: &[f64], part: f64) -> Option<f64> {
    let rank = (part * sorted.len() as f64 - 1e-9).ceil().max(1.0) as usize;
    sorted.get(rank - 1).copied()
}

/// The smallest and the largest of all.
pub fn extent(sorted: &[Vec<f64>; 2]) -> Option<(f64, f64)> {
    let low = sorted.iter().filter_map(|values| values.first()).copied().reduce(f64::min)?;
    let high = sorted.iter().filter_map(|values| values.last()).copied().reduce(f64::max)?;
    Some((low, high))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_values_that_were_measured() {
        let values: Vec<f64> = (1..=10).map(f64::from).collect();
        let of = |part| quantile(&values, part);
        assert_eq!([of(0.0), of(0.1), of(0.5), of(0.91), of(1.0)], [1.0, 1.0, 5.0, 10.0, 10.0].map(Some));
        assert_eq!(quantile(&[], 0.5), None);
    }

    #[test]
    fn the_extent_is_that_of_both_sides() {
        assert_eq!(extent(&[vec![2.0, 3.0], vec![1.0]]), Some((1.0, 3.0)));
        assert_eq!(extent(&[vec![], vec![1.0]]), Some((1.0, 1.0)));
        assert_eq!(extent(&[vec![], vec![]]), None);
    }
}
