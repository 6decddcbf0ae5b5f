//! `openai-chat`: `/v1/chat/completions`, streamed.

use serde::Serialize;

use super::openai;
use crate::domain::{Prompt, Target};

#[derive(Debug, Serialize)]
struct Body<'a> {
    messages: Vec<Message<'a>>,
    #[serde(flatten)]
    common: openai::Common<'a>,
}

#[derive(Debug, Serialize)]
struct Message<'a> {
    role: &'static str,
    content: &'a str,
}

pub(super) fn body(target: &Target, prompt: &Prompt) -> String {
    let system = prompt.system.as_deref().map(|content| Message { role: "system", content });
    let user = Message { role: "user", content: &prompt.user };
    let body = Body {
        messages: system.into_iter().chain([user]).collect(),
        common: openai::Common::new(target, prompt.max_tokens, prompt.exact_output),
    };
    serde_json::to_string(&body).expect("strings and numbers always serialize")
}
