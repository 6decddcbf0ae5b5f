//! What one probe says to the model, and what the answer should be.

use std::borrow::Cow;

use super::{Expect, Extra, Seed};

#[derive(Debug, Clone, PartialEq)]
pub struct Prompt {
    /// In order; a system turn, if there is one, comes first, and the last turn is the user's.
    pub turns: Vec<Turn>,
    pub max_tokens: u32,
    pub exact_output: bool,
    /// The prompt can be made again from this.
    pub seed: Seed,
    pub expect: Expect,
    /// Where in the passages the fact lies that answers the question.
    pub depth: Option<Depth>,
    /// What its workload adds to the request.
    pub extra: Extra,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    pub role: Role,
    pub text: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    System,
    User,
    Assistant,
}

/// A place in a text, in percent from its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Depth(pub u8);

impl Depth {
    /// Fifths of a text.
    pub const BANDS: [&'static str; 5] = ["0-20", "20-40", "40-60", "60-80", "80-100"];

    pub fn band(self) -> &'static str {
        Self::BANDS[usize::from(self.0.min(99) / 20)]
    }
}

impl Role {
    /// As most formats write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
        }
    }
}

impl Turn {
    pub fn user(text: impl Into<String>) -> Self {
        Self { role: Role::User, text: text.into() }
    }
}

impl Prompt {
    /// One turn of the user, of which nothing is expected.
    pub fn of_user(text: impl Into<String>, max_tokens: u32) -> Self {
        Self {
            turns: vec![Turn::user(text)],
            max_tokens,
            exact_output: false,
            seed: Seed::default(),
            expect: Expect::Anything,
            depth: None,
            extra: Extra::default(),
        }
    }

    /// What the system turn says.
    pub fn system(&self) -> Option<&str> {
        self.turns.first().filter(|turn| turn.role == Role::System).map(|turn| &*turn.text)
    }

    /// The turns after the system's.
    pub fn conversation(&self) -> &[Turn] {
        &self.turns[usize::from(self.system().is_some())..]
    }

    /// All turns as one text, for formats that have no turns.
    pub fn text(&self) -> Cow<'_, str> {
        match self.turns.as_slice() {
            [only] => Cow::Borrowed(&only.text),
            turns => Cow::Owned(turns.iter().map(|turn| &*turn.text).collect::<Vec<_>>().join("\n\n")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn depths_fall_into_fifths() {
        let bands = [0, 19, 20, 50, 79, 80, 99, 100, 255].map(|depth| Depth(depth).band());
        assert_eq!(
            bands,
            ["0-20", "0-20", "20-40", "40-60", "60-80", "80-100", "80-100", "80-100", "80-100"]
        );
    }

    #[test]
    fn a_system_turn_is_told_apart_from_the_conversation() {
        let mut prompt = Prompt::of_user("hi", 1);
        assert_eq!((prompt.system(), prompt.conversation().len()), (None, 1));
        assert_eq!(prompt.text(), "hi");
        prompt.turns.insert(0, Turn { role: Role::System, text: "be brief".into() });
        assert_eq!((prompt.system(), prompt.conversation()), (Some("be brief"), &[Turn::user("hi")][..]));
        assert_eq!(prompt.text(), "be brief\n\nhi");
    }
}
