//! Pushes to an OpenTelemetry collector by OTLP over HTTP: one span for each probe that is a trace, and the metrics.
//!
//! A collector that is slow, away or refusing is told in the log, and holds nothing up: spans wait in a bounded queue,
//! metrics are cumulative, and whoever reports a probe never waits.

mod back_off;
mod conventions;
mod narrator;
mod push;
mod queue;
mod resource;
mod send;
mod span;

use std::sync::Arc;
use std::time::Duration;

use opentelemetry_proto::tonic::resource::v1::Resource;
use tokio::sync::watch;
use tokio::task::{JoinError, JoinHandle};
use tokio::time::timeout;

use crate::domain::{Collector, Report};
use crate::schedule::desk::Consumer;
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
    spans: Arc<SpanQueue>,
}

/// Is told of every probe.
#[derive(Debug)]
struct Intake {
    spans: Arc<SpanQueue>,
}

/// The pushing of a running daemon.
#[derive(Debug)]
pub struct Pushing {
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Exporter {
    pub fn new(collector: &Collector) -> Result<Self, Unusable> {
        let client = Arc::new(Client::new(Arc::new(collector.clone()))?);
        Ok(Self { client, resource: resource::resource(collector), spans: Arc::default() })
    }

    /// Who must be told of finished probes.
    pub fn consumer(&self) -> Arc<dyn Consumer> {
        Arc::new(Intake { spans: Arc::clone(&self.spans) })
    }

    /// Pushes on the present runtime.
    pub fn start(self) -> Pushing {
        let (stop, stopped) = watch::channel(false);
        let task = tokio::spawn(push::spans(self.client, self.spans, self.resource, stopped));
        Pushing { stop, task }
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
        if timeout(LAST_PUSH, &mut self.task).await.is_err() {
            tracing::warn!("the last push to the collector of [otlp] is abandoned");
            self.task.abort();
        }
    }
}

impl Consumer for Intake {
    fn on_report(&self, report: &Report) {
        if let Some(span) = span::of(report) {
            self.spans.put(span);
        }
    }
}
