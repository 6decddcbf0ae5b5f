//! `gemini`: `models/{model}:streamGenerateContent` with server-sent events, or `:generateContent`.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use url::Url;

use super::gather::{Gather, Gathered};
use super::look::{Index, Label, Something};
use super::reason::Reason;
use super::words::{Said, Words};
use super::{Meaning, Nonsense, address, from_json, refusal, to_json};
use crate::domain::{Channel, Prompt, Role, Target, Tokens, Turn};

const STREAM: &str = ":streamGenerateContent";
const WHOLE: &str = ":generateContent";

#[derive(Debug, Serialize)]
struct Body<'a> {
    #[serde(rename = "systemInstruction", skip_serializing_if = "Option::is_none")]
    system: Option<Content<'a>>,
    contents: Vec<Content<'a>>,
    #[serde(rename = "generationConfig")]
    config: Config,
}

#[derive(Debug, Serialize)]
struct Content<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'static str>,
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

/// What chunks come to.
#[derive(Debug, Default)]
struct Chunks<'a> {
    meaning: Meaning<'a>,
    said: Said<'a>,
}

/// One chunk of a stream; a whole answer has the same shape.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Chunk<'a> {
    #[serde(default, borrow)]
    candidates: Option<Gathered<Candidates<'a>>>,
    #[serde(default)]
    usage_metadata: Option<Usage>,
    #[serde(default)]
    prompt_feedback: Option<Feedback>,
    #[serde(default, borrow)]
    model_version: Label<'a>,
    #[serde(default)]
    error: Option<Value>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Candidate<'a> {
    #[serde(default)]
    index: Index,
    #[serde(default, borrow)]
    content: Option<Generated<'a>>,
    #[serde(default)]
    finish_reason: Reason,
}

/// What the candidates of a chunk come to; of several, the first is read.
#[derive(Debug, Default)]
struct Candidates<'a> {
    said: Said<'a>,
    finished: bool,
    cut: bool,
}

/// The last chunk may have a role and no parts.
#[derive(Debug, Deserialize)]
struct Generated<'a> {
    #[serde(default, borrow)]
    parts: Option<Gathered<Parts<'a>>>,
}

#[derive(Debug, Default)]
struct Parts<'a>(Said<'a>);

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Part<'a> {
    #[serde(default, borrow)]
    text: Words<'a>,
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
        system: prompt.system().map(|text| Content { role: None, parts: [Text { text }] }),
        contents: prompt.conversation().iter().map(Content::of).collect(),
        config: Config { max_output_tokens: prompt.max_tokens },
    })
}

impl<'a> Content<'a> {
    fn of(turn: &'a Turn) -> Self {
        let role = match turn.role {
            Role::Assistant => "model",
            role => role.name(),
        };
        Self { role: Some(role), parts: [Text { text: &turn.text }] }
    }
}

/// Errors, and streams that a gateway turned into one answer, come as a list.
pub(super) fn interpret(data: &[u8]) -> Result<Meaning<'_>, Nonsense> {
    let mut chunks = Chunks::default();
    if data.trim_ascii_start().first() == Some(&b'[') {
        Gathered(chunks) = from_json(data)?;
    } else {
        chunks.gather(0, from_json(data)?);
    }
    let meaning = chunks.meaning.saying(chunks.said);
    // What is told of thoughts is always a summary of them; the thoughts themselves are only counted.
    Ok(Meaning { is_summary: meaning.channels.has(Channel::Reasoning), ..meaning })
}

pub(super) fn interpret_whole(body: &[u8]) -> Result<Meaning<'_>, Nonsense> {
    interpret(body)
}

impl<'a> Gather for Chunks<'a> {
    type Item = Chunk<'a>;

    fn gather(&mut self, _: usize, chunk: Chunk<'a>) {
        let meaning = &mut self.meaning;
        if let Some(error) = chunk.error.filter(|error| !error.is_null()) {
            meaning.error = Some(refusal::text_of(&error));
        }
        meaning.usage = chunk.usage_metadata.map(Tokens::from).or(meaning.usage);
        meaning.fingerprint = chunk.model_version.0.or(meaning.fingerprint.take());
        meaning.model.clone_from(&meaning.fingerprint);
        // A prompt that is refused has no candidates, and nothing follows.
        meaning.finished |= chunk.prompt_feedback.is_some_and(|feedback| feedback.block_reason.0);
        let Gathered(candidates) = chunk.candidates.unwrap_or_default();
        meaning.finished |= candidates.finished;
        meaning.cut |= candidates.cut;
        self.said.append(candidates.said);
    }
}

impl<'a> Gather for Candidates<'a> {
    type Item = Candidate<'a>;

    fn gather(&mut self, place: usize, candidate: Candidate<'a>) {
        let is_first = candidate.index.is_first(place);
        self.finished |= candidate.finish_reason.told;
        self.cut |= is_first && candidate.finish_reason.cut;
        let Gathered(Parts(said)) = candidate.content.and_then(|content| content.parts).unwrap_or_default();
        self.said.append(if is_first { said } else { said.muted() });
    }
}

impl<'a> Gather for Parts<'a> {
    type Item = Part<'a>;

    /// A part that only carries a signature is nothing.
    fn gather(&mut self, _: usize, part: Part<'a>) {
        if part.function_call.0 {
            self.0.mark(Channel::ToolCall);
        } else if part.thought == Some(true) {
            self.0.add(Channel::Reasoning, part.text);
        } else {
            self.0.add(Channel::Answer, part.text);
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
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests;
