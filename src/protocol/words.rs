//! What the model says in one event, channel by channel.

use std::borrow::Cow;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess};

use super::Meaning;
use super::look::{Look, look};
use crate::domain::{Channel, Channels};

/// The text of a field: a string, a part with a `text`, or a list of such.
#[derive(Debug, Clone, Default)]
pub(super) struct Words<'a> {
    /// Something is there, even if it is no text.
    pub(super) any: bool,
    pub(super) text: Cow<'a, str>,
}

/// The words of one event; what is not text only shows as a channel.
#[derive(Debug, Default)]
pub(super) struct Said<'a> {
    channels: Channels,
    text: Cow<'a, str>,
    thought: Cow<'a, str>,
}

/// An item of a list of parts. Its types go no deeper than real ones do: what is nested deeper is passed over,
/// and not followed to where the parser gives up.
#[derive(Debug, Default)]
struct Part<'a>(Words<'a>);

#[derive(Debug, Default)]
struct Plain<'a>(Cow<'a, str>);

/// The names of a part's fields.
#[derive(Debug, Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
enum Name {
    Text,
    #[serde(other)]
    Other,
}

impl Words<'_> {
    /// The text itself where there is one, otherwise the other's: servers that moved a field to a new name
    /// fill both.
    pub(super) fn or(self, other: Self) -> Self {
        if self.any { self } else { other }
    }

    pub(super) fn append(&mut self, more: Self) {
        self.any |= more.any;
        join(&mut self.text, more.text);
    }
}

impl<'de: 'a, 'a> Look<'de> for Words<'a> {
    fn text(text: &str) -> Self {
        Self { any: !text.is_empty(), text: Cow::Owned(text.to_owned()) }
    }

    fn borrowed(text: &'de str) -> Self {
        Self { any: !text.is_empty(), text: Cow::Borrowed(text) }
    }

    fn list<A: SeqAccess<'de>>(mut items: A) -> Result<Self, A::Error> {
        let mut words = Self::default();
        while let Some(Part(part)) = items.next_element()? {
            words.any = true;
            join(&mut words.text, part.text);
        }
        Ok(words)
    }

    fn object<A: MapAccess<'de>>(entries: A) -> Result<Self, A::Error> {
        Part::object(entries).map(|Part(words)| words)
    }
}

impl<'de: 'a, 'a> Look<'de> for Part<'a> {
    fn text(text: &str) -> Self {
        Self(Words::text(text))
    }

    fn borrowed(text: &'de str) -> Self {
        Self(Words::borrowed(text))
    }

    fn object<A: MapAccess<'de>>(mut entries: A) -> Result<Self, A::Error> {
        let mut words = Words::default();
        while let Some(name) = entries.next_key()? {
            words.any = true;
            match name {
                Name::Text => join(&mut words.text, entries.next_value::<Plain>()?.0),
                Name::Other => {
                    entries.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(Self(words))
    }
}

impl<'de: 'a, 'a> Look<'de> for Plain<'a> {
    fn text(text: &str) -> Self {
        Self(Cow::Owned(text.to_owned()))
    }

    fn borrowed(text: &'de str) -> Self {
        Self(Cow::Borrowed(text))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Words<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        look(deserializer)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Part<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        look(deserializer)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Plain<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        look(deserializer)
    }
}

impl<'a> Said<'a> {
    pub(super) fn add(&mut self, channel: Channel, words: Words<'a>) {
        if !words.any {
            return;
        }
        self.mark(channel);
        match channel {
            Channel::Answer => join(&mut self.text, words.text),
            Channel::Reasoning => join(&mut self.thought, words.text),
            Channel::ToolCall => {}
        }
    }

    /// Something that is no text came on a channel.
    pub(super) fn mark(&mut self, channel: Channel) {
        self.channels.insert(channel);
    }

    pub(super) fn append(&mut self, more: Self) {
        join(&mut self.text, more.text);
        join(&mut self.thought, more.thought);
        self.channels.extend(more.channels);
    }

