//! What is wrong with a configuration: where, what, and what to write instead.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt::{self, Display};

/// Everything wrong with one file, in the order of its lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problems {
    file: String,
    list: Vec<Problem>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Counted from 1; absent when the file could not be read at all.
    pub line: Option<usize>,
    /// The path of the key, such as `targets[0].rate`; for bad TOML the column.
    pub subject: String,
    pub what: String,
    pub remedy: String,
}

/// Where a value stands: its path, and its first byte in the text.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub path: String,
    pub at: usize,
}

/// What a note is about, which decides whether bad TOML elsewhere may be its cause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sort {
    /// Bad TOML whose meaning is plain, such as text without quotes: it hides nothing.
    Slip,
    /// Bad TOML that leaves its line in doubt.
    Broken,
    /// Bad TOML in a heading: the keys below it may have landed in another section.
    BrokenHeading,
    /// Something is not there.
    Absence,
    /// A key that its section does not know.
    Stray,
    /// Something is there and wrong.
    Value,
}

/// Collects problems while the tree is read. Shared by every reader of one tree, hence the cell.
#[derive(Debug)]
pub(super) struct Notes {
    /// The first byte of each line.
    lines: Vec<usize>,
    /// The last byte that is not white space: a problem at the end is shown there.
    end: usize,
    list: RefCell<Vec<Note>>,
}

#[derive(Debug)]
struct Note {
    sort: Sort,
    place: Place,
    what: String,
    remedy: String,
}

impl Problems {
    pub(super) fn one(file: &str, problem: Problem) -> Self {
        Self { file: file.to_owned(), list: vec![problem] }
    }

    pub fn iter(&self) -> impl Iterator<Item = &Problem> {
        self.list.iter()
    }
}

impl std::error::Error for Problems {}

impl Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for problem in &self.list {
            f.write_str(&self.file)?;
            if let Some(line) = problem.line {
                write!(f, ":{line}: {}", problem.subject)?;
            }
            writeln!(f, ": {}\n    {}", problem.what, problem.remedy)?;
        }
        let count = self.list.len();
        write!(f, "{count} {} in {}", if count == 1 { "problem" } else { "problems" }, self.file)
    }
}

impl Notes {
    pub(super) fn new(text: &str) -> Self {
        let starts = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1);
        let lines = std::iter::once(0).chain(starts).collect();
        let end = text.trim_end().len().saturating_sub(1);
        Self { lines, end, list: RefCell::default() }
    }

    pub(super) fn add(&self, sort: Sort, place: &Place, what: impl Into<String>, remedy: impl Into<String>) {
        let note = Note { sort, place: place.clone(), what: what.into(), remedy: remedy.into() };
        self.list.borrow_mut().push(note);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.list.borrow().is_empty()
    }

    /// Counted from 1.
    pub(super) fn line(&self, at: usize) -> usize {
        self.lines.partition_point(|start| *start <= at.min(self.end))
    }

    /// The first byte of the line that holds `at`.
    pub(super) fn line_start(&self, at: usize) -> usize {
        self.lines[self.line(at) - 1]
    }

    /// Leaves out what bad TOML may explain: what its own line says, and what is missing or astray.
    pub(super) fn into_problems(self, file: &str) -> Problems {
        let mut list = self.list.take();
        list.sort_by_key(|note| note.place.at);
        let is_broken = |note: &&Note| matches!(note.sort, Sort::Broken | Sort::BrokenHeading);
        let broken: BTreeSet<usize> =
            list.iter().filter(is_broken).map(|note| self.line(note.place.at)).collect();
        let headings = list.iter().any(|note| note.sort == Sort::BrokenHeading);
        let doubtful = |note: &Note| broken.contains(&self.line(note.place.at));
        let stands = |note: &Note| match note.sort {
            Sort::Slip | Sort::Broken | Sort::BrokenHeading => true,
            Sort::Absence => broken.is_empty(),
            Sort::Stray => !headings && !doubtful(note),
            Sort::Value => !doubtful(note),
        };
        let list = list
            .iter()
            .filter(|note| stands(note))
            .map(|note| Problem {
                line: Some(self.line(note.place.at)),
                subject: note.place.path.clone(),
                what: note.what.clone(),
                remedy: note.remedy.clone(),
            })
            .collect();
        Problems { file: file.to_owned(), list }
    }
}

/// The longest piece of a value that a message repeats.
const MAX_QUOTED_CHARS: usize = 48;

/// A value for a message: quoted, on one line, bounded.
pub(super) fn quote(text: &str) -> String {
    match text.char_indices().nth(MAX_QUOTED_CHARS) {
        Some((cut, _)) => format!("{:?}…", &text[..cut]),
        None => format!("{text:?}"),
    }
}

/// `a, b or c`.
pub(super) fn any_of(words: impl IntoIterator<Item = impl Into<String>>) -> String {
    let words: Vec<String> = words.into_iter().map(Into::into).collect();
    match words.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => words.concat(),
    }
}

/// `2_000_000`, as one would write it in the file.
pub(super) fn grouped(number: impl Display) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push('_');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_quoted_in_one_bounded_line() {
        assert_eq!(quote("a\nb"), r#""a\nb""#);
        assert_eq!(quote(&"é".repeat(49)), format!("\"{}\"…", "é".repeat(48)));
    }

    #[test]
    fn long_numbers_are_grouped_by_thousands() {
        assert_eq!([1, 1000, 2_000_000].map(grouped), ["1", "1_000", "2_000_000"]);
    }

    #[test]
    fn a_place_at_the_very_end_is_in_the_last_line_that_says_something() {
        let notes = Notes::new("a\nb\n\n\n");
        assert_eq!((notes.line(0), notes.line(2), notes.line(6)), (1, 2, 2));
        assert_eq!(Notes::new("").line(0), 1);
    }
}
