//! What must be known of an event before its shape is: formats that name the kind of each event use the same
//! name for different things in different events, and in those of the future.

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::look::Object;

/// `K` is the kind of event that a format knows, `D` what is read of `delta`: most events of a stream have one and
/// nothing else of interest, and need not be read again.
#[derive(Debug, Deserialize)]
#[serde(bound(deserialize = "K: Deserialize<'de>, D: Deserialize<'de>"))]
pub(super) struct Envelope<K, D> {
    #[serde(default = "Option::default", rename = "type")]
    pub(super) kind: Option<K>,
    #[serde(default = "Option::default")]
    pub(super) delta: Option<D>,
    #[serde(default)]
    error: Option<IgnoredAny>,
    #[serde(default)]
    object: Object,
    #[serde(default)]
    message: Option<IgnoredAny>,
    #[serde(default)]
    detail: Option<IgnoredAny>,
}

impl<K: PartialEq, D> Envelope<K, D> {
    /// Whether this is the format's own kind of error, or one that a gateway or the engine behind wrote in
    /// its way.
    pub(super) fn is_error(&self, own: &K) -> bool {
        let flat = self.kind.is_none() && (self.message.is_some() || self.detail.is_some());
        self.kind.as_ref() == Some(own) || self.error.is_some() || self.object.is_error || flat
    }
}