    /// Only that something was said.
    #[must_use]
    pub(super) fn muted(self) -> Self {
        Self { channels: self.channels, ..Self::default() }
    }
}

impl<'a> From<Said<'a>> for Meaning<'a> {
    fn from(said: Said<'a>) -> Self {
        Self::default().saying(said)
    }
}

impl<'a> From<Words<'a>> for Said<'a> {
    /// In formats that have no other channel.
    fn from(words: Words<'a>) -> Self {
        let mut said = Self::default();
        said.add(Channel::Answer, words);
        said
    }
}

impl<'a> Meaning<'a> {
    /// The words of an event beside what else it means.
    #[must_use]
    pub(super) fn saying(self, said: impl Into<Said<'a>>) -> Self {
        let Said { channels, text, thought } = said.into();
        Self { channels, text, thought, ..self }
    }
}

/// Appends a text to another; the first one is taken as it is.
pub(super) fn join<'a>(text: &mut Cow<'a, str>, more: Cow<'a, str>) {
    if text.is_empty() {
        *text = more;
    } else if !more.is_empty() {
        text.to_mut().push_str(&more);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(json: &str) -> (bool, String) {
        let Words { any, text } = serde_json::from_str(json).unwrap();
        (any, text.into_owned())
    }

    #[test]
    fn a_text_is_a_string_a_part_or_a_list_of_parts() {
        for (json, text) in [
            (r#""a\n\u00e9""#, "a\né"),
            (r#"{"type":"text","text":"a"}"#, "a"),
            (r#"[{"type":"text","text":"a"},{"text":"b","type":"text"}]"#, "ab"),
            (r#"["a","b"]"#, "ab"),
            (r#"[{"type":"image","url":"x"},{"type":"text","text":"a"}]"#, "a"),
            (r#"[{"type":"text","text":null}]"#, ""),
            (r#"[{"type":"thinking","thinking":"a"}]"#, ""),
            (r#"[["a"]]"#, ""),
        ] {
            assert_eq!(words(json), (true, text.to_owned()), "{json}");
        }
    }

    #[test]
    fn what_is_nested_deeply_is_something_but_no_text() {
        for (open, close) in [("[", "]"), (r#"{"text":"#, "}")] {
            let json = format!("{}1{}", open.repeat(1000), close.repeat(1000));
            assert_eq!(words(&json), (true, String::new()), "{open}");
        }
    }

    #[test]
    fn what_holds_nothing_allocates_nothing() {
        for json in ["null", r#""""#, "[]", "{}", "3", "true"] {
            let words: Words = serde_json::from_str(json).unwrap();
            assert!(!words.any && words.text.into_owned().capacity() == 0, "{json}");
        }
    }

    #[test]
    fn a_text_without_escapes_is_borrowed() {
        for json in [r#""grüße""#, r#"{"type":"text","text":"grüße"}"#, r#"["grüße"]"#] {
            let words: Words = serde_json::from_str(json).unwrap();
            assert!(matches!(words.text, Cow::Borrowed("grüße")), "{json}");
        }
    }

    #[test]
    fn a_name_that_was_changed_is_not_read_twice() {
        let of = |text: &str| Words::text(text);
        assert_eq!(of("a").or(of("a")).text, "a");
        assert_eq!(of("").or(of("b")).text, "b");
    }

    #[test]
    fn channels_are_kept_apart_and_told_once() {
        let mut said = Said::default();
        for (channel, text) in
            [(Channel::Reasoning, "a"), (Channel::Answer, "b"), (Channel::Answer, ""), (Channel::Answer, "c")]
        {
            said.add(channel, Words::text(text));
        }
        said.mark(Channel::ToolCall);
        let meaning = Meaning::from(said);
        assert_eq!(meaning.channels, [Channel::Reasoning, Channel::Answer, Channel::ToolCall]);
        assert_eq!((&*meaning.text, &*meaning.thought), ("bc", "a"));
    }
}
