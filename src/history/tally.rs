//! What a set of probes adds up to.

use std::time::{Duration, SystemTime};

use hdrhistogram::serialization::Deserializer;

use super::buckets::Buckets;
use super::row::{OK, outcome, verdict};
use super::units::{micros, seconds, time_of};
use crate::domain::slo::Measure;
use crate::domain::{Failure, Verdict};

/// The durations that are added up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Figure {
    Ttft,
    AnswerTtft,
    Tpot,
    /// All gaps between tokens, each as often as it has tokens.
    Itl,
    /// Of each answer the 99th percentile of its own gaps.
    ItlP99,
    Stall,
    Latency,
}

/// Durations are of successful probes alone; tokens are of all probes, as far as the server told.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Tally {
    pub probes: u64,
    /// The probe's own event loop was late.
    pub suspects: u64,
    pub tokens: TokenSums,
    pub(super) failures: [u64; Failure::ALL.len()],
    pub(super) verdicts: [u64; Verdict::ALL.len()],
    /// When the first and the last of them started.
    pub(super) ends: Option<(i64, i64)>,
    pub(super) spreads: [Spread; Figure::ALL.len()],
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TokenSums {
    pub input: u64,
    pub cached: u64,
    pub output: u64,
    /// Of the answers whose tokens are in `output`.
    pub characters: u64,
}

/// How one duration is spread: the mean and the longest exactly, quantiles within 0.1 %. Of gaps all of it is within
/// 1 %, as each answer's are kept that exactly.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Spread {
    pub(super) count: u64,
    pub(super) sum: u64,
    pub(super) max: u64,
    pub(super) buckets: Buckets,
}

/// One probe as it is read to be added up; times and durations are microseconds.
#[derive(Debug, Clone, Default)]
pub(super) struct Measured<'a> {
    pub(super) at: i64,
    pub(super) suspect: bool,
    pub(super) outcome: i64,
    pub(super) verdict: Option<i64>,
    /// Input, cached, output.
    pub(super) tokens: [Option<i64>; 3],
    pub(super) characters: i64,
    /// In the order of [`Figure::ALL`]; those of all gaps are in `gaps`.
    pub(super) durations: [Option<i64>; Figure::ALL.len()],
    pub(super) gaps: Option<&'a [u8]>,
}

impl Figure {
    pub const ALL: [Self; 7] =
        [Self::Ttft, Self::AnswerTtft, Self::Tpot, Self::Itl, Self::ItlP99, Self::Stall, Self::Latency];

    pub fn name(self) -> &'static str {
        match self {
            Self::Ttft => "ttft",
            Self::AnswerTtft => "answer_ttft",
            Self::Tpot => "tpot",
            Self::Itl => "itl",
            Self::ItlP99 => "itl_p99",
            Self::Stall => "stall",
            Self::Latency => "latency",
        }
    }
}

impl From<Measure> for Figure {
    fn from(measure: Measure) -> Self {
        match measure {
            Measure::Ttft => Self::Ttft,
            Measure::AnswerTtft => Self::AnswerTtft,
            Measure::Tpot => Self::Tpot,
            Measure::ItlP99 => Self::ItlP99,
            Measure::Stall => Self::Stall,
            Measure::Latency => Self::Latency,
        }
    }
}

impl Tally {
    pub fn failed(&self) -> u64 {
        self.failures.iter().sum()
    }

    pub fn failed_by(&self, failure: Failure) -> u64 {
        position(&Failure::ALL, &failure).map_or(0, |place| self.failures[place])
    }

    pub fn succeeded(&self) -> u64 {
        self.probes - self.failed()
    }

    /// How many answers were this.
    pub fn judged(&self, verdict: Verdict) -> u64 {
        position(&Verdict::ALL, &verdict).map_or(0, |place| self.verdicts[place])
    }

    pub fn spread(&self, figure: Figure) -> &Spread {
        &self.spreads[figure as usize]
    }

    /// When the first and the last of them started; none without any.
    pub fn span(&self) -> Option<(SystemTime, SystemTime)> {
        self.ends.map(|(first, last)| (time_of(first), time_of(last)))
    }

