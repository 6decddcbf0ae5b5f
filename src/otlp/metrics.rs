//! The metrics in OTLP: the same families and series as at `/metrics`, under the same names, cumulative.

use std::time::{Duration, SystemTime};

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::metrics::v1::exemplar::Value as ExampleValue;
use opentelemetry_proto::tonic::metrics::v1::exponential_histogram_data_point::Buckets;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::number_data_point::Value as Number;
use opentelemetry_proto::tonic::metrics::v1::{
    AggregationTemporality, Exemplar as Example, ExponentialHistogram, ExponentialHistogramDataPoint, Gauge,
    Histogram as ExplicitHistogram, HistogramDataPoint, Metric, NumberDataPoint, ResourceMetrics,
    ScopeMetrics, Sum,
};
use opentelemetry_proto::tonic::resource::v1::Resource;

use super::conventions::text;
use super::resource::scope;
use super::span::unix_nanos;
use crate::series::{Exemplar, Histogram, Labels, Meta, Native, Value, Writer, ZERO_THRESHOLD};

/// The most points of one request: collectors refuse bodies of more than some megabytes.
const MOST_POINTS: usize = 5000;

const CUMULATIVE: i32 = AggregationTemporality::Cumulative as i32;

/// Which form a histogram takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Buckets with given bounds.
    Explicit,
    /// Buckets that follow from the values.
    Exponential,
}

/// Collects points into requests, and hands over each that is full.
pub(super) struct Points<'a> {
    resource: &'a Resource,
    form: Form,
    now: u64,
    send: &'a mut dyn FnMut(ExportMetricsServiceRequest),
    /// Of the present request.
    metrics: Vec<Metric>,
    count: usize,
    /// The present family, without points.
    family: Metric,
    /// The last of `metrics` is of the present family.
    is_open: bool,
}

impl<'a> Points<'a> {
    pub(super) fn new(
        resource: &'a Resource,
        form: Form,
        now: SystemTime,
        send: &'a mut dyn FnMut(ExportMetricsServiceRequest),
    ) -> Self {
        let now = unix_nanos(now);
        let family = Metric::default();
        Self { resource, form, now, send, metrics: Vec::new(), count: 0, family, is_open: false }
    }

    /// What follows belongs to this family.
    pub(super) fn open(&mut self, name: &str, help: &str, unit: &str) {
        self.family = Metric {
            name: name.to_owned(),
            description: help.to_owned(),
            unit: unit.to_owned(),
            ..Metric::default()
        };
        self.is_open = false;
    }

    pub(super) fn histogram(&mut self, attributes: Vec<KeyValue>, histogram: &Histogram, form: Form) {
        let (start, now) = (unix_nanos(histogram.created()), self.now);
        match form {
            Form::Explicit => {
                let empty = || {
                    let aggregation_temporality = CUMULATIVE;
                    Data::Histogram(ExplicitHistogram { aggregation_temporality, ..Default::default() })
                };
                if let Some(Data::Histogram(family)) = self.data(empty) {
                    family.data_points.push(explicit(attributes, histogram, start, now));
                }
            }
            Form::Exponential => {
                let empty = || {
                    let aggregation_temporality = CUMULATIVE;
                    Data::ExponentialHistogram(ExponentialHistogram {
                        aggregation_temporality,
                        ..Default::default()
                    })
                };
                if let Some(Data::ExponentialHistogram(family)) = self.data(empty) {
                    family.data_points.push(exponential(attributes, histogram, start, now));
                }
            }
        }
        self.added();
    }

    fn counter(&mut self, attributes: Vec<KeyValue>, count: f64, created: Option<SystemTime>) {
        let point = self.number(attributes, count, created);
        let empty = || {
            Data::Sum(Sum { aggregation_temporality: CUMULATIVE, is_monotonic: true, ..Default::default() })
        };
        if let Some(Data::Sum(family)) = self.data(empty) {
            family.data_points.push(point);
        }
        self.added();
    }

    fn gauge(&mut self, attributes: Vec<KeyValue>, value: f64) {
        let point = self.number(attributes, value, None);
        if let Some(Data::Gauge(family)) = self.data(|| Data::Gauge(Gauge::default())) {
            family.data_points.push(point);
        }
        self.added();
    }

    fn number(&self, attributes: Vec<KeyValue>, value: f64, created: Option<SystemTime>) -> NumberDataPoint {
        NumberDataPoint {
            attributes,
            // Zero is "not known".
            start_time_unix_nano: created.map_or(0, unix_nanos),
            time_unix_nano: self.now,
            value: Some(Number::AsDouble(value)),
            ..NumberDataPoint::default()
        }
    }

