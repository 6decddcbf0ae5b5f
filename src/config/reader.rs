//! Typed reading of the TOML tree: whoever asks for a value gets it, or a note is taken and there is `None`.

use std::fmt::Display;
use std::ops::RangeInclusive;

use toml::Spanned;
use toml::de::{DeInteger, DeString, DeTable, DeValue};

use super::keys::{self, Keys, nearest};
use super::problem::{Notes, Place, Sort, any_of, grouped, quote};

/// A section whose unknown keys have been noted.
pub(super) struct Table<'a> {
    entries: &'a DeTable<'a>,
    keys: &'static Keys,
    place: Place,
    notes: &'a Notes,
}

/// One value, of whatever type the file gives it.
pub(super) struct Node<'a> {
    value: &'a DeValue<'a>,
    key: &'a str,
    place: Place,
    notes: &'a Notes,
}

/// A value that is neither a list nor a table.
pub(super) enum Scalar<'a> {
    Text(&'a str),
    Whole(i64),
    Fraction(f64),
    Flag(bool),
}

impl<'a> Table<'a> {
    pub(super) fn root(entries: &'a DeTable<'a>, notes: &'a Notes) -> Self {
        let table = Self { entries, keys: &keys::ROOT, place: Place { path: String::new(), at: 0 }, notes };
        table.note_unknown_keys();
        table
    }

