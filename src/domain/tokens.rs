//! How many tokens a probe moved, and who says so.

/// Counts as the server reports them; what it does not report is absent, not 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tokens {
    pub prompt: Option<u64>,
    pub cached: Option<u64>,
    pub reasoning: Option<u64>,
    /// Those of the reasoning that never came: counted, but not streamed.
    pub hidden: Option<u64>,
    pub output: Option<u64>,
    pub source: Option<TokenSource>,
    /// What came of guessing ahead, of a server that guesses and says so.
    pub speculation: Option<Speculation>,
}

/// Speculative decoding of one answer: tokens that a draft proposed, and those of them that the model took.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Speculation {
    pub drafted: u64,
    pub accepted: u64,
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
/// A draft may propose a tree of guesses for each token.
const MOST_DRAFTED_TOKENS: u64 = 100_000_000;

impl Tokens {
    /// Forgets counts that cannot be true.
    #[must_use]
    pub fn plausible(self) -> Self {
        let within = |count: Option<u64>, most: u64| count.filter(|&count| count <= most);
        Self {
            prompt: within(self.prompt, MOST_PROMPT_TOKENS),
            cached: within(self.cached, MOST_PROMPT_TOKENS),
            reasoning: within(self.reasoning, MOST_OUTPUT_TOKENS),
            hidden: within(self.hidden, MOST_OUTPUT_TOKENS),
            output: within(self.output, MOST_OUTPUT_TOKENS),
            source: self.source,
            speculation: self.speculation.filter(|guesses| guesses.is_plausible()),
        }
    }

    /// The newer count wins; what it leaves out stays as it was.
    #[must_use]
    pub fn merged(self, newer: Self) -> Self {
        Self {
            prompt: newer.prompt.or(self.prompt),
            cached: newer.cached.or(self.cached),
            reasoning: newer.reasoning.or(self.reasoning),
            hidden: newer.hidden.or(self.hidden),
            output: newer.output.or(self.output),
            source: newer.source.or(self.source),
            speculation: newer.speculation.or(self.speculation),
        }
    }
}

impl Speculation {
    /// From counts that a server states, if both are there. Where nothing was drafted there was no speculation: some
    /// servers write zeros for what they do not do.
    pub fn stated(drafted: Option<u64>, accepted: Option<u64>) -> Option<Self> {
        let guesses = Self { drafted: drafted?, accepted: accepted? };
        (guesses.drafted > 0).then_some(guesses)
    }

    fn is_plausible(self) -> bool {
        self.accepted <= self.drafted
            && self.accepted <= MOST_OUTPUT_TOKENS
            && self.drafted <= MOST_DRAFTED_TOKENS
    }
}

impl TokenSource {
    pub const ALL: [Self; 4] = [Self::ChunkUsage, Self::TokenIds, Self::FinalUsage, Self::Deltas];

    pub fn label(self) -> &'static str {
        match self {
            Self::ChunkUsage => "chunk_usage",
            Self::TokenIds => "token_ids",
            Self::FinalUsage => "final_usage",
            Self::Deltas => "deltas",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guesses_need_both_counts_and_must_be_possible() {
        let stated = |drafted, accepted| {
            let speculation = Speculation::stated(drafted, accepted);
            Tokens { speculation, ..Tokens::default() }.plausible().speculation
        };
        assert_eq!(stated(Some(129), Some(10)), Some(Speculation { drafted: 129, accepted: 10 }));
        assert_eq!(stated(Some(7), Some(0)), Some(Speculation { drafted: 7, accepted: 0 }));
        for (drafted, accepted) in [
            (None, Some(1)),
            (Some(1), None),
            (Some(0), Some(0)),
            (Some(3), Some(4)),
            (Some(u64::MAX), Some(1)),
            (Some(50_000_000), Some(2_000_000)),
        ] {
            assert_eq!(stated(drafted, accepted), None, "{drafted:?}, {accepted:?}");
        }
    }
}
