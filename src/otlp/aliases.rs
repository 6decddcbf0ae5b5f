//! The client metrics of the GenAI conventions, with the bounds that these state: for those whose dashboards know no
//! other names.
//!
//! As in our own histograms, a suspect probe counts nowhere, and chunks count only of whole answers. A chunk is one that
//! carries generated text: one that only names a role says nothing about the model.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, SystemTime};

use opentelemetry_proto::tonic::common::v1::KeyValue;

use super::conventions::{common, text};
use super::metrics::{Form, Points};
use crate::domain::{Report, Target};
use crate::series::{Histogram, Layout};

const BOUNDS: [f64; 14] =
    [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];

/// Series of a target that is no longer watched go after this. A reload may replace a target by its equal.
const FORGOTTEN: Duration = Duration::from_secs(3600);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Alias {
    Duration,
    FirstChunk,
    PerChunk,
}

#[derive(Debug)]
pub(super) struct Aliases {
    layout: Arc<Layout>,
    series: Mutex<BTreeMap<Key, Series>>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    alias: Alias,
    target: Arc<str>,
    workload: Arc<str>,
    /// The label of a failure.
    error: Option<&'static str>,
}

#[derive(Debug)]
struct Series {
    attributes: Vec<KeyValue>,
    histogram: Histogram,
    target: Weak<Target>,
    /// When it last took a value.
    newest: SystemTime,
}

impl Default for Aliases {
    fn default() -> Self {
        Self { layout: Arc::new(Layout::new(BOUNDS.to_vec())), series: Mutex::default() }
    }
}

impl Aliases {
    pub(super) fn take(&self, report: &Report, now: SystemTime) {
        if report.suspect {
            return;
        }
        let error = report.fault.as_ref().map(|fault| fault.failure.label());
        self.observe(Alias::Duration, error, report, report.sample.latency.into_iter(), now);
        if report.target.stream && report.succeeded() {
            self.observe(Alias::FirstChunk, None, report, report.sample.ttft.into_iter(), now);
            let deltas = &report.timeline.deltas;
            let gaps = deltas.windows(2).map(|pair| pair[1].at.saturating_duration_since(pair[0].at));
            self.observe(Alias::PerChunk, None, report, gaps, now);
        }
    }

    fn observe(
        &self,
        alias: Alias,
        error: Option<&'static str>,
        report: &Report,
        durations: impl Iterator<Item = Duration>,
        now: SystemTime,
    ) {
        let mut durations = durations.peekable();
        if durations.peek().is_none() {
            return;
        }
        let (target, workload) = (Arc::clone(&report.target.name), Arc::clone(&report.workload.name));
        let key = Key { alias, target, workload, error };
        let mut all = self.series.lock().unwrap_or_else(PoisonError::into_inner);
        let new = || self.begin(report, error, now);
        let series = all.entry(key).or_insert_with(new);
        if series.target.as_ptr() != Arc::as_ptr(&report.target) {
            // The name may stand for another server now: then it is another series.
            let fresh = self.begin(report, error, now);
            if fresh.attributes == series.attributes {
                series.target = fresh.target;
            } else {
                *series = fresh;
            }
        }
        series.newest = now;
        for duration in durations {
            series.histogram.observe(duration.as_secs_f64(), 1);
        }
    }

    fn begin(&self, report: &Report, error: Option<&'static str>, now: SystemTime) -> Series {
        let mut attributes = common(&report.target);
        attributes.push(text("sloprobe.target", &*report.target.name));
        attributes.push(text("sloprobe.workload", &*report.workload.name));
        attributes.extend(error.map(|error| text("error.type", error)));
        Series {
            attributes,
            histogram: Histogram::new(&self.layout, now),
            target: Arc::downgrade(&report.target),
            newest: now,
        }
    }

    pub(super) fn show(&self, points: &mut Points<'_>, now: SystemTime) {
        let mut all = self.series.lock().unwrap_or_else(PoisonError::into_inner);
        let is_old = |series: &Series| now.duration_since(series.newest).is_ok_and(|age| age > FORGOTTEN);
        all.retain(|_, series| series.target.strong_count() > 0 || !is_old(series));
        let mut shown = None;
        for (key, series) in &*all {
            if shown.replace(key.alias) != Some(key.alias) {
                points.open(key.alias.name(), key.alias.help(), "s");
            }
            points.histogram(series.attributes.clone(), &series.histogram, Form::Explicit);
        }
    }
}

