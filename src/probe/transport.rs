//! The only file that knows reqwest: sends a request, stamps the phases of its connection, reads the answer.
//!
//! A [`Lane`] is a client with at most one connection, used by one probe at a time. Sharing one pool between
//! probes would let one probe's request travel on another's connection, and nobody could say whose
//! handshake was measured.

use std::convert::Infallible;
use std::error::Error as _;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION, RETRY_AFTER};
use tower::{Layer, Service};

use super::knowledge::Knowledge;
use super::phases::Phases;
use super::tls::{self, Trust};
use crate::domain::{Connection, Target, clock};
use crate::protocol::{Dialect, Request};

/// A connection idle for longer is not used again. Servers built on uvicorn close after 5 s, and a request
/// sent at that very moment dies: a failure that no user would see. Nothing is lost: TCP forgets what it
/// learned of the path when idle, and TTFT leaves the handshake out.
const IDLE: Duration = Duration::from_secs(4);

/// Some servers are more precise than the standard.
const RETRY_AFTER_MS: HeaderName = HeaderName::from_static("retry-after-ms");

/// Sends the probes of one target.
#[derive(Debug)]
pub struct Transport {
    target: Arc<Target>,
    trust: Trust,
    headers: HeaderMap,
    idle: Mutex<Vec<Lane>>,
    knowledge: Arc<Knowledge>,
}

#[derive(Debug)]
pub(super) struct Lane {
    client: reqwest::Client,
    pub(super) phases: Arc<Phases>,
}

/// The head of an answer; its body comes piece by piece.
#[derive(Debug)]
pub(super) struct Answer {
    response: reqwest::Response,
}

/// The exchange broke.
#[derive(Debug)]
pub(super) struct Broken {
    pub(super) detail: String,
    /// What came was not HTTP, rather than cut short.
    pub(super) nonsense: bool,
    /// The server hung up.
    closed: bool,
}

/// A target that cannot be spoken to at all.
#[derive(Debug, thiserror::Error)]
#[error("cannot prepare connections to {target}: {reason}")]
pub struct Unusable {
    target: Arc<str>,
    reason: String,
}

impl Transport {
    pub fn new(target: &Arc<Target>, trust: &Trust) -> Result<Self, Unusable> {
        Self::with(target, trust, Arc::new(Knowledge::new(target)))
    }

    /// Another transport to the same target, with lanes of its own; what one learns, the other knows.
    pub fn sibling(&self) -> Result<Self, Unusable> {
        Self::with(&self.target, &self.trust, Arc::clone(&self.knowledge))
    }

    fn with(target: &Arc<Target>, trust: &Trust, knowledge: Arc<Knowledge>) -> Result<Self, Unusable> {
        let unusable = |reason: String| Unusable { target: Arc::clone(&target.name), reason };
        let headers = headers(target).map_err(unusable)?;
        let first = Lane::new(target, trust, &knowledge).map_err(|e| unusable(e.to_string()))?;
        let (target, trust, idle) = (Arc::clone(target), trust.clone(), Mutex::new(vec![first]));
        Ok(Self { target, trust, headers, idle, knowledge })
    }

    pub fn target(&self) -> &Arc<Target> {
        &self.target
    }

    pub fn knowledge(&self) -> &Knowledge {
        &self.knowledge
    }

