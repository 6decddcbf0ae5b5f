//! What the model says in one event, channel by channel.

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess};

use super::Meaning;
use super::look::{Look, look};
use crate::domain::Channel;

/// The text of a field: a string, a part with a `text`, or a list of such.
#[derive(Debug, Clone, Default)]
pub(super) struct Words {
    /// Something is there, even if it is no text.
    pub(super) any: bool,
    pub(super) text: String,
}

/// The words of one event; what is not text only shows as a channel.
#[derive(Debug, Default)]
pub(super) struct Said {
    channels: Vec<Channel>,
    text: String,
    thought: String,
}

/// An item of a list of parts. Its types go no deeper than real ones do: what is nested deeper is passed over,
/// and not followed to where the parser gives up.
#[derive(Debug, Default)]
struct Part(Words);

#[derive(Debug, Default)]
struct Plain(String);

/// The names of a part's fields.
#[derive(Debug, Deserialize)]
#[serde(field_identifier, rename_all = "snake_case")]
enum Name {
    Text,
    #[serde(other)]
    Other,
}

impl Words {
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

impl Look for Words {
    fn text(text: &str) -> Self {
        Self { any: !text.is_empty(), text: text.to_owned() }
    }

    fn list<'de, A: SeqAccess<'de>>(mut items: A) -> Result<Self, A::Error> {
        let mut words = Self::default();
        while let Some(Part(part)) = items.next_element()? {
            words.any = true;
            join(&mut words.text, part.text);
        }
        Ok(words)
    }

    fn object<'de, A: MapAccess<'de>>(entries: A) -> Result<Self, A::Error> {
        Part::object(entries).map(|Part(words)| words)
    }
}

impl Look for Part {
    fn text(text: &str) -> Self {
        Self(Words::text(text))
    }

    fn object<'de, A: MapAccess<'de>>(mut entries: A) -> Result<Self, A::Error> {
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

impl Look for Plain {
    fn text(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl<'de> Deserialize<'de> for Words {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        look(deserializer)
    }
}

impl<'de> Deserialize<'de> for Part {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        look(deserializer)
    }
}

impl<'de> Deserialize<'de> for Plain {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        look(deserializer)
    }
}

impl Said {
    pub(super) fn add(&mut self, channel: Channel, words: Words) {
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
        if !self.channels.contains(&channel) {
            self.channels.push(channel);
        }
    }

    pub(super) fn append(&mut self, more: Self) {
        join(&mut self.text, more.text);
        join(&mut self.thought, more.thought);
        for channel in more.channels {
            self.mark(channel);
        }
    }

    /// Only that something was said.
    #[must_use]
    pub(super) fn muted(self) -> Self {
        Self { channels: self.channels, ..Self::default() }
    }
}

impl From<Said> for Meaning {
    fn from(said: Said) -> Self {
        Self::default().saying(said)
    }
}

impl From<Words> for Said {
    /// In formats that have no other channel.
    fn from(words: Words) -> Self {
        let mut said = Self::default();
        said.add(Channel::Answer, words);
        said
    }
}

impl Meaning {
    /// The words of an event beside what else it means.
    #[must_use]
    pub(super) fn saying(self, said: impl Into<Said>) -> Self {
        let Said { channels, text, thought } = said.into();
        Self { channels, text, thought, ..self }
    }
}

/// Appends a text to another; the first one is taken as it is.
pub(super) fn join(text: &mut String, more: String) {
    if text.is_empty() {
        *text = more;
    } else {
        text.push_str(&more);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(json: &str) -> (bool, String) {
        let Words { any, text } = serde_json::from_str(json).unwrap();
        (any, text)
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
            assert!(!words.any && words.text.capacity() == 0, "{json}");
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
