//! Whatever a server sends, judging it ends soon and without a panic.

use std::time::Duration;

use oorandom::Rand32;
use regex::Regex;
use tokio::time::Instant;

use super::*;

/// The most that is kept of an answer.
const MOST: usize = 256 * 1024;
/// A test build on a busy machine; a release build takes about a fifteenth.
const BOUND: Duration = Duration::from_secs(10);

fn expectations() -> [Expect; 5] {
    [
        Expect::Anything,
        Expect::Text("3-8-2".into()),
        Expect::Sequence(["a", "b", "aa", "1"].map(String::from).into()),
        Expect::Pattern(Regex::new("(a|b)*c").unwrap()),
        Expect::Length(300),
    ]
}

fn judge_in_each_way(text: &str) {
    for expect in expectations() {
        for (language, cut) in [(None, true), (Some(Language::En), false), (Some(Language::Zh), true)] {
            let asked = Asked { expect: &expect, language, max_tokens: 100, forced: cut };
            let answer = Answer { text: text.into(), thought: text.into(), cut, ..Answer::default() };
            judge(&asked, &answer, Some(90));
            judge(&asked, &Answer { text: " ".into(), ..answer }, None);
        }
    }
}

#[test]
fn no_bytes_make_it_panic() {
    let mut random = Rand32::new(11);
    for round in 0..160 {
        let length = random.rand_range(0..300);
        // Few different bytes make more structure, and so more of the code run.
        let most = [2, 5, 40, 256][round % 4];
        let base = random.rand_range(0..256);
        let bytes: Vec<u8> = (0..length).map(|_| (base + random.rand_range(0..most)) as u8).collect();
        judge_in_each_way(&String::from_utf8_lossy(&bytes));
    }
}

#[test]
fn no_pieces_of_answers_make_it_panic() {
    const PIECES: &[&str] = &[
        "Answer:", "答案", "\u{ff1a}", ":", "\n", " ", "-", "–", "1", "2,345", ".", "0.", ",", "'", "**",
        "_", "`", "```", "C++", "é", "â€™", "的", "😀", "\u{fffd}", "\u{0}", "|", "---", "$", "负", "1. ",
        "- ", "{", "}", "\"", "ß", "İ", "ﬁ", "\u{301}", "พ", "\u{200b}", "\r\n", "\t", "3-8-2", "a",
    ];
    let mut random = Rand32::new(12);
    for _ in 0..200 {
        let count = random.rand_range(0..60);
        let text: String =
            (0..count).map(|_| PIECES[random.rand_range(0..PIECES.len() as u32) as usize]).collect();
        judge_in_each_way(&text);
    }
}

/// The longest answers that are hardest for one measure or another.
fn worst_cases() -> Vec<(&'static str, String)> {
    let filled = |piece: &str| piece.repeat(MOST / piece.len());
    let mut random = Rand32::new(13);
    let mut noise =
        |kinds: u32| (0..MOST).map(|_| char::from(b'a' + random.rand_range(0..kinds) as u8)).collect();
    let number = |n| format!("{n}. ");
    let line = |n| format!("line {n} of it\n");
    let fibonacci = {
        let (mut a, mut b) = (String::from("a"), String::from("ab"));
        while b.len() < MOST {
            (a, b) = (b.clone(), b + &a);
        }
        b[..MOST].to_string()
    };
    vec![
        ("one character", filled("a")),
        ("two characters", noise(2)),
        ("letters", noise(26)),
        ("fibonacci", fibonacci),
        ("all spaces", filled(" ")),
        ("lines", filled("a\n")),
        ("markers", filled("Answer:")),
        ("markers without an answer", filled("Answer:\n")),
        ("dashes", filled("3-8-")),
        ("groups of digits", filled("123,")),
        ("full stops", filled("a. ")),
        ("quotes", filled("\".")),
        ("numbers that grow", (0..40_000).map(number).collect()),
        ("distinct lines", (0..20_000).map(line).collect()),
        ("marks of emphasis", filled("*_`")),
        ("four bytes each", filled("😀")),
        ("broken", filled("\u{fffd}")),
    ]
}

#[test]
fn the_longest_answers_are_judged_in_bounded_time() {
    for (name, text) in worst_cases() {
        let asked = Asked { expect: &Expect::Anything, language: None, max_tokens: 100, forced: false };
        let answer = Answer { text, cut: true, ..Answer::default() };
        let start = Instant::now();
        judge(&asked, &answer, None);
        // Where the text is degenerate these would not be asked.
        told(&answer, "3-8-2");
        listed(&answer, &["a", "b", "aa", "1"].map(String::from));
        let took = Instant::now() - start;
        assert!(took < BOUND, "{name}: {took:?}");
    }
}
