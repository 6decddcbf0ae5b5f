//! A collector on loopback: takes OTLP over HTTP as the specification says, and keeps what came.

use std::collections::{BTreeMap, VecDeque};
use std::io::Read as _;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use flate2::read::GzDecoder;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message as _;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// It ends when dropped.
#[derive(Debug)]
pub struct Collector {
    pub address: SocketAddr,
    kept: Arc<Kept>,
    task: JoinHandle<()>,
}

#[derive(Debug, Default)]
struct Kept {
    traces: Mutex<Vec<ExportTraceServiceRequest>>,
    metrics: Mutex<Vec<ExportMetricsServiceRequest>>,
    headers: Mutex<Vec<HeaderMap>>,
    /// Answers to the next requests; once they are used up, all is taken.
    refusals: Mutex<VecDeque<Refusal>>,
}

#[derive(Debug, Clone)]
pub struct Refusal {
    pub status: u16,
    pub retry_after: Option<u32>,
    pub body: Vec<u8>,
}

impl Collector {
    pub async fn start(refusals: Vec<Refusal>) -> Self {
        Self::at("127.0.0.1:0".parse().expect("an address"), refusals).await
    }

    pub async fn at(address: SocketAddr, refusals: Vec<Refusal>) -> Self {
        let kept = Arc::new(Kept { refusals: Mutex::new(refusals.into()), ..Kept::default() });
        let listener = TcpListener::bind(address).await.expect("the port is free");
        let address = listener.local_addr().expect("a bound listener has an address");
        let router = Router::new()
            .route("/v1/traces", post(take_traces))
            .route("/v1/metrics", post(take_metrics))
            .with_state(Arc::clone(&kept));
        let task = tokio::spawn(async move {
            let _ = axum::serve(listener, router).await;
        });
        Self { address, kept, task }
    }

    pub fn spans(&self) -> Vec<Span> {
        let traces = self.kept.traces.lock().expect("not poisoned");
        let resources = traces.iter().flat_map(|request| &request.resource_spans);
        resources.flat_map(|resource| &resource.scope_spans).flat_map(|scope| scope.spans.clone()).collect()
    }

    /// The newest.
    pub fn metrics(&self) -> Option<ExportMetricsServiceRequest> {
        self.kept.metrics.lock().expect("not poisoned").last().cloned()
    }

    pub fn traces(&self) -> Vec<ExportTraceServiceRequest> {
        self.kept.traces.lock().expect("not poisoned").clone()
    }

    /// Of each request, taken or refused.
    pub fn headers(&self) -> Vec<HeaderMap> {
        self.kept.headers.lock().expect("not poisoned").clone()
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn take_traces(State(kept): State<Arc<Kept>>, headers: HeaderMap, body: Bytes) -> Response {
    let request = ExportTraceServiceRequest::decode(&*plain(&headers, &body)).expect("traces in protobuf");
    let keep = || kept.traces.lock().expect("not poisoned").push(request);
    kept.answer(headers, keep)
}

async fn take_metrics(State(kept): State<Arc<Kept>>, headers: HeaderMap, body: Bytes) -> Response {
    let request = ExportMetricsServiceRequest::decode(&*plain(&headers, &body)).expect("metrics in protobuf");
    let keep = || kept.metrics.lock().expect("not poisoned").push(request);
    kept.answer(headers, keep)
}

impl Kept {
    fn answer(&self, headers: HeaderMap, keep: impl FnOnce()) -> Response {
        assert_eq!(headers[header::CONTENT_TYPE], "application/x-protobuf");
        self.headers.lock().expect("not poisoned").push(headers);
        let refusal = self.refusals.lock().expect("not poisoned").pop_front();
        let Some(Refusal { status, retry_after, body }) = refusal else {
            keep();
            return StatusCode::OK.into_response();
        };
        let status = StatusCode::from_u16(status).expect("a status");
        let retry_after = retry_after.map(|seconds| [(header::RETRY_AFTER, seconds.to_string())]);
        match retry_after {
            Some(header) => (status, header, body).into_response(),
            None => (status, body).into_response(),
        }
    }
}

fn plain(headers: &HeaderMap, body: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    match headers.get(header::CONTENT_ENCODING).map(HeaderValue::as_bytes) {
        Some(b"gzip") => drop(GzDecoder::new(body).read_to_end(&mut plain).expect("gzip")),
        None => plain.extend_from_slice(body),
        Some(other) => panic!("{other:?}"),
    }
    plain
}

/// Attributes as text.
pub fn attributes(list: &[KeyValue]) -> BTreeMap<String, String> {
    let shown = |value: &Option<AnyValue>| match value.clone().and_then(|value| value.value) {
        Some(Value::StringValue(text)) => text,
        Some(Value::IntValue(number)) => number.to_string(),
        Some(Value::DoubleValue(number)) => number.to_string(),
        Some(Value::BoolValue(flag)) => flag.to_string(),
        other => panic!("{other:?}"),
    };
    list.iter().map(|attribute| (attribute.key.clone(), shown(&attribute.value))).collect()
}
