//! llama.cpp's account of its time, which it puts beside what the formats of others have.

use std::time::Duration;

use serde::Deserialize;

use crate::domain::ServerTimes;

#[derive(Debug, Clone, Copy, Deserialize)]
pub(super) struct Timings {
    /// Tokens of the prompt that came from the cache.
    #[serde(default, rename = "cache_n")]
    pub(super) cached: Option<u64>,
    #[serde(default, rename = "prompt_ms")]
    prompt: Option<f64>,
    #[serde(default, rename = "predicted_ms")]
    predicted: Option<f64>,
}

impl Timings {
    pub(super) fn times(self) -> ServerTimes {
        let ms = |value| ServerTimes::read(value, Duration::from_millis(1));
        ServerTimes { prefill: ms(self.prompt), decode: ms(self.predicted), ..ServerTimes::default() }
    }
}
