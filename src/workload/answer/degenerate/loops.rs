//! Exact loops: the same characters again and again, whatever their length, wherever they begin.

use foldhash::{HashMap, HashMapExt as _};

use super::super::plain::is_han;
use super::runs::is_drawn;
use super::{both, share};

/// Lengths of the pieces by which a text is compared with itself: the short one finds short loops, the long one is not
/// led astray by words that come often within one round of a long loop.
const PIECES: [usize; 2] = [4, 24];
/// So many distances are tried for each; a loop that takes a fifth of a text cannot hide behind more others.
const DISTANCES: usize = 12;

/// A loop counts if it takes this share of the text: a refrain or a few equal lines of a program do not.
const SHARE: f64 = 0.3;
/// The last part of a text may be a shorter one, because there the loop would have gone on.
const SHARE_AT_THE_END: f64 = 0.2;
/// Less is said again even in a short answer: "no no no no".
const CHARACTERS: f64 = 34.0;
/// How far from the end a loop may stop that is still the end: less than a line.
const NEAR_THE_END: usize = 40;

/// Rounds of a loop that has neither letters nor figures, such as "! ! !".
const SIGNS: f64 = 14.0;
/// Rounds of a loop of figures, or of the signs of which lines and empty tables are made.
const FIGURES: f64 = 40.0;
/// The same, if they are all there is, and in one line: a board or a matrix of zeros has several.
const FIGURES_ALONE: f64 = 16.0;
const ALONE: f64 = 0.85;
/// The same, if they are lines.
const LINES: f64 = 20.0;

/// Where a text is equal to itself at a distance.
struct Stretch {
    start: usize,
    end: usize,
    period: usize,
}

pub(super) fn score(text: &str) -> f64 {
    let chars = squeezed(text);
    let mut distances: Vec<usize> = PIECES.iter().flat_map(|&piece| distances(&chars, piece)).collect();
    distances.sort_unstable();
    distances.dedup();
    let stretches = distances.iter().flat_map(|&distance| stretches(&chars, distance));
    stretches.map(|stretch| weigh(&chars, &stretch)).fold(0.0, f64::max)
}

/// Without differences of space, and with the lines of tables made short: their lengths are no loops.
fn squeezed(text: &str) -> Vec<char> {
    let mut kept: Vec<char> = Vec::with_capacity(text.len());
    for c in text.trim().chars() {
        let last = kept.last().copied();
        match c {
            '\n' if last == Some(' ') => {
                kept.pop();
                if kept.last() != Some(&'\n') {
                    kept.push('\n');
                }
            }
            c if c.is_whitespace() && matches!(last, Some(' ' | '\n')) => {}
            '\n' => kept.push('\n'),
            c if c.is_whitespace() => kept.push(' '),
            c if !c.is_alphanumeric() && kept.ends_with(&[c, c, c]) => {}
            c => kept.push(c),
        }
    }
    kept
}

/// The distances at which pieces of the text come again most often.
fn distances(chars: &[char], piece: usize) -> Vec<usize> {
    const BASE: u64 = 0x0100_0000_01b3;
    let leaving = (0..piece).fold(1_u64, |power, _| power.wrapping_mul(BASE));
    let mut last_place: HashMap<u64, usize> = HashMap::with_capacity(chars.len());
    let mut counts: HashMap<usize, usize> = HashMap::new();
    let mut hash = 0_u64;
    for (at, &c) in chars.iter().enumerate() {
        hash = hash.wrapping_mul(BASE).wrapping_add(u64::from(c) + 1);
        if at >= piece {
            hash = hash.wrapping_sub(leaving.wrapping_mul(u64::from(chars[at - piece]) + 1));
        }
        if at + 1 >= piece
            && let Some(before) = last_place.insert(hash, at)
        {
            *counts.entry(at - before).or_default() += 1;
        }
    }
    let mut counts: Vec<(usize, usize)> =
        counts.into_iter().map(|(distance, count)| (count, distance)).collect();
    counts.sort_unstable_by_key(|&(count, distance)| (std::cmp::Reverse(count), distance));
    counts.into_iter().take(DISTANCES).map(|(_, distance)| distance).collect()
}

/// All places with two rounds at least.
fn stretches(chars: &[char], period: usize) -> Vec<Stretch> {
    let mut found = Vec::new();
    let mut start = period;
    for at in period..=chars.len() {
        if at < chars.len() && chars[at] == chars[at - period] {
            continue;
        }
        if at - start >= period {
            found.push(Stretch { start: start - period, end: at, period });
        }
        start = at + 1;
    }
    found
}

