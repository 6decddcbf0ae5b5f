//! `openai-chat`: `/v1/chat/completions`, streamed.

use serde::Serialize;

use super::openai;
use crate::domain::{Prompt, Target};

#[derive(Debug, Serialize)]
struct Body<'a> {
    messages: [Message<'a>; 1],
    #[serde(flatten)]
    common: openai::Common<'a>,
}

#[derive(Debug, Serialize)]
struct Message<'a> {
    role: &'static str,
    content: &'a str,
}

pub(super) fn body(target: &Target, prompt: &Prompt) -> String {
    let body = Body {
        messages: [Message { role: "user", content: &prompt.text }],
        common: openai::Common::new(target, prompt.max_tokens, prompt.exact_output),
    };
    serde_json::to_string(&body).expect("strings and numbers always serialize")
}
