//! What the model said, and what it should have said.

use regex::Regex;

/// What may be told of an answer beforehand.
#[derive(Debug, Clone)]
pub enum Expect {
    /// Nothing: only whether it is a text at all can be judged.
    Anything,
    /// This, as a word of its own.
    Text(String),
    /// These words, in this order, whatever stands between them.
    Sequence(Vec<String>),
    /// A match, given by the user.
    Pattern(Regex),
    /// About so many words, or characters in a language that does not part words.
    Length(u32),
}

/// What came.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer {
    /// On the answer's channel; the beginning of it, if there was very much.
    pub text: String,
    /// On the channel of reasoning.
    pub thought: String,
    /// It ended because of the limit on its length.
    pub cut: bool,
}

impl PartialEq for Expect {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Anything, Self::Anything) => true,
            (Self::Text(a), Self::Text(b)) => a == b,
            (Self::Sequence(a), Self::Sequence(b)) => a == b,
            (Self::Pattern(a), Self::Pattern(b)) => a.as_str() == b.as_str(),
            (Self::Length(a), Self::Length(b)) => a == b,
            _ => false,
        }
    }
}
