//! `[[targets]]`: what is watched, with its share of limits and workloads.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use super::context::Outside;
use super::keys::{self, nearest};
use super::plan::{MAX_IN_FLIGHT, MAX_TOKENS_PER_HOUR};
use super::problem::{any_of, grouped, quote};
use super::reader::{Node, Table};
use super::workload::{Entry, Names, Workloads};
use super::{extra, secret, synthetic, value, way};
use crate::domain::{Api, Connection, Engine, Header, Limits, Price, Rate, Share, Target};

const DEFAULT_RATE: Rate = Rate { interval: Duration::from_secs(10) };
const DEFAULT_IN_FLIGHT: usize = 16;
const MAX_WEIGHT: u32 = 1000;

/// Labels that sloprobe or Prometheus sets.
const RESERVED_LABELS: [&str; 11] = [
    "target",
    "workload",
    "api",
    "model",
    "served_model",
    "engine",
    "version",
    "fingerprint",
    "job",
    "instance",
    "le",
];

const ADD_TARGET: &str = "add a [[targets]] section with at least a name, a url and a model";

/// What holds for all targets.
pub(super) struct Shared {
    /// `None` if they could not be read, and were told so.
    pub(super) limits: Option<Limits>,
    /// At most one header.
    pub(super) synthetic: Vec<Header>,
}

pub(super) fn read_all(
    root: &Table<'_>,
    shared: &Shared,
    workloads: &Workloads,
    outside: &Outside<'_>,
) -> Option<Vec<Arc<Target>>> {
    let node = root.need("targets", ADD_TARGET)?;
    let tables = node.tables(&keys::TARGET)?;
    let mut names = Names::default();
    let targets = tables.iter().map(|table| {
        table.as_ref().and_then(|table| read_one(table, &mut names, shared, workloads, outside)).map(Arc::new)
    });
    // Collected before it is judged, so that the targets after a wrong one are read too.
    targets.collect::<Vec<_>>().into_iter().collect()
}

fn read_one<'a>(
    table: &Table<'a>,
    names: &mut Names<'a>,
    shared: &Shared,
    workloads: &Workloads,
    outside: &Outside<'_>,
) -> Option<Target> {
    let limits = shared.limits;
    let name = names.read(table);
    let url = table.need("url", "write url = \"https://llm.example.com/v1\"");
    let url = url.and_then(|node| value::url(&node));
    let api = table.or("api", Api::OpenAiChat, |node| node.one_of(&Api::NAMES));
    let model =
        table.need("model", "write the name that the server knows, such as model = \"qwen2.5-72b-instruct\"");
    let model = model.and_then(|node| value::line(&node, "qwen2.5-72b-instruct"));
    let api_key = table.or("api_key", None, |node| secret::reference(&node, outside).map(Some));
    let engine = table.or("engine", Engine::Auto, |node| node.one_of(&Engine::NAMES));
    let keyed = table.get("api_key").is_some();
    let headers = table.or("headers", Vec::new(), |node| secret::headers(&node, keyed, outside));
    let synthetic = synthetic::read(table, shared.synthetic.clone());
    let headers = headers.zip(synthetic).map(|(own, synthetic)| synthetic::with(own, synthetic));
    let labels = table.or("labels", BTreeMap::new(), |node| read_labels(&node));
    let connection = table.or("connection", Connection::Reuse, |node| node.one_of(&Connection::NAMES));
    let way = way::read(table, url.as_ref(), outside);
    let stream = table.or("stream", true, |node| node.flag());
    let rate = table.or("rate", DEFAULT_RATE, |node| value::rate(&node));
    let mix = match table.get("mix") {
        Some(node) => read_mix(&node, workloads),
        None => usual_mix(workloads),
    };
    let most = limits.map(|limits| limits.in_flight);
    let usual = most.map_or(DEFAULT_IN_FLIGHT, |most| most.min(DEFAULT_IN_FLIGHT));
    let in_flight = table.or("in_flight", usual, |node| part(&node, 1..=MAX_IN_FLIGHT, most));
    let most = limits.and_then(|limits| limits.tokens_per_hour);
    let tokens_per_hour =
        table.or("tokens_per_hour", None, |node| part(&node, 1..=MAX_TOKENS_PER_HOUR, most).map(Some));
    let price = table.or("price", None, |node| read_price(&node.table(&keys::PRICE)?).map(Some));
    let extra = extra::read_for(table, api);
    let traceparent = read_traceparent(table);
    Some(Target {
        name: name?.into(),
        url: url?,
        api: api?,
        model: model?.to_owned(),
        api_key: api_key?,
        engine: engine?,
        headers: headers?,
        labels: labels?,
        connection: connection?,
        way: way?,
        stream: stream?,
        rate: rate?,
        mix: mix?,
        in_flight: in_flight?,
        tokens_per_hour: tokens_per_hour?,
        price: price?,
        extra: extra?,
        traceparent: traceparent?,
    })
}

