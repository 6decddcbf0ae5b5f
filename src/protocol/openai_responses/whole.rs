//! What an answer in the Responses format says when it comes whole.

use serde::Deserialize;

use super::ItemKind;
use crate::domain::Channel;
use crate::protocol::gather::{Gather, Gathered};
use crate::protocol::words::{Said, Words};

#[derive(Debug, Deserialize)]
pub(super) struct Whole {
    #[serde(default)]
    output: Option<Gathered<Output>>,
}

#[derive(Debug, Default)]
struct Output(Said);

#[derive(Debug, Deserialize)]
struct OutputItem {
    #[serde(default, rename = "type")]
    kind: Option<ItemKind>,
    #[serde(default)]
    content: Option<Gathered<Parts>>,
    #[serde(default)]
    summary: Option<Gathered<Parts>>,
}

#[derive(Debug, Deserialize)]
struct Part {
    #[serde(default)]
    text: Words,
    #[serde(default)]
    refusal: Words,
}

#[derive(Debug, Default)]
struct Parts(Words);

impl Whole {
    pub(super) fn said(self) -> Said {
        self.output.unwrap_or_default().0.0
    }
}

impl Gather for Output {
    type Item = OutputItem;

    fn gather(&mut self, _: usize, item: OutputItem) {
        let words = |parts: Option<Gathered<Parts>>| parts.unwrap_or_default().0.0;
        match item.kind {
            Some(ItemKind::Message) => self.0.add(Channel::Answer, words(item.content)),
            Some(ItemKind::Reasoning) => {
                self.0.add(Channel::Reasoning, words(item.content));
                self.0.add(Channel::Reasoning, words(item.summary));
            }
            Some(ItemKind::FunctionCall) => self.0.mark(Channel::ToolCall),
            Some(ItemKind::Other) | None => {}
        }
    }
}

impl Gather for Parts {
    type Item = Part;

    fn gather(&mut self, _: usize, part: Part) {
        self.0.append(part.text);
        self.0.append(part.refusal);
    }
}
