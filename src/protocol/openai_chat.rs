//! `openai-chat`: `/v1/chat/completions`.

use serde::Serialize;
use url::Url;

use super::message::{Message, messages};
use super::openai::{self, join};
pub(super) use super::openai::{interpret, interpret_whole};
use super::to_json;
use crate::domain::{Fields, Prompt, Target};

#[derive(Debug, Serialize)]
struct Body<'a> {
    messages: Vec<Message<'a>>,
    #[serde(flatten)]
    common: openai::Common<'a>,
}

pub(super) fn url(target: &Target) -> Url {
    join(&target.url, "chat/completions")
}

pub(super) fn body(target: &Target, prompt: &Prompt, fields: Fields) -> String {
    let body =
        Body { messages: messages(&prompt.turns), common: openai::Common::new(target, prompt, fields) };
    to_json(&body)
}
