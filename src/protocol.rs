//! Wire formats: how a prompt becomes a request, and what each event of the answer means. No I/O.

mod openai;
mod openai_chat;
mod openai_completions;
mod something;
pub mod sse;

use bytes::Bytes;
use url::Url;

use crate::domain::{Api, Channel, Prompt, Target, Tokens};

/// The wire format that a target speaks; a closed set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    OpenAiChat,
    OpenAiCompletions,
}

/// One HTTP request, ready to be sent. Credentials are added by whoever sends it.
#[derive(Debug, Clone)]
pub struct Request {
    pub url: Url,
    pub body: Bytes,
}

/// What one event says; several things at once are common (text, finish reason and usage in one chunk).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Meaning {
    /// The channels on which this event brought something generated.
    pub channels: Vec<Channel>,
    /// Tokens that the event attributes to itself by listing their ids.
    pub token_ids: Option<u32>,
    /// Counts so far, or in total.
    pub usage: Option<Tokens>,
    /// The model stopped, and said why.
    pub finished: bool,
    /// The dialect's end marker: nothing follows.
    pub ended: bool,
    /// The server reports an error inside the stream.
    pub error: Option<String>,
}

/// Bytes that the dialect cannot mean.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Nonsense(pub String);

impl Dialect {
    pub fn of(api: Api) -> Self {
        match api {
            Api::OpenAiChat => Self::OpenAiChat,
            Api::OpenAiCompletions => Self::OpenAiCompletions,
        }
    }

    /// The address that will be called.
    pub fn url(self, base: &Url) -> Url {
        match self {
            Self::OpenAiChat => openai::join(base, "chat/completions"),
            Self::OpenAiCompletions => openai::join(base, "completions"),
        }
    }

    pub fn request(self, target: &Target, prompt: &Prompt) -> Request {
        let body = match self {
            Self::OpenAiChat => openai_chat::body(target, prompt),
            Self::OpenAiCompletions => openai_completions::body(target, prompt),
        };
        Request { url: self.url(&target.url), body: Bytes::from(body) }
    }

    /// What one event of a streamed answer means.
    pub fn interpret(self, data: &[u8]) -> Result<Meaning, Nonsense> {
        match self {
            Self::OpenAiChat | Self::OpenAiCompletions => openai::interpret(data),
        }
    }

    /// What the body of a refusal says, in one line for the log.
    pub fn explain(self, body: &[u8]) -> String {
        match self {
            Self::OpenAiChat | Self::OpenAiCompletions => openai::explain(body),
        }
    }
}
