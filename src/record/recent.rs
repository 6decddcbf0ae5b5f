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

use crate::domain::{Report, Sample, Target, Workload};

/// How long, and how many at most, samples of one target's workload are kept.
const KEPT_FOR: Duration = Duration::from_secs(3600);
const KEPT_AT_MOST: usize = 4096;

/// Three significant digits: within 0.1 %.
const DIGITS: u8 = 3;

#[derive(Debug, Default)]
pub struct Recent {
    places: HashMap<(Arc<str>, Arc<str>), VecDeque<Kept>>,
}

#[derive(Debug)]
struct Kept {
    at: Instant,
    failed: bool,
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
        // An auto-resizing histogram takes any value; 0 is below what it can tell from nothing.
        let micros = u64::try_from(value.as_micros()).unwrap_or(u64::MAX).max(1);
        histogram.saturating_record_n(micros, count);
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
