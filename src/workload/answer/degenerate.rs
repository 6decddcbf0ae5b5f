//! Whether a text is no text at all: a loop, a flood, a salad of words, characters of another writing or of none.
//!
//! Each measure gives the figure that it found as a multiple of its limit, so that 1 and more is degenerate and the
//! distance from 1 is the margin; a measure with several conditions gives the least of them. A false alarm at night
//! costs as much as a miss: the limits lie where good texts and bad ones of a corpus are both far away, and texts too
//! short to tell are healthy. Every measure is linear in the text, but for a sort.

mod characters;
mod loops;
mod runs;
mod script;
mod sentences;
mod words;

use super::plain::is_han;
use crate::domain::Language;

/// A figure of a text as a multiple of its limit.
type Measure = fn(&str) -> f64;

/// The measures by name, in order of what they cost.
const MEASURES: [(&str, Measure); 8] = [
    ("broken characters", characters::broken),
    ("mojibake", characters::mojibake),
    ("run of one character", runs::of_one),
    ("flood of space", runs::of_space),
    ("few characters", runs::of_few),
    ("loop", loops::score),
    ("repeated sentences", sentences::score),
    ("few words", words::score),
];

pub(super) fn is(text: &str, language: Option<Language>) -> bool {
    script::score(text, language) >= 1.0 || MEASURES.iter().any(|(_, measure)| measure(text) >= 1.0)
}

/// The lesser of two conditions that must both hold.
fn both(a: f64, b: f64) -> f64 {
    a.min(b)
}

/// A part of a whole that may be nothing.
fn share(part: usize, whole: usize) -> f64 {
    part as f64 / whole.max(1) as f64
}

/// The sentences of a text, and whether each is prose: programs, markup, tables and addresses may say the same as often
/// as they must, and only an exact loop is told of them.
fn sentences(text: &str) -> impl Iterator<Item = (&str, bool)> {
    text.lines().flat_map(|line| {
        let program = is_program(line.trim());
        parts(line).map(move |part| (part, !program && !has_signs(part)))
    })
}

/// A line, parted behind each full stop that ends a sentence.
fn parts(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = line;
    std::iter::from_fn(move || {
        let ends = |at: usize, c: char| match c {
            '。' | '\u{ff01}' | '\u{ff1f}' | '\u{ff1b}' => true,
            '.' | '!' | '?' | ';' => {
                rest[at + 1..].starts_with([' ', '"', '\u{201d}']) || rest[..at].ends_with(is_han)
            }
            _ => false,
        };
        let end = rest.char_indices().find(|&(at, c)| ends(at, c));
        let (part, after) = rest.split_at(end.map_or(rest.len(), |(at, c)| at + c.len_utf8()));
        rest = after;
        (!part.is_empty()).then_some(part)
    })
}

fn is_program(line: &str) -> bool {
    const ENDS: [char; 7] = [';', '(', ')', '[', ']', '{', '}'];
    line.ends_with(ENDS) && !line.trim_end_matches(ENDS).ends_with(is_han)
        || line.starts_with(['|', '#', '"', '/', '<']) && line.ends_with(['|', '"', ',', ':', '>'])
}

fn has_signs(part: &str) -> bool {
    part.contains(['{', '}', '<', '>', '=', '|', '@', '_', '\\', '\t'])
        || ["\":", "://", "::"].iter().any(|sign| part.contains(sign))
}

/// The worst measure of a text, for the tests to show margins.
#[cfg(test)]
pub(super) fn worst(text: &str, language: Option<Language>) -> (&'static str, f64) {
    let script = ("script", script::score(text, language));
    MEASURES
        .iter()
        .map(|(name, measure)| (*name, measure(text)))
        .fold(script, |worst, next| if next.1 > worst.1 { next } else { worst })
}
