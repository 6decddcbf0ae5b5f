//! Quantiles of durations, exact, by nearest rank.

use std::time::Duration;

use super::Sample;
use super::sample::Itl;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quantiles {
    pub p50: Duration,
    pub p90: Duration,
    pub p95: Duration,
    pub p99: Duration,
    pub max: Duration,
}

impl Quantiles {
    /// The quantiles of the gaps of one answer, each gap counted once for each of its tokens.
    pub fn of_gaps(sample: &Sample) -> Option<Self> {
        let sorted = Sorted::of(&sample.itl);
        Some(Self {
            p50: sorted.at(50)?,
            p90: sorted.at(90)?,
            p95: sorted.at(95)?,
            p99: sorted.at(99)?,
            max: sorted.at(100)?,
        })
    }
}

/// The gap that 99 of 100 tokens do not exceed.
pub fn p99(gaps: &[Itl]) -> Option<Duration> {
    Sorted::of(gaps).at(99)
}

/// Gaps in order of their length.
struct Sorted {
    gaps: Vec<Itl>,
    tokens: u64,
}

impl Sorted {
    fn of(gaps: &[Itl]) -> Self {
        let mut gaps = gaps.to_vec();
        gaps.sort_unstable_by_key(|gap| gap.per_token);
        let tokens = gaps.iter().map(|gap| u64::from(gap.tokens)).sum();
        Self { gaps, tokens }
    }

    /// What so many percent of the tokens do not exceed.
    fn at(&self, percent: u64) -> Option<Duration> {
        let rank = (self.tokens * percent).div_ceil(100);
        let mut passed = 0;
        let gap = self.gaps.iter().find(|gap| {
            passed += u64::from(gap.tokens);
            passed >= rank
        });
        gap.map(|gap| gap.per_token)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gap(ms: u64, tokens: u32) -> Itl {
        Itl { per_token: Duration::from_millis(ms), tokens }
    }

    #[test]
    fn a_gap_counts_once_for_each_of_its_tokens() {
        let sample = Sample { itl: vec![gap(104, 1), gap(10, 98), gap(200, 1)], ..Sample::default() };
        let Quantiles { p50, p90, p95, p99, max } = Quantiles::of_gaps(&sample).unwrap();
        assert_eq!([p50, p90, p95, p99, max].map(|q| q.as_millis()), [10, 10, 10, 104, 200]);
    }

    #[test]
    fn without_gaps_there_are_no_quantiles() {
        assert_eq!(Quantiles::of_gaps(&Sample::default()), None);
        assert_eq!(p99(&[]), None);
    }
}
