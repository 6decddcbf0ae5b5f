//! The many shapes of an error, the same in every format because people put gateways before everything.

use serde_json::Value;

/// What the body of a refusal says, whichever shape it has.
pub(super) fn explain(body: &[u8]) -> String {
    match serde_json::from_slice::<Value>(body) {
        Ok(value) => message_of(&value),
        Err(_) => String::from_utf8_lossy(body).into_owned(),
    }
}

/// The text of an error value: an object with a message, a text, or anything else as it is.
pub(super) fn text_of(error: &Value) -> String {
    error.as_str().map_or_else(|| message_of(error), str::to_owned)
}

/// The text in `{"error":{"message":…}}`, `{"error":"…"}`, `{"message":…}` or `{"detail":…}`; gateways put
/// such an object into a list.
fn message_of(value: &Value) -> String {
    let value = value.as_array().and_then(|list| list.first()).unwrap_or(value);
    for key in ["error", "message", "detail"] {
        match value.get(key) {
            Some(Value::String(text)) => return text.clone(),
            Some(inner @ Value::Object(_)) => return message_of(inner),
            Some(Value::Null) | None => {}
            Some(other) => return other.to_string(),
        }
    }
    value.to_string()
}
