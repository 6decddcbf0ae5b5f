//! Where traces and metrics are pushed to: an OpenTelemetry collector, or whatever else takes OTLP over HTTP.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::CertificateDer;
use url::Url;

use super::{Header, HeaderValue};

/// The section `[otlp]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Collector {
    /// The base; each signal appends its path.
    pub endpoint: Url,
    pub headers: Vec<Header>,
    /// How often the metrics are pushed.
    pub interval: Duration,
    /// How long one request may take.
    pub timeout: Duration,
    /// Whether the spans of probes with a trace are exported.
    pub traces: bool,
    pub metrics: bool,
    /// Whether the client metrics of the GenAI conventions are pushed beside our own.
    pub gen_ai_metrics: bool,
    pub compression: Compression,
    /// Attributes of the resource, beside those that are always there.
    pub resource: BTreeMap<String, String>,
    /// The certificate authorities to trust instead of the system's.
    pub ca: Option<Arc<[CertificateDer<'static>]>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    Gzip,
    None,
}

impl Collector {
    /// Removes every secret of this collector from a text that may quote it.
    pub fn redact(&self, text: &str) -> String {
        let secrets = self.headers.iter().filter_map(|header| match &header.value {
            HeaderValue::Secret(secret) => Some(secret),
            HeaderValue::Open(_) => None,
        });
        secrets.fold(text.to_owned(), |text, secret| secret.redact(&text))
    }

    /// Host and port, without anything that may be secret.
    pub fn address(&self) -> String {
        let host = self.endpoint.host_str().unwrap_or_default();
        let port = self.endpoint.port_or_known_default();
        port.map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
    }

    /// Where a signal goes, such as `v1/traces`: below the path of the endpoint, if it has one.
    pub fn url_of(&self, path: &str) -> Url {
        let mut url = self.endpoint.clone();
        let base = url.path().trim_end_matches('/').to_owned();
        url.set_path(&format!("{base}/{path}"));
        url
    }
}

impl Compression {
    pub const NAMES: [(&'static str, Self); 2] = [("gzip", Self::Gzip), ("none", Self::None)];
}
