//! What all dashboards have in common: variables, annotations, links between them, and how panels are placed.

use serde_json::{Value, json};

use super::expr;
use super::panel::{Panel, source};
use super::{Dashboard, look, uid};
use crate::catalogue as cat;

/// What distinguishes a dashboard.
#[derive(Debug, Clone, Copy)]
pub(super) struct Board {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    pub(super) description: &'static str,
    /// How much time it shows at first, such as "now-6h".
    pub(super) from: &'static str,
    pub(super) refresh: &'static str,
    pub(super) variables: &'static [Variable],
    pub(super) sections: fn() -> Vec<Section>,
}

/// What a person chooses at the top.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Variable {
    Targets,
    /// Only one at a time.
    Target,
    Workloads,
    Instances,
}

/// Panels under one heading.
#[derive(Debug, Clone)]
pub(super) struct Section {
    pub(super) title: &'static str,
    /// The variable for each of whose values it is repeated.
    pub(super) repeat: Option<&'static str>,
    pub(super) panels: Vec<Panel>,
}

pub(super) fn section(title: &'static str, panels: Vec<Panel>) -> Section {
    Section { title, repeat: None, panels }
}

pub(super) fn repeated(title: &'static str, variable: &'static str, panels: Vec<Panel>) -> Section {
    Section { title, repeat: Some(variable), panels }
}

const COLUMNS: u64 = 24;

const BOARDS: [(&str, &str); 4] =
    [("overview", "Overview"), ("target", "Target"), ("releases", "Releases"), ("health", "Probe health")];

pub(super) fn build(board: Board) -> Dashboard {
    let json = json!({
        "uid": uid(board.name), "title": board.title, "description": board.description, "tags": ["sloprobe"],
        "schemaVersion": 38, "version": 1, "editable": true, "graphTooltip": 1, "timezone": "browser", "weekStart": "",
        "time": { "from": board.from, "to": "now" }, "refresh": board.refresh, "liveNow": false, "fiscalYearStartMonth": 0,
        "timepicker": { "refresh_intervals": ["10s", "30s", "1m", "5m", "15m", "1h"] },
        "links": links(board), "templating": { "list": variables(board) },
        "annotations": { "list": annotations(board) }, "panels": placed(&(board.sections)()),
    });
    let json = if board.variables.contains(&Variable::Target) { of_one_target(json) } else { json };
    Dashboard { name: board.name, title: board.title, json }
}

/// Grafana escapes what is special in a regular expression only for variables of several values: one target is asked for
/// as it is.
fn of_one_target(mut json: Value) -> Value {
    match &mut json {
        Value::String(text) => *text = text.replace("target=~\"$target\"", "target=\"$target\""),
        Value::Array(items) => items.iter_mut().for_each(|item| *item = of_one_target(item.take())),
        Value::Object(fields) => fields.values_mut().for_each(|field| *field = of_one_target(field.take())),
        _ => {}
    }
    json
}

/// To the other dashboards, with the time and what was chosen.
fn links(board: Board) -> Vec<Value> {
    let others = BOARDS.iter().filter(|(name, _)| *name != board.name);
    // Several targets fit no dashboard of one: what else was chosen goes there, and its first target is shown.
    let several = board.variables.contains(&Variable::Targets);
    let all_but_targets =
        "${datasource:queryparam}&${workload:queryparam}&${window:queryparam}&${filters:queryparam}";
    let link = |(name, title): &(&str, &str)| {
        let is_narrower = several && *name == "target";
        let uid = uid(name);
        let url = if is_narrower { format!("/d/{uid}?{all_but_targets}") } else { format!("/d/{uid}") };
        json!({
            "type": "link", "title": title, "url": url, "icon": "dashboard", "tooltip": "", "keepTime": true,
            "includeVars": !is_narrower, "asDropdown": false, "targetBlank": false, "tags": [],
        })
    };
    others.map(link).collect()
}

fn variables(board: Board) -> Vec<Value> {
    let source = json!({
        "type": "datasource", "name": "datasource", "label": "Data source", "query": "prometheus", "regex": "", "hide": 0,
        "includeAll": false, "multi": false, "refresh": 1, "current": {}, "options": [], "skipUrlSync": false,
    });
    let chosen = board.variables.iter().map(|variable| variable.json());
    std::iter::once(source).chain(chosen).chain([window(), filters()]).collect()
}

