//! `[[workloads]]`, or the usual three when the file has none.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::reader::Table;
use super::{keys, timeouts, value};
use crate::domain::{Cache, Kind, Language, Lengths, Workload};

const MAX_INPUT_TOKENS: u32 = 2_000_000;
const MAX_OUTPUT_TOKENS: u32 = 100_000;

/// The mix of a file that says nothing of workloads: mostly cheap, some of each length.
const USUAL: [(&str, Kind, u32); 3] =
    [("short-chat", Kind::Chat, 6), ("rag", Kind::Rag, 3), ("continuation", Kind::Continuation, 1)];

/// What the file declares, with what could not be read left as holes.
pub(super) struct Workloads {
    pub(super) entries: Vec<Entry>,
}

pub(super) struct Entry {
    /// Kept even when it is refused, so that a mix which names it is not blamed as well.
    pub(super) name: Option<String>,
    /// The weight in the mix of a target that gives none.
    pub(super) weight: u32,
    pub(super) workload: Option<Arc<Workload>>,
}

impl Workloads {
    pub(super) fn read(root: &Table<'_>) -> Self {
        let Some(node) = root.get("workloads") else {
            return Self { entries: USUAL.map(|(name, kind, weight)| usual(name, kind, weight)).into() };
        };
        let tables = node.tables(&keys::WORKLOAD).unwrap_or_default();
        let mut names = Names::default();
        Self { entries: tables.iter().map(|table| read_entry(table.as_ref(), &mut names)).collect() }
    }

    /// All of them, or `None` when one is wrong.
    pub(super) fn complete(&self) -> Option<Vec<Arc<Workload>>> {
        self.entries.iter().map(|entry| entry.workload.clone()).collect()
    }
}

/// Names seen so far, each with the path of its section and the line where it stands.
#[derive(Default)]
pub(super) struct Names<'a>(BTreeMap<&'a str, (String, usize)>);

impl<'a> Names<'a> {
    /// The section's name, if it is a good one and new.
    pub(super) fn read(&mut self, table: &Table<'a>) -> Option<&'a str> {
        let node = table.need("name", "give it a name of its own, such as name = \"chat-prod\"")?;
        let name = value::name(&node)?;
        if let Some((path, line)) = self.0.get(name) {
            return node.refuse(format!("already the name of {path} in line {line}"), "choose another name");
        }
        let owner = node.path().trim_end_matches(".name").to_owned();
        self.0.insert(name, (owner, node.line()));
        Some(name)
    }
}

fn usual(name: &str, kind: Kind, weight: u32) -> Entry {
    let (input_tokens, output_tokens) = usual_lengths(kind);
    let workload = timeouts::read(None, input_tokens, output_tokens).map(|timeouts| Workload {
        name: name.into(),
        kind,
        input_tokens: Lengths::one(input_tokens),
        output_tokens: Lengths::one(output_tokens),
        language: Language::En,
        cache: Cache::Cold,
        system: None,
        template: None,
        depth: None,
        questions: Vec::new(),
        exact_output: kind == Kind::Continuation,
        timeouts,
    });
    Entry { name: Some(name.to_owned()), weight, workload: workload.map(Arc::new) }
}

fn usual_lengths(kind: Kind) -> (u32, u32) {
    match kind {
        Kind::Chat => (60, 128),
        Kind::Rag => (6000, 256),
        Kind::Continuation => (200, 1500),
        Kind::File => (500, 256),
    }
}

fn read_entry<'a>(table: Option<&Table<'a>>, names: &mut Names<'a>) -> Entry {
    let name = table.and_then(|table| table.get("name")?.as_text().map(str::to_owned));
    Entry { name, weight: 1, workload: table.and_then(|table| read_one(table, names)).map(Arc::new) }
}

fn read_one<'a>(table: &Table<'a>, names: &mut Names<'a>) -> Option<Workload> {
    let name = names.read(table);
    let kind = table.need("kind", "write kind = \"chat\", \"rag\", \"continuation\" or \"file\"");
    let kind = kind.and_then(|node| node.one_of(&Kind::NAMES));
    let (input, output) = usual_lengths(kind.unwrap_or(Kind::Chat));
    let input_tokens = table.or("input_tokens", input, |node| node.whole(1..=MAX_INPUT_TOKENS));
    let output_tokens = table.or("output_tokens", output, |node| node.whole(1..=MAX_OUTPUT_TOKENS));
    let language = table.or("language", Language::En, |node| node.one_of(&Language::NAMES));
    let cache = table.or("cache", Cache::Cold, |node| node.one_of(&Cache::NAMES));
    let exact_output = table.or("exact_output", false, |node| node.flag());
    let lengths = (input_tokens.unwrap_or(input), output_tokens.unwrap_or(output));
    let timeouts = timeouts::read(table.get("timeouts"), lengths.0, lengths.1);
    Some(Workload {
        name: name?.into(),
        kind: kind?,
        input_tokens: Lengths::one(input_tokens?),
        output_tokens: Lengths::one(output_tokens?),
        language: language?,
        cache: cache?,
        system: None,
        template: None,
        depth: None,
        questions: Vec::new(),
        exact_output: exact_output?,
        timeouts: timeouts?,
    })
}
