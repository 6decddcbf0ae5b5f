//! Engines by name: each behaves as a real deployment was reported to.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use super::cost::{Jitter, StepCost};
use super::load::Lengths;
use super::model::{EngineSettings, Memory};

/// A named engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Profile {
    /// A healthy chat deployment.
    #[default]
    Default,
    /// A small model on fast hardware.
    Fast,
    /// QwQ-32B on MindIE, as measured.
    MindieAtb,
    /// The same with one prompt per prefill and little memory.
    MindiePrefill1,
    /// The same with up to fifty prompts per prefill.
    MindiePrefill50,
    /// Qwen2.5-72B GPTQ-Int4 on vLLM.
    Qwen25With72b,
    /// Qwen2-0.5B on vLLM.
    Qwen2With500m,
    /// Qwen1.5-7B on MindIE.
    Qwen15With7b,
    /// Qwen2-7B on vLLM, four T4.
    Qwen2With7bT4,
    /// The same behind Xinference.
    Qwen2With7bXinference,
    /// Qwen2-72B on MindIE with long documents.
    Qwen2With72bLong,
    /// SUS-Chat-34B on vLLM, four V100.
    SusChat34b,
}

impl Profile {
    /// All, in the order that lists show.
    pub const ALL: [Self; 12] = [
        Self::Default,
        Self::Fast,
        Self::MindieAtb,
        Self::MindiePrefill1,
        Self::MindiePrefill50,
        Self::Qwen25With72b,
        Self::Qwen2With500m,
        Self::Qwen15With7b,
        Self::Qwen2With7bT4,
        Self::Qwen2With7bXinference,
        Self::Qwen2With72bLong,
        Self::SusChat34b,
    ];

    /// As `--profile` takes it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Fast => "fast",
            Self::MindieAtb => "mindie-atb",
            Self::MindiePrefill1 => "mindie-prefill-1",
            Self::MindiePrefill50 => "mindie-prefill-50",
            Self::Qwen25With72b => "qwen2.5-72b-vllm",
            Self::Qwen2With500m => "qwen2-0.5b-vllm",
            Self::Qwen15With7b => "qwen1.5-7b-mindie",
            Self::Qwen2With7bT4 => "qwen2-7b-t4",
            Self::Qwen2With7bXinference => "qwen2-7b-t4-xinference",
            Self::Qwen2With72bLong => "qwen2-72b-mindie-long",
            Self::SusChat34b => "sus-chat-34b-v100",
        }
    }

    /// One line for people.
    pub fn description(self) -> &'static str {
        match self {
            Self::Default => "healthy chat deployment: first token in 60 to 200 ms, then one every 18 ms",
            Self::Fast => "small model on fast hardware: first token in 30 ms, then one every 6 ms",
            Self::MindieAtb => "QwQ-32B on MindIE, 4 x 910B3: even gaps of 27 ms, a rare long one",
            Self::MindiePrefill1 => {
                "the same, one prompt per prefill and little memory: each answer freezes once under load"
            }
            Self::MindiePrefill50 => "the same, up to 50 prompts per prefill: later first tokens",
            Self::Qwen25With72b => {
                "Qwen2.5-72B GPTQ-Int4 on vLLM: the budget per step trades first token against gaps"
            }
            Self::Qwen2With500m => "Qwen2-0.5B on vLLM, 100 at a time, with or without chunked prefill",
            Self::Qwen15With7b => "Qwen1.5-7B on MindIE, 8 x 910B4: from 8 to 720 at a time without failures",
            Self::Qwen2With7bT4 => "Qwen2-7B on vLLM, 4 x T4: a time limit fails requests as load grows",
            Self::Qwen2With7bXinference => "the same behind Xinference: slower, more failures",
            Self::Qwen2With72bLong => "Qwen2-72B on MindIE, long documents: minutes per answer, cut at 600 s",
            Self::SusChat34b => {
                "SUS-Chat-34B on vLLM, 4 x V100: long prompts dear, answers shorter than asked"
            }
        }
    }

    /// The model that a server of this profile serves.
    pub fn model(self) -> &'static str {
        match self {
            Self::Default => "sim-chat",
            Self::Fast => "sim-fast",
            Self::MindieAtb | Self::MindiePrefill1 | Self::MindiePrefill50 => "QwQ-32B",
            Self::Qwen25With72b => "Qwen2.5-72B-Instruct-GPTQ-Int4",
            Self::Qwen2With500m => "Qwen2-0.5B-Instruct",
            Self::Qwen15With7b => "Qwen1.5-7B-Chat",
            Self::Qwen2With7bT4 | Self::Qwen2With7bXinference => "Qwen2-7B-Instruct",
            Self::Qwen2With72bLong => "Qwen2-72B-Instruct",
            Self::SusChat34b => "SUS-Chat-34B",
        }
    }

    /// How long answers are that may stop where they like.
    pub fn answer(self) -> Lengths {
        let (mean, sigma, to) = match self {
            Self::Default | Self::Fast => (220.0, 0.6, 4096),
            Self::MindieAtb | Self::MindiePrefill1 => (449.0, 0.45, 4096),
            Self::MindiePrefill50 => (482.0, 0.45, 4096),
            Self::Qwen25With72b => (199.0, 1.24, 1024),
            Self::Qwen2With500m => (200.0, 0.3, 1024),
            Self::Qwen15With7b => (240.0, 0.1, 1024),
            Self::Qwen2With7bT4 | Self::Qwen2With7bXinference => (300.0, 0.27, 1024),
            Self::Qwen2With72bLong => (4915.0, 0.4, 16_384),
            Self::SusChat34b => (650.0, 0.05, 705),
        };
        Lengths::Skewed { mean, sigma, from: 4, to }
    }

    /// Limits and costs.
    pub fn engine(self) -> EngineSettings {
        match self {
            Self::Default => healthy(ms(17.0), ms(28.0), us(60.0)),
            Self::Fast => healthy(ms(5.5), ms(12.0), us(12.0)),
            Self::MindieAtb => mindie(ms(25.4), ms(8.5), ms(27.0), tail(0.0006, 40.0, 1.2)),
            Self::MindiePrefill1 => EngineSettings {
                max_prefills_per_step: Some(1),
                memory: Memory::ReserveAnswer,
                kv_tokens: 3000,
                jitter: Jitter { spread: 0.1, ..tail(0.014, 16.0, 2.2) },
                ..mindie(ms(26.0), ms(29.5), ms(28.0), Jitter::NONE)
            },
            Self::MindiePrefill50 => EngineSettings {
                max_prefills_per_step: Some(50),
                ..mindie(ms(27.7), ms(0.0), ms(65.0), tail(0.0035, 45.0, 2.0))
            },
            Self::Qwen25With72b => qwen25_72b(),
            Self::Qwen2With500m => EngineSettings {
                max_num_batched_tokens: 4096,
                cost: StepCost {
                    chunking: ms(12.0),
                    per_prefill_token: us(75.0),
                    ..StepCost::flat(ms(12.0), us(130.0))
                },
                ..plain()
            },
            Self::Qwen15With7b => EngineSettings {
                chunked_prefill: false,
                max_num_seqs: 200,
                cost: StepCost { per_prefill_token: us(5.0), ..StepCost::flat(ms(12.4), us(71.0)) },
                ..plain()
            },
            Self::Qwen2With7bT4 => t4(ms(5.0)),
            Self::Qwen2With7bXinference => t4(ms(13.5)),
            Self::Qwen2With72bLong => EngineSettings {
                chunked_prefill: false,
                max_num_batched_tokens: 32_768,
                time_limit: Some(Duration::from_secs(600)),
                cost: StepCost { per_prefill_token: us(300.0), ..StepCost::flat(ms(39.3), us(790.0)) },
                ..plain()
            },
            Self::SusChat34b => EngineSettings {
                chunked_prefill: false,
                max_num_batched_tokens: 8192,
                cost: StepCost { per_prefill_token: us(700.0), ..StepCost::flat(ms(31.0), us(500.0)) },
                ..plain()
            },
        }
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Profile {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|profile| profile.name() == text).ok_or_else(|| {
            let names: Vec<&str> = Self::ALL.iter().map(|profile| profile.name()).collect();
            format!("\"{text}\" is not a known profile; the known ones are: {}", names.join(", "))
        })
    }
}

