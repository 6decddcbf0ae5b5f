//! What the OpenAI-like formats share: addresses, chunks, usage, and the many shapes of an error.

use std::time::Duration;

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use url::Url;

use super::something::Something;
use super::{Meaning, Nonsense, from_json, refusal};
use crate::domain::{Channel, Field, Fields, Prompt, ServerTimes, Target, Tokens};

/// The end marker of a stream.
const DONE: &[u8] = b"[DONE]";

/// Puts the path of a call behind a base that may or may not end in its version, or may be the whole
/// address already.
pub(super) fn join(base: &Url, call: &str) -> Url {
    let path = base.path().trim_end_matches('/');
    let last = path.rsplit('/').next().unwrap_or_default();
    let versioned = last.strip_prefix('v').is_some_and(|n| n.starts_with(|c: char| c.is_ascii_digit()));
    let path = if path.ends_with(&format!("/{call}")) {
        path.to_owned()
    } else if versioned || path.contains("/deployments/") {
        // Azure puts the deployment where others put the version.
        format!("{path}/{call}")
    } else {
        format!("{path}/v1/{call}")
    };
    let mut url = base.clone();
    url.set_path(&path);
    url
}

/// The fields of a request that both formats send in the same way.
#[derive(Debug, Serialize)]
pub(super) struct Common<'a> {
    model: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    /// The later name, sent only where the first is refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ignore_eos: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    min_tokens: Option<u32>,
}

#[derive(Debug, Serialize)]
struct StreamOptions {
    include_usage: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    continuous_usage_stats: Option<bool>,
}

/// Those of the allowed fields that make sense for this prompt.
pub(super) fn useful(target: &Target, prompt: &Prompt, allowed: Fields) -> Fields {
    let of = |field| match field {
        Field::StreamOptions => target.stream,
        // It is a part of the other.
        Field::ContinuousUsage => target.stream && allowed.has(Field::StreamOptions),
        Field::IgnoreEos | Field::MinTokens => prompt.exact_output,
        Field::MaxTokens => true,
        Field::Store => false,
    };
    allowed.iter().filter(|&field| of(field)).fold(Fields::NONE, Fields::with)
}

impl<'a> Common<'a> {
    pub(super) fn new(target: &'a Target, prompt: &Prompt, fields: Fields) -> Self {
        let max_tokens = prompt.max_tokens;
        let options = StreamOptions {
            include_usage: true,
            continuous_usage_stats: fields.has(Field::ContinuousUsage).then_some(true),
        };
        Self {
            model: &target.model,
            max_tokens: fields.has(Field::MaxTokens).then_some(max_tokens),
            max_completion_tokens: (!fields.has(Field::MaxTokens)).then_some(max_tokens),
            stream: target.stream,
            stream_options: fields.has(Field::StreamOptions).then_some(options),
            ignore_eos: fields.has(Field::IgnoreEos).then_some(true),
            min_tokens: fields.has(Field::MinTokens).then_some(max_tokens),
        }
    }
}

