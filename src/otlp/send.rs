//! One request to the collector: OTLP over HTTP with protobuf, as its specification says.

use std::error::Error;
use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use flate2::Compression as Level;
use flate2::write::GzEncoder;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceResponse;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceResponse;
use prost::Message;
use reqwest::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use rustls::ClientConfig;

use crate::domain::{Collector, Compression, clock};
use crate::probe::Trust;

/// How much of an answer is read.
const MAX_ANSWER_BYTES: usize = 64 << 10;

/// The longest text of a collector that is told.
const MAX_WHY_CHARS: usize = 200;

/// What is pushed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Signal {
    Traces,
    Metrics,
}

/// Sends to one collector.
#[derive(Debug)]
pub(super) struct Client {
    http: reqwest::Client,
    headers: HeaderMap,
    collector: Arc<Collector>,
}

/// Why a push failed; `why` holds no secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) why: String,
    pub(super) retry: Retry,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Retry {
    Never,
    /// Worth another try, after so long if the collector says it.
    After(Option<Duration>),
}

/// Items of an accepted push that the collector refused all the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rejected {
    pub(super) items: u64,
    pub(super) why: String,
}

/// `[otlp]` cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("cannot prepare connections to the collector of [otlp]: {0}")]
pub struct Unusable(String);

/// What a collector sends with an error: `google.rpc.Status`.
#[derive(Clone, PartialEq, Message)]
struct Complaint {
    #[prost(string, tag = "2")]
    message: String,
}

impl Client {
    pub(super) fn new(collector: Arc<Collector>) -> Result<Self, Unusable> {
        let unusable = |reason: &str| Unusable(collector.redact(reason));
        let builder = reqwest::Client::builder()
            .user_agent(concat!("sloprobe/", env!("CARGO_PKG_VERSION")))
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .referer(false)
            .timeout(collector.timeout)
            .tls_backend_preconfigured(tls(&collector).map_err(|error| unusable(&error.to_string()))?);
        // A proxy of the environment is for the world outside, never for this machine.
        let builder = if is_loopback(&collector) { builder.no_proxy() } else { builder };
        let http = builder.build().map_err(|error| unusable(&error.without_url().to_string()))?;
        let headers = headers(&collector).map_err(|reason| unusable(&reason))?;
        Ok(Self { http, headers, collector })
    }

    /// Host and port, for the log.
    pub(super) fn address(&self) -> String {
        self.collector.address()
    }

    /// A message as it is sent; large ones take milliseconds.
    pub(super) fn pack(&self, message: &impl Message) -> Vec<u8> {
        let plain = message.encode_to_vec();
        match self.collector.compression {
            Compression::None => plain,
            Compression::Gzip => gzip(&plain),
        }
    }

    /// Sends what [`Self::pack`] made.
    pub(super) async fn post(&self, signal: Signal, body: Vec<u8>) -> Result<Option<Rejected>, Refusal> {
        let url = self.collector.url_of(signal.path());
        let sending = self.http.post(url).headers(self.headers.clone()).body(body).send();
        let mut answer = sending.await.map_err(|error| self.broken(error))?;
        let status = answer.status();
        let retry_after = retry_after(answer.headers());
        let mut body = Vec::new();
        while let Ok(Some(piece)) = answer.chunk().await {
            body.extend_from_slice(&piece);
            if body.len() > MAX_ANSWER_BYTES {
                break;
            }
        }
        if status.is_success() {
            let quoted = |Rejected { items, why }| Rejected { items, why: self.quotable(&why) };
            return Ok(signal.rejected(&body).map(quoted));
        }
        let retry = match status.as_u16() {
            429 | 502 | 503 | 504 => Retry::After(retry_after),
            _ => Retry::Never,
        };
        Err(Refusal { why: self.told(&format!("HTTP {status}"), &body), retry })
    }

    /// No answer came.
    fn broken(&self, error: reqwest::Error) -> Refusal {
        // An address may hold what is nobody's business.
        let error = error.without_url();
        let mut why = error.to_string();
        let mut source = error.source();
        while let Some(cause) = source {
            why = cause.to_string();
            source = cause.source();
        }
        if error.is_timeout() {
            why = format!("no answer within {}", humantime::format_duration(self.collector.timeout));
        }
        if self.collector.endpoint.port() == Some(4317) {
            why.push_str(" (port 4317 is usually OTLP over gRPC; this is OTLP over HTTP, usually at 4318)");
        }
        Refusal { why: self.collector.redact(&why), retry: Retry::After(None) }
    }

    fn told(&self, status: &str, body: &[u8]) -> String {
        match Complaint::decode(body) {
            Ok(Complaint { message }) if !message.is_empty() => {
                format!("{status}: {}", self.quotable(&message))
            }
            _ => status.to_owned(),
        }
    }

    /// One line without secrets. These go first: half of one could stay at the cut.
    fn quotable(&self, text: &str) -> String {
        let line = self.collector.redact(text);
        line.chars().map(|c| if c.is_control() { ' ' } else { c }).take(MAX_WHY_CHARS).collect()
    }
}

impl Signal {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Traces => "traces",
            Self::Metrics => "metrics",
        }
    }

    fn path(self) -> &'static str {
        match self {
            Self::Traces => "v1/traces",
            Self::Metrics => "v1/metrics",
        }
    }

    /// What the answer to an accepted push says of its parts.
    fn rejected(self, answer: &[u8]) -> Option<Rejected> {
        let (items, why) = match self {
            Self::Traces => {
                let partial = ExportTraceServiceResponse::decode(answer).ok()?.partial_success?;
                (partial.rejected_spans, partial.error_message)
            }
            Self::Metrics => {
                let partial = ExportMetricsServiceResponse::decode(answer).ok()?.partial_success?;
                (partial.rejected_data_points, partial.error_message)
            }
        };
        let items = u64::try_from(items).unwrap_or(0);
        (items > 0).then_some(Rejected { items, why })
    }
}

fn tls(collector: &Collector) -> Result<ClientConfig, rustls::Error> {
    let trust = Trust::default();
    // The system's authorities take milliseconds to read, and plain HTTP needs none.
    let roots = match (&collector.ca, collector.endpoint.scheme()) {
        (None, "https") => trust.roots(None),
        (ca, _) => trust.roots(Some(ca.as_deref().unwrap_or_default())),
    };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

fn headers(collector: &Collector) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    for header in &collector.headers {
        let name = HeaderName::try_from(&header.name)
            .map_err(|_| format!("{:?} is not a header name", header.name))?;
        let mut value = HeaderValue::try_from(header.value.expose())
            .map_err(|_| format!("the value of header {name} cannot be sent"))?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-protobuf"));
    if collector.compression == Compression::Gzip {
        headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    Ok(headers)
}

fn gzip(plain: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Level::fast());
    // Writing into memory cannot fail.
    let _ = encoder.write_all(plain);
    encoder.finish().unwrap_or_default()
}

fn is_loopback(collector: &Collector) -> bool {
    match collector.endpoint.host() {
        Some(url::Host::Ipv4(ip)) => ip.is_loopback(),
        Some(url::Host::Ipv6(ip)) => ip.is_loopback(),
        Some(url::Host::Domain(name)) => name == "localhost",
        None => false,
    }
}

/// In seconds or until a date.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse::<u64>() {
        return Some(Duration::from_secs(seconds));
    }
    let date = httpdate::parse_http_date(text).ok()?;
    Some(date.duration_since(clock::wall_now()).unwrap_or_default())
}
