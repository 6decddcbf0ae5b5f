//! The values of the chart: what values.yaml has, its schema knows, its README explains, and nothing else is taken.

use std::fmt::Write as _;

use serde_json::Value;

use super::tools::{chart, plain, template};
use super::{hold, read};

/// A value and the comment above it.
#[derive(Debug, PartialEq, Eq)]
struct Documented {
    /// The keys that lead to it, joined by dots.
    path: String,
    comment: String,
}

/// Every value with a comment, in the order of the file. A blank line parts a comment from what follows.
fn documented(values: &str) -> Vec<Documented> {
    let (mut found, mut keys, mut comment) = (Vec::new(), Vec::<&str>::new(), Vec::new());
    for line in values.lines() {
        let text = line.trim_start();
        if let Some(words) = text.strip_prefix('#') {
            comment.push(words.trim());
            continue;
        }
        let is_key = |key: &str| !key.is_empty() && key.chars().all(|c| c.is_ascii_alphanumeric());
        if let Some((key, _)) = text.split_once(':').filter(|(key, _)| is_key(key)) {
            keys.truncate((line.len() - text.len()) / 2);
            keys.push(key);
            if !comment.is_empty() {
                found.push(Documented { path: keys.join("."), comment: comment.join(" ") });
            }
        }
        comment.clear();
    }
    found
}

/// The value at a path.
fn at<'a>(values: &'a Value, path: &str) -> &'a Value {
    path.split('.').fold(values, |value, key| &value[key])
}

fn table(found: &[Documented], values: &Value) -> String {
    let mut text = String::from("| value | default | meaning |\n|---|---|---|\n");
    for Documented { path, comment } in found {
        let _ = writeln!(text, "| `{path}` | `{}` | {comment} |", at(values, path));
    }
    text
}

/// The values that no comment explains: neither their own nor that of what they are part of.
fn unexplained(values: &Value, found: &[Documented]) -> Vec<String> {
    let mut left = Vec::new();
    collect(values, "", found, &mut left);
    left
}

fn collect(value: &Value, path: &str, found: &[Documented], left: &mut Vec<String>) {
    if found.iter().any(|one| one.path == path) {
        return;
    }
    match value.as_object().filter(|object| !object.is_empty()) {
        None => left.push(path.to_owned()),
        Some(object) => {
            for (key, inner) in object {
                let inner_path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                collect(inner, &inner_path, found, left);
            }
        }
    }
}

#[test]
fn comments_find_their_values() {
    let values =
        "# Head of the file.\n\n# One\n# and only.\na: 1\nb:\n  # Inner.\n  c: {}\n  d: 2\ne:\n  f: 3\n";
    let found = documented(values);
    let expected = [("a", "One and only."), ("b.c", "Inner.")];
    let expected = expected.map(|(path, comment)| Documented { path: path.into(), comment: comment.into() });
    assert_eq!(found, expected);
    let values = serde_json::json!({"a": 1, "b": {"c": {}, "d": 2}, "e": {"f": 3}});
    assert_eq!(unexplained(&values, &found), ["b.d", "e.f"]);
    assert!(table(&found, &values).ends_with("| `a` | `1` | One and only. |\n| `b.c` | `{}` | Inner. |\n"));
}

#[test]
fn a_slip_of_the_pen_is_refused() {
    for values in [
        "replica=2",
        "image.tga=1",
        "image.digest=latest",
        "networkPolicy.egress.rule=x",
        "simulatedEngine.enable=false",
        "replicas=many",
        "log.format=xml",
        "terminationGracePeriodSeconds=5",
        "keys.envSecrets=llm-keys",
        "livenessProbe.path=/x",
    ] {
        let said = template(&["--set", values]).bad();
        assert!(said.contains("values don't meet the specifications"), "{values}: {said}");
    }
}

/// Keys of the schema that stand in no default, because they are there only for those who need them.
const WITHOUT_DEFAULT: [&str; 2] = ["global", "claims"];

#[test]
fn the_schema_has_every_value_and_no_other() {
    let schema: Value = serde_json::from_str(&read("deploy/helm/sloprobe/values.schema.json")).expect("JSON");
    let values = &plain(&read("deploy/helm/sloprobe/values.yaml"))[0];
    compare(&schema, values, "values");
}

fn compare(schema: &Value, values: &Value, path: &str) {
    let Some(properties) = schema["properties"].as_object() else { return };
    assert_eq!(schema["additionalProperties"], false, "{path} lets typos pass");
    let values = values.as_object().unwrap_or_else(|| panic!("{path} is no object"));
    for key in values.keys() {
        assert!(properties.contains_key(key), "the schema lacks {path}.{key}");
    }
    for (key, inner) in properties.iter().filter(|(key, _)| !WITHOUT_DEFAULT.contains(&key.as_str())) {
        // Of a probe of the kubelet only some settings have a default here.
        if path.ends_with("Probe") && !values.contains_key(key) {
            continue;
        }
        let value = values.get(key).unwrap_or_else(|| panic!("values.yaml lacks {path}.{key}"));
        compare(inner, value, &format!("{path}.{key}"));
    }
}

#[test]
fn the_readme_has_every_value() {
    let text = read("deploy/helm/sloprobe/values.yaml");
    let values = &plain(&text)[0];
    let found = documented(&text);
    assert_eq!(unexplained(values, &found), Vec::<String>::new(), "write a comment above each");
    let is = read("deploy/helm/sloprobe/README.md");
    let (head, rest) = is.split_once("<!-- values -->\n").expect("a place for the values");
    let (_, tail) = rest.split_once("<!-- /values -->").expect("its end");
    let table = table(&found, values);
    let should = format!("{head}<!-- values -->\n\n{table}\n<!-- /values -->{tail}");
    hold(&chart().join("README.md"), &should);
}