fn read_traceparent(table: &Table<'_>) -> Option<bool> {
    let traceparent = table.or("traceparent", false, |node| node.flag())?;
    let headers = table.get("headers").filter(|node| traceparent && node.is_table());
    for header in headers.into_iter().flat_map(|node| node.entries("").unwrap_or_default()) {
        if header.key().eq_ignore_ascii_case("traceparent") {
            return header.refuse("traceparent = true sets this header already", "keep one of the two");
        }
    }
    Some(traceparent)
}

/// Of a million tokens each.
fn read_price(table: &Table<'_>) -> Option<Price> {
    let input = table.or("input", 0.0, |node| node.amount(0.27));
    let output = table.or("output", 0.0, |node| node.amount(1.1));
    Some(Price { input: input?, output: output? })
}

fn read_labels(node: &Node<'_>) -> Option<BTreeMap<String, String>> {
    let entries = node.entries("{ gpu = \"H200\" }")?;
    let labels: Vec<_> = entries.iter().map(|entry| label_name(entry).zip(label_value(entry))).collect();
    labels.into_iter().collect()
}

fn label_name(node: &Node<'_>) -> Option<String> {
    let name = node.key();
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) || !name.chars().all(word) {
        node.refuse("not a label that Prometheus takes", "write letters, digits and _, with no digit first")
    } else if name.starts_with("__") || RESERVED_LABELS.contains(&name) {
        node.refuse(
            "this label is set by sloprobe or Prometheus",
            "choose another name, such as gpu or region",
        )
    } else {
        Some(name.to_owned())
    }
}

fn label_value(node: &Node<'_>) -> Option<String> {
    value::line(node, "H200").map(str::to_owned)
}

/// In the order of the workloads, so that two files which differ only in the order of a mix run alike.
fn read_mix(node: &Node<'_>, workloads: &Workloads) -> Option<Vec<Share>> {
    let entries = node.entries("{ short-chat = 6, rag = 3 }")?;
    if entries.is_empty() {
        return node.refuse("an empty mix asks nothing", "name a workload, or remove mix to use all of them");
    }
    let mut weights = Vec::new();
    for entry in &entries {
        weights.push(known_workload(entry, workloads).zip(entry.whole(1..=MAX_WEIGHT)));
    }
    let mut weights: Vec<(usize, u32)> = weights.into_iter().collect::<Option<_>>()?;
    weights.sort_by_key(|(index, _)| *index);
    let share = |(index, weight): (usize, u32)| {
        Some(Share { workload: workloads.entries[index].workload.clone()?, weight })
    };
    weights.into_iter().map(share).collect()
}

fn known_workload(node: &Node<'_>, workloads: &Workloads) -> Option<usize> {
    if workloads.entries.is_empty() {
        return None; // The file has a list of workloads that could not be read, and was told so.
    }
    let names: BTreeSet<&str> = workloads.entries.iter().filter_map(|entry| entry.name.as_deref()).collect();
    let word = node.key();
    let known = workloads.entries.iter().position(|entry| entry.name.as_deref() == Some(word));
    known.or_else(|| {
        let remedy = match nearest(word, names.iter().copied()) {
            Some(near) => format!("write {}", quote(near)),
            None => format!("name a workload: {}", any_of(names.iter().map(|name| quote(name)))),
        };
        node.refuse_reference("there is no workload of this name", remedy)
    })
}

fn usual_mix(workloads: &Workloads) -> Option<Vec<Share>> {
    let share = |entry: &Entry| Some(Share { workload: entry.workload.clone()?, weight: entry.weight });
    workloads.entries.iter().map(share).collect()
}

/// A target's own part of a limit, which the limit for all targets bounds.
fn part<T>(node: &Node<'_>, range: RangeInclusive<T>, limit: Option<T>) -> Option<T>
where
    T: TryFrom<i128> + PartialOrd + Display + Copy,
{
    let own = node.whole(range)?;
    match limit.filter(|limit| own > *limit) {
        Some(limit) => node.refuse(
            format!("{} is above the limit of {} for all targets together", grouped(own), grouped(limit)),
            format!("write {} or less, or raise {} in [limits]", grouped(limit), node.key()),
        ),
        None => Some(own),
    }
}
