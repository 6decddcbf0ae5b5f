//! What a person sees and reads: titles, units, colours, links, and words instead of "No data".

use std::collections::BTreeSet;

use serde_json::Value;
use sloprobe::catalogue::Scope;

use super::super::dashboard::{Dashboard, Panel, list, text, walk};
use super::super::promql::{COMPARISONS, Expr, Selector};
use super::{Finding, House, expressions, family, finding};

pub(super) fn titles(_: &House, dashboard: &Dashboard) -> Vec<Finding> {
    let mut seen = BTreeSet::new();
    let panels = dashboard.panels();
    let again = panels.iter().map(Panel::title).filter(|title| title.is_empty() || !seen.insert(*title));
    again.map(|title| finding(title, "its title is not its own")).collect()
}

/// The panels that show numbers.
fn showing(dashboard: &Dashboard) -> Vec<Panel<'_>> {
    dashboard.panels().into_iter().filter(|panel| panel.kind() != "text").collect()
}

pub(super) fn descriptions(_: &House, dashboard: &Dashboard) -> Vec<Finding> {
    let is_sentence =
        |text: &str| text.split_whitespace().count() >= 6 && text.trim_end().ends_with(['.', '?']);
    let silent =
        showing(dashboard).into_iter().filter(|panel| !is_sentence(text(&panel.json["description"])));
    silent.map(|panel| finding(panel.title(), "its description is no sentence")).collect()
}

/// Units that Grafana knows from 10 to 13 and that make sense here; anything else it would print as a suffix.
const UNITS: [&str; 24] = [
    "none",
    "short",
    "bool",
    "bool_yes_no",
    "string",
    "percent",
    "percentunit",
    "s",
    "ms",
    "dtdurations",
    "dateTimeAsIso",
    "dateTimeAsLocal",
    "dateTimeAsSystem",
    "dateTimeFromNow",
    "bytes",
    "decbytes",
    "Bps",
    "binBps",
    "reqps",
    "ops",
    "cps",
    "cpm",
    "opm",
    "locale",
];

fn is_unit(unit: &str) -> bool {
    let is_own =
        ["suffix:", "prefix:"].iter().any(|own| unit.strip_prefix(own).is_some_and(|text| !text.is_empty()));
    is_own || UNITS.contains(&unit)
}

pub(super) fn units(_: &House, dashboard: &Dashboard) -> Vec<Finding> {
    let mut found = Vec::new();
    for panel in showing(dashboard) {
        let units = std::iter::once(&panel.defaults()["unit"]).chain(panel.overridden("unit"));
        let units: Vec<_> = units.filter_map(Value::as_str).collect();
        if units.is_empty() {
            found.push(finding(panel.title(), "it has no unit at all"));
        }
        let unknown = units.iter().filter(|unit| !is_unit(unit));
        found.extend(unknown.map(|unit| finding(panel.title(), format!("\"{unit}\" is no unit"))));
    }
    found
}

/// Else a legend would show all labels of a series, and Grafana's own choice of a name changes with the data.
pub(super) fn names(_: &House, dashboard: &Dashboard) -> Vec<Finding> {
    let mut found = Vec::new();
    for panel in showing(dashboard) {
        let is_named = |target: &Value| {
            let legend = text(&target["legendFormat"]);
            target["format"] == "table" || !(legend.trim().is_empty() || legend == "__auto")
        };
        let nameless = panel.targets().iter().filter(|target| !is_named(target));
        found.extend(
            nameless.map(|target| finding(panel.title(), format!("{} has no legend", target["refId"]))),
        );
    }
    found
}

/// What may well have no series says so in words of its own.
pub(super) fn no_value(_: &House, dashboard: &Dashboard) -> Vec<Finding> {
    let expressions = expressions(dashboard);
    let may_be_empty = |panel: &Panel| {
        let mut own = expressions.iter().filter(|(query, _)| query.owner == panel.title());
        own.all(|(_, expr)| may_give_nothing(expr))
    };
    let has_words = |panel: &Panel| {
        let words = text(&panel.defaults()["noValue"]);
        !words.trim().is_empty() && words != "No data"
    };
    let silent = showing(dashboard).into_iter().filter(|panel| may_be_empty(panel) && !has_words(panel));
    silent.map(|panel| finding(panel.title(), "it may be empty, and would say \"No data\"")).collect()
}

