//! What a refusal says about lengths: how many tokens the prompt had, and how many would have been taken.
//!
//! There is no format for it, only sentences, and each engine has its own. A number is taken only where the words
//! around it say what it counts: the prompt alone, prompt and answer together, or a limit. A count that is only a
//! lower bound ("at least 16385") is no count.

use std::ops::RangeInclusive;
use std::sync::LazyLock;

use regex::Regex;

use crate::domain::{Lesson, Room};

/// Numbers outside of these are mistakes, ours or the server's.
const PROMPTS: RangeInclusive<u64> = 1..=100_000_000;
const ROOMS: RangeInclusive<u32> = 64..=100_000_000;
const LEAST_OUTPUTS: RangeInclusive<u32> = 2..=4096;

/// Longer texts say the rest elsewhere.
const MAX_CHARS: usize = 4096;

/// The prompt's own tokens, all of them.
static PROMPT: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    patterns(&[
        r"(\d+) (?:tokens )?in (?:the|your) (?:messages|prompt|input)",
        r"(\d+) tokens from the input",
        r"(\d+) of text input",
        r"resulted in (\d+) tokens",
        r"(?:request|input|prompt|message) \((\d+) tokens\)",
        r"(?:^|[^m] )(?:input|prompt|total) length \(?(\d+)",
        r"\((?:total )?length (\d+)\)",
        r"input token count(?: is)? \(?(\d+)",
        r"requested tokens \((\d+)\)",
        r"given: (\d+)",
        r"too long: (\d+) tokens",
        r"context limit: (\d+) \+",
        r"prompt contains (\d+) (?:input )?tokens",
        r"request (?:has|contains) (\d+) (?:input )?tokens",
        r"n_prompt_tokens ?: ?(\d+)",
    ])
});

/// The most that prompt and answer may have together.
static CONTEXT: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    patterns(&[
        r"context(?: length| size| window)?(?: is| of)?(?: only)? \(?(\d+)",
        r"maximum (?:model|sequence) length (?:of )?\(?(\d+)",
        r"maximum allowed length \(?(\d+)",
        r"inputs tokens \+ max_new_tokens must be <= (\d+)",
        r"\d+ \+ \d+ > (\d+)",
        r"with (\d+) maximum context",
        r"max_(?:seq_len|num_tokens|model_len)(?: of)? \(?(\d+)",
        r"n_ctx ?: ?(\d+)",
    ])
});

/// The most that the prompt alone may have.
static INPUT: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    patterns(&[
        r"inputs must have less than (\d+)",
        r"> (\d+) maximum",
        r"maximum number of tokens allowed[ (]+(\d+)",
        r"maximum (?:input|prompt) length (?:is |of )?\(?(\d+)",
        r"configured limit of (\d+)",
        r"exceeds limit of (\d+)",
        r"only supports up to (\d+)",
        r"range of input length should be \[\d+, ?(\d+)\]",
    ])
});

/// The least that may be asked for as the limit of an answer.
static LEAST_OUTPUT: LazyLock<Vec<Regex>> = LazyLock::new(|| {
    patterns(&[
        r"expected a value >= ?(\d+)",
        r"(?:must|should) be (?:at least|>=|greater than or equal to) ?(\d+)",
        r"less than the minimum(?: value)? of (\d+)",
    ])
});

static NAMES_OUTPUT: LazyLock<Regex> =
    LazyLock::new(|| fixed(r"max_(?:output_|completion_|new_)?tokens|maxoutputtokens|num_predict"));

/// A refusal that has none of these words is about something else.
static TOO_LONG: LazyLock<Regex> = LazyLock::new(|| {
    fixed(
        r"context_length_exceeded|exceed_context_size|string_above_max_length|context (?:length|size|window|limit)|(?:prompt|input|inputs|request) (?:is |are )?(?:too long|longer than)|(?:prompt|input) (?:length|token count)|(?:prompt|input|request) \([^)]*\) (?:is too long|is longer|exceeds)|inputs must have less|inputs tokens \+|requested tokens? .{0,40}exceed|input tokens exceed|maximum (?:prompt|input|context)|too large for model with|max_seq_len",
    )
});

/// Words of a limit on how fast tokens may come, which a shorter prompt does not mend.
static PACE: LazyLock<Regex> = LazyLock::new(|| fixed(r"per (?:min|hour|day|sec)|\btpm\b|\btpd\b"));

/// What a text says. A text about something else says nothing.
pub(super) fn lesson(text: &str) -> Lesson {
    let text = plain(text);
    if PACE.is_match(&text) {
        return Lesson::default();
    }
    let number = |patterns: &[Regex]| patterns.iter().find_map(|pattern| first(pattern, &text));
    let least_output = NAMES_OUTPUT.is_match(&text).then(|| number(&LEAST_OUTPUT)).flatten();
    let least_output = least_output.and_then(|n| bounded(n, &LEAST_OUTPUTS));
    if !TOO_LONG.is_match(&text) {
        return Lesson { least_output, ..Lesson::default() };
    }
    let room = |patterns| number(patterns).and_then(|n| bounded(n, &ROOMS));
    Lesson {
        too_long: true,
        prompt_tokens: number(&PROMPT).filter(|tokens| PROMPTS.contains(tokens)),
        room: Room { context: room(&CONTEXT), input: room(&INPUT) },
        least_output,
    }
}

fn first(pattern: &Regex, text: &str) -> Option<u64> {
    pattern.captures(text)?.get(1)?.as_str().parse().ok()
}

fn bounded(number: u64, range: &RangeInclusive<u32>) -> Option<u32> {
    u32::try_from(number).ok().filter(|number| range.contains(number))
}

/// Small letters, one space between words, no quotation marks: engines differ in them, and gateways add more.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    for c in text.chars().take(MAX_CHARS) {
        match c {
            '`' | '\'' | '"' | '\\' | '’' => {}
            c if c.is_whitespace() => {
                if !plain.ends_with(' ') {
                    plain.push(' ');
                }
            }
            c => plain.extend(c.to_lowercase()),
        }
    }
    plain
}

fn patterns(patterns: &[&str]) -> Vec<Regex> {
    patterns.iter().map(|pattern| fixed(pattern)).collect()
}

fn fixed(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a fixed pattern is sound")
}

#[cfg(test)]
mod tests;
