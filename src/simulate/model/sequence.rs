//! A request as the engine sees it.

use std::time::Duration;

use super::Token;
use crate::simulate::prefix::BlockHash;

/// Names a request for as long as the engine lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RequestId(pub u64);

/// A pause of one answer, once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stall {
    /// After so many tokens.
    pub after_tokens: u32,
    /// For so long.
    pub lasting: Duration,
}

/// What is asked of the engine.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// Its name.
    pub id: RequestId,
    /// Length of the prompt.
    pub prompt_tokens: u32,
    /// Length of the answer that will be written.
    pub output_tokens: u32,
    /// Length of the answer that was allowed.
    pub max_tokens: u32,
    /// Hashes of the prompt's blocks, for the prefix cache.
    pub prefix: Vec<BlockHash>,
    /// A pause asked for by a fault.
    pub stall: Option<Stall>,
    /// Stretches the whole time from arrival to first token, queueing included; 1 is healthy.
    pub first_token_factor: f64,
}

#[derive(Debug)]
pub(super) struct Sequence {
    pub(super) id: RequestId,
    pub(super) arrived: Duration,
    pub(super) prompt_tokens: u32,
    pub(super) output_tokens: u32,
    pub(super) max_tokens: u32,
    pub(super) prefix: Vec<BlockHash>,
    pub(super) stall: Option<Stall>,
    pub(super) first_token_factor: f64,
    /// Tokens still to compute before the next one of the answer.
    pub(super) to_prefill: u32,
    /// Tokens computed, and thus in memory.
    pub(super) context: u32,
    pub(super) produced: u32,
    pub(super) cached_tokens: u32,
    /// Work given to it in the step being planned.
    pub(super) planned: u32,
    /// Its whole possible length is set aside.
    pub(super) reserved: bool,
    pub(super) held_until: Option<Duration>,
    /// A computed token waits for `held_until`.
    pub(super) token_held: bool,
}

impl Sequence {
    pub(super) fn new(request: Request, arrived: Duration) -> Self {
        Self {
            id: request.id,
            arrived,
            prompt_tokens: request.prompt_tokens.max(1),
            output_tokens: request.output_tokens.max(1),
            max_tokens: request.max_tokens.max(request.output_tokens).max(1),
            prefix: request.prefix,
            stall: request.stall,
            first_token_factor: request.first_token_factor.max(1.0),
            to_prefill: request.prompt_tokens.max(1),
            context: 0,
            produced: 0,
            cached_tokens: 0,
            planned: 0,
            reserved: false,
            held_until: None,
            token_held: false,
        }
    }

    /// Its next work is one more token.
    pub(super) fn decodes(&self) -> bool {
        self.to_prefill == 0 && self.held_until.is_none()
    }

    pub(super) fn ended(&self) -> bool {
        self.produced >= self.output_tokens
    }

    pub(super) fn whole_length(&self) -> u64 {
        u64::from(self.prompt_tokens) + u64::from(self.max_tokens)
    }

    /// Memory that it holds, in tokens.
    pub(super) fn footprint(&self) -> u64 {
        if self.reserved { self.whole_length() } else { u64::from(self.context) + u64::from(self.to_prefill) }
    }

    /// All that was computed is lost and must be computed again.
    pub(super) fn forget_context(&mut self) {
        self.to_prefill = self.prompt_tokens + self.produced;
        self.context = 0;
        self.planned = 0;
        if std::mem::take(&mut self.token_held) {
            self.held_until = None;
        }
    }

    pub(super) fn emit(&mut self, at: Duration) -> Token {
        let index = self.produced;
        self.produced += 1;
        if let Some(stall) = self.stall.filter(|stall| stall.after_tokens == self.produced) {
            self.held_until = Some(at + stall.lasting);
        }
        Token { id: self.id, at, index, cached_tokens: self.cached_tokens, last: self.ended() }
    }
}
