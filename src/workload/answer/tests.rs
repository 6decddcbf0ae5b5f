//! Each rule of the judgement.

use super::*;
use regex::Regex;

const PROSE: &str = "The harbour office opened again after the storm, and the night crew counted what was left of the \
    lanterns. Nobody had expected so many of them to be whole; the archivist wrote down each one by hand.";

fn text(expected: &str) -> Expect {
    Expect::Text(expected.into())
}

fn sequence(words: &[&str]) -> Expect {
    Expect::Sequence(words.iter().map(|word| (*word).into()).collect())
}

fn asked(expect: &Expect) -> Asked<'_> {
    Asked { expect, language: Some(Language::En), max_tokens: 100, forced: false }
}

fn said(text: &str) -> Answer {
    Answer { text: text.into(), ..Answer::default() }
}

fn cut(text: &str) -> Answer {
    Answer { cut: true, ..said(text) }
}

fn verdict(expect: &Expect, answer: &Answer) -> Verdict {
    judge(&asked(expect), answer, None)
}

#[test]
fn the_expected_text_is_right_and_another_wrong() {
    assert_eq!(verdict(&text("799"), &said("There are **799** crates left.")), Verdict::Right);
    assert_eq!(verdict(&text("799"), &said("There are 800 crates left.")), Verdict::Wrong);
    assert_eq!(verdict(&text("Ada"), &said("ada")), Verdict::Right);
    assert_eq!(verdict(&text("3-8-2"), &said("Answer: 3 – 8 – 2.")), Verdict::Right);
}

#[test]
fn only_what_the_marker_marks_counts() {
    let wrong = "812 − 13 is 799, but some are broken.\nAnswer: 780\nNot 799, therefore.";
    assert_eq!(verdict(&text("799"), &said(wrong)), Verdict::Wrong);
    assert_eq!(verdict(&text("780"), &said(wrong)), Verdict::Right);
    assert_eq!(verdict(&text("北门"), &said("答案\u{ff1a}在北门。")), Verdict::Right);
}

#[test]
fn an_answer_cut_off_before_it_came_is_unchecked() {
    let expect = text("799");
    assert_eq!(verdict(&expect, &cut("First I add 812 and")), Verdict::Unchecked);
    assert_eq!(verdict(&expect, &cut("First I add them.\nAnswer:")), Verdict::Unchecked);
    assert_eq!(verdict(&expect, &cut("Answer: 7")), Verdict::Unchecked);
    assert_eq!(verdict(&expect, &cut("Answer: 812")), Verdict::Wrong);
    assert_eq!(verdict(&expect, &cut("Answer: 7\nThat is because")), Verdict::Wrong);
    assert_eq!(verdict(&expect, &said("First I add 812 and")), Verdict::Wrong);
    assert_eq!(verdict(&expect, &cut("It is 799, because")), Verdict::Right);
}

#[test]
fn a_sequence_is_judged_by_its_order() {
    let expect = sequence(&["pump", "clock", "map"]);
    assert_eq!(verdict(&expect, &said("Answer: pump, clock, map")), Verdict::Right);
    assert_eq!(verdict(&expect, &said("Answer:\n1. Pump\n2. Clock\n3. Map")), Verdict::Right);
    assert_eq!(verdict(&expect, &said("Answer: clock, pump, map")), Verdict::Wrong);
    assert_eq!(verdict(&expect, &said("Answer: pump, clock\nThe map is missing.")), Verdict::Wrong);
    assert_eq!(verdict(&expect, &cut("Answer: pump, clo")), Verdict::Unchecked);
    assert_eq!(verdict(&expect, &cut("Answer: clock, pu")), Verdict::Wrong);
}

#[test]
fn a_pattern_is_searched_in_all_of_the_text() {
    let expect = Expect::Pattern(Regex::new(r"\d{3} crates").unwrap());
    assert_eq!(verdict(&expect, &said("Of 799 crates.\nAnswer: many")), Verdict::Right);
    assert_eq!(verdict(&expect, &said("Of many crates.")), Verdict::Wrong);
    assert_eq!(verdict(&expect, &cut("Of many crates and")), Verdict::Unchecked);
}

