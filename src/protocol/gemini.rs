//! `gemini`: `models/{model}:streamGenerateContent` with server-sent events, or `:generateContent`.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use url::Url;

use super::something::Something;
use super::{Meaning, Nonsense, address, from_json, refusal, to_json};
use crate::domain::{Channel, Prompt, Target, Tokens};

const STREAM: &str = ":streamGenerateContent";
const WHOLE: &str = ":generateContent";

#[derive(Debug, Serialize)]
struct Body<'a> {
    contents: [Content<'a>; 1],
    #[serde(rename = "generationConfig")]
    config: Config,
}

#[derive(Debug, Serialize)]
struct Content<'a> {
    role: &'static str,
    parts: [Text<'a>; 1],
}

#[derive(Debug, Serialize)]
struct Text<'a> {
    text: &'a str,
}

#[derive(Debug, Serialize)]
struct Config {
    #[serde(rename = "maxOutputTokens")]
    max_output_tokens: u32,
}

/// One chunk of a stream; a whole answer has the same shape.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Chunk {
    #[serde(default)]
    candidates: Option<Vec<Candidate>>,
    #[serde(default)]
    usage_metadata: Option<Usage>,
    #[serde(default)]
    prompt_feedback: Option<Feedback>,
    #[serde(default)]
    model_version: Option<String>,
    #[serde(default)]
    error: Option<Value>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Candidate {
    #[serde(default)]
    content: Option<Parts>,
    #[serde(default)]
    finish_reason: Something,
}