    pub(super) fn get(&self, key: &'static str) -> Option<Node<'a>> {
        debug_assert!(self.keys.known.contains(&key), "{key} is not declared in keys.rs");
        let value = self.entries.get(key)?;
        Some(child(self.notes, &self.place, key, value))
    }

    /// A key that must be there; `remedy` says what to write.
    pub(super) fn need(&self, key: &'static str, remedy: &str) -> Option<Node<'a>> {
        let found = self.get(key);
        if found.is_none() {
            let place = Place { path: join(&self.place.path, key), at: self.place.at };
            self.notes.add(Sort::Absence, &place, "missing", remedy);
        }
        found
    }

    /// The key's value as `read` takes it, the default if there is no such key, `None` if it is wrong.
    pub(super) fn or<T>(
        &self,
        key: &'static str,
        default: T,
        read: impl FnOnce(Node<'a>) -> Option<T>,
    ) -> Option<T> {
        match self.get(key) {
            Some(node) => read(node),
            None => Some(default),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    fn note_unknown_keys(&self) {
        for key in self.entries.keys() {
            let word: &str = key.get_ref();
            if self.keys.known.contains(&word) {
                continue;
            }
            let place = Place { path: join(&self.place.path, word), at: key.span().start };
            if self.keys.later.contains(&word) {
                self.notes.add(Sort::Stray, &place, "not supported by this version yet", "remove it");
                continue;
            }
            let known = || self.keys.known.iter().copied();
            let remedy = match nearest(word, known()) {
                Some(near) => format!("write {near}"),
                None => format!("{} takes {}", self.keys.heading, any_of(known())),
            };
            self.notes.add(Sort::Stray, &place, "unknown key", remedy);
        }
    }
}

impl<'a> Node<'a> {
    pub(super) fn path(&self) -> &str {
        &self.place.path
    }

    pub(super) fn key(&self) -> &'a str {
        self.key
    }

    /// The key as a message repeats it.
    pub(super) fn shown_key(&self) -> String {
        shown_key(self.key)
    }

    /// Counted from 1.
    pub(super) fn line(&self) -> usize {
        self.notes.line(self.place.at)
    }

    /// Notes what is wrong here; `None` of any type, to return at once.
    pub(super) fn refuse<T>(&self, what: impl Into<String>, remedy: impl Into<String>) -> Option<T> {
        self.notes.add(Sort::Value, &self.place, what, remedy);
        None
    }

    /// As `refuse`, for a value that names something which bad TOML elsewhere may have hidden.
    pub(super) fn refuse_reference<T>(
        &self,
        what: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Option<T> {
        self.notes.add(Sort::Absence, &self.place, what, remedy);
        None
    }

    /// Never repeats the value: what stands in the wrong place may be a secret.
    pub(super) fn wrong_type<T>(&self, wanted: &str, remedy: impl Into<String>) -> Option<T> {
        let found = match self.value {
            DeValue::String(_) => "text",
            DeValue::Integer(_) => "a whole number",
            DeValue::Float(_) => "a number with a fraction",
            DeValue::Boolean(_) => "true or false",
            DeValue::Datetime(_) => "a date or time",
            DeValue::Array(_) => "a list",
            DeValue::Table(_) => "a table",
        };
        self.refuse(format!("{wanted} is wanted, this is {found}"), remedy)
    }

    /// The text itself, when it is text; otherwise `None` without a note.
    pub(super) fn as_text(&self) -> Option<&'a str> {
        self.value.as_str()
    }

    /// The items of a list, when it is one; otherwise `None` without a note.
    pub(super) fn items(&self) -> Option<Vec<Node<'a>>> {
        let DeValue::Array(items) = self.value else { return None };
        let nodes = items.iter().enumerate().map(|(index, item)| Node {
            value: item.get_ref(),
            key: self.key,
            place: Place { path: format!("{}[{index}]", self.place.path), at: item.span().start },
            notes: self.notes,
        });
        Some(nodes.collect())
    }

    pub(super) fn is_table(&self) -> bool {
        self.value.is_table()
    }

    /// Whatever it is; `None` without a note for a list, a table, a date, and a number that no computer counts with.
    pub(super) fn scalar(&self) -> Option<Scalar<'a>> {
        match self.value {
            DeValue::String(text) => Some(Scalar::Text(text)),
            DeValue::Boolean(flag) => Some(Scalar::Flag(*flag)),
            DeValue::Integer(integer) => {
                number(integer).and_then(|number| i64::try_from(number).ok()).map(Scalar::Whole)
            }
            DeValue::Float(float) => float.as_str().replace('_', "").parse().ok().map(Scalar::Fraction),
            DeValue::Datetime(_) | DeValue::Array(_) | DeValue::Table(_) => None,
        }
    }

    pub(super) fn text(&self, example: &str) -> Option<&'a str> {
        let text = self.as_text();
        text.or_else(|| self.wrong_type("text", format!("write text between quotes, such as {example:?}")))
    }

    pub(super) fn flag(&self) -> Option<bool> {
        self.value
            .as_bool()
            .or_else(|| self.wrong_type("true or false", "write true or false, without quotes"))
    }

    pub(super) fn whole<T>(&self, range: RangeInclusive<T>) -> Option<T>
    where
        T: TryFrom<i128> + PartialOrd + Display,
    {
        self.whole_or(range, "")
    }

    /// As `whole`; `or` tells what else may be written.
    pub(super) fn whole_or<T>(&self, range: RangeInclusive<T>, or: &str) -> Option<T>
    where
        T: TryFrom<i128> + PartialOrd + Display,
    {
        let remedy = format!("write a whole number from {} to {}{or}", range.start(), grouped(range.end()));
        let DeValue::Integer(integer) = self.value else {
            return self.wrong_type("a whole number", remedy);
        };
        let number = number(integer).and_then(|number| T::try_from(number).ok());
        let fits = number.filter(|number| range.contains(number));
        // The parser takes a number of any length; a message does not.
        let shown = Some(integer.to_string()).filter(|digits| digits.len() <= 24);
        let shown = shown.as_deref().unwrap_or("this number");
        fits.or_else(|| self.refuse(format!("{shown} is out of range"), remedy))
    }

    /// A number that may have a fraction, not below 0.
    pub(super) fn amount(&self, example: f64) -> Option<f64> {
        let remedy = format!("write a number from 0 to 1_000_000, such as {example}");
        let fits = |number: &f64| (0.0..=1e6).contains(number);
        let number = self.number(&remedy)?;
        Some(number).filter(fits).or_else(|| self.refuse("out of range", remedy))
    }

    /// A number that may have a fraction.
    pub(super) fn number(&self, remedy: &str) -> Option<f64> {
        let number = match self.value {
            DeValue::Integer(integer) => number(integer).map(|number| number as f64),
            DeValue::Float(float) => float.as_str().replace('_', "").parse().ok(),
            _ => return self.wrong_type("a number", remedy),
        };
        number.or_else(|| self.refuse("out of range", remedy))
    }

    /// A word of a closed list.
    pub(super) fn one_of<T: Copy>(&self, names: &[(&'static str, T)]) -> Option<T> {
        let words = || names.iter().map(|(name, _)| *name);
        let all = || format!("write {}", any_of(words().map(quote)));
        let Some(text) = self.as_text() else { return self.wrong_type("text", all()) };
        if let Some((_, value)) = names.iter().find(|(name, _)| *name == text) {
            return Some(*value);
        }
        let remedy = nearest(text, words()).map_or_else(all, |near| format!("write {near:?}"));
        self.refuse(format!("{} is not known here", quote(text)), remedy)
    }

    pub(super) fn table(&self, keys: &'static Keys) -> Option<Table<'a>> {
        let DeValue::Table(entries) = self.value else {
            return self.wrong_type("a table", format!("write {} with its keys below", keys.heading));
        };
        let table = Table { entries, keys, place: self.place.clone(), notes: self.notes };
        table.note_unknown_keys();
        Some(table)
    }

    /// A table whose keys the user chooses, in the order of the file.
    pub(super) fn entries(&self, example: &str) -> Option<Vec<Node<'a>>> {
        let DeValue::Table(entries) = self.value else {
            return self.wrong_type("a table", format!("write {} = {example}", self.key));
        };
        let mut nodes: Vec<_> =
            entries.iter().map(|(key, value)| child_at_key(self.notes, &self.place, key, value)).collect();
        nodes.sort_by_key(|node| node.place.at);
        Some(nodes)
    }

    /// The sections of a `[[list]]`; each that is no table is noted and left out as `None`.
    pub(super) fn tables(&self, keys: &'static Keys) -> Option<Vec<Option<Table<'a>>>> {
        let remedy = || format!("begin each one with {}", keys.heading);
        let DeValue::Array(items) = self.value else {
            return self.wrong_type("a list of tables", remedy());
        };
        if items.is_empty() {
            return self.refuse("an empty list", format!("put {} sections in its place", keys.heading));
        }
        let tables = items.iter().enumerate().map(|(index, item)| {
            let place = Place { path: format!("{}[{index}]", self.place.path), at: item.span().start };
            let node = Node { value: item.get_ref(), key: self.key, place, notes: self.notes };
            if node.is_table() { node.table(keys) } else { node.wrong_type("a table", remedy()) }
        });
        Some(tables.collect())
    }
}

fn child<'a>(notes: &'a Notes, parent: &Place, key: &'a str, value: &'a Spanned<DeValue<'a>>) -> Node<'a> {
    let place = Place { path: join(&parent.path, key), at: value.span().start };
    Node { value: value.get_ref(), key, place, notes }
}

/// Placed at its key, which is what is wrong as often as the value.
fn child_at_key<'a>(
    notes: &'a Notes,
    parent: &Place,
    key: &'a Spanned<DeString<'a>>,
    value: &'a Spanned<DeValue<'a>>,
) -> Node<'a> {
    let place = Place { path: join(&parent.path, key.get_ref()), at: key.span().start };
    Node { value: value.get_ref(), key: key.get_ref(), place, notes }
}

fn number(integer: &DeInteger<'_>) -> Option<i128> {
    i128::from_str_radix(integer.as_str(), integer.radix()).ok()
}

fn join(path: &str, key: &str) -> String {
    let key = shown_key(key);
    if path.is_empty() { key } else { format!("{path}.{key}") }
}

/// A key as TOML wants it: bare where it can be, quoted and bounded otherwise.
fn shown_key(key: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    let bare = (1..=64).contains(&key.len()) && key.bytes().all(plain);
    if bare { key.to_owned() } else { quote(key) }
}