    /// A lane of one's own: the one used last, whose connection may still be open, or a new one.
    pub(super) fn take_lane(&self) -> Result<Lane, Broken> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        match idle {
            Some(lane) => Ok(lane),
            None => self.new_lane(),
        }
    }

    /// A lane that no probe has used or will use, unless it is returned.
    pub(super) fn new_lane(&self) -> Result<Lane, Broken> {
        Lane::new(&self.target, &self.trust, &self.knowledge).map_err(Broken::from)
    }

    /// Keeps a lane whose last answer was read to its end.
    pub(super) fn return_lane(&self, lane: Lane) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(lane);
    }

    pub(super) async fn send(&self, lane: &Lane, request: Request) -> Result<Answer, Broken> {
        let body = StampedBody { bytes: Some(request.body), phases: Arc::clone(&lane.phases) };
        let response = lane
            .client
            .post(request.url)
            .headers(self.headers.clone())
            .body(reqwest::Body::wrap(body))
            .send()
            .await?;
        Ok(Answer { response })
    }

    /// Asks for a page, with the headers of the probes.
    pub(super) async fn get(&self, lane: &Lane, url: url::Url) -> Result<Answer, Broken> {
        let mut headers = self.headers.clone();
        headers.remove(CONTENT_TYPE);
        let response = lane.client.get(url).headers(headers).send().await?;
        Ok(Answer { response })
    }

    /// Sends something that is no probe, with the headers of the probes.
    pub(super) async fn post(&self, lane: &Lane, url: url::Url, body: String) -> Result<Answer, Broken> {
        let response = lane.client.post(url).headers(self.headers.clone()).body(body).send().await?;
        Ok(Answer { response })
    }
}

impl Lane {
    fn new(target: &Target, trust: &Trust, knowledge: &Arc<Knowledge>) -> Result<Self, reqwest::Error> {
        let phases = Arc::new(Phases::default());
        let secure = target.is_secure();
        let mut builder = reqwest::Client::builder()
            .user_agent(concat!("sloprobe/", env!("CARGO_PKG_VERSION")))
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .referer(false)
            .pool_idle_timeout(IDLE)
            .pool_max_idle_per_host(usize::from(target.connection == Connection::Reuse))
            .dns_resolver(StampedResolver(Arc::clone(&phases)))
            .connector_layer(StampedConnect { phases: Arc::clone(&phases), secure })
            .tls_backend_preconfigured(tls::client_config(target, trust, &phases, knowledge));
        if is_loopback(&target.url) {
            builder = builder.no_proxy();
        }
        Ok(Self { client: builder.build()?, phases })
    }
}

impl Answer {
    pub(super) fn status(&self) -> u16 {
        self.response.status().as_u16()
    }

    /// What the status is called; empty for one that has no name.
    pub(super) fn reason(&self) -> &'static str {
        self.response.status().canonical_reason().unwrap_or_default()
    }

    /// How long the server wants to be left alone: in milliseconds, in seconds or until a date.
    pub(super) fn retry_after(&self) -> Option<Duration> {
        let number = |text: &str| text.trim().parse::<f64>().ok();
        let ms = self.header(&RETRY_AFTER_MS).and_then(number).map(|ms| ms / 1e3);
        let after = self.header(&RETRY_AFTER);
        if let Some(seconds) = ms.or_else(|| after.and_then(number)) {
            return Duration::try_from_secs_f64(seconds).ok();
        }
        let date = httpdate::parse_http_date(after?).ok()?;
        Some(date.duration_since(clock::wall_now()).unwrap_or_default())
    }

    pub(super) fn has_retry_after(&self) -> bool {
        self.response.headers().contains_key(RETRY_AFTER)
    }

    pub(super) fn location(&self) -> Option<&str> {
        self.header(&LOCATION)
    }

    /// The next piece of the body; `None` is its end.
    pub(super) async fn read(&mut self) -> Result<Option<Bytes>, Broken> {
        Ok(self.response.chunk().await?)
    }

    fn header(&self, name: &HeaderName) -> Option<&str> {
        self.response.headers().get(name)?.to_str().ok()
    }
}

impl Broken {
    /// What happened, in plain words, and when; then in those of the library.
    pub(super) fn told(&self, when: &str) -> String {
        let what = if self.closed { "the server closed the connection" } else { "the connection broke" };
        format!("{what} {when} ({})", self.detail)
    }
}

