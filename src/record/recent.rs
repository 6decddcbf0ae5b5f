//! The samples of the last hour, for exact quantiles over any sliding window.
//!
//! Buckets of Prometheus answer for weeks, within a bucket's width; a person at a terminal wants the exact
//! numbers of the last minutes. Gaps between tokens are kept as one serialized HDR histogram per probe.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2Serializer};
use tokio::time::Instant;

use crate::domain::{Report, Sample, Target, Verdict, Workload};

/// How long, and how many at most, samples of one target's workload are kept.
const KEPT_FOR: Duration = Duration::from_secs(3600);
const KEPT_AT_MOST: usize = 4096;

/// Three significant digits: within 0.1 %.
const DIGITS: u8 = 3;

/// No wait is longer than an hour; the bound keeps a histogram small whatever a clock does.
const LONGEST_MICROS: u64 = 2 * 3600 * 1_000_000;

#[derive(Debug, Default)]
pub struct Recent {
    places: HashMap<(Arc<str>, Arc<str>), VecDeque<Kept>>,
}

#[derive(Debug)]
struct Kept {
    at: Instant,
    failed: bool,
    verdict: Option<Verdict>,
    ttft: Option<Duration>,
    tpot: Option<Duration>,
    stall: Option<Duration>,
    latency: Option<Duration>,
    itl: Vec<u8>,
}

/// What one target's workload showed in a window of time.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Window {
    pub probes: usize,
    pub failures: usize,
    /// Answers that could be judged, and those of them that were right.
    pub judged: usize,
    pub right: usize,
    pub ttft: Option<Quantiles>,
    pub tpot: Option<Quantiles>,
    pub itl: Option<Quantiles>,
    pub stall: Option<Quantiles>,
    pub latency: Option<Quantiles>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quantiles {
    pub p50: Duration,
    pub p90: Duration,
    pub p95: Duration,
    pub p99: Duration,
    pub max: Duration,
}

impl Recent {
    pub(super) fn add(&mut self, report: &Report, now: Instant) {
        let succeeded = report.succeeded();
        let whole = |value: Option<Duration>| value.filter(|_| succeeded);
        let sample = &report.sample;
        let kept = Kept {
            at: now,
            failed: !succeeded,
            verdict: report.verdict,
            ttft: whole(sample.ttft),
            tpot: whole(sample.tpot),
            stall: whole(sample.stall),
            latency: whole(sample.latency),
            itl: if succeeded { pack(sample) } else { Vec::new() },
        };
        let place = (report.target.name.clone(), report.workload.name.clone());
        let samples = self.places.entry(place).or_default();
        samples.push_back(kept);
        while samples.len() > KEPT_AT_MOST || samples.front().is_some_and(|old| now - old.at > KEPT_FOR) {
            samples.pop_front();
        }
    }

    pub(super) fn window(&self, target: &Target, workload: &Workload, since: Instant) -> Window {
        let place = (target.name.clone(), workload.name.clone());
        let samples = || self.places.get(&place).into_iter().flatten().filter(|kept| kept.at >= since);
        let of = |field: fn(&Kept) -> Option<Duration>| {
            Quantiles::of(&collect(samples().filter_map(field).map(|value| (value, 1))))
        };
        Window {
            probes: samples().count(),
            failures: samples().filter(|kept| kept.failed).count(),
            judged: samples().filter(|kept| kept.verdict.is_some_and(|v| v != Verdict::Unchecked)).count(),
            right: samples().filter(|kept| kept.verdict == Some(Verdict::Right)).count(),
            ttft: of(|kept| kept.ttft),
            tpot: of(|kept| kept.tpot),
            itl: Quantiles::of(&unpack(samples().map(|kept| kept.itl.as_slice()))),
            stall: of(|kept| kept.stall),
            latency: of(|kept| kept.latency),
        }
    }
}

impl Quantiles {
    /// The quantiles of the gaps of one answer.
    pub fn of_gaps(sample: &Sample) -> Option<Self> {
        Self::of(&gaps(sample))
    }

    fn of(histogram: &Histogram<u64>) -> Option<Self> {
        let at = |q: f64| Duration::from_micros(histogram.value_at_quantile(q));
        (!histogram.is_empty()).then(|| Self {
            p50: at(0.5),
            p90: at(0.9),
            p95: at(0.95),
            p99: at(0.99),
            max: at(1.0),
        })
    }
}

