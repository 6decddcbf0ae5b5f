//! Pushes to an OpenTelemetry collector by OTLP over HTTP: one span for each probe that is a trace, and the metrics.
//!
//! A collector that is slow, away or refusing is told in the log, and holds nothing up: spans wait in a bounded queue,
//! metrics are cumulative, and whoever reports a probe never waits.

mod aliases;
mod back_off;
mod conventions;
mod metrics;
mod narrator;
mod push;
mod queue;
mod resource;
mod send;
mod span;

use std::sync::Arc;
use std::time::Duration;

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::resource::v1::Resource;
use tokio::sync::watch;
use tokio::task::{JoinError, JoinHandle};
use tokio::time::timeout;

use crate::domain::{Collector, Report, clock};
use crate::record::Recorder;
use crate::schedule::desk::Consumer;
use aliases::Aliases;
use metrics::{Form, Points};
use push::Walk;
use queue::SpanQueue;
use send::Client;
pub use send::Unusable;

/// How long the last pushes may take when the daemon ends.
const LAST_PUSH: Duration = Duration::from_secs(5);

/// Takes reports, and pushes once it is started.
#[derive(Debug)]
pub struct Exporter {
    client: Arc<Client>,
    resource: Resource,
    interval: Duration,
    /// Whose metrics are pushed, if any are.
    recorder: Option<Arc<Recorder>>,
    intake: Arc<Intake>,
}

/// Is told of every probe.
#[derive(Debug)]
struct Intake {
    spans: Option<Arc<SpanQueue>>,
    aliases: Option<Aliases>,
}

/// The pushing of a running daemon.
#[derive(Debug)]
pub struct Pushing {
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Exporter {
    pub fn new(collector: &Collector, recorder: Arc<Recorder>) -> Result<Self, Unusable> {
        let aliases = collector.gen_ai_metrics.then(Aliases::default);
        Ok(Self {
            client: Arc::new(Client::new(Arc::new(collector.clone()))?),
            resource: resource::resource(collector),
            interval: collector.interval,
            recorder: collector.metrics.then_some(recorder),
            intake: Arc::new(Intake { spans: collector.traces.then(Arc::default), aliases }),
        })
    }

    /// Who must be told of finished probes.
    pub fn consumer(&self) -> Arc<dyn Consumer> {
        Arc::clone(&self.intake) as Arc<dyn Consumer>
    }

    /// Pushes on the present runtime.
    pub fn start(self) -> Pushing {
        let (stop, stopped) = watch::channel(false);
        let (client, resource) = (Arc::clone(&self.client), self.resource.clone());
        let (spans, end) = (self.intake.spans.clone(), stopped.clone());
        let spans = async move {
            if let Some(spans) = spans {
                push::spans(client, spans, resource, end).await;
            }
        };
        let metrics = async move {
            if self.recorder.is_some() || self.intake.aliases.is_some() {
                let (client, interval) = (Arc::clone(&self.client), self.interval);
                let walk: Arc<Walk> = Arc::new(move |send| self.walk(send));
                push::metrics(client, walk, interval, stopped).await;
            }
        };
        let task = tokio::spawn(async move {
            tokio::join!(spans, metrics);
        });
        Pushing { stop, task }
    }

    fn walk(&self, send: &mut dyn FnMut(ExportMetricsServiceRequest)) {
        let now = clock::wall_now();
        let is_native = self.recorder.as_ref().is_some_and(|r| r.exposure().histograms.has_native());
        let form = if is_native { Form::Exponential } else { Form::Explicit };
        let mut points = Points::new(&self.resource, form, now, send);
        if let Some(recorder) = &self.recorder {
            recorder.walk(&mut points);
        }
        if let Some(aliases) = &self.intake.aliases {
            aliases.show(&mut points, now);
        }
        points.finish();
    }
}

impl Pushing {
    /// Returns only if the pushing ended by a defect.
    pub async fn ended(&mut self) -> JoinError {
        match (&mut self.task).await {
            Err(error) => error,
            Ok(()) => std::future::pending().await,
        }
    }

    /// Pushes what waits, and ends. All probes must have been told.
    pub async fn finish(mut self) {
        let _ = self.stop.send(true);
        if !self.task.is_finished() && timeout(LAST_PUSH, &mut self.task).await.is_err() {
            tracing::warn!("the last push to the collector of [otlp] is abandoned");
            self.task.abort();
        }
    }
}

impl Consumer for Intake {
    fn on_report(&self, report: &Report) {
        if let Some(spans) = &self.spans
            && let Some(span) = span::of(report)
        {
            spans.put(span);
        }
        if let Some(aliases) = &self.aliases {
            aliases.take(report, clock::wall_now());
        }
    }
}