impl Variable {
    fn json(self) -> Value {
        let workloads = format!("label_values({}{{target=~\"$target\"}}, workload)", cat::INTERVAL.name);
        let targets = format!("label_values({}, target)", cat::UP.name);
        let instances = format!("label_values({}, instance)", cat::BUILD_INFO.name);
        match self {
            Self::Targets => values("target", "Target", &targets, true),
            Self::Target => values("target", "Target", &targets, false),
            Self::Workloads => values("workload", "Workload", &workloads, true),
            Self::Instances => values("instance", "Daemon", &instances, true),
        }
    }
}

/// The values of a label: all of them at first, or one.
fn values(name: &str, label: &str, query: &str, several: bool) -> Value {
    let all = json!({ "selected": true, "text": ["All"], "value": ["$__all"] });
    let mut variable = json!({
        "type": "query", "name": name, "label": label, "datasource": source(), "definition": query, "hide": 0,
        "query": { "query": query, "refId": "PrometheusVariableQueryEditor-VariableQuery" }, "regex": "", "sort": 1, "refresh": 2,
        "multi": several, "includeAll": several, "current": if several { all } else { json!({}) }, "options": [],
        "skipUrlSync": false,
    });
    if several {
        variable["allValue"] = ".+".into();
    }
    variable
}

/// What rates and quantiles are over. By itself a hundredth of the time shown, and five minutes at least: never less
/// than the step between two points, so that no probe falls between them.
fn window() -> Value {
    const AUTO: &str = "$__auto_interval_window";
    let spans = ["5m", "15m", "30m", "1h", "3h", "6h", "12h", "1d"];
    let auto = json!({ "selected": true, "text": "auto", "value": AUTO });
    let option = |span: &&str| json!({ "selected": false, "text": span, "value": span });
    let options: Vec<_> = std::iter::once(auto.clone()).chain(spans.iter().map(option)).collect();
    json!({
        "type": "interval", "name": "window", "label": "Averaged over", "query": spans.join(","), "auto": true, "auto_count": 100,
        "auto_min": "5m", "refresh": 2, "hide": 0, "current": auto, "options": options, "skipUrlSync": false,
    })
}

/// Any other label, such as the region that Prometheus adds.
fn filters() -> Value {
    json!({
        "type": "adhoc", "name": "filters", "label": "Place and more", "datasource": source(), "filters": [], "baseFilters": [],
        "hide": 0, "skipUrlSync": false,
    })
}

/// Changes of a release are drawn on everything: most of what moves a graph is one.
fn annotations(board: Board) -> Vec<Value> {
    let target = if board.variables.contains(&Variable::Instances) { ".+" } else { "$target" };
    let began = format!("max by ({}) ({}{{target=~\"{target}\"}})", expr::TARGET_ROW, cat::RELEASE_TIME.name);
    let runs = format!(
        "max by ({}, engine, version, served_model) ({}{{target=~\"{target}\"}})",
        expr::TARGET_ROW,
        cat::TARGET_INFO.name
    );
    // In annotations, a label that is missing would show as its own name.
    let named = format!(
        "label_join({runs} * on ({}) group_left () ({began} * 1000), \"release\", \" \", \"engine\", \"version\", \"served_model\")",
        expr::TARGET_ROW
    );
    let release = json!({
        "name": "Releases", "datasource": source(), "enable": true, "hide": false, "iconColor": look::PROMISE,
        "expr": named, "useValueForTime": true, "step": "60s", "titleFormat": "{{target}} runs another release",
        "textFormat": "{{release}}", "tagKeys": "target,region,cluster",
    });
    let built_in = json!({
        "name": "Annotations & Alerts", "builtIn": 1, "datasource": { "type": "grafana", "uid": "-- Grafana --" }, "enable": true,
        "hide": true, "iconColor": look::GOOD, "type": "dashboard",
    });
    vec![built_in, release]
}

/// Panels from left to right, a new line where the next does not fit.
fn placed(sections: &[Section]) -> Vec<Value> {
    let (mut panels, mut y) = (Vec::new(), 0);
    for section in sections {
        panels.push(heading(section, panels.len() + 1, y));
        y += 1;
        let (mut x, mut tallest) = (0, 0);
        for panel in &section.panels {
            if x + panel.width > COLUMNS {
                (x, y, tallest) = (0, y + tallest, 0);
            }
            panels.push(panel.json(panels.len() + 1, x, y));
            x += panel.width;
            tallest = tallest.max(panel.height);
        }
        y += tallest;
    }
    panels
}

fn heading(section: &Section, id: usize, y: u64) -> Value {
    let mut row = json!({
        "id": id, "type": "row", "title": section.title, "collapsed": false, "panels": [],
        "gridPos": { "x": 0, "y": y, "w": COLUMNS, "h": 1 },
    });
    if let Some(variable) = section.repeat {
        row["repeat"] = variable.into();
    }
    row
}
