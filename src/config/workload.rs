//! `[[workloads]]`, or the usual three when the file has none.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::context::Outside;
use super::reader::{Node, Table};
use super::{extra, keys, lengths, questions, timeouts, value};
use crate::domain::{Cache, Depth, Kind, Language, Lengths, Question, Workload};

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
    pub(super) fn read(root: &Table<'_>, outside: &Outside<'_>) -> Self {
        let Some(node) = root.get("workloads") else {
            return Self { entries: USUAL.map(|(name, kind, weight)| usual(name, kind, weight)).into() };
        };
        let tables = node.tables(&keys::WORKLOAD).unwrap_or_default();
        let mut names = Names::default();
        Self { entries: tables.iter().map(|table| read_entry(table.as_ref(), &mut names, outside)).collect() }
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
        exact_output: kind == Kind::Continuation,
        timeouts,
        ..Workload::new(name, kind, input_tokens, output_tokens)
    });
    Entry { name: Some(name.to_owned()), weight, workload: workload.map(Arc::new) }
}

fn usual_lengths(kind: Kind) -> (u32, u32) {
    match kind {
        Kind::Chat => (100, 128),
        Kind::Rag => (6000, 256),
        Kind::Continuation => (200, 1500),
        Kind::File => (500, 256),
    }
}

fn read_entry<'a>(table: Option<&Table<'a>>, names: &mut Names<'a>, outside: &Outside<'_>) -> Entry {
    let name = table.and_then(|table| table.get("name")?.as_text().map(str::to_owned));
    let workload = table.and_then(|table| read_one(table, names, outside));
    Entry { name, weight: 1, workload: workload.map(Arc::new) }
}

fn read_one<'a>(table: &Table<'a>, names: &mut Names<'a>, outside: &Outside<'_>) -> Option<Workload> {
    let name = names.read(table);
    let kind = table.need("kind", "write kind = \"chat\", \"rag\", \"continuation\" or \"file\"");
    let kind = kind.and_then(|node| node.one_of(&Kind::NAMES));
    let (input, output) = usual_lengths(kind.unwrap_or(Kind::Chat));
    let questions = read_questions(table, kind, outside);
    let input_tokens = read_input(table, kind, input, questions.as_deref());
    let output_tokens =
        table.or("output_tokens", Lengths::one(output), |node| lengths::read(&node, 1..=MAX_OUTPUT_TOKENS));
    let language = table.or("language", Language::En, |node| node.one_of(&Language::NAMES));
    let cache = table.or("cache", Cache::Cold, |node| node.one_of(&Cache::NAMES));
    let exact_output = table.or("exact_output", false, |node| node.flag());
    let system = table.or("system", None, |node| value::passage(&node, "Be brief.").map(Some));
    let template = table.or("template", None, |node| read_template(&node).map(Some));
    let depth = table.or("depth", None, |node| read_depth(&node, kind).map(Some));
    let longest = |lengths: &Option<Lengths>, usual| lengths.as_ref().map_or(usual, Lengths::longest);
    let timeouts = table.get("timeouts");
    let timeouts = timeouts::read(timeouts, longest(&input_tokens, input), longest(&output_tokens, output));
    let extra = extra::read(table);
    Some(Workload {
        name: name?.into(),
        kind: kind?,
        input_tokens: input_tokens?,
        output_tokens: output_tokens?,
        language: language?,
        cache: cache?,
        exact_output: exact_output?,
        system: system?.map(str::to_owned),
        template: template?,
        depth: depth?,
        questions: questions?,
        timeouts: timeouts?,
        extra: extra?,
    })
}

fn read_questions(table: &Table<'_>, kind: Option<Kind>, outside: &Outside<'_>) -> Option<Vec<Question>> {
    match (table.get("prompts"), kind) {
        (None, Some(Kind::File)) => {
            table.need("prompts", "name the file, such as prompts = \"questions.jsonl\"")?;
            None
        }
        (None, _) => Some(Vec::new()),
        (Some(node), Some(Kind::File) | None) => questions::read(&node, outside),
        (Some(node), _) => node.refuse("only for kind = \"file\"", "remove it, or write kind = \"file\""),
    }
}

/// A file's questions have the lengths that they have; they are counted roughly, for what they will cost.
fn read_input(
    table: &Table<'_>,
    kind: Option<Kind>,
    usual: u32,
    questions: Option<&[Question]>,
) -> Option<Lengths> {
    let given = table.get("input_tokens");
    match (given, kind) {
        (Some(node), Some(Kind::File)) => {
            node.refuse("the questions of a file have lengths of their own", "remove it")
        }
        (Some(node), _) => lengths::read(&node, 1..=MAX_INPUT_TOKENS),
        (None, Some(Kind::File)) => Lengths::list(questions?.iter().map(rough_tokens).collect()),
        (None, _) => Some(Lengths::one(usual)),
    }
}

fn rough_tokens(question: &Question) -> u32 {
    let bytes: usize = question.turns.iter().map(|turn| turn.text.len()).sum();
    u32::try_from(bytes / 4 + 10).unwrap_or(MAX_INPUT_TOKENS)
}

fn read_template(node: &Node<'_>) -> Option<String> {
    let text = value::passage(node, "Question: {prompt}\nAnswer:")?;
    if text.matches(Workload::PLACE).count() == 1 {
        return Some(text.to_owned());
    }
    node.refuse(
        format!("{} stands in it {} times", Workload::PLACE, text.matches(Workload::PLACE).count()),
        format!("write {} once, where the question goes", Workload::PLACE),
    )
}

fn read_depth(node: &Node<'_>, kind: Option<Kind>) -> Option<Depth> {
    let depth = node.whole(0..=100)?;
    match kind {
        Some(Kind::Rag) | None => Some(Depth(depth)),
        _ => node.refuse("only for kind = \"rag\"", "remove it"),
    }
}
