//! `anthropic`: `/v1/messages`.

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use url::Url;

use super::envelope::Envelope;
use super::gather::{Gather, Gathered};
use super::look::{Label, Number, Something};
use super::message::{self, messages};
use super::reason::Reason;
use super::words::{Said, Words};
use super::{Meaning, Nonsense, from_json, openai, refusal, to_json};
use crate::domain::{Channel, Prompt, Target, Tokens};

/// Not in the format, but some servers end every stream with it.
const DONE: &[u8] = b"[DONE]";

#[derive(Debug, Serialize)]
struct Body<'a> {
    model: &'a str,
    max_tokens: u32,
    /// No turn among the others, as elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    system: Option<&'a str>,
    messages: Vec<message::Message<'a>>,
    stream: bool,
}

pub(super) fn url(target: &Target) -> Url {
    openai::join(&target.url, "messages")
}

pub(super) fn body(target: &Target, prompt: &Prompt) -> String {
    to_json(&Body {
        model: &target.model,
        max_tokens: prompt.max_tokens,
        system: prompt.system(),
        messages: messages(prompt.conversation()),
        stream: target.stream,
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    MessageStart,
    ContentBlockStart,
    ContentBlockDelta,
    MessageDelta,
    MessageStop,
    Error,
    #[serde(other)]
    Other,
}

#[derive(Debug, Deserialize)]
struct MessageStart<'a> {
    #[serde(default, borrow)]
    message: Option<Message<'a>>,
}

/// The answer: whole, or as announced at the start of a stream.
#[derive(Debug, Deserialize)]
struct Message<'a> {
    #[serde(default, borrow)]
    content: Option<Gathered<Blocks<'a>>>,
    #[serde(default)]
    stop_reason: Reason,
    #[serde(default)]
    usage: Option<Usage>,
    #[serde(default, borrow)]
    model: Label<'a>,
}

#[derive(Debug, Deserialize)]
struct BlockStart<'a> {
    #[serde(default, borrow)]
    content_block: Option<Block<'a>>,
}

/// A piece of the answer, or an addition to one; what it is shows in the field that it fills.
#[derive(Debug, Deserialize)]
struct Block<'a> {
    #[serde(default, rename = "type")]
    kind: Option<BlockKind>,
    #[serde(default, borrow)]
    text: Words<'a>,
    #[serde(default, borrow)]
    thinking: Words<'a>,
    /// Reasoning that only the server can read.
    #[serde(default)]
    data: Something,
    #[serde(default)]
    partial_json: Something,
}

#[derive(Debug, Default)]
struct Blocks<'a>(Said<'a>);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum BlockKind {
    ToolUse,
    #[serde(other)]
    Other,
}

#[derive(Debug, Deserialize)]
struct MessageDelta {
    #[serde(default)]
    delta: Option<Stop>,
    #[serde(default)]
    usage: Option<Usage>,
}

#[derive(Debug, Deserialize)]
struct Stop {
    #[serde(default)]
    stop_reason: Reason,
}

#[derive(Debug, Clone, Copy, Deserialize)]
struct Usage {
    /// Without what came from the cache, or went into it.
    #[serde(default, rename = "input_tokens")]
    input: Option<u64>,
    #[serde(default, rename = "cache_read_input_tokens")]
    cache_read: Option<u64>,
    #[serde(default, rename = "cache_creation_input_tokens")]
    cache_written: Option<u64>,
    #[serde(default, rename = "output_tokens")]
    output: Option<u64>,
    #[serde(default, rename = "output_tokens_details")]
    details: Option<OutputDetails>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
struct OutputDetails {
    #[serde(default, rename = "thinking_tokens")]
    thinking: Number,
}

/// An event, and what it adds to a block of the answer.
type Addition<'a> = Envelope<Kind, Block<'a>>;

pub(super) fn interpret(data: &[u8]) -> Result<Meaning<'_>, Nonsense> {
    if data.trim_ascii() == DONE {
        return Ok(Meaning::end());
    }
    match serde_json::from_slice::<Addition<'_>>(data) {
        Ok(event) if event.is_error(&Kind::Error) => Ok(Meaning::error(refusal::explain(data))),
        Ok(Envelope { kind: Some(Kind::ContentBlockDelta), delta, .. }) => {
            Ok(delta.map(Meaning::from).unwrap_or_default())
        }
        // A kind of event that is not so frequent, or one in which `delta` is something else.
        _ => interpret_rest(data),
    }
}

