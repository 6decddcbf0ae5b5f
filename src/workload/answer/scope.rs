//! Which part of a text is the answer: what stands after the marker that the prompt asked for, or all of it.

use std::sync::LazyLock;

use regex::Regex;

/// What counts as the answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Scope {
    pub(super) text: String,
    /// A marker came, and something after it.
    pub(super) marked: bool,
    /// Nothing stands behind it: where a text was cut off, so was this.
    pub(super) last: bool,
}

/// How much belongs to a marker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    /// The rest of its line, or the next line that says something.
    Line,
    /// The same, or the list that begins below it.
    List,
}

/// The marker with the signs that Markdown or JSON may put around it.
static MARKER: LazyLock<Regex> = LazyLock::new(|| fixed(r#"(?i)(?:\banswer|答案)[*_`"\s]{0,4}[:\u{ff1a}]"#));
static LIST_ITEM: LazyLock<Regex> =
    LazyLock::new(|| fixed(r"^\s*(?:[-*+•·]\s|[(\u{ff08}]?\d{1,2}[.)、\u{ff09}])\s*"));

fn fixed(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the pattern is fixed, and the tests use it")
}

/// The part after the last marker that has something after it.
pub(super) fn of(text: &str, extent: Extent) -> Scope {
    let ends: Vec<_> = MARKER.find_iter(text).map(|marker| marker.end()).collect();
    let marked = ends.into_iter().rev().find_map(|end| after(&text[end..], extent));
    marked.unwrap_or_else(|| Scope { text: text.into(), marked: false, last: true })
}

fn after(rest: &str, extent: Extent) -> Option<Scope> {
    let mut lines = rest.lines();
    let own = lines.next().unwrap_or_default();
    let below = extent == Extent::List && (!says_something(own) || goes_on(own));
    let mut taken: Vec<&str> = Vec::new();
    let (mut gap, mut last) = (false, true);
    for line in std::iter::once(own).chain(lines) {
        if !says_something(line) {
            gap = true;
            continue;
        }
        let wanted = taken.last().is_none_or(|before| goes_on(before));
        let item = below && (!gap || LIST_ITEM.is_match(line));
        if !wanted && !item {
            last = false;
            break;
        }
        taken.push(line);
        gap = false;
    }
    let text = match extent {
        Extent::Line => taken.join("\n"),
        // The numbers of a list are none of its words.
        Extent::List => taken.iter().map(|line| LIST_ITEM.replace(line, "")).collect::<Vec<_>>().join("\n"),
    };
    says_something(&text).then_some(Scope { text, marked: true, last })
}

/// Not blank, not the fence of a block, not only signs.
fn says_something(line: &str) -> bool {
    !line.trim_start().starts_with("```") && line.contains(char::is_alphanumeric)
}

/// An introduction, or a list that was broken into lines.
fn goes_on(line: &str) -> bool {
    let line = line.trim_end_matches(|c: char| c.is_whitespace() || matches!(c, '*' | '_' | '`'));
    line.ends_with([':', ',', '、', '\u{ff1a}', '\u{ff0c}'])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str) -> (String, bool) {
        let scope = of(text, Extent::Line);
        (scope.text.trim().into(), scope.marked)
    }

    #[test]
    fn the_rest_of_the_last_markers_line_counts() {
        for text in [
            "Answer: 7",
            "I think.\n\n**Answer:** 7\nAs 3 + 4 is 7.",
            "**answer**: 7",
            "### ANSWER\u{ff1a}7\n8",
            "Answer: 6\nNo, wait.\nFinal answer: 7\nthanks",
            "答案:7\n其余",
            "**答案**\u{ff1a}7",
            "\"answer\": 7",
        ] {
            let (found, marked) = line(text);
            assert!(marked && found.contains('7') && !found.contains(['6', '8']), "{text}: {found}");
            assert!(!found.contains("As") && !found.contains("其余"), "{text}: {found}");
        }
    }

    #[test]
    fn a_blank_rest_gives_way_to_the_next_line_that_says_something() {
        for text in
            ["Answer:\n\n7\n8", "Answer: **\n7\n8", "Answer:\n\\[\n7\n\\]\n8", "Answer:\n```\n7\n```\n8"]
        {
            assert_eq!(line(text), ("7".into(), true), "{text}");
        }
        assert_eq!(line("Answer: The total is:\n\n7\n8").0, "The total is:\n7");
    }

    #[test]
    fn without_a_marker_all_counts() {
        for text in ["7 is it", "The answers: none of it", "7\nAnswer:", "Reanswer: 7", "Answer"] {
            assert_eq!(line(text), (text.into(), false));
        }
        assert_eq!(line("Answer: 7\nAnswer:"), ("7".into(), true));
    }

    #[test]
    fn a_list_below_the_marker_counts_whole_and_without_its_numbers() {
        let list = |text: &str| of(text, Extent::List).text;
        assert_eq!(list("Answer:\n1. pump\n2. clock\n\n3. map\n\nThat is all."), "pump\nclock\nmap");
        assert_eq!(
            list("Answer: in this order:\n- pump\n- clock\n\nBye").trim(),
            "in this order:\npump\nclock"
        );
        assert_eq!(list("Answer: pump, clock\n1. map").trim(), "pump, clock");
        assert_eq!(list("答案:\n1、水泵\n2、座钟"), "水泵\n座钟");
    }

    #[test]
    fn the_end_of_the_text_is_known() {
        assert!(of("Answer: pump, cl", Extent::List).last);
        assert!(!of("Answer: pump, clock\nThat is all.", Extent::List).last);
    }
}