#[test]
fn half_of_the_length_is_long_enough() {
    // 37 words.
    assert_eq!(verdict(&Expect::Length(70), &said(PROSE)), Verdict::Right);
    assert_eq!(verdict(&Expect::Length(80), &said(PROSE)), Verdict::Short);
    assert_eq!(verdict(&Expect::Length(80), &cut(PROSE)), Verdict::Short);
    let judged = |tokens| judge(&asked(&Expect::Length(80)), &cut(PROSE), Some(tokens));
    assert_eq!((judged(89), judged(90)), (Verdict::Short, Verdict::Unchecked));
    assert_eq!(judge(&asked(&Expect::Length(80)), &said(PROSE), Some(100)), Verdict::Short);
}

#[test]
fn length_is_counted_in_words_or_in_characters() {
    let chinese = "港务处重新开放,工人清点了 412 件灯笼。";
    assert_eq!(length(PROSE, Some(Language::En)), 37);
    assert_eq!(length(chinese, Some(Language::Zh)), 15);
    assert_eq!(length(chinese, None), 15);
    assert_eq!(length(PROSE, None), 37);
    assert_eq!(length("- one – two!", Some(Language::En)), 2);
}

#[test]
fn anything_is_unchecked_unless_it_is_degenerate() {
    let flood = "!".repeat(200);
    assert_eq!(verdict(&Expect::Anything, &said(PROSE)), Verdict::Unchecked);
    assert_eq!(verdict(&Expect::Anything, &said(&flood)), Verdict::Degenerate);
    // Also where the right word stands in it.
    assert_eq!(verdict(&text("799"), &said(&format!("799 {flood}"))), Verdict::Degenerate);
}

#[test]
fn without_a_text_the_thought_is_judged() {
    let thought = |thought: &str| Answer { thought: thought.into(), ..said(" \n") };
    assert_eq!(verdict(&text("799"), &thought(PROSE)), Verdict::Unchecked);
    assert_eq!(verdict(&text("799"), &thought(&"Wait. ".repeat(90))), Verdict::Degenerate);
    assert_eq!(verdict(&text("799"), &thought("")), Verdict::Unchecked);
    let both = Answer { thought: "Wait. ".repeat(90), ..said("Answer: 799") };
    assert_eq!(verdict(&text("799"), &both), Verdict::Right);
}

#[test]
fn endless_space_is_no_blank_text() {
    assert_eq!(verdict(&text("799"), &said(&" \n".repeat(200))), Verdict::Degenerate);
}

#[test]
fn what_comes_after_the_natural_end_is_not_held_against_a_forced_engine() {
    let rambling = format!("{PROSE} {PROSE} {}", "and so on ".repeat(36));
    let expect = Expect::Anything;
    let forced = Asked { forced: true, ..asked(&expect) };
    assert_eq!(judge(&asked(&expect), &said(&rambling), None), Verdict::Degenerate);
    assert_eq!(judge(&forced, &said(&rambling), None), Verdict::Unchecked);
    assert_eq!(judge(&forced, &said(&"and so on ".repeat(60)), None), Verdict::Degenerate);
    assert_eq!(judge(&forced, &said("是"), None), Verdict::Unchecked);
}

#[test]
fn the_language_decides_about_the_writing() {
    let chinese = "值夜班的工人在旧车站后面清点了四百一十二件灯笼,后来博物馆卖掉了其中的十二件。";
    let judged = |language| judge(&Asked { language, ..asked(&Expect::Anything) }, &said(chinese), None);
    assert_eq!(judged(Some(Language::En)), Verdict::Degenerate);
    assert_eq!(judged(Some(Language::Zh)), Verdict::Unchecked);
    assert_eq!(judged(None), Verdict::Unchecked);
}
