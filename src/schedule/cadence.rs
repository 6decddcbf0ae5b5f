//! When the next probe is due, and whose turn it is. Pure.

use std::time::Duration;

use tokio::time::Instant;

/// Due times at a fixed interval: they depend on the start alone, never on how long anything took.
#[derive(Debug, Clone)]
pub struct Grid {
    start: Instant,
    interval: Duration,
    served: u32,
    /// The due time that was given last, on this grid or the one before it.
    last: Option<Instant>,
}

/// Smooth weighted round robin: each turn goes to the share that is furthest behind its weight.
#[derive(Debug, Clone)]
pub struct Rotation {
    shares: Vec<Share>,
    total: i64,
}

#[derive(Debug, Clone)]
struct Share {
    weight: i64,
    credit: i64,
}

impl Grid {
    /// The grid of target `index` of `count`: their first due times are spread over the interval, so that
    /// targets of equal rate never bunch.
    pub fn staggered(start: Instant, interval: Duration, index: usize, count: usize) -> Self {
        let offset = interval.mul_f64(index as f64 / count.max(1) as f64);
        Self { start: start + offset, interval, served: 0, last: None }
    }

    pub fn interval(&self) -> Duration {
        self.interval
    }

    /// The same grid from this instant on.
    #[must_use]
    pub fn not_before(mut self, instant: Instant) -> Self {
        let behind = instant.saturating_duration_since(self.due()).as_nanos();
        let steps = behind.div_ceil(self.interval.as_nanos().max(1));
        let skipped = u64::try_from(steps * self.interval.as_nanos()).unwrap_or(u64::MAX);
        self.start = self.due() + Duration::from_nanos(skipped);
        self.served = 0;
        self
    }

    /// This grid in the place of another, so late that nothing comes sooner after the last due time than it would by
    /// the grid alone: whoever changes the rate again and again does not get more probes by it.
    #[must_use]
    pub fn after(self, other: &Self, now: Instant) -> Self {
        let interval = self.interval;
        let earliest = other.last.map_or(now, |last| now.max(last + interval));
        Self { last: other.last, ..self.not_before(earliest) }
    }

    /// The next due time.
    pub fn due(&self) -> Instant {
        self.start + self.interval * self.served
    }

    /// Whether the due time is so long past that the one after it has come as well.
    pub fn is_missed(&self, now: Instant) -> bool {
        self.due() + self.interval <= now
    }

    /// Gives the due time and moves on to the next.
    pub fn advance(&mut self) -> Instant {
        let due = self.due();
        // The multiplication stays exact and in range for as long as any daemon lives.
        if self.served == u32::MAX {
            (self.start, self.served) = (due + self.interval, 0);
        } else {
            self.served += 1;
        }
        self.last = Some(due);
        due
    }
}

impl Rotation {
    pub fn new(weights: impl IntoIterator<Item = u32>) -> Self {
        let shares: Vec<_> = weights.into_iter().map(|w| Share { weight: i64::from(w), credit: 0 }).collect();
        let total = shares.iter().map(|share| share.weight).sum();
        Self { shares, total }
    }

    /// The index of the share whose turn it is.
    pub fn turn(&mut self) -> usize {
        for share in &mut self.shares {
            share.credit += share.weight;
        }
        let most = self.shares.iter().map(|share| share.credit).max();
        let index = self.shares.iter().position(|share| Some(share.credit) == most).unwrap_or(0);
        if let Some(share) = self.shares.get_mut(index) {
            share.credit -= self.total;
        }
        index
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn due_times_lie_on_a_fixed_grid() {
        let start = Instant::now();
        let mut grid = Grid::staggered(start, 10 * SECOND, 0, 1);
        let due: Vec<_> = (0..4).map(|_| grid.advance() - start).collect();
        assert_eq!(due, [Duration::ZERO, 10 * SECOND, 20 * SECOND, 30 * SECOND]);
    }

    #[test]
    fn a_week_of_thirds_of_a_second_does_not_drift() {
        let start = Instant::now();
        let mut grid = Grid::staggered(start, SECOND / 3, 0, 1);
        let count = 7 * 24 * 3600 * 3;
        let last = (0..=count).map(|_| grid.advance()).last().unwrap();
        let drift = (7 * 24 * 3600 * SECOND).abs_diff(last - start);
        assert!(drift < Duration::from_millis(1), "{drift:?}");
    }

    #[test]
    fn targets_of_equal_rate_are_spread_over_the_interval() {
        let start = Instant::now();
        let first = |index| Grid::staggered(start, 12 * SECOND, index, 3).due() - start;
        assert_eq!([first(0), first(1), first(2)], [Duration::ZERO, 4 * SECOND, 8 * SECOND]);
    }

    #[test]
    fn a_due_time_is_missed_once_its_successor_is_due() {
        let start = Instant::now();
        let grid = Grid::staggered(start, SECOND, 0, 1);
        assert!(!grid.is_missed(start + SECOND / 2));
        assert!(grid.is_missed(start + SECOND));
    }

    #[test]
    fn a_grid_from_later_on_has_the_same_due_times() {
        let start = Instant::now();
        let grid = || Grid::staggered(start, 10 * SECOND, 1, 2);
        for (after, due) in [(0, 5), (5, 5), (6, 15), (1004, 1005), (1005, 1005)] {
            assert_eq!(grid().not_before(start + after * SECOND).due() - start, due * SECOND, "{after}");
        }
    }

    #[test]
    fn a_rate_that_changes_again_and_again_brings_no_more_probes_and_none_fewer_than_half() {
        let start = Instant::now();
        let mut grid = Grid::staggered(start, 10 * SECOND, 0, 1);
        let mut served = 0;
        for tenth in 0..10_000_u32 {
            let now = start + tenth * SECOND / 10;
            let interval = if tenth % 2 == 0 { 10 * SECOND } else { 9 * SECOND };
            grid = Grid::staggered(start, interval, 0, 1).after(&grid, now);
            if grid.due() <= now {
                grid.advance();
                served += 1;
            }
        }
        assert!((50..=112).contains(&served), "{served} in 1000 seconds");
    }

    #[test]
    fn turns_interleave_smoothly() {
        let mut rotation = Rotation::new([6, 3, 1]);
        let order: Vec<_> = (0..10).map(|_| rotation.turn()).collect();
        assert_eq!(order, [0, 1, 0, 0, 1, 0, 2, 0, 1, 0]);
    }

    #[test]
    fn shares_hold_at_every_point() {
        let weights = [6, 3, 1];
        let mut rotation = Rotation::new(weights);
        let mut seen = [0_u32; 3];
        for slot in 1..=1000_u32 {
            seen[rotation.turn()] += 1;
            for (count, weight) in seen.iter().zip(weights) {
                let fair = f64::from(slot * weight) / 10.0;
                assert!((f64::from(*count) - fair).abs() <= 1.0, "slot {slot}: {seen:?}");
            }
        }
    }
}