fn interpret_rest(data: &[u8]) -> Result<Meaning<'_>, Nonsense> {
    let envelope: Envelope<Kind, IgnoredAny> = from_json(data)?;
    if envelope.is_error(&Kind::Error) {
        return Ok(Meaning::error(refusal::explain(data)));
    }
    let mut meaning = Meaning::default();
    match envelope.kind {
        Some(Kind::MessageStart) => {
            // No output yet: the 0 or 1 that stands there would pass for a count if no other came.
            if let Some(message) = from_json::<MessageStart<'_>>(data)?.message {
                let no_output = |usage| Usage { output: None, details: None, ..usage }.into();
                (meaning.usage, meaning.model) = (message.usage.map(no_output), message.model.0);
            }
        }
        Some(Kind::ContentBlockStart) => {
            let block = from_json::<BlockStart<'_>>(data)?.content_block;
            return Ok(block.map(Meaning::from).unwrap_or_default());
        }
        Some(Kind::MessageDelta) => {
            let event: MessageDelta = from_json(data)?;
            let reason = event.delta.map(|delta| delta.stop_reason).unwrap_or_default();
            (meaning.finished, meaning.cut) = (reason.told, reason.cut);
            meaning.is_summary = event.usage.is_some_and(Usage::counts_thinking);
            meaning.usage = event.usage.map(Tokens::from);
        }
        Some(Kind::MessageStop) => meaning.ended = true,
        // Its `delta` was not to be read.
        Some(Kind::ContentBlockDelta) => return from_json::<Addition<'_>>(data).map(|_| meaning),
        // Pings, ends of blocks, and what has not been invented yet.
        Some(Kind::Error | Kind::Other) | None => {}
    }
    Ok(meaning)
}

pub(super) fn interpret_whole(body: &[u8]) -> Result<Meaning<'_>, Nonsense> {
    if from_json::<Envelope<Kind, IgnoredAny>>(body)?.is_error(&Kind::Error) {
        return Ok(Meaning::error(refusal::explain(body)));
    }
    let message: Message<'_> = from_json(body)?;
    Ok(Meaning {
        is_summary: message.usage.is_some_and(Usage::counts_thinking),
        usage: message.usage.map(Tokens::from),
        finished: message.stop_reason.told,
        cut: message.stop_reason.cut,
        model: message.model.0,
        ..Meaning::from(message.content.unwrap_or_default().0.0)
    })
}

impl<'a> Gather for Blocks<'a> {
    type Item = Block<'a>;

    fn gather(&mut self, _: usize, block: Block<'a>) {
        block.add_to(&mut self.0);
    }
}

impl<'a> Block<'a> {
    fn add_to(self, said: &mut Said<'a>) {
        if self.thinking.any {
            said.add(Channel::Reasoning, self.thinking);
        } else if self.data.0 {
            said.mark(Channel::Reasoning);
        } else if self.text.any {
            said.add(Channel::Answer, self.text);
        } else if self.partial_json.0 || self.kind == Some(BlockKind::ToolUse) {
            // The tool's name, which opens the block, is generated like its arguments.
            said.mark(Channel::ToolCall);
        }
    }
}

impl<'a> From<Block<'a>> for Meaning<'a> {
    fn from(block: Block<'a>) -> Self {
        let mut said = Said::default();
        block.add_to(&mut said);
        said.into()
    }
}

impl From<Usage> for Tokens {
    fn from(usage: Usage) -> Self {
        let besides = [usage.cache_read, usage.cache_written].into_iter().flatten();
        let prompt = usage.input.map(|input| besides.fold(input, u64::saturating_add));
        // No prompt is empty: zeros stand for counts that the server does not have yet.
        let unknown = prompt == Some(0);
        Self {
            prompt: prompt.filter(|_| !unknown),
            cached: usage.cache_read.filter(|_| !unknown),
            reasoning: usage.thinking(),
            output: usage.output,
            ..Self::default()
        }
    }
}

impl Usage {
    fn thinking(self) -> Option<u64> {
        self.details.and_then(|details| details.thinking.0)
    }

    /// Only Anthropic counts its thinking, and what it streams of that is a summary, a sealed block or nothing; engines
    /// that speak its format stream all of it and count it with the rest.
    fn counts_thinking(self) -> bool {
        self.thinking().is_some()
    }
}

#[cfg(test)]
mod tests;
