//! Text that must never be shown: it has no `Display`, and its `Debug` hides it.

use std::fmt;

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

    /// Replaces every occurrence of the secret in `text`: servers like to quote the key they refuse.
    pub fn redact(&self, text: &str) -> String {
        if self.0.is_empty() { text.to_owned() } else { text.replace(&self.0, "[redacted]") }
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
}
