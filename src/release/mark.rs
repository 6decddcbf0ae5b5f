//! What a person says about a target: a release of its own, though no server shows it.

use crate::domain::Release;

/// Longer texts are stories, and stand elsewhere.
pub const MAX_CHARS: usize = 200;

/// A text that may be kept and shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark(String);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadText {
    #[error("the text is empty: say what is new, such as \"driver 580\"")]
    Empty,
    #[error("the text has {0} characters, and {MAX_CHARS} are the most")]
    TooLong(usize),
    #[error("the text has control characters, such as a line break: write one plain line")]
    Control,
}

/// Why a mark began no release.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    #[error("no target is called {name:?}: there is {}", known.join(", "))]
    NoSuchTarget { name: String, known: Vec<String> },
    #[error(
        "the target has been marked {} times within a day: too often to mean anything",
        super::noise::MOST_MARKS
    )]
    TooMany,
}

/// What came of a mark.
pub type Marked = Result<Release, Refused>;

impl Mark {
    pub fn new(text: &str) -> Result<Self, BadText> {
        let text = text.trim();
        let length = text.chars().count();
        match length {
            0 => Err(BadText::Empty),
            _ if length > MAX_CHARS => Err(BadText::TooLong(length)),
            _ if text.chars().any(char::is_control) => Err(BadText::Control),
            _ => Ok(Self(text.to_owned())),
        }
    }

    pub fn text(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_one_short_plain_line() {
        assert_eq!(Mark::new(" driver 580\n").unwrap().text(), "driver 580");
        assert_eq!(Mark::new(&"é".repeat(200)).unwrap().text().chars().count(), 200);
        assert_eq!(Mark::new(" \n"), Err(BadText::Empty));
        assert_eq!(Mark::new(&"é".repeat(201)), Err(BadText::TooLong(201)));
        for bad in ["a\nb", "a\u{1b}[31mb", "a\u{7f}b", "a\u{85}b"] {
            assert_eq!(Mark::new(bad), Err(BadText::Control), "{bad:?}");
        }
    }
}
