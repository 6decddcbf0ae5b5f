//! `openai-completions`: `/v1/completions`, streamed.

use serde::Serialize;

use super::openai;
use crate::domain::{Prompt, Target};

#[derive(Debug, Serialize)]
struct Body<'a> {
    prompt: &'a str,
    #[serde(flatten)]
    common: openai::Common<'a>,
}

pub(super) fn body(target: &Target, prompt: &Prompt) -> String {
    let body = Body {
        prompt: &prompt.text,
        common: openai::Common::new(target, prompt.max_tokens, prompt.exact_output),
    };
    serde_json::to_string(&body).expect("strings and numbers always serialize")
}