fn collect(values: impl Iterator<Item = (Duration, u64)>) -> Histogram<u64> {
    let mut histogram = empty();
    for (value, count) in values {
        // A histogram cannot tell 0 from 1, and an hour is the longest wait there is.
        let micros = (value.as_micros() as u64).clamp(1, LONGEST_MICROS);
        histogram.record_n(micros, count).expect("an auto-resizing histogram takes any value");
    }
    histogram
}

fn gaps(sample: &Sample) -> Histogram<u64> {
    collect(sample.itl.iter().map(|gap| (gap.per_token, u64::from(gap.tokens))))
}

fn pack(sample: &Sample) -> Vec<u8> {
    let mut bytes = Vec::new();
    if !sample.itl.is_empty() {
        let written = V2Serializer::new().serialize(&gaps(sample), &mut bytes);
        written.expect("a vector takes any bytes, and its size fits the memory it is in");
    }
    bytes
}

fn unpack<'a>(packed: impl Iterator<Item = &'a [u8]>) -> Histogram<u64> {
    let mut all = empty();
    let mut reader = Deserializer::new();
    for mut bytes in packed.filter(|bytes| !bytes.is_empty()) {
        let one: Histogram<u64> = reader.deserialize(&mut bytes).expect("written by pack");
        all.add(one).expect("an auto-resizing histogram takes any other");
    }
    all
}

fn empty() -> Histogram<u64> {
    Histogram::new(DIGITS).expect("three digits are within what HDR histograms offer")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::sample::Itl;
    use crate::domain::{Failure, fixture};

    const MS: Duration = Duration::from_millis(1);

    fn close(value: Duration, expected: Duration) -> bool {
        (value.as_secs_f64() / expected.as_secs_f64() - 1.0).abs() < 0.001
    }

    #[test]
    fn quantiles_are_exact_to_a_thousandth_over_any_window() {
        let target = fixture::target("t", &["w"]);
        let start = Instant::now();
        let mut recent = Recent::default();
        for second in 1..=1000_u32 {
            let sample = Sample {
                ttft: Some(MS * second),
                itl: vec![Itl { per_token: MS * second, tokens: 3 }],
                ..Sample::default()
            };
            recent.add(&fixture::report(&target, sample, None), start + second * 1000 * MS);
        }
        let workload = &target.mix[0].workload;
        let window = recent.window(&target, workload, start + 501 * 1000 * MS);
        assert_eq!((window.probes, window.failures), (500, 0));
        for quantiles in [window.ttft.unwrap(), window.itl.unwrap()] {
            assert!(close(quantiles.p50, 750 * MS), "{quantiles:?}");
            assert!(close(quantiles.p99, 995 * MS), "{quantiles:?}");
            assert!(close(quantiles.max, 1000 * MS), "{quantiles:?}");
        }
        assert_eq!(window.tpot, None);
    }

    #[test]
    fn failures_count_and_leave_the_quantiles_alone() {
        let target = fixture::target("t", &["w"]);
        let now = Instant::now();
        let mut recent = Recent::default();
        let sample = Sample { ttft: Some(MS), ..Sample::default() };
        let fault = Failure::Truncated.because("cut");
        recent.add(&fixture::report(&target, sample, Some(fault)), now);
        let window = recent.window(&target, &target.mix[0].workload, now);
        assert_eq!((window.probes, window.failures, window.ttft), (1, 1, None));
    }

    #[test]
    fn what_is_kept_is_bounded_in_time_and_number() {
        let target = fixture::target("t", &["w"]);
        let start = Instant::now();
        let mut recent = Recent::default();
        let report = fixture::report(&target, Sample::default(), None);
        for _ in 0..KEPT_AT_MOST + 10 {
            recent.add(&report, start);
        }
        let kept = |recent: &Recent| recent.window(&target, &target.mix[0].workload, start).probes;
        assert_eq!(kept(&recent), KEPT_AT_MOST);
        recent.add(&report, start + KEPT_FOR + MS);
        assert_eq!(kept(&recent), 1);
    }

    #[test]
    fn the_gaps_of_a_long_answer_are_kept_in_little_room() {
        let itl = (0..1500).map(|i| Itl { per_token: MS * 20 + MS / 1000 * (i * 7 % 4000), tokens: 1 });
        let sample = Sample { itl: itl.collect(), ..Sample::default() };
        assert!(pack(&sample).len() < 3000, "{}", pack(&sample).len());
    }
}
