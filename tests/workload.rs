//! Prompts by the thousand: all different, and each with the answer that an independent reader finds in it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use sloprobe::domain::{Cache, Depth, Expect, Kind, Language, Lengths, Workload};
use sloprobe::simulate::read_prompt::{Reading, read};
use sloprobe::workload::{Ruler, Source};

const PROMPTS: usize = 10_000;

fn workload(kind: Kind, language: Language, cache: Cache, lengths: &[u32]) -> Arc<Workload> {
    Arc::new(Workload {
        input_tokens: Lengths::list(lengths.to_vec()).unwrap(),
        output_tokens: Lengths::list(vec![64, 300]).unwrap(),
        language,
        cache,
        ..Workload::new("w", kind, 1, 1)
    })
}

/// What the reader finds, in the form of an expectation.
fn solved(text: &str, expect: &Expect) -> Expect {
    match (read(text), expect) {
        (Some(Reading::Solved(solution)), Expect::Sequence(_)) => {
            let names = solution.answer.split([',', '，']).map(|name| name.trim().to_owned());
            Expect::Sequence(names.collect())
        }
        (Some(Reading::Solved(solution)), _) => Expect::Text(solution.answer),
        (Some(Reading::Story(story)), _) => Expect::Length(story.length),
        (None, _) => Expect::Anything,
    }
}

/// The number of prompts for each expected answer, the commonest first.
fn hold(kind: Kind, cache: Cache, lengths: &[u32]) -> Vec<usize> {
    let mut answers: HashMap<String, usize> = HashMap::new();
    for language in [Language::En, Language::Zh] {
        let workload = workload(kind, language, cache, lengths);
        let mut source = Source::new(&workload, 7, Ruler::default());
        let mut seen = HashSet::new();
        for _ in 0..PROMPTS {
            let prompt = source.next_prompt();
            let text = prompt.text();
            assert_eq!(solved(&text, &prompt.expect), prompt.expect, "{}:\n{text}", prompt.seed);
            *answers.entry(format!("{:?}", prompt.expect)).or_default() += 1;
            assert!(seen.insert(text.into_owned()), "{} comes twice", prompt.seed);
        }
    }
    let mut counts: Vec<_> = answers.into_values().collect();
    counts.sort_unstable_by(|a, b| b.cmp(a));
    counts
}

#[test]
fn ten_thousand_chats_differ_and_have_the_answer_that_a_reader_finds() {
    for (cache, lengths) in [(Cache::Cold, [40, 60, 100, 400]), (Cache::Warm, [40, 60, 100, 400])] {
        let answers = hold(Kind::Chat, cache, &lengths);
        // Nobody is often right who always says the same.
        assert!(answers[0] < 2 * PROMPTS / 5, "{cache:?}: {:?}", &answers[..10]);
    }
}

#[test]
fn ten_thousand_passages_differ_and_hold_the_fact_that_is_asked_for() {
    hold(Kind::Rag, Cache::Cold, &[40, 100, 300, 1200]);
    // The passages are always the same here, so there are as many answers as facts.
    hold(Kind::Rag, Cache::Warm, &[100, 300, 1200]);
}

#[test]
fn ten_thousand_stories_differ_and_ask_for_their_length() {
    hold(Kind::Continuation, Cache::Cold, &[100, 200]);
}

#[test]
fn cold_answers_cannot_be_remembered() {
    let answers = hold(Kind::Rag, Cache::Cold, &[1000]);
    assert!(answers[0] < 10, "{:?}", &answers[..10]);
}

#[test]
fn the_fact_lies_where_the_prompt_says() {
    let workload = workload(Kind::Rag, Language::En, Cache::Cold, &[6000]);
    let mut source = Source::new(&workload, 7, Ruler::default());
    for _ in 0..50 {
        let prompt = source.next_prompt();
        let Expect::Text(code) = &prompt.expect else { panic!("{:?}", prompt.expect) };
        let text = prompt.text();
        let at = (100 * text.find(code.as_str()).unwrap() / text.len()) as u8;
        let Some(Depth(said)) = prompt.depth else { panic!("no depth") };
        assert!(at.abs_diff(said) <= 2, "{said} said, {at} found");
    }
}
