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
