//! Asks a target how many tokens a prompt has, where it has a page for that; nothing is generated.

use std::time::Duration;

use tokio::time::timeout;

use super::identify::root;
use super::transport::{Broken, Transport};
use crate::domain::Prompt;
use crate::protocol::tokenize::{self, Counting};

/// A count that does not come within this is not waited for.
const PATIENCE: Duration = Duration::from_secs(5);

/// The tokens of a long prompt, written out.
const MAX_BYTES: usize = 8 << 20;

/// What a target counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Counted {
    pub tokens: u64,
    /// With the chat template, as a probe's prompt is counted.
    pub is_whole: bool,
}

/// `None` if the target's engine has no such page, or does not answer.
pub async fn count_tokens(transport: &Transport, prompt: &Prompt) -> Option<Counted> {
    let target = transport.target();
    let engine = transport.knowledge().identity().engine;
    let Counting { body, is_whole } = tokenize::request(engine, target, prompt)?;
    let mut url = target.url.clone();
    url.set_path(&format!("{}{}", root(target.url.path()).0, tokenize::PATH));
    let read = async {
        let lane = transport.new_lane()?;
        let mut answer = transport.post(&lane, url, body).await?;
        let mut page = Vec::new();
        while let Some(bytes) = answer.read().await? {
            page.extend_from_slice(&bytes);
            if page.len() > MAX_BYTES {
                return Ok(None);
            }
        }
        Ok::<_, Broken>((200..300).contains(&answer.status()).then_some(page))
    };
    let page = timeout(PATIENCE, read).await.ok()?.ok()??;
    Some(Counted { tokens: tokenize::count(&page)?, is_whole })
}