impl From<reqwest::Error> for Broken {
    fn from(error: reqwest::Error) -> Self {
        // Addresses may hold a key in their query: they stay out of what is logged.
        let error = error.without_url();
        let mut detail = error.to_string();
        let (mut nonsense, mut closed) = (false, false);
        let mut source = error.source();
        while let Some(cause) = source {
            detail = cause.to_string();
            if let Some(error) = cause.downcast_ref::<hyper::Error>() {
                nonsense |= error.is_parse();
                closed |= error.is_incomplete_message();
            }
            if let Some(error) = cause.downcast_ref::<io::Error>() {
                use io::ErrorKind::{BrokenPipe, ConnectionReset, InvalidData, InvalidInput, UnexpectedEof};
                nonsense |= matches!(error.kind(), InvalidData | InvalidInput);
                closed |= matches!(error.kind(), UnexpectedEof | ConnectionReset | BrokenPipe);
            }
            source = cause.source();
        }
        Self { detail, nonsense, closed }
    }
}

fn headers(target: &Target) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let mut insert = |name: &str, value: String| {
        let name = HeaderName::try_from(name).map_err(|_| format!("{name:?} is not a header name"))?;
        let mut value =
            HeaderValue::try_from(value).map_err(|_| format!("the value of header {name} cannot be sent"))?;
        value.set_sensitive(true);
        headers.insert(name, value);
        Ok::<_, String>(())
    };
    let dialect = Dialect::of(target.api);
    for (name, value) in dialect.headers() {
        insert(name, (*value).to_owned())?;
    }
    if let Some(key) = &target.api_key {
        for header in dialect.key_headers(target) {
            insert(header.name, format!("{}{}", header.before, key.expose()))?;
        }
    }
    for header in &target.headers {
        insert(&header.name, header.value.expose().to_owned())?;
    }
    Ok(headers)
}

/// A proxy of the environment is for the world outside, never for this machine.
fn is_loopback(url: &url::Url) -> bool {
    match url.host() {
        Some(url::Host::Ipv4(ip)) => ip.is_loopback(),
        Some(url::Host::Ipv6(ip)) => ip.is_loopback(),
        Some(url::Host::Domain(name)) => name == "localhost",
        None => false,
    }
}

/// A request body that stamps the instant at which the connection asks for it.
#[derive(Debug)]
struct StampedBody {
    bytes: Option<Bytes>,
    phases: Arc<Phases>,
}

impl Body for StampedBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let bytes = self.bytes.take();
        if bytes.is_some() {
            self.phases.sent();
        }
        Poll::Ready(bytes.map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.bytes.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.bytes.as_ref().map_or(0, |bytes| bytes.len() as u64))
    }
}

/// The system's resolver, stamped.
#[derive(Debug)]
struct StampedResolver(Arc<Phases>);

impl Resolve for StampedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let phases = Arc::clone(&self.0);
        Box::pin(async move {
            phases.resolving();
            let found: Vec<_> = tokio::net::lookup_host((name.as_str(), 0)).await?.collect();
            if found.is_empty() {
                return Err(format!("no address for {}", name.as_str()).into());
            }
            phases.resolved();
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

/// Wraps the client's connector to stamp when dialling begins and ends.
#[derive(Debug, Clone)]
struct StampedConnect {
    phases: Arc<Phases>,
    secure: bool,
}

#[derive(Debug, Clone)]
struct StampedConnector<S> {
    inner: S,
    stamp: StampedConnect,
}

impl<S> Layer<S> for StampedConnect {
    type Service = StampedConnector<S>;

    fn layer(&self, inner: S) -> Self::Service {
        StampedConnector { inner, stamp: self.clone() }
    }
}

impl<S, R> Service<R> for StampedConnector<S>
where
    S: Service<R>,
    S::Future: Send + 'static,
    S::Response: 'static,
    S::Error: 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, destination: R) -> Self::Future {
        let StampedConnect { phases, secure } = self.stamp.clone();
        // A connection that was closed while idle is dialled anew: only the last attempt counts.
        phases.reset();
        let connecting = self.inner.call(destination);
        Box::pin(async move {
            let connection = connecting.await?;
            phases.ready(secure);
            Ok(connection)
        })
    }
}
