//! Wire formats: how a prompt becomes a request, and what each event of the answer means. No I/O.

mod address;
mod anthropic;
mod drafts;
mod envelope;
mod gather;
mod gemini;
mod limits;
mod look;
mod message;
pub mod ndjson;
mod objection;
mod ollama;
mod openai;
mod openai_chat;
mod openai_completions;
mod openai_responses;
mod reason;
mod refusal;
pub mod sse;
mod tgi;
mod timings;
pub mod tokenize;
mod triton;
mod wishes;
mod words;

use std::borrow::Cow;

use bytes::Bytes;
use url::Url;

use crate::domain::{Api, Channels, Field, Fields, Lesson, Prompt, ServerTimes, Target, Tokens};

/// The wire format that a target speaks; a closed set, one file each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    OpenAiChat,
    OpenAiCompletions,
    OpenAiResponses,
    Anthropic,
    Gemini,
    Tgi,
    Triton,
    Ollama,
}

/// How the pieces of a streamed answer are told apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// Server-sent events.
    Sse,
    /// One JSON value per line.
    Ndjson,
}

/// One HTTP request, ready to be sent. Credentials are added by whoever sends it.
#[derive(Debug, Clone)]
pub struct Request {
    pub url: Url,
    pub body: Bytes,
    /// The optional fields that the body holds.
    pub fields: Fields,
}

/// A header that carries the key: its name, and what stands before the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyHeader {
    pub name: &'static str,
    pub before: &'static str,
}

/// What one event, or a whole answer, says; several things at once are common (text, finish reason and usage
/// in one chunk). Texts are borrowed from the event where they stand in it as they are.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "an event may say any of them beside any other")]
pub struct Meaning<'a> {
    /// The channels on which this event brought something generated.
    pub channels: Channels,
    /// What this event adds to the answer, refusals included. If there are several answers, to the first.
    pub text: Cow<'a, str>,
    /// What it adds to the reasoning.
    pub thought: Cow<'a, str>,
    /// What it adds there only sums the reasoning up: the tokens that were counted are others.
    pub is_summary: bool,
    /// Tokens that the event attributes to itself by listing their ids.
    pub token_ids: Option<u32>,
    /// Counts so far, or in total.
    pub usage: Option<Tokens>,
    /// What the server says about its own time.
    pub times: ServerTimes,
    /// What the server calls its present self.
    pub fingerprint: Option<Cow<'a, str>>,
    /// The model that the answer says it is of.
    pub model: Option<Cow<'a, str>>,
    /// The model stopped, and said why.
    pub finished: bool,
    /// The limit on its length stopped it.
    pub cut: bool,
    /// The dialect's end marker: nothing follows.
    pub ended: bool,
    /// The format has no end marker, so that a body which ends properly after this event is complete.
    pub may_be_last: bool,
    /// The server reports an error inside the stream.
    pub error: Option<String>,
}

/// Bytes that the dialect cannot mean.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Nonsense(pub String);

/// Calls the function of the file that speaks a dialect.
macro_rules! spoken {
    ($dialect:expr, $function:ident($($argument:expr),*)) => {
        match $dialect {
            Dialect::OpenAiChat => openai_chat::$function($($argument),*),
            Dialect::OpenAiCompletions => openai_completions::$function($($argument),*),
            Dialect::OpenAiResponses => openai_responses::$function($($argument),*),
            Dialect::Anthropic => anthropic::$function($($argument),*),
            Dialect::Gemini => gemini::$function($($argument),*),
            Dialect::Tgi => tgi::$function($($argument),*),
            Dialect::Triton => triton::$function($($argument),*),
            Dialect::Ollama => ollama::$function($($argument),*),
        }
    };
}

impl Dialect {
    pub fn of(api: Api) -> Self {
        match api {
            Api::OpenAiChat => Self::OpenAiChat,
            Api::OpenAiCompletions => Self::OpenAiCompletions,
            Api::OpenAiResponses => Self::OpenAiResponses,
            Api::Anthropic => Self::Anthropic,
            Api::Gemini => Self::Gemini,
            Api::Tgi => Self::Tgi,
            Api::Triton => Self::Triton,
            Api::Ollama => Self::Ollama,
        }
    }

    /// The address that will be called.
    pub fn url(self, target: &Target) -> Url {
        spoken!(self, url(target))
    }

    /// Of the optional fields, at most `allowed` are used.
    pub fn request(self, target: &Target, prompt: &Prompt, allowed: Fields) -> Request {
        let fields = match self {
            Self::OpenAiChat | Self::OpenAiCompletions => openai::useful(target, prompt, allowed),
            Self::OpenAiResponses => openai_responses::useful(prompt, allowed),
            _ => Fields::NONE,
        };
        let body = match self {
            Self::OpenAiChat => openai_chat::body(target, prompt, fields),
            Self::OpenAiCompletions => openai_completions::body(target, prompt, fields),
            Self::OpenAiResponses => openai_responses::body(target, prompt, fields),
            Self::Anthropic => anthropic::body(target, prompt),
            Self::Gemini => gemini::body(target, prompt),
            Self::Tgi => tgi::body(target, prompt),
            Self::Triton => triton::body(target, prompt),
            Self::Ollama => ollama::body(target, prompt),
        };
        let wishes = wishes::useful(target, prompt, allowed);
        let body = wishes::add(body, target, prompt, wishes);
        Request { url: self.url(target), body: Bytes::from(body), fields: fields.and(wishes) }
    }

