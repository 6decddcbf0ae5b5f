//! What engines say of their time beside what the formats of others have: llama.cpp's timings, vLLM's metrics.

use std::time::Duration;

use serde::Deserialize;

use super::drafts::Drafts;
use super::look::Number;
use crate::domain::{ServerTimes, Speculation};

#[derive(Debug, Clone, Copy, Deserialize)]
pub(super) struct Timings {
    /// Tokens of the prompt that came from the cache.
    #[serde(default, rename = "cache_n")]
    pub(super) cached: Option<u64>,
    #[serde(default, rename = "prompt_ms")]
    prompt: Option<f64>,
    #[serde(default, rename = "predicted_ms")]
    predicted: Option<f64>,
    #[serde(default, rename = "draft_n")]
    drafted: Number,
    #[serde(default, rename = "draft_n_accepted")]
    accepted: Number,
}

/// vLLM's, in milliseconds.
#[derive(Debug, Clone, Copy, Deserialize)]
pub(super) struct Metrics {
    #[serde(default, rename = "queue_time_ms")]
    queue: Option<f64>,
    /// Without the queue.
    #[serde(default, rename = "time_to_first_token_ms")]
    first_token: Option<f64>,
    #[serde(default, rename = "generation_time_ms")]
    generation: Option<f64>,
    /// With `--per-request-spec-decode-metrics`.
    #[serde(default)]
    speculative_decoding: Drafts,
}

impl Metrics {
    pub(super) fn speculation(self) -> Option<Speculation> {
        self.speculative_decoding.speculation()
    }

    pub(super) fn times(self) -> ServerTimes {
        let ms = |value| ServerTimes::read(value, Duration::from_millis(1));
        ServerTimes {
            queue: ms(self.queue),
            prefill: ms(self.first_token),
            decode: ms(self.generation),
            load: None,
        }
    }
}

impl Timings {
    pub(super) fn speculation(self) -> Option<Speculation> {
        Speculation::stated(self.drafted.0, self.accepted.0)
    }

    pub(super) fn times(self) -> ServerTimes {
        let ms = |value| ServerTimes::read(value, Duration::from_millis(1));
        ServerTimes { prefill: ms(self.prompt), decode: ms(self.predicted), ..ServerTimes::default() }
    }
}
