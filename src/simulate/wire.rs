//! The JSON of an OpenAI-compatible server, as vLLM writes it.

use serde::{Deserialize, Serialize};

/// Which of the two routes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route {
    /// `/v1/chat/completions`
    Chat,
    /// `/v1/completions`
    Completions,
}

impl Route {
    /// Its path.
    pub fn path(self) -> &'static str {
        match self {
            Self::Chat => "/v1/chat/completions",
            Self::Completions => "/v1/completions",
        }
    }

    /// What the ids of its answers begin with.
    pub fn id_prefix(self) -> &'static str {
        match self {
            Self::Chat => "chatcmpl",
            Self::Completions => "cmpl",
        }
    }
}

/// The body of either route; what this server does not know is ignored.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct Ask {
    /// Absent: whatever is served.
    pub model: Option<String>,
    /// Chat only.
    pub messages: Option<Vec<Message>>,
    /// Completions only.
    pub prompt: Option<Prompt>,
    /// Most tokens of the answer.
    pub max_tokens: Option<i64>,
    /// The same, by its newer name.
    pub max_completion_tokens: Option<i64>,
    /// Fewest tokens of the answer.
    pub min_tokens: Option<u32>,
    /// The answer is as long as allowed.
    #[serde(default)]
    pub ignore_eos: bool,
    /// Token by token.
    #[serde(default)]
    pub stream: bool,
    /// What the stream holds besides text.
    pub stream_options: Option<StreamOptions>,
}

/// One message of a conversation.
#[derive(Debug, Clone, Deserialize)]
pub struct Message {
    /// Who.
    pub role: String,
    /// What; absent in calls of tools.
    pub content: Option<Content>,
}

/// Text, or parts some of which are text.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum Content {
    /// Plain.
    Text(String),
    /// In parts.
    Parts(Vec<Part>),
}

/// A part of a message.
#[derive(Debug, Clone, Deserialize)]
pub struct Part {
    /// Absent in images and the like.
    pub text: Option<String>,
}

/// A prompt as text or as token numbers.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum Prompt {
    /// Plain.
    Text(String),
    /// Token numbers.
    Tokens(Vec<u64>),
    /// Several; only the first is answered.
    Many(Vec<String>),
}

/// `stream_options`
#[derive(Debug, Clone, Copy, Default, Deserialize)]
pub struct StreamOptions {
    /// Counts in a last chunk.
    #[serde(default)]
    pub include_usage: bool,
    /// Counts in every chunk.
    #[serde(default)]
    pub continuous_usage_stats: bool,
}

impl Ask {
    /// The prompt as one text; `None` when there is none.
    pub fn prompt_text(&self, route: Route) -> Option<String> {
        match route {
            Route::Completions => Some(match self.prompt.as_ref()? {
                Prompt::Text(text) => text.clone(),
                Prompt::Many(texts) => texts.first()?.clone(),
                Prompt::Tokens(tokens) => tokens.iter().copied().map(word_of).collect(),
            }),
            Route::Chat => {
                let messages = self.messages.as_ref()?;
                // Control characters stand for the template's special tokens, one each.
                let mut text = String::new();
                for message in messages {
                    text.push('\u{1}');
                    text.push_str(&message.role);
                    text.push('\n');
                    match &message.content {
                        Some(Content::Text(content)) => text.push_str(content),
                        Some(Content::Parts(parts)) => {
                            text.extend(parts.iter().filter_map(|part| part.text.as_deref()));
                        }
                        None => {}
                    }
                    text.push_str("\u{2}\n");
                }
                text.push_str("\u{1}assistant\n");
                Some(text)
            }
        }
    }
}

/// A word of letters for a token number, so that it counts as one token and hashes by its number.
fn word_of(token: u64) -> String {
    let mut left = token % 300_000_000;
    let mut word = String::from(" ");
    loop {
        word.push(char::from(b'a' + (left % 26) as u8));
        left /= 26;
        if left == 0 {
            return word;
        }
    }
}

/// Counts of tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Usage {
    /// Of the prompt.
    pub prompt_tokens: u32,
    /// Of both.
    pub total_tokens: u32,
    /// Of the answer.
    pub completion_tokens: u32,
    /// Only with a prefix cache.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt_tokens_details: Option<PromptDetails>,
}

impl Usage {
    /// The total is the sum.
    pub fn new(prompt_tokens: u32, completion_tokens: u32, cached_tokens: Option<u32>) -> Self {
        Self {
            prompt_tokens,
            total_tokens: prompt_tokens + completion_tokens,
            completion_tokens,
            prompt_tokens_details: cached_tokens.map(|cached_tokens| PromptDetails { cached_tokens }),
        }
    }
}

/// What the prefix cache saved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct PromptDetails {
    /// Prompt tokens not computed.
    pub cached_tokens: u32,
}

/// Why an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FinishReason {
    /// It was complete.
    Stop,
    /// It was as long as allowed.
    Length,
    /// It was filtered.
    ContentFilter,
}

/// One chunk of a stream.
#[derive(Debug, Serialize)]
pub struct Chunk<'a> {
    /// Of the answer.
    pub id: &'a str,
    /// Names the kind of chunk.
    pub object: &'static str,
    /// Seconds since 1970.
    pub created: u64,
    /// Which answers.
    pub model: &'a str,
    /// Empty in the chunk of counts.
    pub choices: Vec<Choice<'a>>,
    /// Counts, where asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<Usage>,
    /// Only in the chunk of counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_fingerprint: Option<&'a str>,
}

/// One choice of a chunk or of an answer.
#[derive(Debug, Serialize)]
pub struct Choice<'a> {
    /// Always 0 here.
    pub index: u32,
    /// Chat streams.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delta: Option<Said<'a>>,
    /// Whole chat answers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<Said<'a>>,
    /// Completions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<&'a str>,
    /// Never computed here.
    pub logprobs: Option<()>,
    /// Set on the last chunk.
    pub finish_reason: Option<FinishReason>,
    /// Never set here.
    pub stop_reason: Option<()>,
    /// Never set here.
    pub token_ids: Option<()>,
}

/// A piece of what the assistant says.
#[derive(Debug, Serialize)]
pub struct Said<'a> {
    /// Only where the answer begins.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub role: Option<&'static str>,
    /// Text.
    pub content: &'a str,
    /// In place of an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refusal: Option<&'a str>,
}

/// An error's body.
pub fn error_body(message: &str, kind: &str, param: Option<&str>, code: u16) -> serde_json::Value {
    serde_json::json!({ "error": { "message": message, "type": kind, "param": param, "code": code } })
}
