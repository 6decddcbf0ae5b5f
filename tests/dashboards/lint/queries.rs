//! What is asked: of series that exist, for what was chosen, wherever it is installed.

use super::super::dashboard::{Dashboard, text};
use super::super::promql::{Expr, Matcher, Selector};
use super::{Finding, House, expressions, family, finding, is_of_any_instance, labels, selecting};

pub(super) fn readable(_: &House, dashboard: &Dashboard) -> Vec<Finding> {
    let problem = |query: super::Query| {
        let error = Expr::parse(selecting(&query.expr)).err()?;
        Some(finding(query.owner, format!("{error} in {}", query.expr)))
    };
    dashboard.queries().into_iter().filter_map(problem).collect()
}

/// Every selector of a dashboard, with whose it is.
fn selectors(dashboard: &Dashboard) -> Vec<(String, Selector)> {
    let of = |(query, expr): &(super::Query, Expr)| -> Vec<_> {
        expr.selectors().into_iter().map(|selector| (query.owner.clone(), selector.clone())).collect()
    };
    expressions(dashboard).iter().flat_map(of).collect()
}

pub(super) fn metrics_exist(house: &House, dashboard: &Dashboard) -> Vec<Finding> {
    let is_known = |metric: &str| {
        family(metric).is_some()
            || metric == "ALERTS"
            || is_of_any_instance(metric)
            || house.recorded.contains(metric)
    };
    let unknown = selectors(dashboard).into_iter().filter(|(_, selector)| !is_known(&selector.metric));
    unknown
        .map(|(owner, selector)| finding(owner, format!("there is no metric \"{}\"", selector.metric)))
        .collect()
}

/// The names of the variables that a text uses.
fn used(text: &str) -> Vec<&str> {
    let name = |rest: &str| rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
    let names = text.split('$').skip(1).map(|rest| rest.strip_prefix('{').unwrap_or(rest));
    // `$1` is what a part of a regular expression matched.
    names
        .map(|rest| &rest[..name(rest)])
        .filter(|name| name.starts_with(|c: char| c.is_alphabetic() || c == '_'))
        .collect()
}

/// Grafana's own, as far as queries may use them.
const BUILT_IN: [&str; 5] = ["__range", "__range_s", "__rate_interval", "__interval", "__interval_ms"];

pub(super) fn variables_exist(_: &House, dashboard: &Dashboard) -> Vec<Finding> {
    let mut texts: Vec<(String, String)> = Vec::new();
    for query in dashboard.queries() {
        texts.extend(query.legends.iter().map(|legend| (query.owner.clone(), legend.clone())));
        texts.push((query.owner, query.expr));
    }
    for panel in dashboard.panels() {
        let repeat = if panel.repeat.is_empty() { String::new() } else { format!("${}", panel.repeat) };
        texts.push((panel.title().to_owned(), format!("{} {repeat}", panel.title())));
    }
    let is_known = |name: &str| BUILT_IN.contains(&name) || dashboard.has_variable(name);
    let mut found = Vec::new();
    for (owner, text) in &texts {
        let unknown = used(text).into_iter().filter(|name| !is_known(name));
        found.extend(unknown.map(|name| finding(owner, format!("there is no variable \"{name}\""))));
    }
    found
}

/// What differs from one installation to the next.
const OF_THE_PLACE: [&str; 10] =
    ["instance", "job", "target", "workload", "slo", "model", "pod", "namespace", "cluster", "region"];

pub(super) fn nothing_hard_coded(_: &House, dashboard: &Dashboard) -> Vec<Finding> {
    let is_fixed = |matcher: &&Matcher| {
        let names_something = matcher.value.contains(char::is_alphanumeric) && !matcher.value.contains('$');
        OF_THE_PLACE.contains(&matcher.label.as_str()) && names_something
    };
    let mut found = Vec::new();
    for (owner, selector) in selectors(dashboard) {
        let fixed = selector.matchers.iter().filter(is_fixed);
        found.extend(fixed.map(|Matcher { label, value, .. }| {
            finding(&owner, format!("{label} \"{value}\" is somebody's own"))
        }));
    }
    found
}

/// Whether a matcher leaves exactly what was chosen of a variable with the name of its label.
fn is_choice(matcher: &Matcher, label: &str) -> bool {
    matcher.label == label
        && ["=", "=~"].contains(&matcher.operator.as_str())
        && used(&matcher.value) == [label]
}

pub(super) fn filtered(_: &House, dashboard: &Dashboard) -> Vec<Finding> {
    let mut found = Vec::new();
    for (owner, selector) in selectors(dashboard) {
        // A variable cannot filter by itself.
        let is_chosen_here = |label: &&&str| {
            dashboard.has_variable(label)
                && owner != format!("variable {label}")
                && !is_before(dashboard, &owner, label)
        };
        let known = labels(&selector.metric);
        for label in ["target", "workload", "instance"]
            .iter()
            .filter(|label| known.contains(label))
            .filter(is_chosen_here)
        {
            if !selector.matchers.iter().any(|matcher| is_choice(matcher, label)) {
                found.push(finding(&owner, format!("{} of every {label}, chosen or not", selector.metric)));
            }
        }
    }
    found
}

/// Whether a variable is asked for before the one that this label is chosen by: it cannot wait for that.
fn is_before(dashboard: &Dashboard, owner: &str, label: &str) -> bool {
    let place = |name: &str| dashboard.variables().iter().position(|variable| variable["name"] == name);
    owner.strip_prefix("variable ").is_some_and(|name| place(name) < place(label))
}

pub(super) fn several_values(_: &House, dashboard: &Dashboard) -> Vec<Finding> {
    let variables = dashboard.variables();
    let may_be_several = |name: &&str| {
        variables.iter().any(|v| v["name"] == *name && (v["multi"] == true || v["includeAll"] == true))
    };
    let mut found = Vec::new();
    for (owner, selector) in selectors(dashboard) {
        for matcher in &selector.matchers {
            let (several, single): (Vec<_>, Vec<_>) =
                used(&matcher.value).into_iter().partition(may_be_several);
            let (wrong, why) = if matcher.operator.ends_with('~') {
                (single, "is one, and Grafana escapes only several for a regular expression")
            } else {
                (several, "may be several, and = takes one")
            };
            found.extend(wrong.iter().map(|name| finding(&owner, format!("${name} {why}"))));
        }
    }
    // All of them must be one expression, not a list that grows with the installation.
    for variable in variables.iter().filter(|variable| variable["includeAll"] == true) {
        if variable["allValue"] != ".+" {
            found.push(finding(format!("variable {}", text(&variable["name"])), "All is not \".+\""));
        }
    }
    found
}