    /// The points of the present family in the present request.
    fn data(&mut self, empty: impl FnOnce() -> Data) -> Option<&mut Data> {
        if !self.is_open {
            self.metrics.push(Metric { data: Some(empty()), ..self.family.clone() });
            self.is_open = true;
        }
        self.metrics.last_mut()?.data.as_mut()
    }

    fn added(&mut self) {
        self.count += 1;
        if self.count >= MOST_POINTS {
            self.hand_over();
        }
    }

    /// Hands over the last request, if there is something in it.
    pub(super) fn finish(mut self) {
        self.hand_over();
    }

    fn hand_over(&mut self) {
        if std::mem::take(&mut self.count) == 0 {
            return;
        }
        self.is_open = false;
        let metrics = std::mem::take(&mut self.metrics);
        let scope_metrics = vec![ScopeMetrics { scope: Some(scope()), metrics, ..ScopeMetrics::default() }];
        let resource = Some(self.resource.clone());
        let metrics = ResourceMetrics { resource, scope_metrics, ..ResourceMetrics::default() };
        (self.send)(ExportMetricsServiceRequest { resource_metrics: vec![metrics] });
    }
}

impl Writer for Points<'_> {
    fn family(&mut self, family: Meta<'_>) {
        self.open(family.name, family.help, unit(family.name));
    }

    fn series(&mut self, own: &[(&str, &str)], shared: &Labels, value: Value<'_>) {
        let labels = own.iter().copied().chain(shared.pairs());
        let attributes = labels.map(|(name, value)| text(name, value)).collect();
        match value {
            Value::Counter { count, created, .. } => self.counter(attributes, count, created),
            Value::Gauge(value) => self.gauge(attributes, value),
            Value::Histogram(histogram) => self.histogram(attributes, histogram, self.form),
        }
    }
}

/// In OpenTelemetry's words, where the name states one; a receiver that appends units finds it in the name already.
fn unit(name: &str) -> &'static str {
    let name = name.trim_end_matches("_total");
    if name.ends_with("_seconds") {
        "s"
    } else if name.ends_with("_bytes") {
        "By"
    } else {
        ""
    }
}

fn explicit(attributes: Vec<KeyValue>, histogram: &Histogram, start: u64, now: u64) -> HistogramDataPoint {
    let mut below = 0;
    let bucket_counts =
        histogram.cumulative().map(|(_, count, _)| count - std::mem::replace(&mut below, count));
    HistogramDataPoint {
        bucket_counts: bucket_counts.collect(),
        explicit_bounds: histogram.layout().bounds().to_vec(),
        attributes,
        start_time_unix_nano: start,
        time_unix_nano: now,
        count: histogram.count(),
        sum: Some(histogram.sum()),
        exemplars: exemplars(histogram, now),
        ..HistogramDataPoint::default()
    }
}

fn exponential(
    attributes: Vec<KeyValue>,
    histogram: &Histogram,
    start: u64,
    now: u64,
) -> ExponentialHistogramDataPoint {
    let native = histogram.native();
    ExponentialHistogramDataPoint {
        attributes,
        start_time_unix_nano: start,
        time_unix_nano: now,
        count: histogram.count(),
        sum: Some(histogram.sum()),
        scale: native.schema(),
        zero_count: native.zeros(),
        zero_threshold: ZERO_THRESHOLD,
        positive: Some(buckets(native)),
        exemplars: exemplars(histogram, now),
        ..ExponentialHistogramDataPoint::default()
    }
}

/// Recent probes that are traces; others have no place in OTLP to be found by.
fn exemplars(histogram: &Histogram, now: u64) -> Vec<Example> {
    let now = SystemTime::UNIX_EPOCH + Duration::from_nanos(now);
    let recent = histogram.exemplars().filter(|one| one.is_fresh(now));
    let example = |one: &Exemplar| {
        Some(Example {
            trace_id: one.trace?.bytes().to_vec(),
            span_id: one.probe.number().to_be_bytes().to_vec(),
            time_unix_nano: unix_nanos(one.at),
            value: Some(ExampleValue::AsDouble(one.value)),
            ..Example::default()
        })
    };
    recent.filter_map(example).collect()
}

