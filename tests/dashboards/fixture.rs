//! A small dashboard in which every rule has something to look at and nothing to find, and one to link to.

use serde_json::{Value, json};

use super::dashboard::Dashboard;
use super::lint::House;

pub fn house() -> House {
    House {
        dashboards: vec![Dashboard { json: small() }, Dashboard { json: other() }],
        recorded: ["target_workload_slo:sloprobe_slo_error_budget_left:ratio".to_owned()].into(),
        palette: vec!["#0072B2", "#D55E00"],
        exceptions: Vec::new(),
    }
}

fn source() -> Value {
    json!({ "type": "prometheus", "uid": "${datasource}" })
}

fn variables() -> Value {
    let chosen = |name: &str, query: &str| {
        json!({
            "name": name, "type": "query", "query": query, "datasource": source(),
            "multi": true, "includeAll": true, "allValue": ".+"
        })
    };
    json!([
        { "name": "datasource", "type": "datasource", "query": "prometheus" },
        chosen("target", "label_values(sloprobe_up, target)"),
        chosen("workload", "label_values(sloprobe_probes_total{target=~\"$target\"}, workload)"),
        {
            "name": "window", "type": "interval", "query": "5m,1h", "auto": true, "auto_min": "5m",
            "auto_count": 50
        },
        { "name": "filters", "type": "adhoc", "datasource": source() }
    ])
}

fn target(name: &str, expr: &str, legend: &str) -> Value {
    json!({
        "refId": name, "datasource": source(), "expr": expr, "legendFormat": legend,
        "instant": false, "range": true
    })
}

fn small() -> Value {
    let quantile = r#"histogram_quantile(0.9, sum by (target) (rate(sloprobe_ttft_seconds{target=~"$target",workload=~"$workload"}[$window])))
or
histogram_quantile(0.9, sum by (le, target) (rate(sloprobe_ttft_seconds_bucket{target=~"$target",workload=~"$workload"}[$window])))"#;
    let left = r#"target_workload_slo:sloprobe_slo_error_budget_left:ratio{target=~"$target",workload=~"$workload"}"#;
    let describe = "What it is, and what to do about it.";
    json!({
        "uid": "small", "title": "Small", "schemaVersion": 38, "tags": ["made-up"],
        "templating": { "list": variables() },
        "annotations": { "list": [
            { "builtIn": 1, "name": "Annotations", "datasource": { "type": "grafana", "uid": "-- Grafana --" } },
            {
                "name": "Releases", "datasource": source(), "iconColor": "#0072B2", "useValueForTime": true,
                "expr": "sloprobe_release_timestamp_seconds{target=~\"$target\"} * 1000",
                "titleFormat": "{{target}}", "textFormat": "", "tagKeys": "target"
            }
        ] },
        "links": [
            { "type": "link", "title": "Other", "url": "/d/other?${target:queryparam}&${__url_time_range}" },
            { "type": "dashboards", "title": "All", "tags": ["made-up"] }
        ],
        "panels": [
            {
                "id": 1, "type": "timeseries", "title": "Quantile", "description": describe, "datasource": source(),
                "gridPos": { "x": 0, "y": 0, "w": 12, "h": 8 },
                "fieldConfig": {
                    "defaults": { "unit": "s", "color": { "mode": "fixed", "fixedColor": "#0072B2" } },
                    "overrides": [
                        { "matcher": { "id": "byName", "options": "one" }, "properties": [] },
                        { "matcher": { "id": "byRegexp", "options": "/^x$/" }, "properties": [] }
                    ]
                },
                "targets": [target("A", quantile, "{{target}}"), target("B", "vector(1)", "one")]
            },
            {
                "id": 2, "type": "row", "title": "More", "collapsed": true,
                "gridPos": { "x": 0, "y": 8, "w": 24, "h": 1 },
                "panels": [{
                    "id": 3, "type": "stat", "title": "Left", "description": describe, "datasource": source(),
                    "gridPos": { "x": 0, "y": 9, "w": 24, "h": 8 },
                    "fieldConfig": {
                        "defaults": {
                            "unit": "percentunit", "noValue": "No objectives",
                            "thresholds": { "steps": [{ "color": "#D55E00", "value": null }] }
                        },
                        "overrides": []
                    },
                    "targets": [target("A", left, "{{target}} {{workload}} {{slo}}")]
                }]
            },
            {
                "id": 4, "type": "text", "title": "Words",
                "gridPos": { "x": 12, "y": 0, "w": 12, "h": 8 }
            }
        ]
    })
}

fn other() -> Value {
    json!({
        "uid": "other", "title": "Other", "schemaVersion": 38, "tags": ["made-up"], "panels": [],
        "templating": { "list": variables() }
    })
}
