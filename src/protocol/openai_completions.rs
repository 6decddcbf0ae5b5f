//! `openai-completions`: `/v1/completions`.

use serde::Serialize;
use url::Url;

use super::openai::{self, join};
pub(super) use super::openai::{interpret, interpret_whole};
use super::to_json;
use crate::domain::{Fields, Prompt, Target};

#[derive(Debug, Serialize)]
struct Body<'a> {
    prompt: &'a str,
    #[serde(flatten)]
    common: openai::Common<'a>,
}

pub(super) fn url(target: &Target) -> Url {
    join(&target.url, "completions")
}

pub(super) fn body(target: &Target, prompt: &Prompt, fields: Fields) -> String {
    let body = Body { prompt: &prompt.text(), common: openai::Common::new(target, prompt, fields) };
    to_json(&body)
}
