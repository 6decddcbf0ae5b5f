//! `continuation`: a passage, and the request to go on with it at some length.

use super::length::{Length, characters_per_token};
use super::prose::Writer;
use crate::domain::Language;

pub(super) fn write(writer: &mut Writer, ending: &mut Writer, length: Length, output_tokens: u32) -> String {
    let chapter = ending.number(100, 999);
    let request = match ending.language() {
        // An English word takes about four tokens in three.
        Language::En => {
            let words = output_tokens * 3 / 4;
            format!("\n\nThis is the opening of story {chapter}. Continue it for about {words} words.")
        }
        Language::Zh => {
            let characters = f64::from(output_tokens) * characters_per_token(Language::Zh);
            format!("\n\n以上是第{chapter}篇故事的开头。请接着写下去,大约{characters:.0}字。")
        }
    };
    let room = length.less(request.chars().count()).characters();
    writer.sentences(room) + &request
}
