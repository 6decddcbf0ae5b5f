//! The tasks that push: spans in batches every few seconds, metrics every interval. Neither waits for the other, and
//! nobody waits for them.

use std::sync::Arc;
use std::time::Duration;

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::resource::v1::Resource;
use opentelemetry_proto::tonic::trace::v1::{ResourceSpans, ScopeSpans, Span};
use tokio::sync::watch;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::back_off::BackOff;
use super::narrator::Narrator;
use super::queue::SpanQueue;
use super::resource::scope;
use super::send::{Client, Refusal, Rejected, Retry, Signal};
use crate::domain::clock;

/// How long a span waits at most, if the collector takes it.
const BATCH_EVERY: Duration = Duration::from_secs(5);

/// Pushes one signal.
#[derive(Debug)]
struct Pusher {
    signal: Signal,
    client: Arc<Client>,
    narrator: Narrator,
    back_off: BackOff,
}

/// Makes the requests that tell the metrics as they are now, and hands over one after the other.
pub(super) type Walk = dyn Fn(&mut dyn FnMut(ExportMetricsServiceRequest)) + Send + Sync;

/// Pushes spans until `stop` becomes true, and then what still waits, once.
pub(super) async fn spans(
    client: Arc<Client>,
    queue: Arc<SpanQueue>,
    resource: Resource,
    mut stop: watch::Receiver<bool>,
) {
    let mut pusher = Pusher::new(Signal::Traces, client);
    let mut rest = None;
    let mut stopped = false;
    while !stopped {
        stopped = if let Some(rest) = rest {
            is_stopped_within(rest, &mut stop).await
        } else {
            tokio::select! {
                stopped = is_stopped_within(BATCH_EVERY, &mut stop) => stopped,
                () = queue.full() => false,
            }
        };
        rest = pusher.empty(&queue, &resource).await;
    }
}

/// Pushes metrics every `interval` until `stop` becomes true, and then once more.
pub(super) async fn metrics(
    client: Arc<Client>,
    walk: Arc<Walk>,
    interval: Duration,
    mut stop: watch::Receiver<bool>,
) {
    let mut pusher = Pusher::new(Signal::Metrics, client);
    let mut wait = interval;
    let mut stopped = false;
    while !stopped {
        stopped = is_stopped_within(wait, &mut stop).await;
        // What is cumulative loses nothing by a push that failed: the next one tells it all.
        wait = pusher.tell(&walk).await.map_or(interval, |rest| rest.min(interval));
    }
}

impl Pusher {
    fn new(signal: Signal, client: Arc<Client>) -> Self {
        let narrator = Narrator::new(signal, client.address());
        let seed = clock::unix_seconds(clock::wall_now()).to_bits();
        Self { signal, client, narrator, back_off: BackOff::new(seed) }
    }

    /// Sends all spans that wait; gives how long to rest if the collector cannot take them now.
    async fn empty(&mut self, queue: &SpanQueue, resource: &Resource) -> Option<Duration> {
        loop {
            let batch = queue.take();
            if batch.is_empty() {
                return None;
            }
            let count = batch.len() as u64;
            let (client, spans, resource) = (Arc::clone(&self.client), batch.clone(), resource.clone());
            let packed = elsewhere(move || client.pack(&request(spans, resource))).await;
            match self.push(packed, queue.dropped()).await {
                Ok(rejected) => queue.lose(rejected.map_or(0, |rejected| rejected.items.min(count))),
                Err(Refusal { retry: Retry::Never, .. }) => queue.lose(count),
                Err(Refusal { retry: Retry::After(asked), .. }) => {
                    queue.put_back(batch);
                    return Some(self.back_off.failed(asked));
                }
            }
        }
    }

    /// Sends all metrics; gives how long to rest if the collector cannot take them now.
    async fn tell(&mut self, walk: &Arc<Walk>) -> Option<Duration> {
        let (client, walk) = (Arc::clone(&self.client), Arc::clone(walk));
        // Requests are packed while they are made: all at once would take much memory.
        let all = elsewhere(move || {
            let mut all = Vec::new();
            walk(&mut |request| all.push(client.pack(&request)));
            all
        });
        for packed in all.await {
            if let Err(Refusal { retry: Retry::After(asked), .. }) = self.push(packed, 0).await {
                return Some(self.back_off.failed(asked));
            }
        }
        None
    }

    async fn push(&mut self, packed: Vec<u8>, dropped: u64) -> Result<Option<Rejected>, Refusal> {
        let pushed = self.client.post(self.signal, packed).await;
        match &pushed {
            Ok(rejected) => {
                self.back_off.succeeded();
                self.narrator.succeeded(rejected.as_ref(), dropped);
            }
            Err(refusal) => self.narrator.failed(refusal, dropped),
        }
        pushed
    }
}

/// On a thread where work may take its time.
async fn elsewhere<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let done = spawn_blocking(work).await;
    done.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()))
}

fn request(spans: Vec<Span>, resource: Resource) -> ExportTraceServiceRequest {
    let scope_spans = vec![ScopeSpans { scope: Some(scope()), spans, ..ScopeSpans::default() }];
    let spans = ResourceSpans { resource: Some(resource), scope_spans, ..ResourceSpans::default() };
    ExportTraceServiceRequest { resource_spans: vec![spans] }
}

/// Whether it is time to end; waits no longer than this to find out.
async fn is_stopped_within(wait: Duration, stop: &mut watch::Receiver<bool>) -> bool {
    timeout(wait, stop.wait_for(|&stop| stop)).await.is_ok()
}
