//! `[[slos]]`: what share of which probes must be good.

use std::sync::Arc;
use std::time::Duration;

use super::keys::{self, nearest};
use super::problem::{any_of, quote};
use super::reader::{Node, Table};
use super::value;
use super::workload::{Names, Workloads};
use crate::domain::{Goal, Measure, Objective, Slo, Target};

const DAY: Duration = Duration::from_secs(24 * 3600);
const DEFAULT_WINDOW: Duration = Duration::from_secs(30 * 24 * 3600);
const LONGEST_WINDOW: Duration = Duration::from_secs(92 * 24 * 3600);

/// One bad probe in 100 000; whoever asks for more would have to probe for years to know.
const HIGHEST_OBJECTIVE: f64 = 99.999;

const OBJECTIVE: &str = "write the percentage of probes that must be good, from 50 to 99.999, such as 99.5";
const WINDOW: &str = "write a duration from \"1d\" to \"92d\", such as \"30d\"";
const BELOW: &str = "write a duration up to \"1h\", such as \"500ms\", \"10s\" or \"2m\"";

/// What `metric` names.
#[derive(Debug, Clone, Copy)]
enum Metric {
    Timed(Measure),
    Availability,
    Quality,
}

const METRICS: [(&str, Metric); 8] = [
    ("ttft", Metric::Timed(Measure::Ttft)),
    ("answer_ttft", Metric::Timed(Measure::AnswerTtft)),
    ("tpot", Metric::Timed(Measure::Tpot)),
    ("itl_p99", Metric::Timed(Measure::ItlP99)),
    ("stall", Metric::Timed(Measure::Stall)),
    ("latency", Metric::Timed(Measure::Latency)),
    ("availability", Metric::Availability),
    ("quality", Metric::Quality),
];

/// Targets that could not be read are `None`: what names one of them is then not blamed.
pub(super) fn read_all(
    root: &Table<'_>,
    workloads: &Workloads,
    targets: Option<&[Arc<Target>]>,
) -> Option<Vec<Arc<Slo>>> {
    let Some(node) = root.get("slos") else { return Some(Vec::new()) };
    let tables = node.tables(&keys::SLO)?;
    let mut names = Names::default();
    let slos = tables.iter().map(|table| {
        let table = table.as_ref()?;
        let slo = read_one(table, &mut names, workloads, targets)?;
        covers_something(table, &slo, targets?)?;
        Some(Arc::new(slo))
    });
    slos.collect::<Vec<_>>().into_iter().collect()
}

fn read_one<'a>(
    table: &Table<'a>,
    names: &mut Names<'a>,
    workloads: &Workloads,
    targets: Option<&[Arc<Target>]>,
) -> Option<Slo> {
    let name = names.read(table);
    let workload = table.or("workload", None, |node| known_workload(&node, workloads).map(Some));
    let targets = table.or("targets", None, |node| read_targets(&node, targets).map(Some));
    let goal = read_goal(table);
    let objective = table.need("objective", OBJECTIVE).and_then(|node| read_objective(&node));
    let window = table
        .or("window", DEFAULT_WINDOW, |node| value::duration_within(&node, DAY..=LONGEST_WINDOW, WINDOW));
    let forgives_rate_limits = table.or("exclude", false, |node| read_exclude(&node));
    Some(Slo {
        name: name?.into(),
        workload: workload?,
        targets: targets?,
        goal: goal?,
        objective: objective?,
        window: window?,
        forgives_rate_limits: forgives_rate_limits?,
    })
}

