//! Floods: one character without end, space without end, a mess of very few characters.

use super::{both, share};

/// What is allowed of one character in a row.
struct Limits {
    /// More than this is a flood wherever it stands.
    anywhere: f64,
    /// More than this is one where the text ends with it.
    at_the_end: f64,
    /// More than this is one where it makes up the given share of the text.
    much: f64,
    much_share: f64,
}

/// Lines under headings, of tables and of drawings are as wide as a screen at most.
const RULES: Limits = Limits { anywhere: 250.0, at_the_end: 160.0, much: 32.0, much_share: 0.97 };
/// A googol has a hundred zeros.
const DIGITS: Limits = Limits { anywhere: 200.0, at_the_end: 130.0, much: 32.0, much_share: 0.85 };
/// A scream in a story is shorter, and so are the zeros of an encoded picture.
const OTHERS: Limits = Limits { anywhere: 100.0, at_the_end: 30.0, much: 24.0, much_share: 0.3 };

/// The widest tables are padded with a few hundred spaces, and no text has a page of empty lines.
const SPACE: f64 = 1000.0;
const EMPTY_LINES: f64 = 40.0;
/// A healthy text ends with a line break or two.
const SPACE_AT_THE_END: f64 = 120.0;
const EMPTY_LINES_AT_THE_END: f64 = 24.0;

/// So many characters in a row have at most so many different ones; prose has about twenty, a table of figures twelve.
const BLOCK: usize = 64;
const FEW: f64 = 5.0;
/// This part of the text may be a drawing or a measure of music.
const FEW_SHARE: f64 = 0.25;
/// Less text than this says nothing about variety.
const BLOCK_AT_LEAST: usize = 40;

pub(super) fn of_one(text: &str) -> f64 {
    let total = text.chars().filter(|c| !c.is_whitespace()).count();
    let end = text.trim_end().len();
    let mut worst = 0.0_f64;
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let after = rest.trim_start_matches(first);
        let length = (rest.len() - after.len()) / first.len_utf8();
        let at_the_end = text.len() - after.len() >= end;
        if !first.is_whitespace() && length > 1 {
            worst = worst.max(run(first, length, total, at_the_end));
        }
        rest = after;
    }
    worst
}

fn run(of: char, length: usize, total: usize, at_the_end: bool) -> f64 {
    let limits = match of {
        of if is_rule(of) => RULES,
        '0'..='9' => DIGITS,
        _ => OTHERS,
    };
    let much = both(length as f64 / limits.much, share(length, total) / limits.much_share);
    let end = if at_the_end { length as f64 / limits.at_the_end } else { 0.0 };
    (length as f64 / limits.anywhere).max(much).max(end)
}

/// Signs of which lines are drawn: under headings, in tables, in drawings, before page numbers.
fn is_rule(c: char) -> bool {
    matches!(c, '-' | '=' | '_' | '*' | '#' | '~' | '+' | '.' | '|' | '/' | '·' | '—' | '…' | '^' | ':')
        || matches!(c, '\u{2500}'..='\u{259f}')
}

/// Signs of drawings, empty tables, lists and matrices.
pub(super) fn is_drawn(c: char) -> bool {
    is_rule(c)
        || matches!(c, ',' | ';' | '[' | ']' | '(' | ')' | '{' | '}' | '<' | '>' | '"' | '\'' | '`' | '\\')
}

pub(super) fn of_space(text: &str) -> f64 {
    let mut worst = 0.0_f64;
    let mut rest = text;
    while let Some(start) = rest.find(char::is_whitespace) {
        let run = &rest[start..];
        let after = run.trim_start();
        let run = &run[..run.len() - after.len()];
        let (characters, lines) = (run.chars().count() as f64, run.matches('\n').count() as f64);
        worst = worst.max(characters / SPACE).max(lines / EMPTY_LINES);
        if after.is_empty() {
            worst = worst.max(characters / SPACE_AT_THE_END).max(lines / EMPTY_LINES_AT_THE_END);
        }
        rest = after;
    }
    worst
}

