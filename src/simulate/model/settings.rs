//! What an engine is started with.

use std::time::Duration;

use crate::simulate::cost::{Jitter, StepCost};

/// How memory for the keys and values of an answer is given out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Memory {
    /// Token by token; when it runs out, the newest sequence is preempted and computed again later.
    OnDemand,
    /// A prompt is computed as soon as it fits. The answer is then written only once its greatest length
    /// fits too; until then the sequence is parked, in order of arrival.
    ReserveAnswer,
}

/// Limits and costs of an engine.
#[derive(Debug, Clone, PartialEq)]
pub struct EngineSettings {
    /// Token budget of a step, shared by decoding and prefill.
    pub max_num_batched_tokens: u32,
    /// Most sequences running at once.
    pub max_num_seqs: usize,
    /// On: prompts are cut to fill what decoding leaves of the budget. Off: prompts run whole, in steps of
    /// their own, before any decoding.
    pub chunked_prefill: bool,
    /// Most prompts that start in one step.
    pub max_prefills_per_step: Option<usize>,
    /// Most tokens of prompt and answer together.
    pub max_model_len: u32,
    /// Memory for keys and values, in tokens.
    pub kv_tokens: u64,
    /// How that memory is given out.
    pub memory: Memory,
    /// Whether prompts that begin alike share their computing.
    pub prefix_cache: bool,
    /// Beyond so many waiting requests, new ones are refused.
    pub max_waiting: Option<usize>,
    /// A request that takes longer is given up.
    pub time_limit: Option<Duration>,
    /// Mean time outside the engine, added before the first token; each request has half to one and a half of it.
    pub front_end: Duration,
    /// What a step costs.
    pub cost: StepCost,
    /// How that scatters.
    pub jitter: Jitter,
    /// Seed of the scatter.
    pub seed: u64,
}

impl EngineSettings {
    /// Prompt and answer together must fit this. Without chunking a prompt must also fit one step, and
    /// deployments lower the context limit to the budget.
    pub fn context_limit(&self) -> u32 {
        if self.chunked_prefill {
            self.max_model_len
        } else {
            self.max_model_len.min(self.max_num_batched_tokens)
        }
    }
}
