//! What the model said so far, within bounds: a server may write on for as long as it likes.

use crate::domain::Answer;
use crate::domain::answer::{MOST_BYTES, beginning};
use crate::protocol::Meaning;

/// The least room that is made for a text: few answers are shorter than half of it.
const USUAL_BYTES: usize = 512;

#[derive(Debug)]
pub(super) struct Kept {
    text: Bounded,
    thought: Bounded,
    cut: bool,
    characters: u64,
}

/// The beginning of a text that comes in pieces.
#[derive(Debug)]
struct Bounded {
    text: String,
    room: usize,
}

impl Kept {
    pub(super) fn new() -> Self {
        Self { text: Bounded::new(), thought: Bounded::new(), cut: false, characters: 0 }
    }

    pub(super) fn note(&mut self, meaning: &Meaning<'_>) {
        for (kept, piece) in [(&mut self.text, &meaning.text), (&mut self.thought, &meaning.thought)] {
            if !piece.is_empty() {
                kept.push(piece);
                self.characters += piece.chars().count() as u64;
            }
        }
        // Some servers say that the length cut the answer, and then that it stopped by itself.
        self.cut |= meaning.cut;
    }

    /// The limit on its length ended the answer.
    pub(super) fn is_cut(&self) -> bool {
        self.cut
    }

    pub(super) fn answer(self) -> Answer {
        let Self { text, thought, cut, characters } = self;
        Answer { text: text.text, thought: thought.text, cut, characters }
    }
}

impl Bounded {
    fn new() -> Self {
        Self { text: String::new(), room: MOST_BYTES }
    }

    fn push(&mut self, piece: &str) {
        let fits = beginning(piece, self.room);
        // After a gap nothing is added, even if it were short enough.
        self.room = if fits.len() < piece.len() { 0 } else { self.room - fits.len() };
        let wanted = self.text.len() + fits.len();
        if wanted > self.text.capacity() {
            // Twice as much each time, as a string grows by itself, but not beyond the bound.
            let capacity = wanted.max(2 * self.text.capacity()).clamp(USUAL_BYTES, MOST_BYTES);
            self.text.reserve_exact(capacity - self.text.len());
        }
        self.text.push_str(fits);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said<'a>(text: &'a str, thought: &'a str) -> Meaning<'a> {
        Meaning { text: text.into(), thought: thought.into(), ..Meaning::default() }
    }

    #[test]
    fn a_long_answer_keeps_its_beginning_and_takes_no_more_memory() {
        let mut kept = Kept::new();
        kept.note(&said("start", "why"));
        let piece = "é".repeat(500);
        for _ in 0..10_000 {
            kept.note(&said(&piece, &piece));
        }
        kept.note(&said("a", "b"));
        for text in [&kept.text.text, &kept.thought.text] {
            assert!(text.capacity() <= MOST_BYTES, "{}", text.capacity());
        }
        let answer = kept.answer();
        assert_eq!(answer.characters, 5 + 3 + 2 * 10_000 * 500 + 2, "what is not kept is counted");
        // An odd number of bytes came before characters of two, so that one byte stays free.
        assert_eq!((answer.text.len(), answer.thought.len()), (MOST_BYTES - 1, MOST_BYTES - 1));
        assert!(answer.text.starts_with("starté") && answer.text.ends_with('é'));
        assert!(answer.thought.starts_with("whyé") && answer.thought.ends_with('é'));
    }

    #[test]
    fn one_piece_beyond_the_bound_is_cut() {
        let mut kept = Kept::new();
        kept.note(&said(&"a".repeat(MOST_BYTES + 1), ""));
        let answer = kept.answer();
        assert_eq!((answer.text.len(), answer.thought.capacity()), (MOST_BYTES, 0));
    }

    #[test]
    fn what_was_cut_once_stays_cut() {
        let mut kept = Kept::new();
        for cut in [false, true, false] {
            kept.note(&Meaning { cut, finished: true, ..Meaning::default() });
        }
        assert!(kept.answer().cut);
    }
}