impl Alias {
    fn name(self) -> &'static str {
        match self {
            Self::Duration => "gen_ai.client.operation.duration",
            Self::FirstChunk => "gen_ai.client.operation.time_to_first_chunk",
            Self::PerChunk => "gen_ai.client.operation.time_per_output_chunk",
        }
    }

    fn help(self) -> &'static str {
        match self {
            Self::Duration => "How long the whole operation took.",
            Self::FirstChunk => "From the request to the first chunk with generated text.",
            Self::PerChunk => "From one chunk with generated text to the next.",
        }
    }
}

#[cfg(test)]
mod tests {
    use opentelemetry_proto::tonic::metrics::v1::HistogramDataPoint;
    use opentelemetry_proto::tonic::metrics::v1::metric::Data;
    use opentelemetry_proto::tonic::resource::v1::Resource;

    use super::*;
    use crate::domain::{Channel, Delta, Failure, Sample, fixture};

    const MS: Duration = Duration::from_millis(1);
    const NOW: SystemTime = SystemTime::UNIX_EPOCH;

    fn report(target: &Arc<Target>, fault: Option<Failure>) -> Report {
        let sample = Sample { ttft: Some(30 * MS), latency: Some(500 * MS), ..Sample::default() };
        let mut report = fixture::report(target, sample, fault.map(|failure| failure.because("x")));
        let start = report.timeline.started;
        report.timeline.deltas =
            [30, 45, 145].map(|ms| Delta::new(start + ms * MS, Channel::Answer)).to_vec();
        report
    }

    fn shown(aliases: &Aliases, now: SystemTime) -> Vec<(String, HistogramDataPoint)> {
        let (resource, mut found) = (Resource::default(), Vec::new());
        let mut send =
            |request: opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest| {
                for metric in &request.resource_metrics[0].scope_metrics[0].metrics {
                    let Some(Data::Histogram(histogram)) = &metric.data else { panic!("{metric:?}") };
                    let points = histogram.data_points.iter().cloned();
                    found.extend(points.map(|point| (metric.name.clone(), point)));
                }
            };
        let mut points = Points::new(&resource, Form::Exponential, now, &mut send);
        aliases.show(&mut points, now);
        points.finish();
        found
    }

    #[test]
    fn a_probe_is_one_operation_and_its_chunks() {
        let aliases = Aliases::default();
        aliases.take(&report(&fixture::target("t", &["w"]), None), NOW);
        let shown = shown(&aliases, NOW);
        let counts: Vec<_> = shown.iter().map(|(name, point)| (name.as_str(), point.count)).collect();
        let expected = [
            ("gen_ai.client.operation.duration", 1),
            ("gen_ai.client.operation.time_to_first_chunk", 1),
            ("gen_ai.client.operation.time_per_output_chunk", 2),
        ];
        assert_eq!(counts, expected);
        assert_eq!(shown[2].1.explicit_bounds, BOUNDS);
        assert_eq!(shown[2].1.bucket_counts[..5], [0, 1, 0, 0, 1], "15 and 100 ms");
    }

    #[test]
    fn a_failure_counts_as_an_operation_of_its_kind_and_a_suspect_probe_not_at_all() {
        let (aliases, target) = (Aliases::default(), fixture::target("t", &["w"]));
        aliases.take(&report(&target, Some(Failure::TimeoutStall)), NOW);
        aliases.take(&Report { suspect: true, ..report(&target, None) }, NOW);
        let shown = shown(&aliases, NOW);
        assert_eq!(shown.len(), 1, "{shown:?}");
        assert!(shown[0].1.attributes.contains(&text("error.type", "timeout_stall")));
    }

    #[test]
    fn a_target_that_is_replaced_goes_on_and_one_that_left_is_forgotten() {
        let aliases = Aliases::default();
        for model in ["tiny", "tiny", "large"] {
            let target = Target { model: model.into(), ..(*fixture::target("t", &["w"])).clone() };
            aliases.take(&report(&Arc::new(target), None), NOW);
        }
        let counts = |now| shown(&aliases, now).iter().map(|(_, point)| point.count).collect::<Vec<_>>();
        assert_eq!(counts(NOW), [1, 1, 2], "another model begins anew");
        assert_eq!(counts(NOW + FORGOTTEN), [1, 1, 2]);
        assert_eq!(counts(NOW + FORGOTTEN + MS), [0; 0]);
    }
}
