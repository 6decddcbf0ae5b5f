//! What a good dashboard is, as rules that find what is not: in the spirit of Grafana's own linter, and stricter where a
//! dashboard for everybody's installation must be.

mod fields;
mod forms;
mod look;
mod numbers;
mod queries;
mod shape;
mod vision;

use std::collections::BTreeSet;

use sloprobe::catalogue::{self, Family, Kind, Scope};

use super::dashboard::{Dashboard, Query, label_values};
use super::promql::Expr;

/// All that the rules know beside the dashboard that they look at.
#[derive(Debug)]
pub struct House {
    pub dashboards: Vec<Dashboard>,
    /// What the alert rules record.
    pub recorded: BTreeSet<String>,
    pub palette: Vec<&'static str>,
    pub exceptions: Vec<Exception>,
}

/// What a rule would find, and is meant to be.
#[derive(Debug, Clone, Copy)]
pub struct Exception {
    pub rule: &'static str,
    /// The title of the panel, or what else it is of.
    pub owner: &'static str,
    /// Part of what the rule would say.
    pub what: &'static str,
    pub why: &'static str,
}

/// What is wrong, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub owner: String,
    pub what: String,
}

pub type Rule = fn(&House, &Dashboard) -> Vec<Finding>;

/// Each rule by the name of its test.
pub const RULES: &[(&str, Rule)] = &[
    ("expressions_can_be_read", queries::readable),
    ("metrics_exist", queries::metrics_exist),
    ("variables_exist", queries::variables_exist),
    ("nothing_is_hard_coded", queries::nothing_hard_coded),
    ("what_was_chosen_is_shown", queries::filtered),
    ("several_values_can_be_chosen", queries::several_values),
    ("ranges_follow_the_window", numbers::ranges),
    ("counters_are_rated_and_nothing_else_is", numbers::counters),
    ("quantiles_are_of_rates_by_le", numbers::quantiles),
    ("histograms_are_asked_in_both_forms", forms::both),
    ("data_sources_are_chosen", shape::data_sources),
    ("ids_are_unique", shape::ids),
    ("panels_do_not_overlap", shape::grid),
    ("types_are_in_every_grafana", shape::types),
    ("the_schema_is_old_enough", shape::schema),
    ("the_window_is_never_too_short", shape::window),
    ("titles_are_unique", look::titles),
    ("descriptions_say_something", look::descriptions),
    ("units_are_known", look::units),
    ("series_have_names", look::names),
    ("overrides_and_columns_name_something", fields::named),
    ("nothing_says_no_data", look::no_value),
    ("colours_are_of_the_palette", look::colours),
    ("colours_that_differ_look_different", vision::colours_differ),
    ("links_lead_somewhere", look::links),
];

impl House {
    /// What a rule finds in all dashboards, as lines.
    pub fn findings(&self, rule: &str) -> Vec<String> {
        let (name, check) = RULES.iter().find(|(name, _)| *name == rule).expect("a rule of this name");
        let mut lines = Vec::new();
        for dashboard in &self.dashboards {
            let found = check(self, dashboard).into_iter().filter(|finding| !self.is_meant(name, finding));
            lines
                .extend(found.map(|Finding { owner, what }| format!("{}: {owner}: {what}", dashboard.uid())));
        }
        lines
    }

    fn is_meant(&self, rule: &str, finding: &Finding) -> bool {
        let is_it = |one: &Exception| one.owner == finding.owner && finding.what.contains(one.what);
        self.exceptions.iter().any(|one| one.rule == rule && is_it(one))
    }
}

fn finding(owner: impl Into<String>, what: impl Into<String>) -> Finding {
    Finding { owner: owner.into(), what: what.into() }
}

/// The expressions that can be read, with their queries.
fn expressions(dashboard: &Dashboard) -> Vec<(Query, Expr)> {
    let read = |query: Query| Expr::parse(selecting(&query.expr)).ok().map(|expr| (query, expr));
    dashboard.queries().into_iter().filter_map(read).collect()
}

/// What a variable takes its values from is an expression, too.
fn selecting(query: &str) -> &str {
    label_values(query).map_or(query, |(expr, _)| expr)
}

/// The family that a series is of, if the catalogue has it.
fn family(metric: &str) -> Option<&'static Family> {
    let is_part = |family: &Family| {
        let suffix = metric.strip_prefix(family.name);
        let is_part = suffix.is_some_and(|suffix| ["_bucket", "_sum", "_count"].contains(&suffix));
        suffix == Some("") || (is_histogram(family) && is_part)
    };
    catalogue::ALL.into_iter().find(|family| is_part(family))
}

fn is_histogram(family: &Family) -> bool {
    matches!(family.kind, Kind::Histogram(_))
}

/// What Prometheus itself, or the library of a process, tells of every instance.
fn is_of_any_instance(metric: &str) -> bool {
    metric == "up" || metric.starts_with("scrape_") || metric.starts_with("process_")
}

/// The labels of a series as far as they are known: by the catalogue, or by the name of what is recorded. What is of no
/// target is of one daemon.
fn labels(metric: &str) -> Vec<&str> {
    if is_of_any_instance(metric) {
        return vec!["instance"];
    }
    if let Some(family) = family(metric) {
        let is_of_daemon = family.scope == Scope::Daemon;
        return family.labels().into_iter().chain(is_of_daemon.then_some("instance")).collect();
    }
    let level = metric.split_once(':').map_or("", |(level, _)| level);
    level.split('_').filter(|label| !label.is_empty()).collect()
}