fn read_goal(table: &Table<'_>) -> Option<Goal> {
    let all = || any_of(METRICS.iter().map(|(name, _)| quote(name)));
    let metric = match table.get("metric") {
        Some(node) => node.one_of(&METRICS),
        None => table.need("metric", &format!("write metric = {}", all())).and(None),
    };
    let below = table.or("below", None, |node| {
        let shortest = Duration::from_micros(1);
        value::duration_within(&node, shortest..=value::LONGEST_WAIT, BELOW).map(Some)
    });
    match (metric?, below?) {
        (Metric::Timed(measure), Some(below)) => Some(Goal::Below(measure, below)),
        (Metric::Timed(_), None) => table.need("below", BELOW).and(None),
        (Metric::Availability, None) => Some(Goal::Availability),
        (Metric::Quality, None) => Some(Goal::Quality),
        (Metric::Availability | Metric::Quality, Some(_)) => {
            table.get("below")?.refuse("this metric has no duration to compare with", "remove it")
        }
    }
}

fn read_objective(node: &Node<'_>) -> Option<Objective> {
    let percent = node.number(OBJECTIVE)?;
    if percent > 0.0 && percent < 1.0 {
        let meant = format!("{:.6}", percent * 100.0);
        let meant = meant.trim_end_matches('0').trim_end_matches('.');
        return node.refuse("an objective is a percentage, not a share", format!("write {meant}"));
    }
    if (percent - 100.0).abs() < f64::EPSILON {
        return node.refuse("100 % leaves no error budget: every bad probe would be an alert", OBJECTIVE);
    }
    let fits = (50.0..=HIGHEST_OBJECTIVE).contains(&percent);
    if fits { Some(Objective::percent(percent)) } else { node.refuse("out of range", OBJECTIVE) }
}

fn read_exclude(node: &Node<'_>) -> Option<bool> {
    let remedy = "write [\"rate_limited\"], or remove it";
    let Some(items) = node.items() else { return node.wrong_type("a list", remedy) };
    let items: Vec<_> = items.iter().map(|item| item.one_of(&[("rate_limited", true)])).collect();
    Some(!items.into_iter().collect::<Option<Vec<_>>>()?.is_empty())
}

fn known_workload(node: &Node<'_>, workloads: &Workloads) -> Option<Arc<str>> {
    let names: Vec<&str> = workloads.entries.iter().filter_map(|entry| entry.name.as_deref()).collect();
    // Without any, the list of workloads could not be read, and was told so.
    known(node, "workload", (!names.is_empty()).then_some(names))
}

fn read_targets(node: &Node<'_>, targets: Option<&[Arc<Target>]>) -> Option<Vec<Arc<str>>> {
    let remedy = "write a list of names, such as [\"chat-prod\"], or remove it to mean every target";
    let Some(items) = node.items() else { return node.wrong_type("a list", remedy) };
    if items.is_empty() {
        return node.refuse("an empty list", remedy);
    }
    let names = targets.map(|targets| targets.iter().map(|target| &*target.name).collect::<Vec<_>>());
    let items: Vec<_> = items.iter().map(|item| known(item, "target", names.clone())).collect();
    items.into_iter().collect()
}

/// A name that the file declares elsewhere; without a list of those, any name is taken.
fn known(node: &Node<'_>, what: &str, names: Option<Vec<&str>>) -> Option<Arc<str>> {
    let word = node.text("chat-prod")?;
    let Some(names) = names.filter(|names| !names.contains(&word)) else { return Some(word.into()) };
    let remedy = match nearest(word, names.iter().copied()) {
        Some(near) => format!("write {}", quote(near)),
        None => format!("name a {what}: {}", any_of(names.iter().map(|name| quote(name)))),
    };
    node.refuse_reference(format!("there is no {what} of this name"), remedy)
}

/// An objective that no probe can meet or miss would look met for ever.
fn covers_something(table: &Table<'_>, slo: &Slo, targets: &[Arc<Target>]) -> Option<()> {
    let places = |target: &Target| target.mix.iter().any(|share| slo.covers(target, &share.workload));
    if targets.iter().any(|target| places(target)) {
        return Some(());
    }
    let node = table.get("workload").or_else(|| table.get("metric"))?;
    node.refuse_reference(
        "no probe counts for this objective",
        "name a workload that is in the mix of one of its targets; of a target with stream = false only latency, availability and quality are known",
    )
}
