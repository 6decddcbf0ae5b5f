//! The many shapes of an error, the same in every format because people put gateways before everything.

use serde_json::Value;

use super::sse::{Decoder, Item, TooLong};

/// What the body of a refusal says, whichever shape it has.
pub(super) fn explain(body: &[u8]) -> String {
    match value_of(body) {
        Some(value) => message_of(&value),
        None => String::from_utf8_lossy(body).into_owned(),
    }
}

/// The JSON value that is the body of a refusal, or that the first event in it brings: a server that was asked
/// for a stream may frame even its refusal as one.
pub(super) fn value_of(body: &[u8]) -> Option<Value> {
    if let Ok(value) = serde_json::from_slice(body) {
        return Some(value);
    }
    let mut first = None;
    let mut note = |item: Item<'_>| {
        if let Item::Event(data) | Item::Error(data) = item {
            first.get_or_insert_with(|| serde_json::from_slice(data).ok());
        }
        Ok::<(), TooLong>(())
    };
    let mut decoder = Decoder::default();
    decoder.feed(body, &mut note).and_then(|()| decoder.finish(&mut note)).ok()?;
    first.flatten()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_that_is_framed_as_a_stream_is_taken_out_of_its_frame() {
        for body in [
            "data: {\"error\":\"not healthy\"}\n\n",
            "data:{\"error\":{\"message\":\"not healthy\"}}",
            ": ping\r\n\r\nevent: error\r\ndata: {\"detail\":\"not healthy\"}\r\n\r\n",
            "data: {\"message\":\"not healthy\"}\n\ndata: [DONE]\n\n",
        ] {
            assert_eq!(explain(body.as_bytes()), "not healthy", "{body}");
        }
    }

    #[test]
    fn what_is_no_json_is_quoted_as_it_is() {
        for body in ["", "busy", "<html>\n<title>502</title>", "data: busy", "data: {\"error\":\"cut o"] {
            assert_eq!(explain(body.as_bytes()), body);
        }
    }
}
