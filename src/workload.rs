//! The next prompt of a workload: seeded, so that any prompt can be made again.

mod chat;
mod continuation;
mod length;
mod prose;
mod rag;

use std::sync::Arc;

use crate::domain::{Cache, Kind, Prompt, Workload};
use length::Length;
use prose::Writer;

/// Prompts of one workload for one target, each different from all before it.
#[derive(Debug)]
pub struct Source {
    workload: Arc<Workload>,
    next_seed: u64,
}

impl Source {
    /// `origin` must differ between two runs, or the second would find the prompts of the first in a cache.
    pub fn new(workload: &Arc<Workload>, origin: u64) -> Self {
        Self { workload: Arc::clone(workload), next_seed: scramble(origin ^ hash(&workload.name)) }
    }

    pub fn next_prompt(&mut self) -> Prompt {
        let seed = self.next_seed;
        self.next_seed = scramble(seed);
        prompt(&self.workload, seed)
    }
}

/// The prompt that belongs to a seed.
pub fn prompt(workload: &Workload, seed: u64) -> Prompt {
    let text = match workload.cache {
        // The nonce stands before everything: a prefix cache compares from the start.
        Cache::Cold => {
            let nonce = format!("[{seed:016x}]\n\n");
            let body = body(workload, seed, seed, nonce.len());
            nonce + &body
        }
        Cache::Warm => body(workload, hash(&workload.name), seed, 0),
    };
    let seed = crate::domain::Seed { random: seed, step: 0, size: 0 };
    Prompt {
        exact_output: workload.exact_output,
        seed,
        ..Prompt::of_user(text, workload.output_tokens.longest())
    }
}

/// The text proper: what comes first is drawn from `prefix`, the end from `seed`.
fn body(workload: &Workload, prefix: u64, seed: u64, used: usize) -> String {
    let length = Length::of(workload.input_tokens.longest(), workload.language).less(used);
    let mut writer = Writer::new(workload.language, prefix);
    let mut ending = Writer::new(workload.language, seed);
    match workload.kind {
        Kind::Chat | Kind::File => chat::write(&mut writer, &mut ending, length),
        Kind::Rag => rag::write(&mut writer, &mut ending, length),
        Kind::Continuation => {
            continuation::write(&mut writer, &mut ending, length, workload.output_tokens.longest())
        }
    }
}

/// A fixed, well-mixing step from one seed to the next (splitmix64's finaliser).
fn scramble(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// FNV-1a: stable between versions, unlike the standard library's hasher.
fn hash(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::domain::{Language, Timeouts};

    fn workload(kind: Kind, language: Language, cache: Cache, input_tokens: u32) -> Arc<Workload> {
        Arc::new(Workload {
            name: "w".into(),
            kind,
            input_tokens: crate::domain::Lengths::one(input_tokens),
            output_tokens: crate::domain::Lengths::one(64),
            language,
            cache,
            system: None,
            template: None,
            depth: None,
            questions: Vec::new(),
            exact_output: false,
            timeouts: Timeouts::default(),
        })
    }

    fn each_kind(cache: Cache) -> impl Iterator<Item = Arc<Workload>> {
        [Kind::Chat, Kind::Rag, Kind::Continuation].into_iter().flat_map(move |kind| {
            [Language::En, Language::Zh].map(|language| workload(kind, language, cache, 400))
        })
    }

    #[test]
    fn prompts_differ_and_can_be_made_again() {
        for workload in each_kind(Cache::Cold) {
            let mut source = Source::new(&workload, 1);
            let prompts: Vec<_> = (0..200).map(|_| source.next_prompt()).collect();
            let texts: HashSet<_> = prompts.iter().map(|p| p.text()).collect();
            assert_eq!(texts.len(), 200, "{workload:?}");
            assert_eq!(prompt(&workload, prompts[7].seed.random), prompts[7]);
        }
    }

    #[test]
    fn two_runs_do_not_repeat_each_other() {
        let workload = workload(Kind::Chat, Language::En, Cache::Cold, 60);
        assert_ne!(Source::new(&workload, 1).next_prompt(), Source::new(&workload, 2).next_prompt());
    }

    #[test]
    fn cold_prompts_share_no_beginning_and_warm_ones_most_of_it() {
        let shared = |workload: &Arc<Workload>| {
            let mut source = Source::new(workload, 1);
            let (a, b) = (source.next_prompt().text().into_owned(), source.next_prompt().text().into_owned());
            let same = a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
            same as f64 / a.chars().count() as f64
        };
        for workload in each_kind(Cache::Cold) {
            assert!(shared(&workload) < 0.05, "{workload:?}");
        }
        for workload in each_kind(Cache::Warm) {
            assert!(shared(&workload) > 0.6, "{workload:?}: {}", shared(&workload));
        }
    }

    #[test]
    fn length_follows_the_tokens_asked_for() {
        for language in [Language::En, Language::Zh] {
            for kind in [Kind::Chat, Kind::Rag, Kind::Continuation] {
                for tokens in [200, 2000, 6000] {
                    let workload = workload(kind, language, Cache::Cold, tokens);
                    let chars = Source::new(&workload, 3).next_prompt().text().chars().count() as f64;
                    let wanted = f64::from(tokens) * length::characters_per_token(language);
                    assert!((chars / wanted - 1.0).abs() < 0.1, "{kind:?} {language:?} {tokens}: {chars}");
                }
            }
        }
    }
}
