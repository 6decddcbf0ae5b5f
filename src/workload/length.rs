//! Tokens wanted, as characters to write.

use crate::domain::Language;

/// Characters still to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Length(usize);

/// What the tokenizers of today's large models make of ordinary prose, about.
pub(super) fn characters_per_token(language: Language) -> f64 {
    match language {
        Language::En => 4.6,
        Language::Zh => 1.6,
    }
}

impl Length {
    pub(super) fn of(tokens: u32, language: Language) -> Self {
        Self((f64::from(tokens) * characters_per_token(language)).round() as usize)
    }

    pub(super) fn less(self, characters: usize) -> Self {
        Self(self.0.saturating_sub(characters))
    }

    pub(super) fn characters(self) -> usize {
        self.0
    }
}