const fn us(microseconds: f64) -> Duration {
    Duration::from_nanos((microseconds * 1000.0) as u64)
}

const fn ms(milliseconds: f64) -> Duration {
    us(milliseconds * 1000.0)
}

/// Roomy and exact; profiles narrow it.
fn plain() -> EngineSettings {
    EngineSettings {
        max_num_batched_tokens: 8192,
        max_num_seqs: 256,
        chunked_prefill: true,
        max_prefills_per_step: None,
        max_model_len: 32_768,
        kv_tokens: 1_000_000,
        memory: Memory::OnDemand,
        prefix_cache: false,
        max_waiting: None,
        time_limit: None,
        front_end: Duration::ZERO,
        cost: StepCost::flat(ms(10.0), us(100.0)),
        jitter: Jitter { spread: 0.02, ..Jitter::NONE },
        seed: 23,
    }
}

fn healthy(base: Duration, prefill_step: Duration, per_prefill_token: Duration) -> EngineSettings {
    EngineSettings {
        kv_tokens: 400_000,
        prefix_cache: true,
        front_end: prefill_step,
        cost: StepCost {
            prefill_step,
            per_prefill_token,
            per_context_token: Duration::from_nanos(80),
            ..StepCost::flat(base, us(150.0))
        },
        jitter: Jitter {
            spread: 0.05,
            tail_share: 0.004,
            tail_from: ms(15.0),
            tail_to: ms(400.0),
            tail_power: 1.8,
        },
        ..plain()
    }
}

fn mindie(base: Duration, prefill_step: Duration, front_end: Duration, jitter: Jitter) -> EngineSettings {
    EngineSettings {
        chunked_prefill: false,
        front_end,
        cost: StepCost { prefill_step, per_prefill_token: us(50.0), ..StepCost::flat(base, us(80.0)) },
        jitter,
        ..plain()
    }
}

/// A share of steps hiccups by this many milliseconds or more, the longer the rarer.
fn tail(share: f64, from_ms: f64, power: f64) -> Jitter {
    Jitter { spread: 0.055, tail_share: share, tail_from: ms(from_ms), tail_to: ms(800.0), tail_power: power }
}

/// Fitted to all rows of the published budget series at once; the budget alone differs between them.
fn qwen25_72b() -> EngineSettings {
    EngineSettings {
        max_num_batched_tokens: 2048,
        kv_tokens: 101_322,
        cost: StepCost {
            prefill_step: us(241.1),
            per_prefill_token: us(776.2),
            ..StepCost::flat(us(8515.6), us(1096.1))
        },
        jitter: Jitter::NONE,
        ..plain()
    }
}

fn t4(base: Duration) -> EngineSettings {
    EngineSettings {
        time_limit: Some(Duration::from_secs(30)),
        cost: StepCost {
            batch_power: 0.41,
            per_prefill_token: us(150.0),
            ..StepCost::flat(base, us(9300.0))
        },
        ..plain()
    }
}
