//! The JSON, held against its schema by a small validator: it knows the keywords that the schema uses, and no others.

use serde_json::{Map, Value};

use super::*;
use crate::compare::{Metric, Quantile, Verdict};
use crate::page::fixture;

const SCHEMA_FILE: &str = include_str!("../../../../deploy/compare.schema.json");

fn schema() -> Value {
    serde_json::from_str(SCHEMA_FILE).expect("the schema is JSON")
}

/// Every way in which a value breaks its schema, with the path to it.
fn broken(value: &Value) -> Vec<String> {
    let root = schema();
    let mut found = Vec::new();
    check(&root, &root, value, "$", &mut found);
    found
}

fn check(root: &Value, rule: &Value, value: &Value, path: &str, found: &mut Vec<String>) {
    for (keyword, wanted) in rule.as_object().expect("a schema is an object") {
        let held = match keyword.as_str() {
            "$schema" | "$id" | "$defs" | "title" | "description" => true,
            "$ref" => {
                let pointer = wanted.as_str().and_then(|r| r.strip_prefix('#')).expect("a local reference");
                check(root, root.pointer(pointer).expect("it leads somewhere"), value, path, found);
                true
            }
            "type" => types(wanted).iter().any(|name| is_a(value, name)),
            "const" => value == wanted,
            "enum" => wanted.as_array().expect("a list").contains(value),
            "minimum" => value.as_f64().is_none_or(|v| v >= wanted.as_f64().expect("a number")),
            "maximum" => value.as_f64().is_none_or(|v| v <= wanted.as_f64().expect("a number")),
            "format" => value.as_str().is_none_or(|text| humantime::parse_rfc3339(text).is_ok()),
            "items" => {
                for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                    check(root, wanted, item, &format!("{path}[{index}]"), found);
                }
                true
            }
            "required" => {
                let names = wanted.as_array().expect("a list").iter().filter_map(Value::as_str);
                !value.is_object() || names.into_iter().all(|name| value.get(name).is_some())
            }
            "properties" => {
                properties(root, wanted, value, path, found);
                true
            }
            "additionalProperties" => {
                assert_eq!(wanted, &Value::Bool(false));
                let known = rule["properties"].as_object().expect("names");
                value.as_object().into_iter().flat_map(Map::keys).all(|name| known.contains_key(name))
            }
            unknown => panic!("the validator does not know {unknown}"),
        };
        if !held {
            found.push(format!("{path}: {keyword}"));
        }
    }
}

fn properties(root: &Value, wanted: &Value, value: &Value, path: &str, found: &mut Vec<String>) {
    for (name, rule) in wanted.as_object().expect("names") {
        if let Some(inner) = value.get(name) {
            check(root, rule, inner, &format!("{path}.{name}"), found);
        }
    }
}

fn types(wanted: &Value) -> Vec<&str> {
    match wanted {
        Value::String(name) => vec![name],
        other => other.as_array().expect("a list").iter().filter_map(Value::as_str).collect(),
    }
}

fn is_a(value: &Value, name: &str) -> bool {
    match name {
        "null" => value.is_null(),
        "string" => value.is_string(),
        "number" => value.is_number(),
        "integer" => value.is_u64(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("the validator does not know the type {other}"),
    }
}

#[test]
fn the_json_keeps_its_contract() {
    assert_eq!(broken(&write(&fixture::comparison())), Vec::<String>::new());
}

#[test]
fn the_schema_rejects_what_is_not_the_contract() {
    let fine = write(&fixture::comparison());
    for (pointer, value, complaint) in [
        ("/schema", json!(2), "$.schema: const"),
        ("/confidence", json!(1.5), "$.confidence: maximum"),
        ("/before/from", json!("yesterday"), "$.before.from: format"),
        ("/workloads/0/verdict", json!("worse"), "$.workloads[0].verdict: enum"),
        (
            "/workloads/0/metrics/0/before/samples",
            json!(-1),
            "$.workloads[0].metrics[0].before.samples: minimum",
        ),
        ("/workloads/0/metrics/0/need", json!({}), "$.workloads[0].metrics[0].need: required"),
        (
            "/after",
            json!({ "name": "", "from": "", "to": "", "probes": 1, "x": 1 }),
            "$.after: additionalProperties",
        ),
    ] {
        let mut spoilt = fine.clone();
        *spoilt.pointer_mut(pointer).expect("it is there") = value;
        let found = broken(&spoilt);
        assert!(found.iter().any(|found| found == complaint), "{pointer}: {found:?}");
    }
}

#[test]
fn every_name_of_the_json_is_required_and_every_word_is_listed() {
    let schema = schema();
    let rules = schema["$defs"].as_object().expect("definitions").values().chain([&schema]);
    for rule in rules.filter(|rule| rule.get("properties").is_some()) {
        let names: Vec<&str> =
            rule["properties"].as_object().expect("names").keys().map(String::as_str).collect();
        let mut required = types(&rule["required"]);
        required.sort_unstable();
        assert_eq!(names, required);
        assert_eq!(rule["additionalProperties"], false);
    }
    let words = |pointer: &str| schema.pointer(pointer).map(types).unwrap_or_default();
    assert_eq!(words("/$defs/verdict/enum"), Verdict::ALL.map(Verdict::label));
    assert_eq!(words("/$defs/metric/properties/metric/enum"), Metric::ALL.map(Metric::label));
    let quantiles: Vec<&str> =
        Quantile::ALL.into_iter().chain([Quantile::Share]).map(Quantile::label).collect();
    assert_eq!(words("/$defs/change/properties/quantile/enum"), quantiles);
}

#[test]
fn numbers_come_through_and_what_is_not_finite_is_null() {
    let json = write(&fixture::comparison());
    assert_eq!(json["verdict"], "regressed");
    assert_eq!(json["before"]["from"], "2026-11-15T00:00:00Z");
    let rag = &json["workloads"][1]["metrics"];
    assert_eq!(rag[0]["changes"][3]["estimate"], 4.1);
    assert_eq!(rag[0]["after"]["p50_seconds"], 0.91);
    assert_eq!(
        (&rag[1]["changes"][0]["upper"], &rag[1]["before"]["p50_seconds"]),
        (&Value::Null, &Value::Null)
    );
    assert_eq!((&rag[2]["before"]["count"], &rag[2]["before"]["share"]), (&json!(6), &json!(0.01)));
    assert_eq!(json["workloads"][0]["metrics"][2]["need"], json!({ "probes": 240, "seconds": 2400.0 }));
}
