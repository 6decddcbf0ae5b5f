//! Fields that hold one type on one server and another on the next: they are looked at, and never refused.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// What is made of a JSON value of any type; of a type that is not mentioned, nothing.
pub(super) trait Look<'de>: Default {
    fn text(_: &str) -> Self {
        Self::default()
    }

    /// A text that can be borrowed, because it stands in the input as it is.
    fn borrowed(text: &'de str) -> Self {
        Self::text(text)
    }

    fn number(_: u64) -> Self {
        Self::default()
    }

    fn list<A: SeqAccess<'de>>(items: A) -> Result<Self, A::Error> {
        pass_over(items).map(|_| Self::default())
    }

    fn object<A: MapAccess<'de>>(mut entries: A) -> Result<Self, A::Error> {
        while entries.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Self::default())
    }
}

/// Reads a list to its end; says whether there was anything in it.
pub(super) fn pass_over<'de, A: SeqAccess<'de>>(mut items: A) -> Result<bool, A::Error> {
    let mut any = false;
    while items.next_element::<IgnoredAny>()?.is_some() {
        any = true;
    }
    Ok(any)
}

pub(super) fn look<'de, D: Deserializer<'de>, T: Look<'de>>(deserializer: D) -> Result<T, D::Error> {
    deserializer.deserialize_any(Looking(PhantomData))
}

struct Looking<T>(PhantomData<T>);

impl<'de, T: Look<'de>> Visitor<'de> for Looking<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }
    fn visit_str<E>(self, text: &str) -> Result<T, E> {
        Ok(T::text(text))
    }
    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<T, E> {
        Ok(T::borrowed(text))
    }
    fn visit_u64<E>(self, number: u64) -> Result<T, E> {
        Ok(T::number(number))
    }
    fn visit_unit<E>(self) -> Result<T, E> {
        Ok(T::default())
    }
    fn visit_bool<E>(self, _: bool) -> Result<T, E> {
        Ok(T::default())
    }
    fn visit_i64<E>(self, _: i64) -> Result<T, E> {
        Ok(T::default())
    }
    fn visit_f64<E>(self, _: f64) -> Result<T, E> {
        Ok(T::default())
    }
    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<T, A::Error> {
        T::list(items)
    }
    fn visit_map<A: MapAccess<'de>>(self, entries: A) -> Result<T, A::Error> {
        T::object(entries)
    }
}

/// Whether a value holds anything: a non-empty string, list or object. Nothing is copied.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Something(pub(super) bool);

impl<'de> Look<'de> for Something {
    fn text(text: &str) -> Self {
        Self(!text.is_empty())
    }

    fn list<A: SeqAccess<'de>>(items: A) -> Result<Self, A::Error> {
        pass_over(items).map(Self)
    }

    fn object<A: MapAccess<'de>>(mut entries: A) -> Result<Self, A::Error> {
        let mut any = false;
        while entries.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {
            any = true;
        }
        Ok(Self(any))
    }
}

impl<'de> Deserialize<'de> for Something {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        look(deserializer)
    }
}

/// A text, or nothing where there is anything else.
#[derive(Debug, Clone, Default)]
pub(super) struct Label<'a>(pub(super) Option<Cow<'a, str>>);

impl<'de: 'a, 'a> Look<'de> for Label<'a> {
    fn text(text: &str) -> Self {
        Self(Some(Cow::Owned(text.to_owned())))
    }

    fn borrowed(text: &'de str) -> Self {
        Self(Some(Cow::Borrowed(text)))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Label<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        look(deserializer)
    }
}

/// What a server calls an object; only whether that is an error is of interest.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Object {
    pub(super) is_error: bool,
}

impl Look<'_> for Object {
    fn text(text: &str) -> Self {
        Self { is_error: text == "error" }
    }
}

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        look(deserializer)
    }
}

/// A whole number that is not negative, or nothing where there is anything else.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Number(pub(super) Option<u64>);

impl Look<'_> for Number {
    fn number(number: u64) -> Self {
        Self(Some(number))
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        look(deserializer)
    }
}

/// Which of several answers to one prompt a piece belongs to.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(transparent)]
pub(super) struct Index(Number);

impl Index {
    /// `place` is where the piece stands in its list, which counts where no index is told.
    pub(super) fn is_first(self, place: usize) -> bool {
        self.0.0.map_or(place == 0, |index| index == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn something_is_a_text_a_list_or_an_object_that_is_not_empty() {
        let holds = |json: &str| serde_json::from_str::<Something>(json).unwrap().0;
        for something in [r#""a""#, "[0]", r#"{"a":null}"#] {
            assert!(holds(something), "{something}");
        }
        for nothing in ["null", "true", "7", "-7", "0.5", r#""""#, "[]", "{}"] {
            assert!(!holds(nothing), "{nothing}");
        }
    }

    #[test]
    fn the_first_answer_is_known_by_its_index_or_its_place() {
        let first = |json: &str, place| serde_json::from_str::<Index>(json).unwrap().is_first(place);
        assert!(first("0", 0) && first("0", 1) && first("null", 0) && first(r#""x""#, 0));
        assert!(!first("1", 0) && !first("null", 1) && !first("[]", 1) && !first("{}", 2));
    }
}