/// The last chunk may have a role and no parts.
#[derive(Debug, Deserialize)]
struct Parts {
    #[serde(default)]
    parts: Option<Vec<Part>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Part {
    #[serde(default)]
    text: Something,
    #[serde(default)]
    thought: Option<bool>,
    #[serde(default)]
    function_call: Something,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Feedback {
    #[serde(default)]
    block_reason: Something,
}

#[derive(Debug, Clone, Copy, Deserialize)]
struct Usage {
    #[serde(default, rename = "promptTokenCount")]
    prompt: Option<u64>,
    #[serde(default, rename = "cachedContentTokenCount")]
    cached_content: Option<u64>,
    #[serde(default, rename = "candidatesTokenCount")]
    candidates: Option<u64>,
    #[serde(default, rename = "thoughtsTokenCount")]
    thoughts: Option<u64>,
}

pub(super) fn url(target: &Target) -> Url {
    let stem = address::stem(&target.url, &[STREAM, WHOLE]);
    let call = if target.stream { STREAM } else { WHOLE };
    let mut url = address::at(&target.url, &format!("{}{call}", place(stem, &target.model)));
    // Without this a stream comes as one JSON list, which tells nothing before its end.
    if target.stream && !url.query_pairs().any(|(key, _)| key == "alt") {
        url.query_pairs_mut().append_pair("alt", "sse");
    }
    url
}

/// The path of the model behind a base that may name a version, a project's place, or the model already.
fn place(stem: &str, model: &str) -> String {
    if stem.ends_with(&format!("/{model}")) {
        return stem.to_owned();
    }
    let version = if stem.split('/').any(is_version) { "" } else { "/v1beta" };
    // Tuned models are in a collection of their own.
    let collection = if model.contains('/') { "" } else { "models/" };
    format!("{stem}{version}/{collection}{model}")
}

fn is_version(segment: &str) -> bool {
    segment.strip_prefix('v').is_some_and(|n| n.starts_with(|c: char| c.is_ascii_digit()))
}

pub(super) fn body(_target: &Target, prompt: &Prompt) -> String {
    to_json(&Body {
        contents: [Content { role: "user", parts: [Text { text: &prompt.text() }] }],
        config: Config { max_output_tokens: prompt.max_tokens },
    })
}

/// Errors, and streams that a gateway turned into one answer, come as a list.
pub(super) fn interpret(data: &[u8]) -> Result<Meaning, Nonsense> {
    let chunks: Vec<Chunk> = match data.trim_ascii_start().first() {
        Some(b'[') => from_json(data)?,
        _ => vec![from_json(data)?],
    };
    let mut meaning = Meaning::default();
    for chunk in chunks {
        chunk.add_to(&mut meaning);
    }
    Ok(meaning)
}

pub(super) fn interpret_whole(body: &[u8]) -> Result<Meaning, Nonsense> {
    interpret(body)
}

impl Chunk {
    fn add_to(self, meaning: &mut Meaning) {
        if let Some(error) = self.error.filter(|error| !error.is_null()) {
            meaning.error = Some(refusal::text_of(&error));
        }
        meaning.usage = self.usage_metadata.map(Tokens::from).or(meaning.usage);
        meaning.fingerprint = self.model_version.or(meaning.fingerprint.take());
        // A prompt that is refused has no candidates, and nothing follows.
        meaning.finished |= self.prompt_feedback.is_some_and(|feedback| feedback.block_reason.0);
        for candidate in self.candidates.into_iter().flatten() {
            meaning.finished |= candidate.finish_reason.0;
            for part in candidate.content.and_then(|content| content.parts).into_iter().flatten() {
                if let Some(channel) = part.channel().filter(|channel| !meaning.channels.contains(channel)) {
                    meaning.channels.push(channel);
                }
            }
        }
    }
}

impl Part {
    /// Where a part belongs; one that only carries a signature is nothing.
    fn channel(&self) -> Option<Channel> {
        if self.function_call.0 {
            Some(Channel::ToolCall)
        } else if !self.text.0 {
            None
        } else if self.thought == Some(true) {
            Some(Channel::Reasoning)
        } else {
            Some(Channel::Answer)
        }
    }
}

impl From<Usage> for Tokens {
    fn from(usage: Usage) -> Self {
        let (answer, thoughts) = (usage.candidates, usage.thoughts);
        Self {
            prompt: usage.prompt,
            cached: usage.cached_content,
            reasoning: thoughts,
            // Thoughts are counted beside the candidates, not among them.
            output: match (answer, thoughts) {
                (None, None) => None,
                _ => Some(answer.unwrap_or(0).saturating_add(thoughts.unwrap_or(0))),
            },
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

    fn part(json: &str) -> Vec<Channel> {
        meaning(&format!(r#"{{"candidates":[{{"content":{{"role":"model","parts":[{json}]}}}}]}}"#)).channels
    }

    #[test]
    fn the_model_is_found_behind_every_kind_of_base() {
        let cases = [
            ("", "m", "/v1beta/models/m"),
            ("/v1beta", "m", "/v1beta/models/m"),
            ("/v1", "models/m", "/v1/models/m"),
            ("/gateway", "tunedModels/m", "/gateway/v1beta/tunedModels/m"),
            ("/v1/projects/p/publishers/google", "m", "/v1/projects/p/publishers/google/models/m"),
            ("/v1beta/models/m", "m", "/v1beta/models/m"),
        ];
        for (stem, model, expected) in cases {
            assert_eq!(place(stem, model), expected, "{stem} {model}");
        }
    }

    #[test]
    fn text_thoughts_and_function_calls_are_told_apart() {
        assert_eq!(part(r#"{"text":"a"}"#), [Channel::Answer]);
        assert_eq!(part(r#"{"text":"a","thought":true}"#), [Channel::Reasoning]);
        assert_eq!(part(r#"{"functionCall":{"name":"f","args":{}}}"#), [Channel::ToolCall]);
        assert_eq!(
            part(r#"{"text":"a","thought":true},{"text":"b"}"#),
            [Channel::Reasoning, Channel::Answer]
        );
        assert_eq!(part(r#"{"text":"a"},{"text":"b"}"#), [Channel::Answer]);
    }

    #[test]
    fn empty_parts_and_signatures_carry_nothing() {
        for nothing in ["", r#"{"text":""}"#, r#"{"text":"","thoughtSignature":"x"}"#, "{}"] {
            assert_eq!(part(nothing), [], "{nothing}");
        }
        assert_eq!(meaning(r#"{"candidates":[{"content":{"role":"model"},"index":0}]}"#), Meaning::default());
        assert_eq!(meaning("{}"), Meaning::default());
    }

    #[test]
    fn the_last_text_chunk_may_also_finish() {
        let meaning = meaning(
            r#"{"candidates":[{"content":{"parts":[{"text":"."}]},"finishReason":"STOP"}],
                "usageMetadata":{"promptTokenCount":8,"cachedContentTokenCount":4,"candidatesTokenCount":5,
                "thoughtsTokenCount":3,"totalTokenCount":16},"modelVersion":"gemini-x-001"}"#,
        );
        let usage =
            Tokens { prompt: Some(8), cached: Some(4), reasoning: Some(3), output: Some(8), source: None };
        assert_eq!((meaning.channels, meaning.finished), (vec![Channel::Answer], true));
        assert_eq!((meaning.usage, meaning.fingerprint.as_deref()), (Some(usage), Some("gemini-x-001")));
    }

    #[test]
    fn output_is_absent_until_something_is_counted() {
        let output = |usage: &str| meaning(&format!(r#"{{"usageMetadata":{usage}}}"#)).usage.unwrap().output;
        assert_eq!(output(r#"{"promptTokenCount":8}"#), None);
        assert_eq!(output(r#"{"thoughtsTokenCount":3}"#), Some(3));
        assert_eq!(output(r#"{"candidatesTokenCount":5}"#), Some(5));
        let most = u64::MAX;
        assert_eq!(
            output(&format!(r#"{{"candidatesTokenCount":{most},"thoughtsTokenCount":9}}"#)),
            Some(most)
        );
    }

    #[test]
    fn a_blocked_prompt_finishes_without_text() {
        let blocked = meaning(r#"{"promptFeedback":{"blockReason":"SAFETY"}}"#);
        assert!(blocked.finished && blocked.channels.is_empty());
        assert!(!meaning(r#"{"promptFeedback":{"safetyRatings":[]}}"#).finished);
    }

    #[test]
    fn errors_come_plain_or_in_a_list() {
        let error = r#"{"error":{"code":503,"message":"overloaded","status":"UNAVAILABLE"}}"#;
        assert_eq!(meaning(error).error.as_deref(), Some("overloaded"));
        assert_eq!(meaning(&format!("[{error}]")).error.as_deref(), Some("overloaded"));
        assert!(interpret(b"<html>").is_err());
        assert!(interpret(b"[DONE]").is_err());
    }

    #[test]
    fn a_list_of_chunks_is_one_answer() {
        let whole = interpret_whole(
            br#"[{"candidates":[{"content":{"parts":[{"text":"a"}]}}],"modelVersion":"x"},
                 {"candidates":[{"finishReason":"STOP"}],"usageMetadata":{"candidatesTokenCount":2}}]"#,
        )
        .unwrap();
        assert_eq!((whole.channels, whole.finished), (vec![Channel::Answer], true));
        assert_eq!((whole.usage.unwrap().output, whole.fingerprint.as_deref()), (Some(2), Some("x")));
    }
}
