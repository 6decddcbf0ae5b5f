//! `continuation`: a passage, and the request to go on with it at some length.

use super::draw::{Draw, scramble};
use super::prose::{between, reordered, sentences};
use super::weigh::weigh;
use super::{Sheet, Written};
use crate::domain::{Expect, Language};

pub(super) fn write(sheet: &Sheet) -> Written {
    let (length, request) = match sheet.language {
        // An English word takes about four tokens in three.
        Language::En => {
            let words = (sheet.output_tokens * 3 / 4).max(1);
            (words, format!("Go on with this story for about {words} words."))
        }
        // Two tokens make about three characters; punctuation, which is not counted, needs some.
        Language::Zh => {
            let characters = (sheet.output_tokens * 5 / 4).max(1);
            (characters, format!("请把这个故事接着写下去，大约{characters}字。"))
        }
    };
    let story = sentences(sheet.fixed, sheet.language, sheet.weight - weigh(&request) - 2.0);
    let story = reordered(story, &mut Draw::new(scramble(sheet.changing())));
    let text = format!("{}\n\n{request}", story.join(between(sheet.language)));
    Written::new(text, Expect::Length(length))
}
