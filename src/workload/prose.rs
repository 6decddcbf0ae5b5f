//! Plain sentences, drawn from a seed, and texts of a wanted weight made of them.

mod en;
mod zh;

use super::draw::Draw;
use super::weigh::{beginning, weigh};
use crate::domain::Language;

/// What stands between two sentences.
pub(super) fn between(language: Language) -> &'static str {
    match language {
        Language::En => " ",
        Language::Zh => "",
    }
}

pub(super) fn sentence(draw: &mut Draw, language: Language) -> String {
    match language {
        Language::En => en::sentence(draw),
        Language::Zh => zh::sentence(draw),
    }
}

/// The first sentences of an endless text that belongs to `fixed`, as many as weigh so much; the last may be
/// cut short. Two calls with weights that differ little give the same sentences but for the last: so what a
/// server reports of one prompt holds for the next.
pub(super) fn sentences(fixed: u64, language: Language, weight: f64) -> Vec<String> {
    let mut draw = Draw::new(fixed);
    let mut left = weight;
    let mut list = Vec::new();
    loop {
        let whole = sentence(&mut draw, language);
        let own = weigh(&whole);
        if own <= left {
            left -= own;
            list.push(whole);
            continue;
        }
        // As a retriever cuts it: a word more or less is a token or two.
        let begun = beginning(&whole, left);
        if !begun.is_empty() {
            list.push(begun.to_owned());
        }
        return list;
    }
}

/// The same sentences in another order; the last, which may be cut short, stays.
pub(super) fn reordered(mut sentences: Vec<String>, draw: &mut Draw) -> Vec<String> {
    let whole = sentences.len().saturating_sub(1);
    draw.shuffle(&mut sentences[..whole]);
    sentences
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const BOTH: [Language; 2] = [Language::En, Language::Zh];

    #[test]
    fn sentences_weigh_what_is_asked() {
        for language in BOTH {
            for weight in [10.0, 37.0, 200.0, 5000.0] {
                let total: f64 = sentences(7, language, weight).iter().map(|s| weigh(s)).sum();
                assert!(total <= weight && total > weight - 3.0, "{language:?} {weight}: {total}");
            }
        }
    }

    #[test]
    fn a_little_more_weight_changes_only_the_end() {
        for language in BOTH {
            let (short, long) = (sentences(7, language, 300.0), sentences(7, language, 303.0));
            assert!(long.len() <= short.len() + 1);
            assert_eq!(short[..short.len() - 1], long[..short.len() - 1], "{language:?}");
        }
    }

    #[test]
    fn sentences_vary() {
        for language in BOTH {
            let mut draw = Draw::new(1);
            let seen: BTreeSet<_> = (0..1000).map(|_| sentence(&mut draw, language)).collect();
            assert!(seen.len() > 900, "{language:?}: {}", seen.len());
        }
    }
}
