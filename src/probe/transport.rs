//! The only room that knows reqwest: sends a request, stamps the phases of its connection, reads the answer.
//!
//! A [`Lane`] is a client with at most one connection, used by one probe at a time. Sharing one pool between
//! probes would let one probe's request travel on another's connection, and nobody could say whose
//! handshake was measured.

mod broken;
mod lane;
mod stamps;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION, RETRY_AFTER};
use rustls::ClientConfig;
use url::Url;

use super::knowledge::Knowledge;
use super::tls::{self, Trust};
use crate::domain::{Target, TraceId, clock};
use crate::protocol::{Dialect, Request};
pub(super) use broken::Broken;
pub(super) use lane::Lane;
use stamps::StampedBody;

/// Some servers are more precise than the standard.
const RETRY_AFTER_MS: HeaderName = HeaderName::from_static("retry-after-ms");

/// Sends the probes of one target.
#[derive(Debug)]
pub struct Transport {
    target: Arc<Target>,
    /// Made once: what is dear in it is shared by all lanes.
    tls: ClientConfig,
    headers: HeaderMap,
    /// Shared with the transports that take the same way.
    idle: Arc<Mutex<Vec<Lane>>>,
    knowledge: Arc<Knowledge>,
}

/// The head of an answer; its body comes piece by piece.
#[derive(Debug)]
pub(super) struct Answer {
    response: reqwest::Response,
    identified: bool,
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
        if target.skips_verification() {
            tracing::warn!(
                target = &*target.name,
                "the certificate is not verified (insecure_skip_verify): anybody on the way can answer in its place"
            );
        }
        let knowledge = Arc::new(Knowledge::new(target));
        let tls = tls::client_config(target, trust, &knowledge);
        let tls = tls.map_err(|error| Unusable::new(target, &error.to_string()))?;
        Self::with(target, tls, knowledge)
    }

    /// Another transport to the same target, with lanes of its own; what one learns, the other knows.
    pub fn sibling(&self) -> Result<Self, Unusable> {
        Self::with(&self.target, self.tls.clone(), Arc::clone(&self.knowledge))
    }

    /// A transport to the target as it is configured now. What was learned of the server stays while it is the same
    /// server, and connections stay while the way to it is the same.
    pub fn renewed(&self, target: &Arc<Target>, trust: &Trust) -> Result<Self, Unusable> {
        let server = |of: &Target| (of.url.clone(), of.api, of.model.clone(), of.engine);
        if server(target) != server(&self.target) {
            return Self::new(target, trust);
        }
        let knowledge = Arc::clone(&self.knowledge);
        if is_same_way(&self.target, target) {
            let headers = headers(target).map_err(|reason| Unusable::new(target, &reason))?;
            let (tls, idle) = (self.tls.clone(), Arc::clone(&self.idle));
            return Ok(Self { target: Arc::clone(target), tls, headers, idle, knowledge });
        }
        let tls = tls::client_config(target, trust, &knowledge);
        Self::with(target, tls.map_err(|error| Unusable::new(target, &error.to_string()))?, knowledge)
    }

    fn with(target: &Arc<Target>, tls: ClientConfig, knowledge: Arc<Knowledge>) -> Result<Self, Unusable> {
        let headers = headers(target).map_err(|reason| Unusable::new(target, &reason))?;
        let first = Lane::new(target, &tls);
        let first = first.map_err(|error| Unusable::new(target, &error.without_url().to_string()))?;
        Ok(Self {
            target: Arc::clone(target),
            tls,
            headers,
            idle: Arc::new(Mutex::new(vec![first])),
            knowledge,
        })
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
        Lane::new(&self.target, &self.tls).map_err(|error| Broken::new(error, false))
    }

    /// Keeps a lane whose last answer was read to its end.
    pub(super) fn return_lane(&self, lane: Lane) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(lane);
    }

    /// A trace id that nobody can guess; `None` if the system has no random numbers.
    pub(super) fn new_trace(&self) -> Option<TraceId> {
        let mut bytes = [0; 16];
        self.tls.crypto_provider().secure_random.fill(&mut bytes).ok()?;
        TraceId::from_bytes(bytes)
    }

    pub(super) async fn send(
        &self,
        lane: &Lane,
        request: Request,
        traceparent: Option<String>,
    ) -> Result<Answer, Broken> {
        let body = StampedBody { bytes: Some(request.body), phases: Arc::clone(&lane.phases) };
        let mut post = lane.client.post(self.addressed(request.url)).headers(self.headers.clone());
        if let Some(traceparent) = traceparent {
            post = post.header("traceparent", traceparent);
        }
        self.answer(lane, post.body(reqwest::Body::wrap(body))).await
    }

    /// Asks for a page, with the headers of the probes.
    pub(super) async fn get(&self, lane: &Lane, url: Url) -> Result<Answer, Broken> {
        let mut headers = self.headers.clone();
        headers.remove(CONTENT_TYPE);
        self.answer(lane, lane.client.get(self.addressed(url)).headers(headers)).await
    }

    /// Sends something that is no probe, with the headers of the probes.
    pub(super) async fn post(&self, lane: &Lane, url: Url, body: String) -> Result<Answer, Broken> {
        let post = lane.client.post(self.addressed(url)).headers(self.headers.clone());
        self.answer(lane, post.body(body)).await
    }

    /// The client takes the name for TLS from the url; the resolver of the lane knows whom to look up instead.
    fn addressed(&self, mut url: Url) -> Url {
        if let Some(name) = &self.target.way.server_name {
            // The configuration has tried it.
            let _ = url.set_host(Some(name));
        }
        url
    }

    async fn answer(&self, lane: &Lane, request: reqwest::RequestBuilder) -> Result<Answer, Broken> {
        let response = request.send().await.map_err(|error| lane.broken(error))?;
        Ok(Answer { response, identified: self.target.way.client.is_some() })
    }
}