    pub fn merge(&mut self, other: &Self) {
        self.probes += other.probes;
        self.suspects += other.suspects;
        self.tokens.input += other.tokens.input;
        self.tokens.cached += other.tokens.cached;
        self.tokens.output += other.tokens.output;
        self.tokens.characters += other.tokens.characters;
        self.failures.iter_mut().zip(other.failures).for_each(|(sum, part)| *sum += part);
        self.verdicts.iter_mut().zip(other.verdicts).for_each(|(sum, part)| *sum += part);
        if let Some((first, last)) = other.ends {
            self.reach(first, last);
        }
        self.spreads.iter_mut().zip(&other.spreads).for_each(|(sum, part)| sum.merge(part));
    }

    pub(super) fn add(&mut self, probe: &Measured<'_>, gaps: &mut Deserializer) {
        self.probes += 1;
        self.suspects += u64::from(probe.suspect);
        self.reach(probe.at, probe.at);
        let failure = Failure::ALL.iter().position(|failure| outcome(*failure) == probe.outcome);
        let known = Verdict::ALL.iter().position(|known| Some(verdict(*known)) == probe.verdict);
        if let Some(place) = failure {
            self.failures[place] += 1;
        }
        if let Some(place) = known {
            self.verdicts[place] += 1;
        }
        let [input, cached, output] =
            probe.tokens.map(|tokens| tokens.map_or(0, |tokens| u64::try_from(tokens).unwrap_or(0)));
        self.tokens.input += input;
        self.tokens.cached += cached;
        self.tokens.output += output;
        if output > 0 {
            self.tokens.characters += u64::try_from(probe.characters).unwrap_or(0);
        }
        if probe.outcome != OK {
            return;
        }
        for (spread, micros) in self.spreads.iter_mut().zip(probe.durations) {
            if let Some(micros) = micros {
                spread.record(u64::try_from(micros).unwrap_or(0), 1);
            }
        }
        // What is no histogram shows no gaps; the other figures of the probe are as good as ever.
        if let Some(histogram) = probe.gaps.and_then(|mut bytes| gaps.deserialize::<u64, _>(&mut bytes).ok())
        {
            for gap in histogram.iter_recorded() {
                let middle = histogram.median_equivalent(gap.value_iterated_to());
                self.spreads[Figure::Itl as usize].record(middle, gap.count_at_value());
            }
        }
    }

    #[cfg(test)]
    pub(super) fn of<'a>(probes: impl IntoIterator<Item = &'a Measured<'a>>) -> Self {
        let mut tally = Self::default();
        let mut gaps = Deserializer::new();
        probes.into_iter().for_each(|probe| tally.add(probe, &mut gaps));
        tally
    }

    fn reach(&mut self, first: i64, last: i64) {
        let (from, to) = self.ends.unwrap_or((first, last));
        self.ends = Some((from.min(first), to.max(last)));
    }
}

impl Spread {
    pub fn count(&self) -> u64 {
        self.count
    }

    /// In seconds, as are all below.
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64 / 1e6)
    }

    pub fn max(&self) -> Option<f64> {
        (self.count > 0).then(|| self.max as f64 / 1e6)
    }

    /// By nearest rank; never more than the longest.
    pub fn quantile(&self, share: f64) -> Option<f64> {
        let micros = self.buckets.quantile(share)?.min(self.max);
        Some(seconds(i64::try_from(micros).unwrap_or(i64::MAX)))
    }

    /// How many were longer than the bound, within 0.1 % of it.
    pub fn above(&self, bound: Duration) -> u64 {
        self.buckets.above(micros(bound).unsigned_abs())
    }

    fn record(&mut self, micros: u64, count: u64) {
        self.count += count;
        self.sum = self.sum.saturating_add(micros.saturating_mul(count));
        self.max = self.max.max(micros);
        self.buckets.record(micros, count);
    }

    fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.sum = self.sum.saturating_add(other.sum);
        self.max = self.max.max(other.max);
        self.buckets.merge(&other.buckets);
    }
}

fn position<T: PartialEq>(all: &[T], one: &T) -> Option<usize> {
    all.iter().position(|other| other == one)
}

#[cfg(test)]
mod tests {
    use super::Measure::{AnswerTtft, ItlP99, Latency, Stall, Tpot, Ttft};
    use super::*;
    use crate::history::gaps::{Gap, Packer};

    const MS: i64 = 1000;

