//! Whether a field of a chunk holds anything, whatever its type.

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// Whether a JSON value holds anything: a non-empty string, list or object. Nothing is copied.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Something(pub(super) bool);

impl<'de> Deserialize<'de> for Something {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Look;
        impl<'de> Visitor<'de> for Look {
            type Value = Something;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("any value")
            }
            fn visit_str<E>(self, text: &str) -> Result<Something, E> {
                Ok(Something(!text.is_empty()))
            }
            fn visit_unit<E>(self) -> Result<Something, E> {
                Ok(Something(false))
            }
            fn visit_bool<E>(self, _: bool) -> Result<Something, E> {
                Ok(Something(false))
            }
            fn visit_u64<E>(self, _: u64) -> Result<Something, E> {
                Ok(Something(false))
            }
            fn visit_i64<E>(self, _: i64) -> Result<Something, E> {
                Ok(Something(false))
            }
            fn visit_f64<E>(self, _: f64) -> Result<Something, E> {
                Ok(Something(false))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Something, A::Error> {
                let mut any = false;
                while items.next_element::<IgnoredAny>()?.is_some() {
                    any = true;
                }
                Ok(Something(any))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Something, A::Error> {
                let mut any = false;
                while entries.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {
                    any = true;
                }
                Ok(Something(any))
            }
        }
        deserializer.deserialize_any(Look)
    }
}
