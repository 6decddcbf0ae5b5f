//! Numbers that many threads change and a scrape reads.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Only grows.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    pub fn add(&self, count: u64) {
        self.0.fetch_add(count, Relaxed);
    }

    /// Goes up to a count that is kept elsewhere.
    pub fn raise_to(&self, count: u64) {
        self.0.fetch_max(count, Relaxed);
    }

    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// A counter of what only some servers state: until they do, there is nothing to show.
#[derive(Debug)]
pub struct Stated(AtomicU64);

/// No count: a counter does not get so far.
const NEVER: u64 = u64::MAX;

impl Default for Stated {
    fn default() -> Self {
        Self(AtomicU64::new(NEVER))
    }
}

impl Stated {
    /// A count of 0 is a statement, too.
    pub fn add(&self, count: u64) {
        let _ = self.0.fetch_update(Relaxed, Relaxed, |old| {
            Some(if old == NEVER { count } else { old.saturating_add(count).min(NEVER - 1) })
        });
    }

    pub fn get(&self) -> Option<u64> {
        Some(self.0.load(Relaxed)).filter(|&count| count != NEVER)
    }
}

/// Goes up and down.
#[derive(Debug, Default)]
pub struct Gauge(AtomicU64);

impl Gauge {
    pub fn new(value: f64) -> Self {
        Self(AtomicU64::new(value.to_bits()))
    }

    pub fn set(&self, value: f64) {
        self.0.store(value.to_bits(), Relaxed);
    }

    pub fn add(&self, difference: f64) {
        let _ =
            self.0.fetch_update(Relaxed, Relaxed, |bits| Some((f64::from_bits(bits) + difference).to_bits()));
    }

    pub fn get(&self) -> f64 {
        f64::from_bits(self.0.load(Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_never_stated_has_no_value_and_a_stated_nothing_has() {
        let counter = Stated::default();
        assert_eq!(counter.get(), None);
        counter.add(0);
        assert_eq!(counter.get(), Some(0));
        counter.add(7);
        assert_eq!(counter.get(), Some(7));
    }

    #[test]
    fn a_counter_that_follows_another_never_goes_down() {
        let counter = Counter::default();
        counter.raise_to(5);
        counter.raise_to(3);
        assert_eq!(counter.get(), 5);
    }

    #[test]
    fn a_gauge_goes_both_ways() {
        let gauge = Gauge::default();
        gauge.add(2.0);
        gauge.add(-1.0);
        assert!((gauge.get() - 1.0).abs() < f64::EPSILON);
    }
}