/// Neither a loop nor a run, and still only a handful of characters.
pub(super) fn of_few(text: &str) -> f64 {
    let chars: Vec<char> = text.chars().filter(|&c| !c.is_whitespace() && !is_drawn(c)).collect();
    if chars.len() < BLOCK_AT_LEAST {
        return 0.0;
    }
    let blocks: Vec<&[char]> = chars.rchunks(BLOCK).filter(|block| block.len() >= BLOCK_AT_LEAST).collect();
    let poor = blocks.iter().filter(|block| is_poor(block)).count();
    share(poor, blocks.len()) / FEW_SHARE
}

/// Figures of any base and genomes are written with few characters.
fn is_poor(block: &[char]) -> bool {
    let mut different = block.to_vec();
    different.sort_unstable();
    different.dedup();
    let digits = block.iter().filter(|c| c.is_ascii_digit()).count();
    let code = digits * 4 >= block.len();
    let genome = different.iter().all(|c| "ACGTUNacgtun".contains(*c));
    (different.len() as f64) <= FEW && !code && !genome
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_character_without_end_is_found() {
        assert!(of_one(&"!".repeat(40)) >= 1.0);
        assert!(of_one(&"0".repeat(60)) >= 1.0);
        assert!(of_one(&"。".repeat(40)) >= 1.0);
        assert!(
            of_one(&format!("{}{}", "A good beginning of some length. ".repeat(20), "!".repeat(40))) >= 1.0
        );
        assert!(of_one(&"-".repeat(60)) >= 1.0);
        assert!(
            of_one(&format!("{}{} and so on", "Good words are said here. ".repeat(50), "x".repeat(120)))
                >= 1.0
        );
    }

    #[test]
    fn rules_screams_and_large_numbers_are_healthy() {
        for text in [
            "-----".to_string(),
            "42".into(),
            "!".into(),
            "Wow!!!!!!!!".into(),
            "No".to_string() + &"o".repeat(15) + "!",
            format!("A heading\n{}\nand the text below it, in a line", "=".repeat(80)),
            format!("| a | b |\n|{}|{}|\n| 1 | 2 |", "-".repeat(40), "-".repeat(40)),
            format!(
                "A googol is the number that is written as a one with a hundred zeros behind it: 1{}.",
                "0".repeat(100)
            ),
            format!("Chapter one {} 7\nChapter two {} 19", ".".repeat(60), ".".repeat(60)),
            "████████████████░░░░ 80 %".into(),
        ] {
            assert!(of_one(&text) < 0.8, "{}: {text}", of_one(&text));
        }
    }

    #[test]
    fn space_without_end_is_found_and_a_wide_table_is_healthy() {
        assert!(of_space(&" ".repeat(150)) >= 1.0);
        assert!(of_space(&"\n".repeat(30)) >= 1.0);
        assert!(of_space(&format!("{{\"a\": 1,{}", "\n ".repeat(40))) >= 1.0);
        assert!(of_space(&format!("word{}word", "\n".repeat(60))) >= 1.0);
        assert!(of_space(&format!("left{}right\n\n\n\nend\n\n", " ".repeat(120))) < 0.8);
        assert!(of_space("") == 0.0);
    }

    #[test]
    fn a_mess_of_few_characters_is_found() {
        assert!(of_few(&"!?!!?!?!!!??!".repeat(8)) >= 1.0);
        assert!(of_few(&"ababbabaabba".repeat(8)) >= 1.0);
        assert!(of_few(&"0110100110010110".repeat(20)) < 0.8);
        assert!(of_few(&"ACGTTGCAACGGT".repeat(20)) < 0.8);
        assert!(of_few("+---+---+\n|   |   |\n+---+---+\n|   |   |\n+---+---+\n|   |   |\n+---+---+") < 0.8);
        assert!(of_few("aabb") < 0.8);
        assert!(of_few(&r"  /'\''/`\,,(\)<>/'\`'\,,/ ".repeat(9)) < 0.8);
    }
}
