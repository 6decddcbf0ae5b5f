//! What must be known of an event before its shape is: formats that name the kind of each event use the same
//! name for different things in different events, and in those of the future.

use serde::Deserialize;
use serde::de::IgnoredAny;

/// `K` is the kind of event that a format knows. Nothing is copied.
#[derive(Debug, Deserialize)]
#[serde(bound(deserialize = "K: Deserialize<'de>"))]
pub(super) struct Envelope<K> {
    #[serde(default = "Option::default", rename = "type")]
    pub(super) kind: Option<K>,
    #[serde(default)]
    error: Option<IgnoredAny>,
    #[serde(default)]
    object: Option<Object>,
    #[serde(default)]
    message: Option<IgnoredAny>,
    #[serde(default)]
    detail: Option<IgnoredAny>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Object {
    Error,
    #[serde(other)]
    Other,
}

impl<K: PartialEq> Envelope<K> {
    /// Whether this is the format's own kind of error, or one that a gateway or the engine behind wrote in
    /// its way.
    pub(super) fn is_error(&self, own: &K) -> bool {
        let flat = self.kind.is_none() && (self.message.is_some() || self.detail.is_some());
        self.kind.as_ref() == Some(own) || self.error.is_some() || self.object == Some(Object::Error) || flat
    }
}
