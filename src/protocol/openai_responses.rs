//! `openai_responses`.

use url::Url;

use super::{Meaning, Nonsense, openai};
use crate::domain::{Prompt, Target};

pub(super) fn url(target: &Target) -> Url {
    openai::join(&target.url, "openai_responses")
}

pub(super) fn body(_target: &Target, _prompt: &Prompt) -> String {
    String::new()
}

pub(super) fn interpret(_data: &[u8]) -> Result<Meaning, Nonsense> {
    Err(Nonsense(String::new()))
}

pub(super) fn interpret_whole(_body: &[u8]) -> Result<Meaning, Nonsense> {
    Err(Nonsense(String::new()))
}
