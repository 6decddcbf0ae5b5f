//! Bad TOML: the parser's findings, one per line, with what to do about them.

use toml::de::Error;

use super::problem::{Notes, Place, Sort};

const UNQUOTED: &str = "string values must be quoted";

/// Notes the first finding of each line: the parser stumbles on from one slip, and the rest mislead.
///
/// The parser's own words never quote the file, so no secret can slip into them.
pub(super) fn note(errors: &[Error], notes: &Notes, text: &str) {
    let mut found: Vec<(usize, &str)> =
        errors.iter().map(|error| (error.span().map_or(0, |span| span.start), error.message())).collect();
    found.sort_by_key(|(at, _)| *at);
    for line in found.chunk_by(|a, b| notes.line(a.0) == notes.line(b.0)) {
        let (at, message) = line[0];
        let start = notes.line_start(at);
        let before = text.get(start..at).unwrap_or_default();
        let sort = if line.iter().all(|(_, message)| message.starts_with(UNQUOTED)) {
            Sort::Slip
        } else if text.get(start..).unwrap_or_default().trim_start().starts_with('[') {
            Sort::BrokenHeading
        } else {
            Sort::Broken
        };
        let (what, remedy) = explain(message);
        notes.add(sort, &Place { path: format!("column {}", before.chars().count() + 1), at }, what, remedy);
    }
}

fn explain(message: &str) -> (String, String) {
    let remedy = match message.split_once(", expected ").unwrap_or((message, "")) {
        (UNQUOTED, _) => "put the value between double quotes".into(),
        ("duplicate key", _) => {
            "keep one of the two; further targets and workloads begin with [[targets]] and [[workloads]]"
                .into()
        }
        (_, "") => "https://toml.io shows how TOML is written".into(),
        (_, "nothing") => "remove it".into(),
        (_, expected) => format!("TOML wants {} here", expected.replace(", ", " or ")),
    };
    let what = message.split(", expected ").next().unwrap_or(message);
    (format!("not TOML: {what}"), remedy)
}
