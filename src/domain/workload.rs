//! What is sent: the kind of prompt, its lengths, its cache state, and how long to wait for the answer.

use std::sync::Arc;
use std::time::Duration;

/// One entry of `[[workloads]]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Workload {
    pub name: Arc<str>,
    pub kind: Kind,
    pub input_tokens: u32,
    pub output_tokens: u32,
    pub language: Language,
    pub cache: Cache,
    /// Ask for exactly `output_tokens` where the engine can be told to ignore the end of the text.
    pub exact_output: bool,
    pub timeouts: Timeouts,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A short question.
    Chat,
    /// Passages with planted facts, and one question about them.
    Rag,
    /// A passage to go on with.
    Continuation,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    En,
    Zh,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cache {
    /// A nonce before everything else: the whole prompt must be prefilled.
    Cold,
    /// One fixed prefix per workload: a prefix cache can serve most of the prompt.
    Warm,
}

/// Four kinds of patience, each with a failure of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// From the start until the connection is ready: names, TCP and TLS together.
    pub connect: Duration,
    /// From the request being sent until the first token.
    pub first_token: Duration,
    /// Between two arrivals after the first token, and from the last token to the end.
    pub stall: Duration,
    /// From the start to the end.
    pub total: Duration,
}

impl Workload {
    /// What one probe is expected to cost at most, prompt and answer together.
    pub fn expected_tokens(&self) -> u64 {
        u64::from(self.input_tokens) + u64::from(self.output_tokens)
    }
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            first_token: Duration::from_secs(30),
            stall: Duration::from_secs(15),
            total: Duration::from_secs(120),
        }
    }
}

impl Kind {
    pub const NAMES: [(&'static str, Self); 3] =
        [("chat", Self::Chat), ("rag", Self::Rag), ("continuation", Self::Continuation)];
}

impl Language {
    pub const NAMES: [(&'static str, Self); 2] = [("en", Self::En), ("zh", Self::Zh)];
}

impl Cache {
    pub const NAMES: [(&'static str, Self); 2] = [("cold", Self::Cold), ("warm", Self::Warm)];
}
