//! Sentences that come again, in any order, also when only a counter in them changes.

use foldhash::{HashMap, HashMapExt as _};

use super::super::plain::is_han;
use super::{sentences, share};

/// This share of a text in sentences that were said before: a refrain after each verse is about a quarter.
const SHARE: f64 = 0.65;
/// A sentence said so often is a loop; a song has its refrain four times.
const TIMES: usize = 6;
/// A long text has its stock sentences; one that is stuck says the same more often than once in so many.
const EVERY: usize = 200;
/// A paragraph in one sentence is not said thrice on purpose.
const TIMES_IF_LONG: usize = 3;
const LONG: usize = 120;
/// Less than this is no sentence.
const LETTERS: usize = 6;
/// Figures beyond a counter and what it counts are data: a log, a table, a timetable.
const COUNTERS: usize = 2;
/// A last part shorter than this is too short to be told from a closing formula.
const LAST_PART: usize = 120;

/// How often a sentence was said, and with which figures the last time.
#[derive(Default)]
struct Said {
    figures: Vec<u64>,
    times: usize,
    characters: usize,
}

/// Of the whole or of its last part, because a loop may begin after a good beginning.
pub(super) fn score(text: &str) -> f64 {
    let from =
        |start: usize| (start..=text.len()).find(|&at| text.is_char_boundary(at)).unwrap_or(text.len());
    let last = [text.len() / 2, text.len() / 3 * 2].map(|start| &text[from(start)..]);
    let lasts = last.into_iter().filter(|last| last.len() >= LAST_PART);
    lasts.chain([text]).map(repeated).fold(0.0, f64::max) / SHARE
}

/// The share of a text that stands in sentences said before.
fn repeated(text: &str) -> f64 {
    let mut said: HashMap<String, Said> = HashMap::new();
    let (mut total, mut count) = (0, 0);
    for (sentence, is_prose) in sentences(text) {
        let characters = sentence.chars().filter(|c| c.is_alphanumeric()).count();
        total += characters;
        count += 1;
        if is_prose && let Some((form, figures)) = form(sentence) {
            said.entry(form).or_default().hear(figures, characters);
        }
    }
    let loops = said.values().filter(|said| said.is_loop(count / EVERY));
    share(loops.map(|said| said.characters * (said.times - 1)).sum(), total)
}

impl Said {
    fn hear(&mut self, figures: Vec<u64>, characters: usize) {
        let counted =
            self.figures.iter().zip(&figures).all(|(before, now)| matches!(now.wrapping_sub(*before), 0 | 1));
        self.times = if counted { self.times + 1 } else { 1 };
        self.figures = figures;
        self.characters = characters;
    }

    fn is_loop(&self, by_chance: usize) -> bool {
        self.times > by_chance && self.times >= if self.characters >= LONG { TIMES_IF_LONG } else { TIMES }
    }
}

/// What is the same when a sentence is said again: its words, and a sign for each figure.
fn form(sentence: &str) -> Option<(String, Vec<u64>)> {
    let letters: usize =
        sentence.chars().filter(|c| c.is_alphabetic()).map(|c| if is_han(c) { 2 } else { 1 }).sum();
    if letters < LETTERS {
        return None;
    }
    let mut form = String::new();
    let mut figures: Vec<u64> = Vec::new();
    let mut within = false;
    for c in sentence.chars().flat_map(char::to_lowercase) {
        match c.to_digit(10) {
            Some(digit) if within => {
                let figure = figures.last_mut()?;
                *figure = figure.wrapping_mul(10).wrapping_add(u64::from(digit));
            }
            Some(digit) => {
                figures.push(u64::from(digit));
                form.push('#');
            }
            None if c.is_alphanumeric() => form.push(c),
            None if !form.ends_with(' ') => form.push(' '),
            None => {}
        }
        within = c.is_ascii_digit();
    }
    (figures.len() <= COUNTERS).then(|| (form.trim().to_string(), figures))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(count: usize, line: impl Fn(usize) -> String) -> String {
        (1..=count).map(line).collect()
    }

    #[test]
    fn a_loop_with_a_counter_is_found() {
        assert!(score(&numbered(12, |n| format!("{n}. I am sorry.\n"))) >= 1.0);
        assert!(score(&numbered(12, |n| format!("Step {n}: repeat the step before this one. "))) >= 1.0);
        assert!(score(&numbered(12, |n| format!("第{n}条：对不起，我不能回答。"))) >= 1.0);
    }

    #[test]
    fn sentences_in_any_order_are_found() {
        let parts =
            ["The sky is blue. ", "The grass is very green. ", "We went home. ", "It rained all night. "];
        let text: String = (0..60).map(|n: usize| parts[(n * n + n / 3) % 4]).collect();
        assert!(score(&text) >= 1.0);
        let good: String =
            numbered(12, |n| format!("The {}th thing differs from all others by {}. ", n * n, "x".repeat(n)));
        assert!(score(&(good + &text)) >= 1.0);
    }

    #[test]
    fn refrains_and_data_are_healthy() {
        let poem = numbered(5, |n| {
            format!(
                "In verse {} the {} comes home,\nand brings {} along.\nOh, the river runs low.\n",
                n * n,
                "ab".repeat(n),
                "c".repeat(n)
            )
        });
        assert!(score(&poem) < 0.8, "{}", score(&poem));
        let log = numbered(30, |n| format!("2025-03-01 10:{n:02}:07 worker connected to the queue again\n"));
        assert!(score(&log) < 0.8);
        let table = numbered(10, |n| format!("Seven times {n} makes {}.\n", n * 7));
        assert!(score(&table) < 0.8, "{}", score(&table));
        let distances = numbered(20, |n| format!("The stop lies {} km from here\n", n * n * 3 % 17));
        assert!(score(&distances) < 0.8);
    }
}
