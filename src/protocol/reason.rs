//! Why the model stopped.

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess};

use super::look::{Look, Something, look};

/// What formats and servers call it when a limit on the length ended the answer: the one that was asked for,
/// or the most that the model can hold.
const LENGTH: [&str; 5] =
    ["length", "max_tokens", "max_output_tokens", "model_length", "model_context_window_exceeded"];

/// A finish reason; nothing of it is copied.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Reason {
    /// There is one.
    pub(super) told: bool,
    /// It is the limit on the length.
    pub(super) cut: bool,
}

pub(super) fn is_length(reason: &str) -> bool {
    LENGTH.iter().any(|name| name.eq_ignore_ascii_case(reason))
}

impl<'de> Look<'de> for Reason {
    fn text(text: &str) -> Self {
        Self { told: !text.is_empty(), cut: is_length(text) }
    }

    fn list<A: SeqAccess<'de>>(items: A) -> Result<Self, A::Error> {
        Something::list(items).map(|Something(told)| Self { told, cut: false })
    }

    fn object<A: MapAccess<'de>>(entries: A) -> Result<Self, A::Error> {
        Something::object(entries).map(|Something(told)| Self { told, cut: false })
    }
}

impl<'de> Deserialize<'de> for Reason {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        look(deserializer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasons_are_told_from_their_absence_and_length_from_the_rest() {
        let reason = |json: &str| {
            let Reason { told, cut } = serde_json::from_str(json).unwrap();
            (told, cut)
        };
        for cut in [r#""length""#, r#""MAX_TOKENS""#, r#""max_tokens""#] {
            assert_eq!(reason(cut), (true, true), "{cut}");
        }
        for other in [r#""stop""#, r#""eos_token""#, r#""lengthy""#, r#"["stop"]"#, r#"{"a":1}"#] {
            assert_eq!(reason(other), (true, false), "{other}");
        }
        for none in ["null", r#""""#, "[]", "{}", "3", "false"] {
            assert_eq!(reason(none), (false, false), "{none}");
        }
    }
}
