//! A histogram whose buckets follow from the values: each is 4.4 % wider than the one below, and those without values
//! cost nothing.

/// Bucket `i` of schema `s` ends at `2^(i / 2^s)`. Four means 16 buckets for each doubling: a quantile is within 4.4 %.
const FINEST: i32 = 4;
const COARSEST: i32 = 0;

/// With more buckets than these, two become one.
const MOST_BUCKETS: usize = 200;

/// What is not larger counts as zero.
pub const ZERO_THRESHOLD: f64 = 1e-9;

#[derive(Debug, Clone)]
pub struct Native {
    schema: i32,
    zeros: u64,
    /// The index of the first bucket.
    first: i32,
    /// A few hundred at most.
    counts: Vec<u64>,
}

/// Buckets that follow one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span<'a> {
    /// The index of the first of them.
    pub first: i32,
    pub counts: &'a [u64],
}

impl Span<'_> {
    /// The index after the last of them.
    pub fn end(&self) -> i32 {
        self.first + length(self.counts.len())
    }
}

/// There are at most a few thousand indices: those of all numbers that a float can be, at the coarsest.
fn length(buckets: usize) -> i32 {
    i32::try_from(buckets).unwrap_or(i32::MAX)
}

impl Default for Native {
    fn default() -> Self {
        Self { schema: FINEST, zeros: 0, first: 0, counts: Vec::new() }
    }
}

impl Native {
    pub fn observe(&mut self, value: f64, times: u64) {
        if value.is_nan() || value <= ZERO_THRESHOLD {
            self.zeros += times;
            return;
        }
        let slot = loop {
            let index = index(value, self.schema);
            match self.make_room(index) {
                Some(slot) => break slot,
                None => self.merge_pairs(),
            }
        };
        self.counts[slot] += times;
    }

    pub fn schema(&self) -> i32 {
        self.schema
    }

    pub fn zeros(&self) -> u64 {
        self.zeros
    }

    /// The buckets with values. A gap of one or two empty ones does not part a span: naming it would take more space.
    pub fn spans(&self) -> Vec<Span<'_>> {
        let mut spans = Vec::new();
        let mut start = None;
        let mut end = 0;
        for (slot, _) in self.counts.iter().enumerate().filter(|&(_, &count)| count > 0) {
            match start {
                Some(_) if slot - end <= 2 => {}
                Some(from) => {
                    spans.push(self.span(from, end));
                    start = Some(slot);
                }
                None => start = Some(slot),
            }
            end = slot + 1;
        }
        spans.extend(start.map(|from| self.span(from, end)));
        spans
    }

    fn span(&self, from: usize, end: usize) -> Span<'_> {
        Span { first: self.index_of(from), counts: &self.counts[from..end] }
    }

    fn index_of(&self, slot: usize) -> i32 {
        self.first + length(slot)
    }

    /// Where the bucket of this index is; none if there would be too many.
    fn make_room(&mut self, index: i32) -> Option<usize> {
        if self.counts.is_empty() {
            self.first = index;
        }
        let lowest = self.first.min(index);
        let highest = (self.index_of(self.counts.len()) - 1).max(index);
        let wanted = (highest - lowest + 1) as usize;
        if wanted > MOST_BUCKETS && self.schema > COARSEST {
            return None;
        }
        let below = (self.first - lowest) as usize;
        self.counts.splice(0..0, std::iter::repeat_n(0, below));
        self.counts.resize(wanted, 0);
        self.first = lowest;
        Some((index - lowest) as usize)
    }

    /// Two buckets become one: their ends are exactly every second one of the present.
    fn merge_pairs(&mut self) {
        let parent = |index: i32| (index + 1).div_euclid(2);
        let first = parent(self.first);
        let mut merged = Vec::with_capacity(self.counts.len() / 2 + 1);
        for (slot, &count) in self.counts.iter().enumerate() {
            let at = (parent(self.index_of(slot)) - first) as usize;
            merged.resize(merged.len().max(at + 1), 0);
            merged[at] += count;
        }
        (self.counts, self.first, self.schema) = (merged, first, self.schema - 1);
    }
}

/// The bucket that holds a value: it is above the end of the bucket before, and not above its own.
fn index(value: f64, schema: i32) -> i32 {
    let scale = f64::from(1 << schema);
    // Infinite values have the last bucket that there can be.
    (value.min(f64::MAX).log2() * scale).ceil() as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(index: i32, schema: i32) -> f64 {
        (f64::from(index) / f64::from(1 << schema)).exp2()
    }

    fn total(native: &Native) -> u64 {
        native.zeros + native.spans().iter().flat_map(|span| span.counts).sum::<u64>()
    }

    #[test]
    fn a_value_lies_in_its_bucket() {
        for value in [1e-6, 0.001, 0.25, 0.3, 0.5, 1.0, 1.000_001, 2.0, 17.3, 3600.0] {
            let index = index(value, FINEST);
            assert!(value <= end(index, FINEST) * (1.0 + 1e-12), "{value}");
            assert!(value > end(index - 1, FINEST) * (1.0 - 1e-12), "{value}");
        }
        assert_eq!([index(0.25, 4), index(1.0, 4), index(2.0, 4)], [-32, 0, 16]);
    }

    #[test]
    fn spans_hold_what_was_observed_and_leave_wide_gaps_out() {
        let mut native = Native::default();
        for (value, times) in [(1.0, 3), (1.09, 1), (8.0, 2), (0.0, 5), (1.0, 1)] {
            native.observe(value, times);
        }
        assert_eq!(native.zeros(), 5);
        let spans = native.spans();
        assert_eq!(spans.len(), 2, "{spans:?}");
        assert_eq!(spans[0], Span { first: 0, counts: &[4, 0, 1] });
        assert_eq!(spans[1], Span { first: 48, counts: &[2] });
    }

    #[test]
    fn values_far_apart_make_buckets_wider_and_lose_nothing() {
        let mut native = Native::default();
        let mut value = 1e-6;
        let mut observed = 0;
        while value < 1e4 {
            native.observe(value, 2);
            observed += 2;
            value *= 1.03;
        }
        native.observe(f64::INFINITY, 1);
        assert_eq!(total(&native), observed + 1);
        assert!(native.counts.len() <= 1100 && native.schema == COARSEST, "{native:?}");
    }

    #[test]
    fn merging_keeps_each_value_within_its_bucket() {
        let mut native = Native::default();
        for value in [0.001, 0.5, 0.7, 1.0, 3.0] {
            native.observe(value, 1);
        }
        native.merge_pairs();
        assert_eq!(native.schema, 3);
        let indices: Vec<i32> = native
            .spans()
            .iter()
            .flat_map(|span| (span.first..).zip(span.counts).filter(|(_, count)| **count > 0).map(|(i, _)| i))
            .collect();
        assert_eq!(indices, [0.001, 0.5, 0.7, 1.0, 3.0].map(|value| index(value, 3)));
    }
}
