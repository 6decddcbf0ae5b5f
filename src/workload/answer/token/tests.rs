//! Each spelling that must not matter, and each near miss that must.

use super::*;

fn found(expected: &str, text: &str) -> bool {
    Needle::of(expected).is_in(text)
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).into()).collect()
}

#[test]
fn spelling_does_not_matter() {
    for (expected, text) in [
        ("799", "799"),
        ("799", "It is **799**."),
        ("799", "`799`, I think"),
        ("799", "799."),
        ("799", "There are 799. That is all."),
        ("799", "799.0"),
        ("799", "799.00 crates"),
        ("799", "$799"),
        ("799", "812-13=799"),
        ("799", "812 - 13 = 799"),
        ("799", "\\boxed{799}"),
        ("799", "还剩799个"),
        ("799", "\u{ff17}\u{ff19}\u{ff19}个"),
        ("799", "- 799"),
        ("799", "799%"),
        ("1234", "1,234"),
        ("1234", "1 234"),
        ("1234", "1\u{202f}234"),
        ("1234", "\u{ff11}\u{ff0c}\u{ff12}\u{ff13}\u{ff14}"),
        ("1,234", "1234"),
        ("1234567", "1,234,567.0"),
        ("1234", "1{,}234"),
        ("-5", "It is -5."),
        ("-5", "x=−5"),
        ("-5", "(-5)"),
        ("-5", "负5"),
        ("0.5", ".5"),
        ("12:30", "at 12:30 sharp"),
        ("Ada", "ADA"),
        ("Ada", "It was **Ada**, of course."),
        ("Ada", "Ada's"),
        ("Ada", "_Ada_"),
        ("Ada", "\u{ff21}\u{ff44}\u{ff41}"),
        ("Ada", "是Ada写的"),
        ("Ada Byron", "ada  byron"),
        ("C++", "I like C++."),
        ("红灯笼", "是红灯笼。"),
        ("红灯笼", "一盏**红灯笼**挂着"),
        ("7号", "在7号仓库"),
        ("✓", "✓"),
        ("!", "so!"),
    ] {
        assert!(found(expected, text), "{expected} in {text}");
    }
}

#[test]
fn a_code_may_be_written_with_any_dash() {
    for text in [
        "3-8-2",
        "3–8–2",
        "3 - 8 - 2",
        "3−8−2",
        "3 -8 -2",
        "3—8—2",
        "is \u{ff13}\u{ff0d}\u{ff18}\u{ff0d}\u{ff12}.",
    ] {
        assert!(found("3-8-2", text), "{text}");
    }
    for text in ["3 8 2", "3-8-21", "13-8-2", "3-8-2-5", "1-3-8-2", "3-2-8", "3.8.2", "3, 8, 2"] {
        assert!(!found("3-8-2", text), "{text}");
    }
}

#[test]
fn what_is_part_of_something_longer_is_not_found() {
    for (expected, text) in [
        ("799", "7990"),
        ("799", "1799"),
        ("799", "1,799"),
        ("799", "799,000"),
        ("799", "799.5"),
        ("799", "799,5"),
        ("799", "-799"),
        ("799", "(−799)"),
        ("799", "负799"),
        ("799", "A799"),
        ("799", "799th"),
        ("799", "799/800"),
        ("799", "10:799"),
        ("799", "0.799"),
        ("799", ".799"),
        ("799", "2-799"),
        ("-5", "5"),
        ("-5", "10-5"),
        ("-5", "- 5"),
        ("5", "-5"),
        ("5", "1.5"),
        ("0042", "42"),
        ("Ada", "Adam"),
        ("Ada", "Canada"),
        ("blue", "blue-green"),
        ("C", "C++"),
        ("Ada", "Ada_2"),
        ("7号", "17号"),
        ("红灯笼", "红色灯笼"),
        ("✓", "no"),
        ("", "anything"),
    ] {
        assert!(!found(expected, text), "{expected} in {text}");
    }
}

#[test]
fn a_sequence_must_stand_in_its_order() {
    let wanted = words(&["pump", "clock", "map"]);
    for text in [
        "pump, clock, map",
        "Pump → Clock → Map",
        "pump; clock; map. The pump is first.",
        "a pump, the clock and a map",
    ] {
        assert_eq!(order(text, &wanted), Order::Whole, "{text}");
    }
    for text in [
        "clock, pump, map",
        "pump, map, clock",
        "pumps, clock, map",
        "clock, map",
        "",
        "map; pump, clock, map",
    ] {
        assert_eq!(order(text, &wanted), Order::Other, "{text}");
    }
    assert_eq!(order("pump, clo", &wanted), Order::Begun);
    assert_eq!(order("水泵、座钟、地图", &words(&["水泵", "座钟", "地图"])), Order::Whole);
    assert_eq!(order("水泵、地图、座钟", &words(&["水泵", "座钟", "地图"])), Order::Other);
}

#[test]
fn a_sequence_of_numbers_may_be_parted_by_anything() {
    let wanted = words(&["812", "799", "345"]);
    for text in ["812, 799, 345", "812,799,345", "812 799 345", "812、799、345", "812\u{ff0c}799\u{ff0c}345"]
    {
        assert_eq!(order(text, &wanted), Order::Whole, "{text}");
    }
    assert_eq!(order("812,345,799", &wanted), Order::Other);
    assert_eq!(order("1,812, 5", &words(&["1812", "5"])), Order::Whole);
}

#[test]
fn words_may_come_twice_or_begin_alike() {
    let twice = words(&["red", "blue", "red"]);
    assert_eq!(order("red, blue, red", &twice), Order::Whole);
    assert_eq!(order("red, red, blue", &twice), Order::Other);
    assert_eq!(order("red, blue", &twice), Order::Begun);
    assert_eq!(order("red fox, red", &words(&["red fox", "red"])), Order::Whole);
}

#[test]
fn a_text_that_breaks_off_within_what_is_looked_for_is_known() {
    let begins = |expected: &str, text: &str| Needle::of(expected).begins_at_the_end_of(text);
    assert!(begins("799", "The total is 7"));
    assert!(begins("3-8-2", "3-8"));
    assert!(begins("Ada Byron", "It was Ada By"));
    assert!(!begins("799", "The total is 8"));
    assert!(!begins("799", "7 crates"));
    assert!(!begins("799", ""));
}