/// One chunk of a streamed answer. Every field may be missing or null on one server or another.
#[derive(Debug, Deserialize)]
struct Chunk {
    #[serde(default)]
    choices: Option<Vec<Choice>>,
    #[serde(default)]
    usage: Option<Usage>,
    #[serde(default)]
    error: Option<Value>,
    #[serde(default)]
    object: Option<Value>,
    #[serde(default)]
    message: Option<Value>,
    #[serde(default)]
    detail: Option<Value>,
    #[serde(default)]
    system_fingerprint: Option<String>,
    /// vLLM's account of its time, in milliseconds.
    #[serde(default)]
    metrics: Option<Metrics>,
    /// llama.cpp's.
    #[serde(default)]
    timings: Option<Timings>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
struct Metrics {
    #[serde(default)]
    #[serde(rename = "queue_time_ms")]
    queue: Option<f64>,
    /// Without the queue.
    #[serde(default)]
    #[serde(rename = "time_to_first_token_ms")]
    first_token: Option<f64>,
    #[serde(default)]
    #[serde(rename = "generation_time_ms")]
    generation: Option<f64>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
struct Timings {
    #[serde(default)]
    cache_n: Option<u64>,
    #[serde(default)]
    prompt_ms: Option<f64>,
    #[serde(default)]
    predicted_ms: Option<f64>,
}

#[derive(Debug, Deserialize)]
struct Choice {
    #[serde(default)]
    delta: Option<ChunkDelta>,
    /// In place of `delta` when the answer comes whole.
    #[serde(default)]
    message: Option<ChunkDelta>,
    #[serde(default)]
    text: Something,
    #[serde(default)]
    finish_reason: Something,
    #[serde(default)]
    token_ids: Option<Vec<IgnoredAny>>,
}

#[derive(Debug, Deserialize)]
struct ChunkDelta {
    #[serde(default)]
    content: Something,
    #[serde(default)]
    refusal: Something,
    #[serde(default)]
    reasoning: Something,
    #[serde(default)]
    reasoning_content: Something,
    #[serde(default)]
    tool_calls: Something,
}

#[derive(Debug, Deserialize)]
struct Usage {
    #[serde(default)]
    prompt_tokens: Option<u64>,
    #[serde(default)]
    completion_tokens: Option<u64>,
    #[serde(default)]
    prompt_tokens_details: Option<PromptDetails>,
    #[serde(default)]
    completion_tokens_details: Option<CompletionDetails>,
    /// MindIE's: microseconds for each token, the first of them before the prompt was computed.
    #[serde(default)]
    queue_wait_time: Option<Value>,
}

#[derive(Debug, Deserialize)]
struct PromptDetails {
    #[serde(default)]
    cached_tokens: Option<u64>,
}

#[derive(Debug, Deserialize)]
struct CompletionDetails {
    #[serde(default)]
    reasoning_tokens: Option<u64>,
}

pub(super) fn interpret(data: &[u8]) -> Result<Meaning, Nonsense> {
    if data.trim_ascii() == DONE {
        return Ok(Meaning { ended: true, ..Meaning::default() });
    }
    from_json::<Chunk>(data).map(|chunk| chunk.meaning(|choice| choice.delta.as_ref()))
}

pub(super) fn interpret_whole(body: &[u8]) -> Result<Meaning, Nonsense> {
    from_json::<Chunk>(body).map(|answer| answer.meaning(|choice| choice.message.as_ref()))
}

impl Chunk {
    /// `generated` says where in a choice the model's words are.
    fn meaning(self, generated: fn(&Choice) -> Option<&ChunkDelta>) -> Meaning {
        if let Some(error) = self.error_text() {
            return Meaning { error: Some(error), ..Meaning::default() };
        }
        let mut meaning =
            Meaning { times: self.times(), fingerprint: self.system_fingerprint, ..Meaning::default() };
        meaning.usage = self.usage.map(Tokens::from);
        if let Some(cached) = self.timings.and_then(|timings| timings.cache_n) {
            meaning.usage.get_or_insert_default().cached = Some(cached);
        }
        for choice in self.choices.iter().flatten() {
            meaning.add(choice, generated(choice));
        }
        meaning
    }

    fn times(&self) -> ServerTimes {
        let ms = |value| ServerTimes::read(value, Duration::from_millis(1));
        let (metrics, timings) = (self.metrics, self.timings);
        let waited = self.usage.as_ref().and_then(|usage| usage.queue_wait_time.as_ref());
        let waited = waited.and_then(|wait| wait.get(0).unwrap_or(wait).as_f64());
        ServerTimes {
            queue: ms(metrics.and_then(|m| m.queue))
                .or_else(|| ServerTimes::read(waited, Duration::from_micros(1))),
            prefill: ms(metrics.and_then(|m| m.first_token).or_else(|| timings.and_then(|t| t.prompt_ms))),
            decode: ms(metrics.and_then(|m| m.generation).or_else(|| timings.and_then(|t| t.predicted_ms))),
            load: None,
        }
    }

