//! Salads: very few words in any order, or the same phrases with a word changed here and there.

use std::ops::Range;

use foldhash::{HashMap, HashMapExt as _};

use super::super::plain::{is_han, is_unspaced};
use super::{sentences, share};

/// Words that are looked at together; a Chinese character counts as a word.
const WINDOW: usize = 60;
/// Less says nothing about variety.
const WINDOW_AT_LEAST: usize = 40;
/// So many different words in a window are few: prose has about forty, a nursery rhyme twenty.
const FEW: f64 = 8.0;
/// Chinese prose has about forty-five different characters in sixty.
const FEW_HAN: f64 = 10.0;
/// This part of the windows must be bad, so that one table or chorus among other things does not count.
const WINDOWS: f64 = 0.3;
/// At the end a smaller part is enough, because there the salad would have gone on.
const WINDOWS_AT_THE_END: f64 = 0.2;

/// A phrase of so many words that comes so often is a stock phrase; a list may begin each item with a shorter one.
const PHRASE: usize = 6;
const PHRASE_HAN: usize = 9;
const PHRASE_TIMES: usize = 8;
/// A long text repeats itself by chance; one that is stuck for a quarter of it does so more often than once in so many
/// words.
const PHRASE_EVERY: usize = 150;
/// The share of a window within stock phrases.
const PHRASES: f64 = 0.75;

/// A sentence with more figures than this is data.
const FIGURES: usize = 2;

pub(super) fn score(text: &str) -> f64 {
    let (words, all) = words(text);
    // What little prose stands between other things is headings.
    if words.len() < WINDOW_AT_LEAST || words.len() * 2 < all {
        return 0.0;
    }
    // From the end, where a loop is likeliest.
    let windows: Vec<_> = (0..words.len())
        .step_by(WINDOW / 2)
        .map(|end| (words.len() - end).saturating_sub(WINDOW)..words.len() - end)
        .filter(|window| window.len() >= WINDOW_AT_LEAST)
        .collect();
    // Of the whole text, of which the windows may be a small part.
    let count = windows.len() as f64 * all as f64 / words.len() as f64;
    let numbers = numbered(&words);
    let variety = windows
        .iter()
        .map(|window| lack_of_variety(&words[window.clone()], &numbers[window.clone()]))
        .collect();
    let stock = stock(&words, &numbers);
    let covered = |window: &Range<usize>| stock[window.clone()].iter().filter(|in_stock| **in_stock).count();
    let phrases = windows.iter().map(|window| share(covered(window), window.len()) / PHRASES).collect();
    usual(variety, count).max(usual(phrases, count))
}

/// The score that enough of so many windows reach; the last one comes first.
fn usual(mut scores: Vec<f64>, count: f64) -> f64 {
    let last = (count * WINDOWS_AT_THE_END).max(1.0) as usize;
    let end = scores.get(..last).map_or(0.0, |last| last.iter().copied().fold(f64::INFINITY, f64::min));
    scores.sort_by(|a, b| b.total_cmp(a));
    let anywhere = scores.get((count * WINDOWS).ceil() as usize - 1).copied().unwrap_or(0.0);
    anywhere.max(end)
}

/// The same number for the same word: numbers are compared more often than words, and more quickly.
fn numbered(words: &[String]) -> Vec<u32> {
    let mut numbers: HashMap<&str, u32> = HashMap::with_capacity(words.len());
    let mut number = |word| {
        let next = numbers.len() as u32;
        *numbers.entry(word).or_insert(next)
    };
    words.iter().map(|word| number(&**word)).collect()
}

fn lack_of_variety(words: &[String], numbers: &[u32]) -> f64 {
    let mut numbers = numbers.to_vec();
    numbers.sort_unstable();
    numbers.dedup();
    let different = numbers.len() as f64;
    let han = words.iter().filter(|word| word.starts_with(is_han)).count();
    let few = if han * 2 > words.len() { FEW_HAN } else { FEW };
    few * words.len() as f64 / WINDOW as f64 / different
}

