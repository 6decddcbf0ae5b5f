//! What an answer in the Responses format says when it comes whole.

use serde::Deserialize;

use super::ItemKind;
use crate::domain::Channel;
use crate::protocol::gather::{Gather, Gathered};
use crate::protocol::words::{Said, Words};

#[derive(Debug, Deserialize)]
pub(super) struct Whole<'a> {
    #[serde(default, borrow)]
    output: Option<Gathered<Output<'a>>>,
}

#[derive(Debug, Default)]
struct Output<'a>(Said<'a>);

#[derive(Debug, Deserialize)]
struct OutputItem<'a> {
    #[serde(default, rename = "type")]
    kind: Option<ItemKind>,
    #[serde(default, borrow)]
    content: Option<Gathered<Parts<'a>>>,
    #[serde(default, borrow)]
    summary: Option<Gathered<Parts<'a>>>,
}

#[derive(Debug, Deserialize)]
struct Part<'a> {
    #[serde(default, borrow)]
    text: Words<'a>,
    #[serde(default, borrow)]
    refusal: Words<'a>,
}

#[derive(Debug, Default)]
struct Parts<'a>(Words<'a>);

impl<'a> Whole<'a> {
    pub(super) fn said(self) -> Said<'a> {
        self.output.unwrap_or_default().0.0
    }
}

impl<'a> Gather for Output<'a> {
    type Item = OutputItem<'a>;

    fn gather(&mut self, _: usize, item: OutputItem<'a>) {
        let words = |parts: Option<Gathered<Parts<'a>>>| parts.unwrap_or_default().0.0;
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

impl<'a> Gather for Parts<'a> {
    type Item = Part<'a>;

    fn gather(&mut self, _: usize, part: Part<'a>) {
        self.0.append(part.text);
        self.0.append(part.refusal);
    }
}
