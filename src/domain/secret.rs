//! Text that must never be shown: it has no `Display`, and its `Debug` hides it.

use std::fmt;

const HIDDEN: &str = "[redacted]";

/// A beginning of a secret that is shorter tells nothing, and may be an ordinary word.
const TELLING_BYTES: usize = 8;

#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself; only what puts it on the wire may ask.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Replaces every occurrence of the secret in `text`: servers like to quote the key they refuse. Where the
    /// text broke off within one, so much of it as was quoted goes too.
    pub fn redact(&self, text: &str) -> String {
        if self.0.is_empty() {
            return text.to_owned();
        }
        let mut text = text.replace(&self.0, HIDDEN);
        let beginnings = (TELLING_BYTES..self.0.len()).rev().filter_map(|end| self.0.get(..end));
        if let Some(quoted) = beginnings.into_iter().find(|beginning| text.ends_with(beginning)) {
            text.truncate(text.len() - quoted.len());
            text.push_str(HIDDEN);
        }
        text
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_output_hides_the_text() {
        assert_eq!(format!("{:?}", Some(Secret::new("sk-1"))), "Some([redacted])");
    }

    #[test]
    fn a_quoted_key_is_redacted() {
        assert_eq!(Secret::new("sk-1").redact("Incorrect key sk-1."), "Incorrect key [redacted].");
    }

    #[test]
    fn a_key_at_which_the_text_broke_off_is_redacted_as_far_as_it_goes() {
        let secret = Secret::new("sk-0123456789");
        assert_eq!(secret.redact("the key sk-012345678"), "the key [redacted]");
        assert_eq!(secret.redact("the key sk-01234"), "the key [redacted]");
        assert_eq!(secret.redact("the key sk-0"), "the key sk-0");
        assert_eq!(secret.redact("sk-012345678 is cut"), "sk-012345678 is cut");
    }
}
