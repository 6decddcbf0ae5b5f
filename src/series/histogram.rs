//! A histogram in both forms: buckets with given bounds, and native ones.

use std::sync::Arc;
use std::time::SystemTime;

use super::{Exemplar, Native};

/// The upper bounds of a family's buckets: the same for all of its series, so that they can be added up.
#[derive(Debug, PartialEq)]
pub struct Layout {
    bounds: Vec<f64>,
}

impl Layout {
    /// Bounds in rising order.
    pub fn new(bounds: Vec<f64>) -> Self {
        Self { bounds }
    }

    pub fn bounds(&self) -> &[f64] {
        &self.bounds
    }
}

#[derive(Debug, Clone)]
pub struct Histogram {
    layout: Arc<Layout>,
    /// One more than bounds: the last is for what is above all of them.
    buckets: Vec<Bucket>,
    native: Native,
    count: u64,
    sum: f64,
    /// When it was empty.
    created: SystemTime,
}

#[derive(Debug, Clone, Default)]
struct Bucket {
    count: u64,
    /// Apart, because most buckets have none.
    exemplar: Option<Box<Exemplar>>,
}

impl Histogram {
    pub fn new(layout: &Arc<Layout>, created: SystemTime) -> Self {
        Self {
            layout: Arc::clone(layout),
            buckets: vec![Bucket::default(); layout.bounds.len() + 1],
            native: Native::default(),
            count: 0,
            sum: 0.0,
            created,
        }
    }

    pub fn observe(&mut self, value: f64, times: u64) {
        let bucket = self.bucket_of(value);
        self.buckets[bucket].count += times;
        self.native.observe(value, times);
        self.count += times;
        self.sum += value * times as f64;
    }

    /// Observes once, and remembers which probe it was.
    pub fn observe_probe(&mut self, exemplar: Exemplar) {
        self.observe(exemplar.value, 1);
        let bucket = self.bucket_of(exemplar.value);
        self.buckets[bucket].exemplar = Some(Box::new(exemplar));
    }

    fn bucket_of(&self, value: f64) -> usize {
        self.layout.bounds.partition_point(|&bound| bound < value)
    }

    /// Takes other bounds and goes on. What was counted in a bucket that is divided stays in its upper part. So no
    /// cumulative count ever goes down, and the growth of each bucket from now on is exact.
    pub fn lay_out(&mut self, layout: &Arc<Layout>) {
        if self.layout == *layout {
            self.layout = Arc::clone(layout);
            return;
        }
        let mut buckets = vec![Bucket::default(); layout.bounds.len() + 1];
        for (index, old) in self.buckets.iter().enumerate() {
            let upper = self.layout.bounds.get(index).copied().unwrap_or(f64::INFINITY);
            buckets[layout.bounds.partition_point(|&bound| bound < upper)].count += old.count;
        }
        self.buckets = buckets;
        self.layout = Arc::clone(layout);
    }

    pub fn layout(&self) -> &Arc<Layout> {
        &self.layout
    }

    /// How many values were not above each bound, and at last how many there were; each with the newest probe that
    /// fell between this bound and the one below.
    pub fn cumulative(&self) -> impl Iterator<Item = (f64, u64, Option<&Exemplar>)> {
        let bounds = self.layout.bounds.iter().copied().chain([f64::INFINITY]);
        self.buckets.iter().zip(bounds).scan(0, |total, (bucket, bound)| {
            *total += bucket.count;
            Some((bound, *total, bucket.exemplar.as_deref()))
        })
    }

    pub fn native(&self) -> &Native {
        &self.native
    }

    pub fn exemplars(&self) -> impl Iterator<Item = &Exemplar> {
        self.buckets.iter().filter_map(|bucket| bucket.exemplar.as_deref())
    }

    pub fn count(&self) -> u64 {
        self.count
    }

    pub fn sum(&self) -> f64 {
        self.sum
    }

    pub fn created(&self) -> SystemTime {
        self.created
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ProbeId;

    fn layout(bounds: &[f64]) -> Arc<Layout> {
        Arc::new(Layout::new(bounds.to_vec()))
    }

    fn counts(histogram: &Histogram) -> Vec<u64> {
        histogram.cumulative().map(|(_, count, _)| count).collect()
    }

    #[test]
    fn a_value_at_a_bound_is_within_it() {
        let mut histogram = Histogram::new(&layout(&[1.0, 2.0]), SystemTime::UNIX_EPOCH);
        for value in [0.5, 1.0, 1.5, 2.0, 9.0] {
            histogram.observe(value, 1);
        }
        assert_eq!(counts(&histogram), [2, 4, 5]);
        assert_eq!(histogram.count(), 5);
        assert!((histogram.sum() - 14.0).abs() < 1e-9);
    }

    #[test]
    fn other_bounds_let_no_count_go_down_and_count_exactly_from_then_on() {
        let mut histogram = Histogram::new(&layout(&[1.0, 2.0, 4.0]), SystemTime::UNIX_EPOCH);
        for value in [0.5, 1.5, 1.7, 3.0, 9.0] {
            histogram.observe(value, 1);
        }
        assert_eq!(counts(&histogram), [1, 3, 4, 5]);
        // 1.6 is new, 4 is gone.
        histogram.lay_out(&layout(&[1.0, 1.6, 2.0]));
        assert_eq!(counts(&histogram), [1, 1, 3, 5]);
        histogram.observe(1.5, 1);
        assert_eq!(counts(&histogram), [1, 2, 4, 6]);
        histogram.lay_out(&layout(&[1.0, 2.0, 4.0]));
        assert_eq!(counts(&histogram), [1, 4, 4, 6]);
    }

    #[test]
    fn a_bucket_remembers_the_newest_probe_in_it() {
        let mut histogram = Histogram::new(&layout(&[1.0]), SystemTime::UNIX_EPOCH);
        let probe = |value| Exemplar { probe: ProbeId::from_number(7), value, at: SystemTime::UNIX_EPOCH };
        histogram.observe_probe(probe(0.5));
        histogram.observe_probe(probe(0.7));
        let shown: Vec<f64> = histogram.exemplars().map(|exemplar| exemplar.value).collect();
        assert_eq!(shown, [0.7]);
    }
}
