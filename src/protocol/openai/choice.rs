//! The answers inside a chunk. Several come only if several are asked for; the first is the one that is read,
//! and the others count.

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::domain::Channel;
use crate::protocol::drafts::Drafts;
use crate::protocol::gather::{Gather, Gathered};
use crate::protocol::look::{Index, Something};
use crate::protocol::reason::Reason;
use crate::protocol::words::{Said, Words};

/// What all choices of a chunk come to. `WHOLE` says where in a choice the model's words are.
#[derive(Debug, Default)]
pub(super) struct Choices<'a, const WHOLE: bool> {
    pub(super) said: Said<'a>,
    pub(super) finished: bool,
    pub(super) cut: bool,
    pub(super) token_ids: Option<u32>,
    pub(super) drafts: Drafts,
}

#[derive(Debug, Deserialize)]
pub(super) struct Choice<'a> {
    #[serde(default)]
    index: Index,
    #[serde(default, borrow)]
    delta: Option<Spoken<'a>>,
    /// In place of `delta` when the answer comes whole.
    #[serde(default, borrow)]
    message: Option<Spoken<'a>>,
    #[serde(default, borrow)]
    text: Words<'a>,
    #[serde(default)]
    finish_reason: Reason,
    #[serde(default)]
    token_ids: Option<Gathered<Count>>,
    /// SGLang's.
    #[serde(default)]
    meta_info: Drafts,
}

#[derive(Debug, Default, Deserialize)]
struct Spoken<'a> {
    #[serde(default, borrow)]
    content: Words<'a>,
    #[serde(default, borrow)]
    refusal: Words<'a>,
    #[serde(default, borrow)]
    reasoning: Words<'a>,
    #[serde(default, borrow)]
    reasoning_content: Words<'a>,
    #[serde(default)]
    tool_calls: Something,
}

/// How many items a list has.
#[derive(Debug, Default)]
struct Count(u32);

impl Gather for Count {
    type Item = IgnoredAny;

    fn gather(&mut self, _: usize, _: IgnoredAny) {
        self.0 += 1;
    }
}

impl<'a, const WHOLE: bool> Gather for Choices<'a, WHOLE> {
    type Item = Choice<'a>;

    fn gather(&mut self, place: usize, choice: Choice<'a>) {
        let is_first = choice.index.is_first(place);
        if is_first {
            self.drafts = choice.meta_info;
        }
        self.finished |= choice.finish_reason.told;
        self.cut |= is_first && choice.finish_reason.cut;
        if let Some(Gathered(Count(ids))) = choice.token_ids {
            self.token_ids = Some(self.token_ids.unwrap_or(0).saturating_add(ids));
        }
        let spoken = if WHOLE { choice.message } else { choice.delta };
        let said = spoken.unwrap_or_default().said(choice.text);
        self.said.append(if is_first { said } else { said.muted() });
    }
}

impl<'a> Spoken<'a> {
    /// `text` is what the format for completions has in place of the rest.
    fn said(self, text: Words<'a>) -> Said<'a> {
        let mut said = Said::default();
        said.add(Channel::Reasoning, self.reasoning.or(self.reasoning_content));
        said.add(Channel::Answer, self.content.or(text));
        said.add(Channel::Answer, self.refusal);
        if self.tool_calls.0 {
            said.mark(Channel::ToolCall);
        }
        said
    }
}
