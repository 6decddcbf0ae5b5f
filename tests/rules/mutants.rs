//! Every way to weaken an alert: its tests must notice each of them.

use std::collections::BTreeSet;
use std::time::Duration;

use sloprobe::rules::rule::{Alert, Group, Rule};

/// Rules with one thing changed, and what that is.
#[derive(Debug)]
pub struct Mutant {
    pub change: String,
    pub groups: Vec<Group>,
}

/// What stands alone on a line between two clauses of an expression.
const JOINS: [&str; 5] =
    ["and", "and ignoring (slo)", "and ignoring (alertname, alertstate, severity, drill)", "unless", "or"];

/// Guards that are no clause of their own: the part of an expression that goes, and what takes its place.
const INNER: [(&str, &str); 12] = [
    // What never happened is as old as the daemon, and not older.
    (
        " or (sloprobe_last_probe_timestamp_seconds == 0) + ignoring (target, workload) group_left () process_start_time_seconds",
        "",
    ),
    (
        " or max without (instance, pod, workload) ((sloprobe_last_success_timestamp_seconds == 0) + ignoring (target, workload) group_left () process_start_time_seconds)",
        "",
    ),
    ("timestamp_seconds > 0", "timestamp_seconds"),
    // Somebody else's scrape that fails is none of our business, and a probe that can be reached is not gone.
    ("\n  and ignoring (version, revision)\n  last_over_time(sloprobe_build_info[1d])", ""),
    ("up == 0\n  and ignoring (version, revision)\n  ", ""),
    (" and on () sloprobe_build_info", ""),
    // Half an hour without an answer has no median, and what goes on is no part of what it is compared with.
    ("[30m]))) > 0", "[30m])))"),
    ("[7d] offset 6h", "[7d]"),
    ("[1h] offset 35m", "[1h]"),
    // One replica that is sure is enough, one that has an answer is enough, and the newest change is what is waited for.
    ("max without (instance, pod, verdict)", "min without (instance, pod, verdict)"),
    ("min without (instance, pod, verdict)", "max without (instance, pod, verdict)"),
    ("max without (instance, pod) (sloprobe_release_", "min without (instance, pod) (sloprobe_release_"),
];

/// The groups that an alert is in or reads: the others take time and change nothing.
pub fn groups_of(groups: &[Group], name: &str) -> Vec<Group> {
    let own: BTreeSet<_> = only(groups, name).iter().map(|group| group.name).collect();
    groups.iter().filter(|group| own.contains(group.name)).cloned().collect()
}

/// The rules of one alert and what they read: nothing else takes time.
pub fn only(groups: &[Group], name: &str) -> Vec<Group> {
    let rules = || groups.iter().flat_map(|group| &group.rules);
    let mut read: Vec<&str> = alerts(groups, name).map(|alert| &*alert.expr).collect();
    let mut needed = BTreeSet::new();
    while let Some(expr) = read.pop() {
        for rule in rules() {
            if let Rule::Record { name, expr: own } = rule
                && expr.contains(&**name)
                && needed.insert((name.as_str(), own.as_str()))
            {
                read.push(own);
            }
        }
    }
    let is_needed = |rule: &Rule| match rule {
        Rule::Record { name, expr } => needed.contains(&(name.as_str(), expr.as_str())),
        Rule::Alert(alert) => alert.name == name,
    };
    let keep = |group: &Group| {
        let rules = group.rules.iter().filter(|rule| is_needed(rule)).cloned().collect();
        Group { rules, ..group.clone() }
    };
    groups.iter().map(keep).filter(|group| !group.rules.is_empty()).collect()
}

fn alerts<'a>(groups: &'a [Group], name: &str) -> impl Iterator<Item = &'a Alert> {
    let rules = groups.iter().flat_map(|group| &group.rules);
    rules.filter_map(move |rule| match rule {
        Rule::Alert(alert) if alert.name == name => Some(alert),
        _ => None,
    })
}

/// All mutants of rules, one change in each.
pub fn of(groups: &[Group]) -> Vec<Mutant> {
    let mut mutants = Vec::new();
    for (at, group) in groups.iter().enumerate() {
        for (index, rule) in group.rules.iter().enumerate() {
            for (change, rule) in changed(rule) {
                let mut groups = groups.to_vec();
                groups[at].rules[index] = rule;
                mutants.push(Mutant { change, groups });
            }
        }
    }
    mutants
}

fn changed(rule: &Rule) -> Vec<(String, Rule)> {
    match rule {
        // What chance and Wilson's bound are made of is checked in `rules::tier`, by the way it was derived.
        Rule::Record { name, .. } if name.contains(":noise") || name.contains(":wilson") => Vec::new(),
        Rule::Record { name, expr } => {
            let record =
                |(what, expr)| (format!("{name}: {what}"), Rule::Record { name: name.clone(), expr });
            let others = without_a_form(expr).into_iter().chain(without_an_inner_guard(expr));
            numbers(expr).into_iter().chain(others).map(record).collect()
        }
        Rule::Alert(alert) => changed_alert(alert),
    }
}