/// All buckets from the first with a value to the last. Prometheus numbers a bucket by its upper end, OTLP by its lower.
fn buckets(native: &Native) -> Buckets {
    let spans = native.spans();
    let Some(first) = spans.first().map(|span| span.first) else { return Buckets::default() };
    let mut bucket_counts = Vec::new();
    for span in &spans {
        bucket_counts.resize((span.first - first) as usize, 0);
        bucket_counts.extend_from_slice(span.counts);
    }
    Buckets { offset: first - 1, bucket_counts }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;
    use crate::domain::{ProbeId, TraceId};
    use crate::series::Layout;

    fn observed(values: &[f64]) -> Histogram {
        let mut histogram = Histogram::new(&Arc::new(Layout::new(vec![0.1, 1.0])), SystemTime::UNIX_EPOCH);
        for &value in values {
            histogram.observe(value, 1);
        }
        histogram
    }

    #[test]
    fn explicit_buckets_are_counted_each_for_itself() {
        let point = explicit(Vec::new(), &observed(&[0.05, 0.1, 0.5, 7.0]), 1, 2);
        assert_eq!(point.bucket_counts, [2, 1, 1]);
        assert_eq!(point.explicit_bounds, [0.1, 1.0]);
        assert_eq!(point.count, 4);
    }

    #[test]
    fn a_value_lies_between_the_ends_that_otlp_gives_its_exponential_bucket() {
        for value in [0.003, 0.25, 0.3, 1.0, 1.5, 9.0] {
            let point = exponential(Vec::new(), &observed(&[value]), 1, 2);
            let Buckets { offset, bucket_counts } = point.positive.unwrap();
            assert_eq!(bucket_counts, [1]);
            let base = (-f64::from(point.scale)).exp2().exp2();
            let (lower, upper) = (base.powi(offset), base.powi(offset + 1));
            assert!(
                lower < value * (1.0 + 1e-12) && value <= upper * (1.0 + 1e-12),
                "{lower} {value} {upper}"
            );
        }
    }

    #[test]
    fn empty_exponential_buckets_between_others_are_told() {
        let point = exponential(Vec::new(), &observed(&[1.0, 4.0, 0.0]), 1, 2);
        let counts = point.positive.unwrap().bucket_counts;
        assert_eq!((counts.len(), counts.iter().sum::<u64>(), point.zero_count), (33, 2, 1));
        assert_eq!((counts[0], counts[32], point.count), (1, 1, 3));
    }

    #[test]
    fn a_recent_probe_that_is_a_trace_is_an_exemplar() {
        let mut histogram = observed(&[]);
        let at = SystemTime::UNIX_EPOCH + Duration::from_secs(1000);
        let probe = ProbeId::from_number(7);
        let observe = |histogram: &mut Histogram, value, trace| {
            histogram.observe_probe(Exemplar { probe, trace, value, at });
        };
        observe(&mut histogram, 0.05, TraceId::from_bytes([9; 16]));
        observe(&mut histogram, 0.5, None);
        let found = |seconds| exemplars(&histogram, unix_nanos(at + Duration::from_secs(seconds)));
        assert_eq!(found(0).len(), 1, "the other has no trace");
        assert_eq!(
            (&*found(0)[0].trace_id, &*found(0)[0].span_id),
            (&[9; 16][..], &[0, 0, 0, 0, 0, 0, 0, 7][..])
        );
        assert_eq!(found(301), []);
    }

    #[test]
    fn requests_are_of_bounded_size_and_lose_nothing() {
        let resource = Resource::default();
        let mut requests = Vec::new();
        let mut send = |request| requests.push(request);
        let mut points = Points::new(&resource, Form::Explicit, SystemTime::UNIX_EPOCH, &mut send);
        for name in ["a_seconds", "b_bytes_total"] {
            points.open(name, "help", unit(name));
            for number in 0..MOST_POINTS - 100 {
                points.gauge(vec![text("number", number.to_string())], 1.0);
            }
        }
        points.finish();
        let shape: Vec<Vec<_>> = requests
            .iter()
            .map(|request| {
                let metrics = &request.resource_metrics[0].scope_metrics[0].metrics;
                let count = |metric: &Metric| match &metric.data {
                    Some(Data::Gauge(gauge)) => gauge.data_points.len(),
                    other => panic!("{other:?}"),
                };
                metrics.iter().map(|m| (m.name.as_str(), m.unit.as_str(), count(m))).collect()
            })
            .collect();
        let all = MOST_POINTS - 100;
        assert_eq!(shape[0], [("a_seconds", "s", all), ("b_bytes_total", "By", 100)]);
        assert_eq!(shape[1], [("b_bytes_total", "By", all - 100)]);
        assert_eq!(shape.len(), 2);
    }
}
