//! `io.prometheus.client.MetricFamily`, each after its length: the only format with native histograms.
//!
//! The fields are few and fixed, and a family is written as it is walked, so no message is built in memory first.

mod message;

use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;

use super::compress::Packer;
use crate::catalogue::Kind;
use crate::domain::Histograms;
use crate::domain::clock;
use crate::series::{Exemplar, Histogram, Labels, Meta, Native, Value, Writer, ZERO_THRESHOLD};
use message::Message;

/// A native histogram has so many exemplars at most, the newest.
const MOST_EXEMPLARS: usize = 4;

pub(super) struct Protobuf<S: FnMut(Bytes)> {
    histograms: Histograms,
    packer: Packer<S>,
    /// The present family: its head, and its series so far.
    family: Message,
    has_series: bool,
    now: SystemTime,
}

impl<S: FnMut(Bytes)> Protobuf<S> {
    pub(super) fn new(histograms: Histograms, packer: Packer<S>) -> Self {
        let now = clock::wall_now();
        Self { histograms, packer, family: Message::default(), has_series: false, now }
    }

    pub(super) fn finish(mut self) {
        self.end_family();
        self.packer.finish();
    }

    fn end_family(&mut self) {
        if std::mem::take(&mut self.has_series) {
            self.packer.push(self.family.length().bytes());
            self.packer.push(self.family.bytes());
        }
        self.family.clear();
    }

    fn histogram(&self, histogram: &Histogram) -> Message {
        let mut message = Message::default();
        message.number(1, histogram.count());
        message.double(2, histogram.sum());
        if self.histograms.has_classic() {
            for (bound, count, exemplar) in histogram.cumulative() {
                // +Inf is the count, and need not be told, unless it has something more to tell.
                let exemplar = exemplar.filter(|exemplar| exemplar.is_fresh(self.now));
                if bound.is_finite() || exemplar.is_some() {
                    message.message(3, &bucket(bound, count, exemplar));
                }
            }
        }
        if self.histograms.has_native() {
            native(&mut message, histogram.native());
        }
        message.message(15, &timestamp(histogram.created()));
        if self.histograms.has_native() {
            let mut newest: Vec<_> = histogram.exemplars().filter(|e| e.is_fresh(self.now)).collect();
            newest.sort_by_key(|exemplar| exemplar.at);
            for exemplar in newest.iter().rev().take(MOST_EXEMPLARS).rev() {
                message.message(16, &self::exemplar(exemplar));
            }
        }
        message
    }
}

impl<S: FnMut(Bytes)> Writer for Protobuf<S> {
    fn family(&mut self, family: Meta<'_>) {
        self.end_family();
        self.family.text(1, family.name);
        self.family.text(2, family.help);
        let kind = match family.kind {
            Kind::Counter => 0,
            Kind::Gauge => 1,
            Kind::Histogram(_) => 4,
        };
        self.family.number(3, kind);
    }

    fn series(&mut self, own: &[(&str, &str)], shared: &Labels, value: Value<'_>) {
        self.has_series = true;
        let mut metric = Message::default();
        for (name, value) in own.iter().copied().chain(shared.pairs()) {
            metric.message(1, &label(name, value));
        }
        match value {
            Value::Gauge(value) => {
                let mut gauge = Message::default();
                gauge.double(1, value);
                metric.message(2, &gauge);
            }
            Value::Counter { count, created, exemplar } => {
                let mut counter = Message::default();
                counter.double(1, count);
                if let Some(exemplar) = exemplar.filter(|exemplar| exemplar.is_fresh(self.now)) {
                    counter.message(2, &self::exemplar(exemplar));
                }
                if let Some(created) = created {
                    counter.message(3, &timestamp(created));
                }
                metric.message(3, &counter);
            }
            Value::Histogram(histogram) => metric.message(7, &self.histogram(histogram)),
        }
        self.family.message(4, &metric);
    }
}

fn label(name: &str, value: &str) -> Message {
    let mut label = Message::default();
    label.text(1, name);
    label.text(2, value);
    label
}

fn bucket(bound: f64, count: u64, exemplar: Option<&Exemplar>) -> Message {
    let mut bucket = Message::default();
    bucket.number(1, count);
    bucket.double(2, bound);
    if let Some(exemplar) = exemplar {
        bucket.message(3, &self::exemplar(exemplar));
    }
    bucket
}

fn exemplar(exemplar: &Exemplar) -> Message {
    let mut message = Message::default();
    for (name, value) in exemplar.labels() {
        message.message(1, &label(name, &value));
    }
    message.double(2, exemplar.value);
    message.message(3, &timestamp(exemplar.at));
    message
}

/// `google.protobuf.Timestamp`, to the millisecond: Prometheus keeps no more.
fn timestamp(at: SystemTime) -> Message {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    let mut message = Message::default();
    message.number(1, since.as_secs());
    if since.subsec_millis() > 0 {
        message.number(2, u64::from(since.subsec_millis()) * 1_000_000);
    }
    message
}

fn native(message: &mut Message, native: &Native) {
    message.signed(5, i64::from(native.schema()));
    message.double(6, ZERO_THRESHOLD);
    message.number(7, native.zeros());
    let spans = native.spans();
    if spans.is_empty() {
        // By a span of no buckets an empty native histogram is told from a classic one.
        return message.message(12, &span(0, 0));
    }
    let mut end = 0;
    for found in &spans {
        message.message(12, &span(found.first - end, found.counts.len()));
        end = found.end();
    }
    let counts: Vec<i64> =
        spans.iter().flat_map(|span| span.counts).map(|count| count.cast_signed()).collect();
    let before = [0].into_iter().chain(counts.iter().copied());
    message.packed_signed(13, counts.iter().zip(before).map(|(count, before)| count - before));
}

fn span(offset: i32, length: usize) -> Message {
    let mut span = Message::default();
    span.signed(1, i64::from(offset));
    span.number(2, length as u64);
    span
}
