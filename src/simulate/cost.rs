//! What one step of the engine costs: a function of the work in it, plus a seeded tail.

use std::time::Duration;

use oorandom::Rand64;

/// The tokens that one step computes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Work {
    /// Prompt tokens computed.
    pub prefill_tokens: u32,
    /// Sequences that get one more token.
    pub decoding: u32,
    /// Tokens of context that the decoding sequences attend to.
    pub context_tokens: u64,
}

/// Step time as a function of the work in the step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepCost {
    /// Paid by every step, however small: weights are read once.
    pub base: Duration,
    /// Paid once by a step that computes any prompt token.
    pub prefill_step: Duration,
    /// Paid for each prompt token.
    pub per_prefill_token: Duration,
    /// Paid for each decoding sequence, after `batch_power`.
    pub per_sequence: Duration,
    /// Sequences count as `n^batch_power`; below 1, large batches are relatively cheap.
    pub batch_power: f64,
    /// Paid for each token of context of a decoding sequence.
    pub per_context_token: Duration,
    /// Paid by every step while chunked prefill is on: older engines left their fast path for it.
    pub chunking: Duration,
}

impl StepCost {
    /// Only `base` and `per_sequence`, the rest free.
    pub const fn flat(base: Duration, per_sequence: Duration) -> Self {
        Self {
            base,
            prefill_step: Duration::ZERO,
            per_prefill_token: Duration::ZERO,
            per_sequence,
            batch_power: 1.0,
            per_context_token: Duration::ZERO,
            chunking: Duration::ZERO,
        }
    }

    /// The time of a step, before jitter, in seconds.
    pub fn seconds(&self, work: Work, slow: Slowdown, chunked: bool) -> f64 {
        let sequences = f64::from(work.decoding);
        let batch =
            if (self.batch_power - 1.0).abs() < 1e-9 { sequences } else { sequences.powf(self.batch_power) };
        let decode = self.base.as_secs_f64()
            + batch * self.per_sequence.as_secs_f64()
            + work.context_tokens as f64 * self.per_context_token.as_secs_f64();
        let prefill = if work.prefill_tokens == 0 {
            0.0
        } else {
            self.prefill_step.as_secs_f64()
                + f64::from(work.prefill_tokens) * self.per_prefill_token.as_secs_f64()
        };
        let chunking = if chunked { self.chunking.as_secs_f64() } else { 0.0 };
        // A step without decoding is all prefill, its base too.
        let base_factor = if work.decoding == 0 { slow.prefill } else { slow.decode };
        (decode + chunking) * base_factor + prefill * slow.prefill
    }
}

/// Factors that a fault puts on the engine; 1 is healthy.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Slowdown {
    /// On the time of prompt tokens.
    pub prefill: f64,
    /// On the time of decoding.
    pub decode: f64,
}

impl Default for Slowdown {
    fn default() -> Self {
        Self { prefill: 1.0, decode: 1.0 }
    }
}

/// How a step's time scatters.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Jitter {
    /// Relative standard deviation of every step.
    pub spread: f64,
    /// Share of steps that hiccup, 0 to 1.
    pub tail_share: f64,
    /// Smallest hiccup.
    pub tail_from: Duration,
    /// Largest hiccup.
    pub tail_to: Duration,
    /// Pareto exponent between the two; smaller is heavier.
    pub tail_power: f64,
}

impl Jitter {
    /// Every step takes exactly what it costs.
    pub const NONE: Self = Self {
        spread: 0.0,
        tail_share: 0.0,
        tail_from: Duration::ZERO,
        tail_to: Duration::ZERO,
        tail_power: 1.0,
    };

    /// A step of `seconds`, scattered.
    pub fn apply(&self, seconds: f64, random: &mut Rand64) -> Duration {
        let mut scattered = seconds;
        if self.spread > 0.0 {
            scattered *= (1.0 + self.spread * roughly_normal(random)).max(0.5);
        }
        if self.tail_share > 0.0 && random.rand_float() < self.tail_share {
            let rarity = (1.0 - random.rand_float()).max(1e-12);
            let hiccup = self.tail_from.as_secs_f64() * rarity.powf(-1.0 / self.tail_power);
            scattered += hiccup.min(self.tail_to.as_secs_f64());
        }
        Duration::from_secs_f64(scattered.max(0.0))
    }
}

/// Mean 0, deviation 1: three uniform draws are near enough to normal for jitter, and cheap.
fn roughly_normal(random: &mut Rand64) -> f64 {
    2.0 * (random.rand_float() + random.rand_float() + random.rand_float() - 1.5)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn step_without_prompt_tokens_pays_no_prefill() {
        let cost = StepCost {
            prefill_step: Duration::from_millis(100),
            ..StepCost::flat(Duration::from_millis(10), Duration::from_millis(1))
        };
        let decode = Work { decoding: 5, ..Work::default() };
        assert!((cost.seconds(decode, Slowdown::default(), true) - 0.015).abs() < 1e-9);
        let mixed = Work { decoding: 5, prefill_tokens: 1, ..Work::default() };
        assert!((cost.seconds(mixed, Slowdown::default(), true) - 0.115).abs() < 1e-9);
    }

    #[test]
    fn jitter_repeats_with_its_seed_and_keeps_the_mean() {
        let jitter = Jitter { spread: 0.1, ..Jitter::NONE };
        let draw = |seed| {
            let mut random = Rand64::new(seed);
            (0..2000).map(|_| jitter.apply(0.02, &mut random).as_secs_f64()).sum::<f64>() / 2000.0
        };
        assert!((draw(7) - draw(7)).abs() < f64::EPSILON);
        assert!((draw(7) - 0.02).abs() < 0.0005);
    }
}
