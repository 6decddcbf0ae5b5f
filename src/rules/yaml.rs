//! Rules as YAML: a file for Prometheus, or an object for its operator in Kubernetes.

use std::fmt::Write as _;

use super::Options;
use super::rule::{Alert, Group, Rule};

/// What the object is called in Kubernetes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resource {
    pub name: String,
    pub namespace: Option<String>,
    /// Operators select rules by these.
    pub labels: Vec<(String, String)>,
}

/// A rule file, under a comment that says where it comes from.
pub fn prometheus(groups: &[Group], options: &Options, head: &str) -> String {
    let mut text = comment(head);
    write_groups(&mut text, groups, options, 0);
    text
}

/// A PrometheusRule object of the Prometheus operator.
pub fn kubernetes(groups: &[Group], options: &Options, head: &str, resource: &Resource) -> String {
    let mut text = comment(head);
    text += "apiVersion: monitoring.coreos.com/v1\nkind: PrometheusRule\nmetadata:\n";
    let _ = writeln!(text, "  name: {}", scalar(&resource.name));
    if let Some(namespace) = &resource.namespace {
        let _ = writeln!(text, "  namespace: {}", scalar(namespace));
    }
    if !resource.labels.is_empty() {
        text += "  labels:\n";
        for (name, value) in &resource.labels {
            let _ = writeln!(text, "    {}: {}", scalar(name), scalar(value));
        }
    }
    text += "spec:\n";
    write_groups(&mut text, groups, options, 2);
    text
}

pub(super) fn comment(head: &str) -> String {
    head.lines().map(|line| format!("# {line}").trim_end().to_owned() + "\n").collect()
}

/// Quoted, so that no value is taken for a number, a date or a tag.
pub(super) fn scalar(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// Text over several lines, each of them this deep.
pub(super) fn block(text: &str, depth: usize) -> String {
    let margin = " ".repeat(depth);
    text.lines().flat_map(|line| ["\n", &margin, line].map(str::to_owned)).collect()
}

fn write_groups(text: &mut String, groups: &[Group], options: &Options, depth: usize) {
    let margin = " ".repeat(depth);
    let _ = writeln!(text, "{margin}groups:");
    for group in groups {
        let _ = writeln!(text, "{margin}- name: {}", group.name);
        let _ = writeln!(text, "{margin}  interval: {}", options.span(group.interval));
        let _ = writeln!(text, "{margin}  rules:");
        for rule in &group.rules {
            match rule {
                Rule::Record { name, expr } => {
                    let _ = writeln!(text, "{margin}  - record: {name}");
                    let _ = writeln!(text, "{margin}    expr: |-{}", block(expr, depth + 6));
                }
                Rule::Alert(alert) => write_alert(text, alert, options, depth),
            }
        }
    }
}

fn write_alert(text: &mut String, alert: &Alert, options: &Options, depth: usize) {
    let margin = " ".repeat(depth + 4);
    let _ = writeln!(text, "{}- alert: {}", &margin[2..], alert.name);
    let _ = writeln!(text, "{margin}expr: |-{}", block(&alert.expr, depth + 6));
    let _ = writeln!(text, "{margin}for: {}", options.span(alert.hold));
    if let Some(keep) = alert.keep {
        let _ = writeln!(text, "{margin}keep_firing_for: {}", options.span(keep));
    }
    let _ = writeln!(text, "{margin}labels:\n{margin}  severity: {}", alert.severity.label());
    for (name, value) in &alert.labels {
        let _ = writeln!(text, "{margin}  {name}: {}", scalar(value));
    }
    if options.time_scale != 1 {
        // A drill must not be taken for the real thing.
        let _ = writeln!(text, "{margin}  drill: '{}'", options.time_scale);
    }
    let runbook = format!("{}/{}.md", options.runbooks.trim_end_matches('/'), alert.name);
    let _ = writeln!(text, "{margin}annotations:");
    for (name, value) in
        [("summary", &alert.summary), ("description", &alert.description), ("runbook_url", &runbook)]
    {
        let _ = writeln!(text, "{margin}  {name}: {}", scalar(value));
    }
}