    fn good(at: i64, ttft: i64) -> Measured<'static> {
        let durations = [Some(ttft), None, Some(20 * MS), None, Some(25 * MS), Some(30 * MS), Some(900 * MS)];
        let tokens = [Some(300), None, Some(60)];
        let verdict = Some(verdict(Verdict::Right));
        Measured { at, verdict, tokens, characters: 250, durations, ..Measured::default() }
    }

    fn failed(at: i64, failure: Failure) -> Measured<'static> {
        Measured { outcome: outcome(failure), verdict: None, suspect: true, ..good(at, 7 * MS) }
    }

    #[test]
    fn a_tally_counts_everything_and_takes_durations_of_successes_alone() {
        let probes = [good(5, 100 * MS), good(3, 300 * MS), failed(9, Failure::Dns), failed(1, Failure::Dns)];
        let tally = Tally::of(&probes);
        assert_eq!((tally.probes, tally.failed(), tally.succeeded(), tally.suspects), (4, 2, 2, 2));
        assert_eq!((tally.failed_by(Failure::Dns), tally.failed_by(Failure::Tls)), (2, 0));
        assert_eq!((tally.judged(Verdict::Right), tally.judged(Verdict::Wrong)), (2, 0));
        assert_eq!(tally.tokens, TokenSums { input: 1200, cached: 0, output: 240, characters: 1000 });
        assert_eq!(tally.span(), Some((time_of(1), time_of(9))));
        let ttft = tally.spread(Figure::Ttft);
        assert_eq!((ttft.count(), ttft.mean(), ttft.max()), (2, Some(0.2), Some(0.3)));
        assert_eq!(ttft.above(Duration::from_millis(200)), 1);
        assert_eq!(
            (tally.spread(Figure::AnswerTtft).mean(), tally.spread(Figure::AnswerTtft).max()),
            (None, None)
        );
        for (figure, wanted) in [
            (Figure::Ttft, 0.1),
            (Figure::Tpot, 0.02),
            (Figure::ItlP99, 0.025),
            (Figure::Stall, 0.03),
            (Figure::Latency, 0.9),
        ] {
            let found = tally.spread(figure).quantile(0.5).unwrap();
            assert!((found / wanted - 1.0).abs() < 0.001, "{figure:?}: {found}");
        }
    }

    #[test]
    fn gaps_count_by_token_and_what_is_no_histogram_is_left_out() {
        let mut packer = Packer::new();
        let gaps = [Gap { micros: 10_000, tokens: 30 }, Gap { micros: 40_000, tokens: 10 }];
        let bytes = packer.pack(&gaps).unwrap().to_vec();
        let with = Measured { gaps: Some(&bytes), ..good(1, MS) };
        let broken = Measured { gaps: Some(b"nonsense"), ..good(2, MS) };
        let lost = Measured { gaps: Some(&bytes), ..failed(3, Failure::Truncated) };
        let tally = Tally::of([&with, &broken, &lost]);
        let itl = tally.spread(Figure::Itl);
        assert_eq!(itl.count(), 40);
        let near = |found: Option<f64>, wanted: f64| (found.unwrap() / wanted - 1.0).abs() < 0.01;
        assert!(near(itl.mean(), 0.0175) && near(itl.quantile(0.5), 0.01) && near(itl.max(), 0.04));
    }

    #[test]
    fn merging_two_is_adding_all() {
        let first: Vec<_> = (0..50).map(|n| good(100 - n, 90 * MS + 777 * n)).collect();
        let second: Vec<_> = (0..50).map(|n| failed(n, Failure::ALL[n as usize % 14])).collect();
        let mut merged = Tally::of(&first);
        merged.merge(&Tally::of(&second));
        assert_eq!(merged, Tally::of(first.iter().chain(&second)));
        let before = merged.clone();
        merged.merge(&Tally::default());
        assert_eq!(merged, before);
    }

    #[test]
    fn every_figure_is_at_its_place() {
        for (place, figure) in Figure::ALL.into_iter().enumerate() {
            assert_eq!(figure as usize, place, "{figure:?}");
        }
        for measure in [Ttft, AnswerTtft, Tpot, ItlP99, Stall, Latency] {
            assert_eq!(Figure::from(measure).name(), measure.name());
        }
    }
}