impl Unusable {
    fn new(target: &Target, reason: &str) -> Self {
        Self { target: Arc::clone(&target.name), reason: target.redact(reason) }
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
        self.response.chunk().await.map_err(|error| Broken::new(error, self.identified))
    }

    fn header(&self, name: &HeaderName) -> Option<&str> {
        self.response.headers().get(name)?.to_str().ok()
    }
}

/// Whether connections to the one serve the other. What travels on them may differ, and so may when it is sent; a setting
/// that is not named here counts as a part of the way.
fn is_same_way(old: &Target, new: &Target) -> bool {
    let Target {
        api_key, headers, labels, rate, mix, in_flight, tokens_per_hour, price, extra, stream, ..
    } = new.clone();
    let alike = Target {
        api_key,
        headers,
        labels,
        stream,
        rate,
        mix,
        in_flight,
        tokens_per_hour,
        price,
        extra,
        ..old.clone()
    };
    alike == *new
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{HttpVersion, Secret, fixture};

    #[test]
    fn a_new_key_keeps_connections_and_a_new_way_keeps_what_was_learned() {
        let trust = Trust::default();
        let target = fixture::target("t", &["w"]);
        let transport = Transport::new(&target, &trust).unwrap();
        let renewed = |change: fn(&mut Target)| {
            let mut target = (*target).clone();
            change(&mut target);
            transport.renewed(&Arc::new(target), &trust).unwrap()
        };
        let kept = |new: &Transport| {
            (Arc::ptr_eq(&new.idle, &transport.idle), Arc::ptr_eq(&new.knowledge, &transport.knowledge))
        };
        let keyed = renewed(|target| target.api_key = Some(Secret::new("another")));
        assert_eq!(kept(&keyed), (true, true));
        assert_ne!(keyed.headers, transport.headers);
        assert!(keyed.target.api_key.is_some());
        assert_eq!(kept(&renewed(|target| target.way.http = Some(HttpVersion::Http1))), (false, true));
        assert_eq!(kept(&renewed(|target| target.model = "other".into())), (false, false));
    }

    #[test]
    fn no_lane_makes_a_tls_configuration_of_its_own() {
        const LANES: usize = 20;
        let mut target = (*fixture::target("t", &["w"])).clone();
        target.url = "https://localhost:1".parse().unwrap();
        let transport = Transport::new(&Arc::new(target), &Trust::default()).unwrap();
        let provider = Arc::clone(transport.tls.crypto_provider());
        let before = Arc::strong_count(&provider);
        let lanes: Vec<_> = (0..LANES).map(|_| transport.new_lane().unwrap()).collect();
        let sibling = transport.sibling().unwrap();
        assert!(Arc::strong_count(&provider) > before + LANES, "a lane has another provider");
        assert!(Arc::ptr_eq(&provider, sibling.tls.crypto_provider()));
        // What a failed probe does.
        drop((lanes, sibling));
        assert_eq!(Arc::strong_count(&provider), before);
    }
}
