//! What is sent: the kind of prompt, its lengths, its cache state, and how long to wait for the answer.

use std::sync::Arc;
use std::time::Duration;

use super::{Depth, Expect, Extra, Lengths, Turn};

/// One entry of `[[workloads]]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Workload {
    pub name: Arc<str>,
    pub kind: Kind,
    pub input_tokens: Lengths,
    pub output_tokens: Lengths,
    pub language: Language,
    pub cache: Cache,
    /// Said before everything else, on the system's behalf.
    pub system: Option<String>,
    /// What stands around the user's words, which take the place of [`Workload::PLACE`].
    pub template: Option<String>,
    /// Where the fact that answers the question is planted; without, the depth goes around.
    pub depth: Option<Depth>,
    /// The user's own, for `kind = "file"`.
    pub questions: Vec<Question>,
    /// Ask for exactly `output_tokens` where the engine can be told to ignore the end of the text.
    pub exact_output: bool,
    pub timeouts: Timeouts,
    /// Added to the body of every request, over what the target adds.
    pub extra: Extra,
}

/// One line of a file of prompts.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    pub turns: Vec<Turn>,
    pub expect: Expect,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A short question.
    Chat,
    /// Passages with planted facts, and one question about them.
    Rag,
    /// A passage to go on with.
    Continuation,
    /// What a file asks.
    File,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Language {
    En,
    Zh,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cache {
    /// A nonce before everything else: the whole prompt must be prefilled.
    Cold,
    /// One fixed prefix per workload: a prefix cache can serve most of the prompt.
    Warm,
}

/// Four kinds of patience, each with a failure of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// From the start until the connection is ready: names, TCP and TLS together.
    pub connect: Duration,
    /// From the request being sent until the first token.
    pub first_token: Duration,
    /// Between two arrivals after the first token, and from the last token to the end.
    pub stall: Duration,
    /// From the start to the end.
    pub total: Duration,
}

impl Workload {
    /// Of one length each, cold, in English, with the usual waits.
    pub fn new(name: &str, kind: Kind, input_tokens: u32, output_tokens: u32) -> Self {
        Self {
            name: name.into(),
            kind,
            input_tokens: Lengths::one(input_tokens),
            output_tokens: Lengths::one(output_tokens),
            language: Language::En,
            cache: Cache::Cold,
            system: None,
            template: None,
            depth: None,
            questions: Vec::new(),
            exact_output: false,
            timeouts: Timeouts::default(),
            extra: Extra::default(),
        }
    }

    /// What a template has where the user's words go.
    pub const PLACE: &'static str = "{prompt}";

    /// What one probe is expected to cost at most, prompt and answer together.
    pub fn expected_tokens(&self) -> u64 {
        u64::from(self.input_tokens.longest()) + u64::from(self.output_tokens.longest())
    }

    /// The lengths of a step: every pair of them comes once before one comes again.
    pub fn lengths_at(&self, step: u32) -> (u32, u32) {
        let (inner, outer) = (step as usize, step as usize / self.input_tokens.count());
        (self.input_tokens.at(inner), self.output_tokens.at(outer))
    }
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            first_token: Duration::from_secs(30),
            stall: Duration::from_secs(15),
            total: Duration::from_secs(120),
        }
    }
}

impl Kind {
    pub const NAMES: [(&'static str, Self); 4] = [
        ("chat", Self::Chat),
        ("rag", Self::Rag),
        ("continuation", Self::Continuation),
        ("file", Self::File),
    ];
}

impl Language {
    pub const NAMES: [(&'static str, Self); 2] = [("en", Self::En), ("zh", Self::Zh)];
}

impl Cache {
    pub const NAMES: [(&'static str, Self); 2] = [("cold", Self::Cold), ("warm", Self::Warm)];
}