fn changed_alert(alert: &Alert) -> Vec<(String, Rule)> {
    let label = alert.labels.first().map_or("", |(_, value)| value);
    let named = |what: &str| format!("{} {} {label}: {what}", alert.name, alert.severity.label());
    let exprs = without_a_clause(&alert.expr).into_iter().chain(numbers(&alert.expr));
    let mut mutants: Vec<_> = exprs
        .chain(without_an_alternative(&alert.expr))
        .chain(without_an_inner_guard(&alert.expr))
        .map(|(what, expr)| (named(&what), Rule::Alert(Alert { expr, ..alert.clone() })))
        .collect();
    if !alert.hold.is_zero() {
        mutants.push((named("no hold"), Rule::Alert(Alert { hold: Duration::ZERO, ..alert.clone() })));
    }
    if alert.keep.is_some() {
        mutants.push((named("no keep"), Rule::Alert(Alert { keep: None, ..alert.clone() })));
    }
    mutants
}

/// The expression without each of its clauses; one that has only one is nothing without it.
fn without_a_clause(expr: &str) -> Vec<(String, String)> {
    let lines: Vec<_> = expr.lines().collect();
    let joins: Vec<_> = (0..lines.len()).filter(|&at| JOINS.contains(&lines[at])).collect();
    if joins.is_empty() {
        return Vec::new();
    }
    let starts = std::iter::once(0).chain(joins.iter().map(|at| at + 1));
    let ends = joins.iter().copied().chain([lines.len()]);
    let without = |(start, end): (usize, usize)| {
        // The join before it goes, too, or the one after the first.
        let (from, to) = if start == 0 { (0, end + 1) } else { (start - 1, end) };
        let clause = lines[start..end].join(" ");
        (format!("without `{clause}`"), [&lines[..from], &lines[to..]].concat().join("\n"))
    };
    starts.zip(ends).map(without).collect()
}

/// The expression without each of its alternatives of several clauses; one of a single clause goes with that.
fn without_an_alternative(expr: &str) -> Vec<(String, String)> {
    let alternatives: Vec<_> = expr.split("\nor\n").collect();
    if alternatives.len() == 1 {
        return Vec::new();
    }
    let has_several = |at: &usize| alternatives[*at].lines().any(|line| JOINS.contains(&line));
    let without = |at: usize| {
        let others = [&alternatives[..at], &alternatives[at + 1..]].concat().join("\nor\n");
        (format!("without all of `{}`", alternatives[at].replace('\n', " ")), others)
    };
    (0..alternatives.len()).filter(has_several).map(without).collect()
}

/// What reads a histogram without each of the forms that it may have.
fn without_a_form(expr: &str) -> Vec<(String, String)> {
    let forms: Vec<_> = expr.split("\nor\n").collect();
    if forms.len() == 1 || !expr.contains("histogram_") {
        return Vec::new();
    }
    let without = |at: usize| {
        let others = [&forms[..at], &forms[at + 1..]].concat().join("\nor\n");
        (format!("without `{}`", forms[at]), others)
    };
    (0..forms.len()).map(without).collect()
}

fn without_an_inner_guard(expr: &str) -> impl Iterator<Item = (String, String)> {
    let found = INNER.iter().filter(move |(part, _)| expr.contains(part));
    found.map(move |(part, instead)| (format!("without `{part}`"), expr.replace(part, instead)))
}

/// The expression with each of its numbers a little greater and a little smaller.
fn numbers(expr: &str) -> Vec<(String, String)> {
    let mut mutants = Vec::new();
    for (start, end) in literals(expr) {
        let literal = &expr[start..end];
        let number: f64 = literal.parse().expect("a literal is a number");
        // Nothing is a part of 0, and a tolerance for rounding is no threshold.
        if number < 1e-6 {
            continue;
        }
        // More bad events than chance explains are more than the budget allows, with or without the first clause.
        let is_implied = literal == "1" && expr[..start].ends_with("ratio3d > ");
        let smaller = (!is_implied).then_some(number / 1.3);
        for other in std::iter::once(number * 1.3).chain(smaller) {
            let what = format!("{other} for {literal} at {start}");
            mutants.push((what, format!("{}{other}{}", &expr[..start], &expr[end..])));
        }
    }
    mutants
}

/// Where the numbers of an expression are: not those in names, in texts, or of durations.
fn literals(expr: &str) -> Vec<(usize, usize)> {
    let bytes = expr.as_bytes();
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || b"_:.".contains(&byte);
    let mut found = Vec::new();
    let (mut at, mut is_text) = (0, false);
    while at < bytes.len() {
        let start = at;
        is_text ^= bytes[at] == b'"';
        while at < bytes.len()
            && (is_word(bytes[at]) || (expr[start..at].ends_with("1e") && bytes[at] == b'-'))
        {
            at += 1;
        }
        if !is_text && expr[start..at].parse::<f64>().is_ok_and(f64::is_finite) {
            found.push((start, at));
        }
        at = at.max(start + 1);
    }
    found
}
