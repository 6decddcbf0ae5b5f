//! The labels that many series share, written once in each of the forms in which they are sent.

use std::fmt::Write as _;
use std::sync::Arc;

/// Names and values, such as `target` and `workload`.
#[derive(Debug, Clone, Default)]
pub struct Labels {
    pairs: Vec<(Arc<str>, Arc<str>)>,
    /// `target="chat",workload="short"`
    text: String,
}

impl Labels {
    pub fn new<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let pairs: Vec<(Arc<str>, Arc<str>)> =
            pairs.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
        let mut text = String::new();
        for (name, value) in &pairs {
            push(&mut text, name, value);
        }
        Self { pairs, text }
    }

    pub fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.pairs.iter().map(|(name, value)| (&**name, &**value))
    }

    /// As text formats write them, without the braces.
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// Adds a pair to labels in text, as both text formats write them.
pub(crate) fn push(text: &mut String, name: &str, value: &str) {
    if !text.is_empty() {
        text.push(',');
    }
    // Writing to a string does not fail.
    let _ = write!(text, "{name}=\"");
    escape(text, value);
    text.push('"');
}

fn escape(text: &mut String, value: &str) {
    if !value.contains(['\\', '"', '\n']) {
        return text.push_str(value);
    }
    for character in value.chars() {
        match character {
            '\\' => text.push_str("\\\\"),
            '"' => text.push_str("\\\""),
            '\n' => text.push_str("\\n"),
            other => text.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_escaped() {
        let labels = Labels::new([("a", "plain"), ("b", "a \"quoted\" \\ and a\nbreak")]);
        assert_eq!(labels.text(), r#"a="plain",b="a \"quoted\" \\ and a\nbreak""#);
    }
}
