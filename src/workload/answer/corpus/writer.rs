//! Plain prose for texts that are made up.

use crate::domain::Language;
use crate::workload::draw::Draw;
use crate::workload::prose;

pub(super) struct Writer {
    language: Language,
    draw: Draw,
}

impl Writer {
    pub(super) fn new(language: Language, seed: u64) -> Self {
        Self { language, draw: Draw::new(seed) }
    }

    pub(super) fn language(&self) -> Language {
        self.language
    }

    pub(super) fn number(&mut self, low: u64, high: u64) -> u64 {
        self.draw.number(low, high)
    }

    pub(super) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        self.draw.pick(from)
    }

    pub(super) fn sentence(&mut self) -> String {
        prose::sentence(&mut self.draw, self.language)
    }

    /// Sentences of at least so many characters.
    pub(super) fn sentences(&mut self, characters: usize) -> String {
        let mut text = String::new();
        while text.chars().count() < characters {
            text.push_str(&self.sentence());
            text.push_str(prose::between(self.language));
        }
        text
    }
}
