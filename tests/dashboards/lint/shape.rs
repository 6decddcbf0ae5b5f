//! The frame: what every Grafana from 10 to 13 imports and provisions without a question.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};

use super::super::dashboard::{Dashboard, list, text, walk};
use super::{Finding, House, finding};

/// Every panel, target, variable and annotation says itself where its data come from, and all say the same.
pub(super) fn data_sources(_: &House, dashboard: &Dashboard) -> Vec<Finding> {
    let chosen = json!({ "type": "prometheus", "uid": "${datasource}" });
    let mut asking: Vec<(String, &Value)> = Vec::new();
    for panel in dashboard.panels().iter().filter(|panel| panel.kind() != "text") {
        asking.extend(
            std::iter::once(panel.json).chain(panel.targets()).map(|of| (panel.title().to_owned(), of)),
        );
    }
    let is_asked = |variable: &&Value| ["query", "adhoc"].contains(&text(&variable["type"]));
    for variable in dashboard.variables().iter().filter(is_asked) {
        asking.push((format!("variable {}", text(&variable["name"])), variable));
    }
    for annotation in dashboard.annotations() {
        asking.push((format!("annotation {}", text(&annotation["name"])), annotation));
    }
    let wrong = asking.into_iter().filter(|(_, of)| of["datasource"] != chosen);
    let mut found: Vec<_> =
        wrong.map(|(owner, of)| finding(owner, format!("its data source is {}", of["datasource"]))).collect();
    let is_variable =
        |v: &Value| v["name"] == "datasource" && v["type"] == "datasource" && v["query"] == "prometheus";
    if !dashboard.variables().iter().any(is_variable) {
        found.push(finding("variable datasource", "there is none of type datasource for prometheus"));
    }
    found
}

pub(super) fn ids(house: &House, dashboard: &Dashboard) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut ids = BTreeSet::new();
    walk(&dashboard.json["panels"], "", &mut |_, value| {
        // Rows have ids, too.
        if value.get("gridPos").is_some() && !ids.insert(value["id"].as_u64()) {
            found.push(finding(text(&value["title"]), format!("its id {} is not its own", value["id"])));
        }
    });
    for panel in dashboard.panels() {
        let mut refs = BTreeSet::new();
        let again = panel.targets().iter().filter(|target| {
            let name = text(&target["refId"]);
            name.is_empty() || !refs.insert(name)
        });
        found.extend(
            again.map(|target| finding(panel.title(), format!("refId {} is not its own", target["refId"]))),
        );
    }
    let same = house.dashboards.iter().filter(|other| other.uid() == dashboard.uid()).count();
    if same != 1 || dashboard.uid().is_empty() || dashboard.uid().len() > 40 {
        found.push(finding("uid", format!("\"{}\" is no uid of its own", dashboard.uid())));
    }
    if !dashboard.json["id"].is_null() {
        found.push(finding("id", "only the database of one Grafana knows what it means"));
    }
    found
}

const COLUMNS: u64 = 24;

pub(super) fn grid(_: &House, dashboard: &Dashboard) -> Vec<Finding> {
    let top = list(&dashboard.json, "panels");
    let layers = std::iter::once(top).chain(top.iter().map(|row| list(row, "panels")));
    layers.flat_map(overlaps).collect()
}

fn overlaps(panels: &[Value]) -> Vec<Finding> {
    let mut found = Vec::new();
    for (index, panel) in panels.iter().enumerate() {
        let [x, y, w, h] = place(panel);
        if w == 0 || h == 0 || x + w > COLUMNS {
            found.push(finding(text(&panel["title"]), format!("{} is not on the grid", panel["gridPos"])));
        }
        let is_on = |other: &&Value| {
            let [ox, oy, ow, oh] = place(other);
            x < ox + ow && ox < x + w && y < oy + oh && oy < y + h
        };
        let covered = panels[index + 1..].iter().filter(is_on);
        found.extend(
            covered.map(|o| finding(text(&panel["title"]), format!("it lies on \"{}\"", text(&o["title"])))),
        );
    }
    found
}

fn place(panel: &Value) -> [u64; 4] {
    ["x", "y", "w", "h"].map(|key| panel["gridPos"][key].as_u64().unwrap_or_default())
}

/// Panels that Grafana brings along, from 10 to 13, without plugins.
const TYPES: [&str; 13] = [
    "barchart",
    "bargauge",
    "gauge",
    "heatmap",
    "histogram",
    "piechart",
    "row",
    "stat",
    "state-timeline",
    "status-history",
    "table",
    "text",
    "timeseries",
];

pub(super) fn types(_: &House, dashboard: &Dashboard) -> Vec<Finding> {
    let others = dashboard.panels().into_iter().filter(|panel| !TYPES.contains(&panel.kind()));
    others
        .map(|panel| finding(panel.title(), format!("\"{}\" is not in every Grafana", panel.kind())))
        .collect()
}

/// What Grafana 10.0 wrote: a newer one migrates it, an older one would not understand a newer one.
const NEWEST_SCHEMA: u64 = 38;

pub(super) fn schema(_: &House, dashboard: &Dashboard) -> Vec<Finding> {
    let version = &dashboard.json["schemaVersion"];
    if version.as_u64().is_some_and(|version| (30..=NEWEST_SCHEMA).contains(&version)) {
        return Vec::new();
    }
    vec![finding("schemaVersion", format!("{version} is not one that Grafana 10 takes as it is"))]
}

/// Probes come every 10 s or so, and scrapes every minute at worst: less holds too few of them.
const LEAST_WINDOW: Duration = Duration::from_secs(300);

/// A panel has at least so many steps, however narrow it is; a window of a larger part of what is shown holds one.
const MOST_WINDOWS: u64 = 100;

/// Where there is a window, each choice is long enough, and what Grafana chooses itself is at least a step.
pub(super) fn window(_: &House, dashboard: &Dashboard) -> Vec<Finding> {
    let Some(window) = dashboard.variables().iter().find(|variable| variable["name"] == "window") else {
        let uses = dashboard.queries().into_iter().filter(|query| query.expr.contains("$window"));
        return uses.map(|query| finding(query.owner, "there is no window to choose")).collect();
    };
    let long_enough = |span: &str| humantime::parse_duration(span).is_ok_and(|span| span >= LEAST_WINDOW);
    let choices = text(&window["query"]).split(',').map(str::trim);
    let short = choices.filter(|choice| !long_enough(choice));
    let mut found: Vec<_> = short.map(|choice| format!("\"{choice}\" is too short")).collect();
    if window["type"] != "interval" || window["auto"] != true {
        found.push("Grafana does not choose it by what is shown".into());
    }
    if !long_enough(text(&window["auto_min"])) {
        found.push(format!("{} as the least is too short", window["auto_min"]));
    }
    if window["auto_count"].as_u64().is_none_or(|count| count > MOST_WINDOWS) {
        found.push(format!("{} of them in what is shown may be shorter than a step", window["auto_count"]));
    }
    found.into_iter().map(|what| finding("variable window", what)).collect()
}