    fn error_text(&self) -> Option<String> {
        if let Some(error) = self.error.as_ref().filter(|error| !error.is_null()) {
            return Some(refusal::text_of(error));
        }
        let is_error_object = self.object.as_ref().and_then(Value::as_str) == Some("error");
        let says_nothing_else = self.choices.is_none() && self.usage.is_none();
        let text = self.message.as_ref().or(self.detail.as_ref()).filter(|text| !text.is_null());
        if !is_error_object && (text.is_none() || !says_nothing_else) {
            return None;
        }
        Some(text.map_or_else(|| "an error without a message".to_owned(), refusal::text_of))
    }
}

impl Meaning {
    fn add(&mut self, choice: &Choice, delta: Option<&ChunkDelta>) {
        self.finished |= choice.finish_reason.0;
        if let Some(ids) = &choice.token_ids {
            self.token_ids = Some(self.token_ids.unwrap_or(0) + ids.len() as u32);
        }
        let holds = |field: fn(&ChunkDelta) -> Something| delta.is_some_and(|d| field(d).0);
        if holds(|d| d.reasoning) || holds(|d| d.reasoning_content) {
            self.channels.push(Channel::Reasoning);
        }
        if choice.text.0 || holds(|d| d.content) || holds(|d| d.refusal) {
            self.channels.push(Channel::Answer);
        }
        if holds(|d| d.tool_calls) {
            self.channels.push(Channel::ToolCall);
        }
    }
}

impl From<Usage> for Tokens {
    fn from(usage: Usage) -> Self {
        Self {
            prompt: usage.prompt_tokens,
            cached: usage.prompt_tokens_details.and_then(|d| d.cached_tokens),
            reasoning: usage.completion_tokens_details.and_then(|d| d.reasoning_tokens),
            output: usage.completion_tokens,
            source: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meaning(json: &str) -> Meaning {
        interpret(json.as_bytes()).unwrap()
    }

    #[test]
    fn addresses_work_with_and_without_a_version() {
        let cases = [
            ("http://h:1", "http://h:1/v1/chat/completions"),
            ("http://h:1/", "http://h:1/v1/chat/completions"),
            ("http://h:1/v1", "http://h:1/v1/chat/completions"),
            ("http://h:1/v1/", "http://h:1/v1/chat/completions"),
            ("http://h:1/api/v3", "http://h:1/api/v3/chat/completions"),
            ("http://h:1/gateway", "http://h:1/gateway/v1/chat/completions"),
            (
                "http://h:1/v1beta/openai/v1/chat/completions?x=1",
                "http://h:1/v1beta/openai/v1/chat/completions?x=1",
            ),
            ("http://h:1/v1?api-version=2", "http://h:1/v1/chat/completions?api-version=2"),
            (
                "https://x.example.com/openai/deployments/d?api-version=2024-10-21",
                "https://x.example.com/openai/deployments/d/chat/completions?api-version=2024-10-21",
            ),
        ];
        for (base, expected) in cases {
            assert_eq!(join(&Url::parse(base).unwrap(), "chat/completions").as_str(), expected);
        }
    }

    #[test]
    fn role_only_empty_and_null_deltas_carry_nothing() {
        for delta in [
            r#"{"role":"assistant"}"#,
            r#"{"role":"assistant","content":""}"#,
            r#"{"content":null,"reasoning_content":null,"tool_calls":[]}"#,
            "{}",
            "null",
        ] {
            let chunk = format!(r#"{{"choices":[{{"index":0,"delta":{delta},"finish_reason":null}}]}}"#);
            assert_eq!(meaning(&chunk), Meaning::default(), "{delta}");
        }
        assert_eq!(meaning(r#"{"choices":[{"index":0}]}"#), Meaning::default());
    }

    #[test]
    fn text_reasoning_and_tool_calls_are_told_apart() {
        let channels = |delta: &str| meaning(&format!(r#"{{"choices":[{{"delta":{delta}}}]}}"#)).channels;
        assert_eq!(channels(r#"{"content":"a"}"#), [Channel::Answer]);
        assert_eq!(channels(r#"{"content":[{"type":"text","text":"a"}]}"#), [Channel::Answer]);
        assert_eq!(channels(r#"{"reasoning":"a"}"#), [Channel::Reasoning]);
        assert_eq!(channels(r#"{"reasoning_content":"a"}"#), [Channel::Reasoning]);
        assert_eq!(channels(r#"{"tool_calls":[{"index":0}]}"#), [Channel::ToolCall]);
    }

    #[test]
    fn one_chunk_may_say_everything_at_once() {
        let meaning = meaning(
            r#"{"choices":[{"text":" end","finish_reason":"length","token_ids":[7,8]}],
                "usage":{"prompt_tokens":5,"completion_tokens":9,"prompt_tokens_details":{"cached_tokens":4},
                "completion_tokens_details":{"reasoning_tokens":2}}}"#,
        );
        let usage =
            Tokens { prompt: Some(5), cached: Some(4), reasoning: Some(2), output: Some(9), source: None };
        assert_eq!(meaning.channels, [Channel::Answer]);
        assert_eq!((meaning.token_ids, meaning.usage, meaning.finished), (Some(2), Some(usage), true));
    }

    #[test]
    fn every_shape_of_error_is_an_error() {
        for (json, text) in [
            (r#"{"error":{"message":"boom","code":500}}"#, "boom"),
            (r#"{"error":"boom"}"#, "boom"),
            (r#"{"object":"error","message":"boom","code":"x"}"#, "boom"),
            (r#"{"message":"boom"}"#, "boom"),
            (r#"{"detail":"boom"}"#, "boom"),
        ] {
            assert_eq!(meaning(json).error.as_deref(), Some(text), "{json}");
            assert_eq!(refusal::explain(json.as_bytes()), text, "{json}");
        }
        assert_eq!(meaning(r#"{"error":null,"choices":[]}"#), Meaning::default());
    }

    #[test]
    fn the_end_marker_and_nonsense_are_recognised() {
        assert!(meaning("[DONE]").ended);
        assert!(interpret(b"<html>").is_err());
        assert!(interpret(b"{\"choices\": 3}").is_err());
        assert!(interpret(b"{\"choices\":[{\"delta\":{\"content\":\"\xff\"}}]}").is_err());
    }
}
