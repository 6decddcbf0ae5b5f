//! `anthropic`: `/v1/messages`.

use serde::{Deserialize, Serialize};
use url::Url;

use super::envelope::Envelope;
use super::gather::{Gather, Gathered};
use super::look::Something;
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
struct MessageStart {
    #[serde(default)]
    message: Option<Message>,
}

/// The answer: whole, or as announced at the start of a stream.
#[derive(Debug, Deserialize)]
struct Message {
    #[serde(default)]
    content: Option<Gathered<Blocks>>,
    #[serde(default)]
    stop_reason: Reason,
    #[serde(default)]
    usage: Option<Usage>,
}

#[derive(Debug, Deserialize)]
struct BlockStart {
    #[serde(default)]
    content_block: Option<Block>,
}

#[derive(Debug, Deserialize)]
struct BlockDelta {
    #[serde(default)]
    delta: Option<Block>,
}

/// A piece of the answer, or an addition to one; what it is shows in the field that it fills.
#[derive(Debug, Deserialize)]
struct Block {
    #[serde(default, rename = "type")]
    kind: Option<BlockKind>,
    #[serde(default)]
    text: Words,
    #[serde(default)]
    thinking: Words,
    /// Reasoning that only the server can read.
    #[serde(default)]
    data: Something,
    #[serde(default)]
    partial_json: Something,
}

#[derive(Debug, Default)]
struct Blocks(Said);

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
}

pub(super) fn interpret(data: &[u8]) -> Result<Meaning, Nonsense> {
    if data.trim_ascii() == DONE {
        return Ok(Meaning { ended: true, ..Meaning::default() });
    }
    let envelope: Envelope<Kind> = from_json(data)?;
    if envelope.is_error(&Kind::Error) {
        return Ok(Meaning { error: Some(refusal::explain(data)), ..Meaning::default() });
    }
    let mut meaning = Meaning::default();
    match envelope.kind {
        Some(Kind::MessageStart) => {
            // No output yet: the 0 or 1 that stands there would pass for a count if no other came.
            let usage = from_json::<MessageStart>(data)?.message.and_then(|message| message.usage);
            meaning.usage = usage.map(|usage| Usage { output: None, ..usage }.into());
        }
        Some(Kind::ContentBlockStart) => {
            return Ok(from_json::<BlockStart>(data)?.content_block.map(Meaning::from).unwrap_or_default());
        }
        Some(Kind::ContentBlockDelta) => {
            return Ok(from_json::<BlockDelta>(data)?.delta.map(Meaning::from).unwrap_or_default());
        }
        Some(Kind::MessageDelta) => {
            let event: MessageDelta = from_json(data)?;
            let reason = event.delta.map(|delta| delta.stop_reason).unwrap_or_default();
            (meaning.finished, meaning.cut) = (reason.told, reason.cut);
            meaning.usage = event.usage.map(Tokens::from);
        }
        Some(Kind::MessageStop) => meaning.ended = true,
        // Pings, ends of blocks, and what has not been invented yet.
        Some(Kind::Error | Kind::Other) | None => {}
    }
    Ok(meaning)
}

pub(super) fn interpret_whole(body: &[u8]) -> Result<Meaning, Nonsense> {
    if from_json::<Envelope<Kind>>(body)?.is_error(&Kind::Error) {
        return Ok(Meaning { error: Some(refusal::explain(body)), ..Meaning::default() });
    }
    let message: Message = from_json(body)?;
    Ok(Meaning {
        usage: message.usage.map(Tokens::from),
        finished: message.stop_reason.told,
        cut: message.stop_reason.cut,
        ..Meaning::from(message.content.unwrap_or_default().0.0)
    })
}

impl Gather for Blocks {
    type Item = Block;

    fn gather(&mut self, _: usize, block: Block) {
        block.add_to(&mut self.0);
    }
}

impl Block {
    fn add_to(self, said: &mut Said) {
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

impl From<Block> for Meaning {
    fn from(block: Block) -> Self {
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
            reasoning: None,
            output: usage.output,
            source: None,
        }
    }
}

#[cfg(test)]
mod tests;