fn weigh(chars: &[char], stretch: &Stretch) -> f64 {
    let round = &chars[stretch.start..stretch.start + stretch.period];
    let rounds = (stretch.end - stretch.start) as f64 / stretch.period as f64;
    // The first round is no repetition.
    let share = share(stretch.end - stretch.start - stretch.period, chars.len());
    let at_the_end = stretch.end + NEAR_THE_END.max(stretch.period) >= chars.len();
    let limit = if at_the_end { SHARE_AT_THE_END } else { SHARE };
    // A run of one character is measured elsewhere.
    if round.iter().all(|c| *c == round[0]) {
        return 0.0;
    }
    let long = weight(&chars[stretch.start..stretch.end]) as f64 / CHARACTERS;
    let alone = if round.contains(&'\n') { 0.0 } else { both(rounds / FIGURES_ALONE, share / ALONE) };
    both(long, both(rounds / rounds_allowed(round), share / limit).max(alone))
}

/// The longer a round is, the fewer of them are said on purpose: laughter has eight, a song's line four, a verse
/// three, a page two.
fn rounds_allowed(round: &[char]) -> f64 {
    if !round.iter().any(|c| c.is_alphabetic()) {
        let signs = round.iter().any(|&c| !c.is_whitespace() && !c.is_numeric() && !is_drawn(c));
        let lines = round.contains(&'\n');
        return if signs {
            SIGNS
        } else if lines {
            LINES
        } else {
            FIGURES
        };
    }
    match weight(round) {
        0..6 => 10.0,
        6..16 => 8.0,
        16..60 => 6.0,
        60..400 => 4.0,
        _ => 3.0,
    }
}

/// A Chinese character says about as much as two letters.
fn weight(chars: &[char]) -> usize {
    chars.iter().map(|&c| if is_han(c) { 2 } else { 1 }).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: &str = "The harbour office opened again after the storm, and the night crew counted what was left of \
        the lanterns. Nobody had expected so many of them to be whole; the archivist wrote down each one by hand. ";

    #[test]
    fn loops_of_each_length_are_found() {
        assert!(score(&"the ".repeat(12)) >= 1.0);
        assert!(score(&"no ".repeat(10)) < 1.0);
        assert!(score(&"I am sorry. ".repeat(10)) >= 1.0);
        assert!(score(&"好的".repeat(20)) >= 1.0);
        assert!(score(&"我很抱歉，我不能回答这个问题。".repeat(6)) >= 1.0);
        assert!(score(&GOOD.repeat(5)) >= 1.0);
        assert!(score(&"! ".repeat(20)) >= 1.0);
        assert!(score(&"。\n".repeat(40)) >= 1.0);
        let sentence = |n| format!("Sentence {n} says that {} things are {}. ", n * 7, n * n);
        let page: String = (0..12).map(sentence).collect();
        assert!(score(&page.repeat(4)) >= 1.0);
    }

    #[test]
    fn a_loop_after_a_good_beginning_or_amid_a_text_is_found() {
        assert!(score(&(GOOD.to_string() + &"and again ".repeat(15))) >= 1.0);
        assert!(score(&(GOOD.to_string() + &"and again ".repeat(30) + GOOD)) >= 1.0);
    }

    #[test]
    fn a_round_may_repeat_itself_within() {
        assert!(score(&"I am sorry I am sorry I am sorry what to do, what to do. ".repeat(8)) >= 1.0);
        // Nearly every short piece of a round comes again within it, at another distance each time.
        let line = |n: usize| format!("the same phrase in each of the lines{} ", "a".repeat(n * 17 % 41));
        assert!(score(&(0..41).map(line).collect::<String>().repeat(5)) >= 1.0);
    }

    #[test]
    fn what_is_said_twice_or_thrice_is_healthy() {
        for text in ["no no no", "ha ha ha ha ha ha", "42", "", "Row, row, row your boat", "-----", "是是是"]
        {
            assert!(score(text) < 0.8, "{}: {text}", score(text));
        }
        assert!(score(&GOOD.repeat(3)) < 0.8);
        assert!(
            score(&(GOOD.to_string() + &"Sing it once more, my friend, until the morning comes. ".repeat(3)))
                < 0.8
        );
        assert!(score(&format!("x = [{}]\nprint(sum(x))", "0, ".repeat(12))) < 0.8);
    }

    #[test]
    fn closing_braces_and_rules_are_healthy() {
        assert!(score(&format!("{GOOD}\n{}", "  }\n".repeat(9))) < 0.8);
        assert!(score("| a | b | c |\n|---|---|---|\n| 1 | 2 | 3 |\n|---|---|---|\n| 4 | 5 | 6 |") < 0.8);
    }
}
