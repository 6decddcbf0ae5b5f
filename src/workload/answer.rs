//! Whether an answer is any good: a server that is fast and wrong is down for its users.
//!
//! A text that is no text at all is found first, whatever was asked; then the answer is held against what was
//! expected of it. Where our own limit kept the model from answering, nothing is said.

#[cfg(test)]
mod corpus;
mod degenerate;
#[cfg(test)]
mod hostile;
mod plain;
mod scope;
#[cfg(test)]
mod tests;
mod token;

use crate::domain::{Answer, Expect, Language, Verdict};
use scope::{Extent, Scope};
use token::{Needle, Order};

/// What an answer is judged by.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    pub expect: &'a Expect,
    pub language: Option<Language>,
    pub max_tokens: u32,
    /// The engine was told to go on past the end of the text.
    pub forced: bool,
}

/// A text with less than this part of the length asked for is short: models count badly, but not by half.
const SHORT: f64 = 0.5;
/// The limit ended an answer that used this part of it; servers differ in whether they count the last token.
const ALL_TOKENS: f64 = 0.9;

pub fn judge(asked: &Asked<'_>, answer: &Answer, output_tokens: Option<u64>) -> Verdict {
    let blank = answer.text.trim().is_empty();
    if degenerate::is(looked_at(asked, &answer.text), asked.language) {
        return Verdict::Degenerate;
    }
    if blank {
        let thought = degenerate::is(looked_at(asked, &answer.thought), asked.language);
        return if thought { Verdict::Degenerate } else { Verdict::Unchecked };
    }
    match asked.expect {
        Expect::Anything => Verdict::Unchecked,
        Expect::Text(text) => told(answer, text),
        Expect::Sequence(words) => listed(answer, words),
        Expect::Pattern(pattern) if pattern.is_match(&answer.text) => Verdict::Right,
        // It may have been about to say it.
        Expect::Pattern(_) => {
            if answer.cut {
                Verdict::Unchecked
            } else {
                Verdict::Wrong
            }
        }
        Expect::Length(wanted) => long_enough(asked, answer, output_tokens, *wanted),
    }
}

/// An engine that may not end rambles on after the natural end of its answer, which is our doing: only the first
/// half is held against it.
fn looked_at<'a>(asked: &Asked<'_>, text: &'a str) -> &'a str {
    if !asked.forced {
        return text;
    }
    let half = (text.len() / 2..=text.len()).find(|&at| text.is_char_boundary(at)).unwrap_or(text.len());
    &text[..half]
}

fn told(answer: &Answer, expected: &str) -> Verdict {
    let needle = Needle::of(expected);
    let scope = scope::of(&answer.text, Extent::Line);
    if needle.is_in(&scope.text) {
        return Verdict::Right;
    }
    wrong_unless_cut(answer, &scope, needle.begins_at_the_end_of(&scope.text))
}

fn listed(answer: &Answer, expected: &[String]) -> Verdict {
    let scope = scope::of(&answer.text, Extent::List);
    match token::order(&scope.text, expected) {
        Order::Whole => Verdict::Right,
        order => wrong_unless_cut(answer, &scope, order == Order::Begun),
    }
}

/// An answer that our limit cut off before it came, or in its midst, is not the server's mistake.
fn wrong_unless_cut(answer: &Answer, scope: &Scope, begun: bool) -> Verdict {
    let our_doing = answer.cut && (!scope.marked || scope.last && begun);
    if our_doing { Verdict::Unchecked } else { Verdict::Wrong }
}

fn long_enough(asked: &Asked<'_>, answer: &Answer, output_tokens: Option<u64>, wanted: u32) -> Verdict {
    let came = length(&answer.text, asked.language);
    if came as f64 >= SHORT * f64::from(wanted) {
        return Verdict::Right;
    }
    let all = output_tokens.is_some_and(|tokens| tokens as f64 >= ALL_TOKENS * f64::from(asked.max_tokens));
    if answer.cut && all { Verdict::Unchecked } else { Verdict::Short }
}

/// Words, or characters where the language does not part words.
fn length(text: &str, language: Option<Language>) -> usize {
    let han = || text.chars().filter(|&c| plain::is_han(c)).count();
    let words = || text.split_whitespace().filter(|word| word.contains(char::is_alphanumeric)).count();
    let chinese = match language {
        Some(language) => language == Language::Zh,
        None => han() * 2 > text.chars().filter(|c| c.is_alphabetic()).count(),
    };
    if chinese { han() } else { words() }
}
