//! The comments of values.yaml as a table, so that what is explained there is explained in the README, too.

use std::fmt::Write as _;

use serde_json::Value;

/// A value and the comment above it.
#[derive(Debug, PartialEq, Eq)]
pub struct Documented {
    /// The keys that lead to it, joined by dots.
    pub path: String,
    pub comment: String,
}

/// Every value with a comment, in the order of the file. A blank line parts a comment from what follows.
pub fn documented(values: &str) -> Vec<Documented> {
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
pub fn at<'a>(values: &'a Value, path: &str) -> &'a Value {
    path.split('.').fold(values, |value, key| &value[key])
}

pub fn table(found: &[Documented], values: &Value) -> String {
    let mut text = String::from("| value | default | meaning |\n|---|---|---|\n");
    for Documented { path, comment } in found {
        let _ = writeln!(text, "| `{path}` | `{}` | {comment} |", at(values, path));
    }
    text
}

/// The values that no comment explains: neither their own nor that of what they are part of.
pub fn unexplained(values: &Value, found: &[Documented]) -> Vec<String> {
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
