//! Decides what the engine says: the answer if it understands the prompt, prose if not, nonsense on command.

use std::ops::RangeInclusive;

use super::faults::{FaultKind, Strikes};
use super::read_prompt::{self, Reading, Solution};
use super::writer::Writer;

/// The shares of the prompt between which `lost-middle` loses a fact.
const LOST: RangeInclusive<f64> = 0.3..=0.7;

/// What will be said.
#[derive(Debug)]
pub struct Speech {
    /// Says it.
    pub writer: Writer,
    /// The tokens after which it ends by itself.
    pub length: Option<u32>,
}

impl Speech {
    /// `usual` is the length of an answer to a prompt that is not understood; no more than `most` tokens are needed.
    pub fn plan(prompt: &str, strikes: &Strikes, usual: u32, most: u32, seed: u64) -> Self {
        let mut writer = Writer::new(prompt, seed);
        if strikes.has(&FaultKind::Degenerate) {
            writer.repeat();
            return Self { writer, length: None };
        }
        let wrong = strikes.has(&FaultKind::Wrong);
        let text = match read_prompt::read(prompt) {
            None => return Self { writer, length: Some(usual) },
            Some(Reading::Solved(solution)) => {
                writer.speak(solution.language);
                let lost = strikes.has(&FaultKind::LostMiddle) && lies_in_the_middle(&solution);
                if wrong || lost { solution.wrong_text(seed) } else { solution.text() }
            }
            Some(Reading::Story(story)) => {
                writer.speak(story.language);
                // The shortest prose is one sentence.
                writer.prose(if wrong { 1 } else { story.length }, most)
            }
        };
        let length = writer.say(&text);
        Self { writer, length: Some(length) }
    }
}

fn lies_in_the_middle(solution: &Solution) -> bool {
    solution.depth.is_some_and(|depth| LOST.contains(&depth))
}
