//! A prompt that has been decided on and not been written yet.

use super::{Ruler, form, prompt};
use crate::domain::{Prompt, Seed, Workload};

/// What a prompt is written from: small and quick to make, where the text may be long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Draft {
    /// With the size that the ruler gives it.
    pub seed: Seed,
    /// The limit for the answer, so that it fits beside the prompt.
    max_tokens: u32,
}

impl Draft {
    pub(super) fn new(workload: &Workload, ruler: &Ruler, seed: Seed) -> Self {
        let (input, output) = workload.lengths_at(seed.step);
        let (input, max_tokens) = ruler.room().fit(input, output);
        let size = ruler.next_size(input, max_tokens, form(workload, seed));
        Self { seed: Seed { size, ..seed }, max_tokens }
    }

    /// A long one takes milliseconds.
    pub fn write(self, workload: &Workload) -> Prompt {
        Prompt { max_tokens: self.max_tokens, ..prompt(workload, self.seed) }
    }
}
