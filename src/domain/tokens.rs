//! How many tokens a probe moved, and who says so.

/// Counts as the server reports them; what it does not report is absent, not 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tokens {
    pub prompt: Option<u64>,
    pub cached: Option<u64>,
    pub reasoning: Option<u64>,
    pub output: Option<u64>,
    pub source: Option<TokenSource>,
}

/// Where the number of output tokens comes from, most trusted first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenSource {
    ChunkUsage,
    TokenIds,
    FinalUsage,
    Deltas,
}

/// More than any model reads, and more than any writes in one answer. A counter that once took a wild number
/// would be wrong for ever.
const MOST_PROMPT_TOKENS: u64 = 100_000_000;
const MOST_OUTPUT_TOKENS: u64 = 1_000_000;

impl Tokens {
    /// Forgets counts that cannot be true.
    #[must_use]
    pub fn plausible(self) -> Self {
        let within = |count: Option<u64>, most: u64| count.filter(|&count| count <= most);
        Self {
            prompt: within(self.prompt, MOST_PROMPT_TOKENS),
            cached: within(self.cached, MOST_PROMPT_TOKENS),
            reasoning: within(self.reasoning, MOST_OUTPUT_TOKENS),
            output: within(self.output, MOST_OUTPUT_TOKENS),
            source: self.source,
        }
    }
}

impl TokenSource {
    pub fn label(self) -> &'static str {
        match self {
            Self::ChunkUsage => "chunk_usage",
            Self::TokenIds => "token_ids",
            Self::FinalUsage => "final_usage",
            Self::Deltas => "deltas",
        }
    }
}
