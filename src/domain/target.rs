//! What is watched: one endpoint, how to reach it and how often.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use url::Url;

use super::{Extra, ProxyAddress, Secret, Way, Workload};

/// One entry of `[[targets]]`, with its share of the mix resolved.
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    pub name: Arc<str>,
    /// As configured: with or without a trailing `/v1`.
    pub url: Url,
    pub api: Api,
    pub model: String,
    pub api_key: Option<Secret>,
    /// What the target runs, which decides the fields beyond the common ones that may be sent.
    pub engine: Engine,
    pub headers: Vec<Header>,
    /// The user's own labels on `sloprobe_target_info`.
    pub labels: BTreeMap<String, String>,
    pub connection: Connection,
    pub way: Way,
    /// Whether answers are streamed; without, there is latency but no TTFT, TPOT or ITL.
    pub stream: bool,
    pub rate: Rate,
    pub mix: Vec<Share>,
    pub in_flight: usize,
    pub tokens_per_hour: Option<u64>,
    pub price: Option<Price>,
    /// Added to the body of every request.
    pub extra: Extra,
    /// Whether each probe is a trace of its own, told to the target in the header `traceparent`.
    pub traceparent: bool,
}

/// What a million tokens cost, in whatever currency the reader thinks of.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Price {
    pub input: f64,
    pub output: f64,
}

/// Bounds for all targets together; a target may set its own, lower.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    pub in_flight: usize,
    pub tokens_per_hour: Option<u64>,
}

/// A header that goes with every request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    pub name: String,
    pub value: HeaderValue,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HeaderValue {
    /// Written into the configuration: anybody may see it.
    Open(String),
    Secret(Secret),
}

/// A workload and its weight in a target's mix.
#[derive(Debug, Clone, PartialEq)]
pub struct Share {
    pub workload: Arc<Workload>,
    pub weight: u32,
}

/// Probes per time, kept as the interval between two due times.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    pub interval: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Api {
    OpenAiChat,
    OpenAiCompletions,
    OpenAiResponses,
    Anthropic,
    Gemini,
    Tgi,
    Triton,
    Ollama,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    /// To be found out; until then only what every server takes is sent.
    Auto,
    Vllm,
    Sglang,
    LlamaCpp,
    Xinference,
    Tgi,
    Ollama,
    Litellm,
    Mindie,
    Other,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Connection {
    /// A connection that was in use a moment ago is used again.
    Reuse,
    /// A new connection for every probe.
    Fresh,
}

impl Target {
    /// Removes every secret of this target from a text that may quote it.
    pub fn redact(&self, text: &str) -> String {
        let headers = self.headers.iter().filter_map(|header| match &header.value {
            HeaderValue::Secret(secret) => Some(secret),
            HeaderValue::Open(_) => None,
        });
        let proxy = self.way.proxy.address().into_iter().flat_map(ProxyAddress::secrets);
        let secrets = self.api_key.iter().chain(headers).cloned().chain(proxy);
        secrets.fold(text.to_owned(), |text, secret| secret.redact(&text))
    }

    /// Host and port, without anything that may be secret.
    pub fn address(&self) -> String {
        let host = self.url.host_str().unwrap_or_default();
        self.url.port_or_known_default().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
    }

    /// Whether it is reached over TLS.
    pub fn is_secure(&self) -> bool {
        self.url.scheme() == "https"
    }

    /// The host whose certificate is expected: for SNI, for the verification and for `Host`.
    pub fn server_name(&self) -> &str {
        let name = self.way.server_name.as_deref().or(self.url.host_str()).unwrap_or_default();
        name.trim_matches(['[', ']'])
    }

    /// Whether any certificate is accepted, so that anybody on the way could answer in its place.
    pub fn skips_verification(&self) -> bool {
        self.is_secure() && self.way.insecure_skip_verify
    }

    pub fn total_weight(&self) -> u32 {
        self.mix.iter().map(|share| share.weight).sum()
    }

    /// How often, on average, this share's turn comes.
    pub fn interval_of(&self, share: &Share) -> Duration {
        self.rate.interval.mul_f64(f64::from(self.total_weight()) / f64::from(share.weight))
    }
}

impl HeaderValue {
    /// The text itself; only what puts it on the wire may ask.
    pub fn expose(&self) -> &str {
        match self {
            Self::Open(text) => text,
            Self::Secret(secret) => secret.expose(),
        }
    }
}

impl Rate {
    pub fn per_hour(self) -> f64 {
        3600.0 / self.interval.as_secs_f64()
    }
}

impl Api {
    pub const NAMES: [(&'static str, Self); 8] = [
        ("openai-chat", Self::OpenAiChat),
        ("openai-completions", Self::OpenAiCompletions),
        ("openai-responses", Self::OpenAiResponses),
        ("anthropic", Self::Anthropic),
        ("gemini", Self::Gemini),
        ("tgi", Self::Tgi),
        ("triton", Self::Triton),
        ("ollama", Self::Ollama),
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::OpenAiChat => "openai-chat",
            Self::OpenAiCompletions => "openai-completions",
            Self::OpenAiResponses => "openai-responses",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::Tgi => "tgi",
            Self::Triton => "triton",
            Self::Ollama => "ollama",
        }
    }
}

impl Engine {
    pub const NAMES: [(&'static str, Self); 10] = [
        ("auto", Self::Auto),
        ("vllm", Self::Vllm),
        ("sglang", Self::Sglang),
        ("llama.cpp", Self::LlamaCpp),
        ("xinference", Self::Xinference),
        ("tgi", Self::Tgi),
        ("ollama", Self::Ollama),
        ("litellm", Self::Litellm),
        ("mindie", Self::Mindie),
        ("other", Self::Other),
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Vllm => "vllm",
            Self::Sglang => "sglang",
            Self::LlamaCpp => "llama.cpp",
            Self::Xinference => "xinference",
            Self::Tgi => "tgi",
            Self::Ollama => "ollama",
            Self::Litellm => "litellm",
            Self::Mindie => "mindie",
            Self::Other => "other",
        }
    }
}

impl Connection {
    pub const NAMES: [(&'static str, Self); 2] = [("reuse", Self::Reuse), ("fresh", Self::Fresh)];
}
