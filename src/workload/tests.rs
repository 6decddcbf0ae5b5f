use std::collections::HashSet;

use super::*;
use crate::domain::Lengths;
use crate::domain::Question;

fn workload(kind: Kind, language: Language, cache: Cache, input_tokens: u32) -> Workload {
    Workload { language, cache, ..Workload::new("w", kind, input_tokens, 64) }
}

const KINDS: [Kind; 3] = [Kind::Chat, Kind::Rag, Kind::Continuation];
const LANGUAGES: [Language; 2] = [Language::En, Language::Zh];

fn each_kind(cache: Cache, tokens: u32) -> impl Iterator<Item = Arc<Workload>> {
    KINDS
        .into_iter()
        .flat_map(move |kind| LANGUAGES.map(|language| Arc::new(workload(kind, language, cache, tokens))))
}

fn source(workload: &Arc<Workload>, origin: u64) -> Source {
    Source::new(workload, origin, Ruler::default())
}

#[test]
fn prompts_differ_and_can_be_made_again() {
    for cache in [Cache::Cold, Cache::Warm] {
        for workload in each_kind(cache, 400) {
            let mut source = source(&workload, 1);
            let prompts: Vec<_> = (0..200).map(|_| source.next_prompt()).collect();
            let texts: HashSet<_> = prompts.iter().map(|p| p.text()).collect();
            assert_eq!(texts.len(), 200, "{workload:?}");
            assert_eq!(prompt(&workload, prompts[7].seed), prompts[7]);
        }
    }
}

#[test]
fn two_runs_do_not_repeat_each_other() {
    let workload = Arc::new(workload(Kind::Chat, Language::En, Cache::Cold, 60));
    assert_ne!(source(&workload, 1).next_prompt(), source(&workload, 2).next_prompt());
}

/// How much of the beginning of two prompts is the same.
fn shared(workload: &Arc<Workload>) -> f64 {
    let mut source = source(workload, 1);
    let (a, b) = (source.next_prompt(), source.next_prompt());
    let same = a.text().chars().zip(b.text().chars()).take_while(|(a, b)| a == b).count();
    same as f64 / a.text().chars().count() as f64
}

#[test]
fn cold_prompts_share_no_beginning_and_warm_ones_most_of_it() {
    for workload in each_kind(Cache::Cold, 400) {
        assert!(shared(&workload) < 0.01, "{workload:?}");
    }
    for workload in each_kind(Cache::Warm, 400) {
        assert!(shared(&workload) > 0.8, "{workload:?}: {}", shared(&workload));
    }
}

#[test]
fn a_prompt_weighs_what_its_seed_says() {
    for size in [60, 100, 400, 2000, 8000] {
        for workload in each_kind(Cache::Cold, size) {
            for random in 0..20 {
                let seed = Seed { random: scramble(random), step: random as u32, size };
                let weight = weigh(&prompt(&workload, seed).text());
                let (least, most) = (f64::from(size) - 8.0, f64::from(size) + 3.0);
                assert!((least..=most).contains(&weight) || size < 80, "{workload:?} {size}: {weight}");
            }
        }
    }
}

#[test]
fn the_words_of_a_cold_workload_are_always_the_same() {
    let words = |prompt: &Prompt| {
        let text = prompt.text().into_owned();
        let body = text.rsplit_once("\n\n").map_or(text.clone(), |(body, _)| body.to_owned());
        let mut words: Vec<_> = body
            .split(|c: char| !c.is_alphabetic())
            .filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect();
        words.sort_unstable();
        words
    };
    let workload = workload(Kind::Rag, Language::En, Cache::Cold, 1000);
    let at = |random| prompt(&workload, Seed { random, step: 3, size: 1000 });
    let (one, other) = (words(&at(1)), words(&at(2)));
    let differing = one.len().abs_diff(other.len());
    assert!(differing <= 12, "{differing}");
}

#[test]
fn facts_go_from_the_start_to_the_end() {
    for language in LANGUAGES {
        let workload = workload(Kind::Rag, language, Cache::Cold, 6000);
        let depths: Vec<_> = (0..11)
            .map(|step| prompt(&workload, Seed { random: 5, step, size: 6000 }).depth.unwrap().0)
            .collect();
        assert!(depths.is_sorted(), "{depths:?}");
        assert!(depths[0] < 8 && depths[10] > 90 && (40..=60).contains(&depths[5]), "{depths:?}");
        let fixed = Workload { depth: Some(Depth(70)), ..workload };
        let depth = prompt(&fixed, Seed { random: 5, step: 0, size: 6000 }).depth.unwrap();
        assert!((65..=75).contains(&depth.0), "{depth:?}");
    }
}

#[test]
fn a_system_prompt_and_a_template_stand_around_the_words() {
    let workload = Workload {
        system: Some("Be brief.".into()),
        template: Some("Q: {prompt}\nA:".into()),
        ..workload(Kind::Chat, Language::En, Cache::Cold, 200)
    };
    let made = prompt(&workload, Seed { random: 5, step: 0, size: 200 });
    let nonce = nonce(5);
    assert_eq!(made.system(), Some(&*format!("{nonce}\nBe brief.")));
    let [user] = made.conversation() else { panic!("{made:?}") };
    assert!(user.text.starts_with("Q: ") && user.text.ends_with("\nA:"), "{user:?}");
    assert!(weigh(&made.text()) <= 203.0);
}

#[test]
fn lengths_are_walked_and_their_sizes_learned() {
    let workload = Arc::new(Workload {
        input_tokens: Lengths::list(vec![100, 1000]).unwrap(),
        output_tokens: Lengths::list(vec![10, 20]).unwrap(),
        ..workload(Kind::Continuation, Language::En, Cache::Cold, 1)
    });
    let mut source = source(&workload, 1);
    let learner = source.learner();
    let mut seen = Vec::new();
    for _ in 0..16 {
        let prompt = source.next_prompt();
        let tokens = (weigh(&prompt.text()) * 1.5 + 20.0).round() as u64;
        learner.learn(prompt.seed, tokens);
        seen.push((tokens, prompt.max_tokens));
    }
    assert_eq!(seen.iter().map(|(_, output)| *output).take(5).collect::<Vec<_>>(), [10, 10, 20, 20, 10]);
    for pair in seen[8..].chunks(2) {
        assert!((97..=103).contains(&pair[0].0) && (970..=1030).contains(&pair[1].0), "{seen:?}");
    }
}

#[test]
fn questions_of_a_file_are_asked_in_turn() {
    let question = |text: &str| Question { turns: vec![Turn::user(text)], expect: Expect::Text("x".into()) };
    let workload = Workload {
        questions: vec![question("one"), question("two")],
        ..workload(Kind::File, Language::En, Cache::Cold, 1)
    };
    let asked = |step| prompt(&workload, Seed { random: 9, step, size: 0 });
    assert!(asked(0).text().ends_with("\none") && asked(1).text().ends_with("\ntwo"));
    assert_eq!(asked(2).expect, Expect::Text("x".into()));
}

#[test]
fn trials_ask_every_question_of_a_kind() {
    let workload = Arc::new(workload(Kind::Chat, Language::En, Cache::Cold, 100));
    let learner = source(&workload, 1).learner();
    assert!(learner.is_new());
    let forms: HashSet<_> =
        (0..learner.trials()).map(|nth| form(&workload, learner.trial(nth).seed).0).collect();
    assert_eq!(forms.len(), 9);
}