/// Which words stand within a phrase that comes often.
fn stock(words: &[String], numbers: &[u32]) -> Vec<bool> {
    let han = words.iter().filter(|word| word.starts_with(is_han)).count();
    let length = if han * 2 > words.len() { PHRASE_HAN } else { PHRASE };
    let mut times: HashMap<&[u32], usize> = HashMap::with_capacity(numbers.len());
    for phrase in numbers.windows(length) {
        *times.entry(phrase).or_default() += 1;
    }
    let often = PHRASE_TIMES.max(words.len() / PHRASE_EVERY);
    let mut stock = vec![false; words.len()];
    for (at, phrase) in numbers.windows(length).enumerate() {
        if times.get(phrase).is_some_and(|times| *times >= often) {
            stock[at..at + length].fill(true);
        }
    }
    stock
}

/// The words of the prose that is no data, and how many words there are in all.
fn words(text: &str) -> (Vec<String>, usize) {
    let (mut words, mut all) = (Vec::new(), 0);
    for (sentence, is_prose) in sentences(text) {
        let before = words.len();
        collect(sentence, &mut words);
        all += words.len() - before;
        if !is_prose || figures(sentence) > FIGURES {
            words.truncate(before);
        }
    }
    (words, all)
}

/// Without figures, and without single letters, which are notes, squares or variables.
fn collect(sentence: &str, words: &mut Vec<String>) {
    let mut word = String::new();
    for c in sentence.chars().chain([' ']) {
        let unspaced = is_unspaced(c);
        if c.is_alphabetic() && !unspaced {
            word.extend(c.to_lowercase());
            continue;
        }
        if word.chars().nth(1).is_some() {
            words.push(std::mem::take(&mut word));
        }
        word.clear();
        if unspaced && c.is_alphabetic() && !"一二三四五六七八九十百千万两".contains(c) {
            words.push(c.to_string());
        }
    }
}

fn figures(line: &str) -> usize {
    line.split(|c: char| !c.is_ascii_digit()).filter(|part| !part.is_empty()).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picked(from: &[&str], count: usize) -> String {
        let mut random = oorandom::Rand32::new(7);
        (0..count)
            .map(|_| from[random.rand_range(0..from.len() as u32) as usize])
            .collect::<Vec<_>>()
            .join(" ")
    }

    #[test]
    fn the_same_few_words_in_any_order_are_found() {
        assert!(score(&picked(&["the", "of", "and", "time", "people"], 60)) >= 1.0);
        assert!(score(&picked(&["的", "是", "了", "我们", "时间"], 80)) >= 1.0);
        let names: Vec<String> = (0..26u8).map(|n| format!("{0}{0}na", char::from(b'a' + n))).collect();
        let line = |name: &String| format!("{name} went to the market and bought a loaf of bread. ");
        assert!(score(&names.iter().map(line).collect::<String>()) >= 1.0);
    }

    #[test]
    fn lists_tables_and_notes_are_healthy() {
        let animals =
            ["cat", "dog", "horse", "owl", "fox", "bear", "wolf", "goat", "hen", "duck", "swan", "mole"];
        let does = ["sleeps on the mat", "barks at night", "runs", "hunts mice", "steals eggs", "eats honey"];
        let item = |n: usize| format!("- The {} {}\n", animals[n % 12], does[n * n % 6]);
        assert!(score(&(0..12).map(item).collect::<String>()) < 0.8);
        let row = |name: &&str| format!("| {name} | yes | no | yes | yes | no |\n");
        assert!(score(&animals.iter().map(row).collect::<String>()) < 0.8);
        assert!(score(&picked(&["C", "D", "E", "F", "G", "A"], 200)) < 0.8);
        assert!(score("no no no") < 0.8);
    }

    #[test]
    fn headings_among_other_things_do_not_count() {
        let entry = |n: usize| {
            format!("## [{n}.0.{n}] = x\nAdded\n- `call_{n}(value)` => {{ {} }}\nFixed\n", "y".repeat(n))
        };
        assert!(score(&(0..60).map(entry).collect::<String>()) < 0.8);
    }
}
