//! Many good texts and many bad ones: no good one may be called degenerate, every bad one must be.

mod bad;
mod good;
mod writer;

use std::fs;
use std::path::{Path, PathBuf};

use oorandom::Rand32;

use super::degenerate;
use super::*;

/// A text, what it is called, and the language it was asked in.
pub(super) struct Text {
    name: String,
    language: Option<Language>,
    body: String,
}

impl Text {
    fn new(name: impl Into<String>, language: Option<Language>, body: impl Into<String>) -> Self {
        Self { name: name.into(), language, body: body.into() }
    }

    fn verdict(&self) -> Verdict {
        let asked =
            Asked { expect: &Expect::Anything, language: self.language, max_tokens: 1000, forced: false };
        judge(&asked, &Answer { text: self.body.clone(), ..Answer::default() }, None)
    }

    /// The worst measure, for a person to look at.
    fn told(&self) -> String {
        let (measure, score) = degenerate::worst(&self.body, self.language);
        let beginning: String = self.body.chars().take(60).collect();
        format!("{score:.2} {measure}: {} {beginning:?}", self.name)
    }
}

/// Those that were written by hand, a file each; the name begins with the language.
fn files(kind: &str) -> Vec<Text> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/answers").join(kind);
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let read = |path: &PathBuf| {
        let name = path.file_stem().unwrap().to_string_lossy().into_owned();
        let language = if name.starts_with("zh") { Language::Zh } else { Language::En };
        Text::new(format!("file {name}"), Some(language), fs::read_to_string(path).unwrap())
    };
    paths.iter().map(read).collect()
}

fn pick<'a, T>(random: &mut Rand32, from: &'a [T]) -> &'a T {
    &from[random.rand_range(0..from.len() as u32) as usize]
}

#[test]
fn no_good_text_is_called_degenerate() {
    let texts = good::texts();
    let by_hand = texts.iter().filter(|text| text.name.starts_with("file ")).count();
    assert!(texts.len() >= 200 && by_hand >= 60, "{} texts, {by_hand} by hand", texts.len());
    let offenders: Vec<_> =
        texts.iter().filter(|text| text.verdict() != Verdict::Unchecked).map(Text::told).collect();
    assert!(offenders.is_empty(), "{} of {}:\n{}", offenders.len(), texts.len(), offenders.join("\n"));
}

#[test]
fn every_bad_text_is_called_degenerate() {
    let texts = bad::texts();
    assert!(texts.len() >= 100, "{} texts", texts.len());
    let offenders: Vec<_> =
        texts.iter().filter(|text| text.verdict() != Verdict::Degenerate).map(Text::told).collect();
    assert!(offenders.is_empty(), "{} of {}:\n{}", offenders.len(), texts.len(), offenders.join("\n"));
}

/// How near the limits the corpus comes; a change that eats the margin is seen here first.
#[test]
fn both_kinds_keep_their_distance_from_the_limits() {
    let score = |text: &Text| degenerate::worst(&text.body, text.language).1;
    let near = |texts: Vec<Text>, is_near: &dyn Fn(f64) -> bool| {
        let count = texts.len();
        let near: Vec<_> = texts.iter().filter(|text| is_near(score(text))).map(Text::told).collect();
        (near.len() as f64 / count as f64, near.join("\n"))
    };
    let (_, told) = near(good::texts(), &|score| score > 0.9);
    assert!(told.is_empty(), "good texts near the limit:\n{told}");
    let (share, told) = near(bad::texts(), &|score| score < 1.15);
    assert!(share <= 0.02, "bad texts near the limit: {share}\n{told}");
}