/// Whether an expression may have no series though nothing is wrong.
pub fn may_give_nothing(expr: &Expr) -> bool {
    match expr {
        Expr::Literal(_) => false,
        Expr::Selector(selector) => may_be_absent(selector),
        Expr::Subquery { of, .. } => may_give_nothing(of),
        Expr::Call { name, args } => match name.as_str() {
            "vector" | "scalar" | "time" => false,
            "absent" | "absent_over_time" => true,
            _ => args.iter().any(may_give_nothing),
        },
        Expr::Aggregate { args, .. } => args.iter().any(may_give_nothing),
        Expr::Binary { operator, is_bool, sides } => match operator.as_str() {
            "or" => sides.iter().all(may_give_nothing),
            "and" | "unless" => true,
            other if COMPARISONS.contains(&other) && !is_bool => true,
            _ => sides.iter().any(may_give_nothing),
        },
    }
}

fn may_be_absent(selector: &Selector) -> bool {
    let Some(family) = family(&selector.metric) else {
        // What is recorded is about objectives or a past, and an alert is there only while something is wrong.
        return selector.metric.contains(':') || selector.metric.starts_with("ALERTS");
    };
    // Not everybody has objectives or planted facts.
    let labels = family.labels();
    let depends = labels.contains(&"slo") || family.scope == Scope::Rag;
    let asks_more = |label: &str| !labels.contains(&label) && !["le", "instance"].contains(&label);
    let is_picky = selector.matchers.iter().any(|matcher| asks_more(&matcher.label));
    depends || is_picky || !family.scope.is_there_at_once()
}

/// Ways to colour series that need no choice of ours; each is told apart by colour-blind people as well, or names the
/// series beside it.
const MODES: [&str; 5] = ["fixed", "thresholds", "palette-classic", "palette-classic-by-name", "shades"];

/// Scales of heatmaps from dark to light or through colours that do not need red and green.
const SCHEMES: [&str; 6] = ["Blues", "Oranges", "Purples", "Greys", "Viridis", "Cividis"];

pub(super) fn colours(house: &House, dashboard: &Dashboard) -> Vec<Finding> {
    let mut wrong = Vec::new();
    let is_allowed = |colour: &str| colour == "transparent" || house.palette.contains(&colour);
    walk(&dashboard.json, "", &mut |key, value| {
        let written = value.as_str().filter(|_| ["color", "fixedColor", "iconColor"].contains(&key));
        wrong.extend(written.filter(|colour| !is_allowed(colour)).map(|colour| format!("colour {colour}")));
        if key == "color" && value.is_object() {
            let mode = value["mode"].as_str().filter(|mode| !MODES.contains(mode) && *mode != "scheme");
            wrong.extend(mode.map(|mode| format!("colours by {mode}")));
            let scheme = value["scheme"].as_str().filter(|scheme| !SCHEMES.contains(scheme));
            wrong.extend(scheme.map(|scheme| format!("scheme {scheme}")));
        }
    });
    wrong.into_iter().map(|what| finding("colours", what)).collect()
}

pub(super) fn links(house: &House, dashboard: &Dashboard) -> Vec<Finding> {
    let mut found = Vec::new();
    walk(&dashboard.json, "", &mut |key, value| {
        if key == "url"
            && let Err(what) = leads(house, text(value))
        {
            found.push(finding(text(value), what));
        }
    });
    for link in list(&dashboard.json, "links").iter().filter(|link| link["type"] == "dashboards") {
        let has =
            |other: &Dashboard| list(link, "tags").iter().all(|tag| list(&other.json, "tags").contains(tag));
        if !house.dashboards.iter().any(|other| other.uid() != dashboard.uid() && has(other)) {
            found.push(finding(text(&link["title"]), "no other dashboard has these tags"));
        }
    }
    found
}

/// Whether a link into Grafana leads to a dashboard that takes what the link passes on.
fn leads(house: &House, url: &str) -> Result<(), String> {
    let Some(rest) = url.strip_prefix("/d/").or_else(|| url.strip_prefix("d/")) else {
        let is_elsewhere = url.starts_with("https://") || url.starts_with("${");
        return if is_elsewhere { Ok(()) } else { Err("it is neither /d/… nor https://…".into()) };
    };
    let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
    let uid = path.split('/').next().unwrap_or_default();
    let there =
        house.dashboards.iter().find(|other| other.uid() == uid).ok_or("there is no such dashboard")?;
    for part in query.split('&').filter(|part| !part.is_empty()) {
        let name = match part.strip_prefix("var-") {
            Some(assigned) => assigned.split_once('=').ok_or("a variable without a value")?.0,
            None if part.ends_with(":queryparam}") => {
                part.trim_start_matches("${").split(':').next().unwrap_or_default()
            }
            None if part == "${__url_time_range}" || part == "${__all_variables}" => continue,
            None if ["from=", "to=", "viewPanel="].iter().any(|known| part.starts_with(known)) => continue,
            None => return Err(format!("{part} is not understood")),
        };
        if !there.has_variable(name) {
            return Err(format!("{uid} has no variable \"{name}\""));
        }
    }
    Ok(())
}