    /// Whether an answer of exactly the length asked for can be had with the allowed fields.
    pub fn has_exact_output(self, allowed: Fields) -> bool {
        match self {
            Self::OpenAiChat | Self::OpenAiCompletions | Self::OpenAiResponses => {
                allowed.has(Field::IgnoreEos)
            }
            Self::Triton => true,
            Self::Anthropic | Self::Gemini | Self::Tgi | Self::Ollama => false,
        }
    }

    pub fn framing(self) -> Framing {
        match self {
            Self::Ollama => Framing::Ndjson,
            _ => Framing::Sse,
        }
    }

    /// What one event of a streamed answer means.
    pub fn interpret(self, data: &[u8]) -> Result<Meaning<'_>, Nonsense> {
        spoken!(self, interpret(data))
    }

    /// What an answer that came whole means.
    pub fn interpret_whole(self, body: &[u8]) -> Result<Meaning<'_>, Nonsense> {
        spoken!(self, interpret_whole(body))
    }

    /// What the body of a refusal says, in one line for the log.
    pub fn explain(body: &[u8]) -> String {
        refusal::explain(body)
    }

    /// Those of the fields sent that the body of a refusal objects to.
    pub fn objections(body: &[u8], sent: Fields) -> Fields {
        objection::objections(body, sent)
    }

    /// What the text of a refusal says about lengths.
    pub fn lesson(text: &str) -> Lesson {
        limits::lesson(text)
    }

    /// Where the key goes.
    pub fn key_headers(self, target: &Target) -> &'static [KeyHeader] {
        const BEARER: KeyHeader = KeyHeader { name: "authorization", before: "Bearer " };
        const X_API_KEY: KeyHeader = KeyHeader { name: "x-api-key", before: "" };
        const GOOGLE: KeyHeader = KeyHeader { name: "x-goog-api-key", before: "" };
        match self {
            // Anthropic itself wants one header; engines that speak its format look at the other.
            Self::Anthropic if target.url.domain().is_some_and(|name| name.ends_with("anthropic.com")) => {
                &[X_API_KEY]
            }
            Self::Anthropic => &[X_API_KEY, BEARER],
            Self::Gemini => &[GOOGLE],
            _ => &[BEARER],
        }
    }

    /// Headers that the format demands.
    pub fn headers(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Anthropic => &[("anthropic-version", "2023-06-01")],
            _ => &[],
        }
    }
}

impl Meaning<'_> {
    fn error(text: String) -> Self {
        Self { error: Some(text), ..Self::default() }
    }

    fn end() -> Self {
        Self { ended: true, ..Self::default() }
    }

    #[cfg(test)]
    fn into_owned(self) -> Meaning<'static> {
        Meaning {
            text: self.text.into_owned().into(),
            thought: self.thought.into_owned().into(),
            fingerprint: self.fingerprint.map(|name| name.into_owned().into()),
            model: self.model.map(|name| name.into_owned().into()),
            ..self
        }
    }
}

/// A text of JSON made of strings, numbers and flags.
fn to_json(body: &impl serde::Serialize) -> String {
    serde_json::to_string(body).expect("strings, numbers and flags always serialize")
}

/// One JSON value of an answer, or why it is none.
fn from_json<'a, T: serde::Deserialize<'a>>(data: &'a [u8]) -> Result<T, Nonsense> {
    serde_json::from_slice(data)
        .map_err(|e| Nonsense(format!("not a piece of an answer ({e}): {}", String::from_utf8_lossy(data))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_of_an_answer_is_what_the_answer_says() {
        let chunk = r#"{"model":"m-1","choices":[{"delta":{"content":"a"}}]}"#;
        for (dialect, event) in [
            (Dialect::OpenAiChat, chunk),
            (Dialect::OpenAiCompletions, r#"{"model":"m-1","choices":[{"text":"a"}]}"#),
            (
                Dialect::OpenAiResponses,
                r#"{"type":"response.completed","response":{"status":"completed","model":"m-1"}}"#,
            ),
            (Dialect::Anthropic, r#"{"type":"message_start","message":{"model":"m-1","content":[]}}"#),
            (Dialect::Gemini, r#"{"modelVersion":"m-1","candidates":[]}"#),
            (Dialect::Ollama, r#"{"model":"m-1","message":{"content":"a"},"done":false}"#),
        ] {
            let meaning = dialect.interpret(event.as_bytes()).unwrap();
            assert_eq!(meaning.model.as_deref(), Some("m-1"), "{event}");
        }
        let odd = Dialect::OpenAiChat.interpret(br#"{"model":7,"choices":[]}"#).unwrap();
        assert_eq!(odd.model, None);
    }
}
