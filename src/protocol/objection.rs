//! Which of the fields that were sent a refusal is about.

use serde_json::Value;

use super::{refusal, wishes};
use crate::domain::{Field, Fields};

/// Validators quote the whole request under this name; that a field stands there is no objection to it.
const QUOTED: &str = "input";

/// Those of the fields sent that the body of a refusal names.
pub(super) fn objections(body: &[u8], sent: Fields) -> Fields {
    let mut texts = Vec::new();
    match refusal::value_of(body) {
        Some(value) => collect(&value, &mut texts),
        None => texts.push(without_quotation(&String::from_utf8_lossy(body)).to_owned()),
    }
    let about = |field| texts.iter().any(|text| is_about(text, field));
    let mut found = sent.iter().filter(|&field| about(field)).fold(Fields::NONE, Fields::with);
    if found.has(Field::ContinuousUsage) {
        // It is named by its path, of which the other is a part.
        found = found.without(Fields::of(&[Field::StreamOptions]));
    }
    found
}

fn is_about(text: &str, field: Field) -> bool {
    let named = mentions(text, field.name());
    match field {
        Field::StreamOptions => named || mentions(text, "include_usage"),
        // A prompt that is too long is refused with a word about it, too, and another name would not help.
        Field::MaxTokens => named && mentions(text, "max_completion_tokens") && text.contains("support"),
        Field::Reasoning => wishes::NAMES.into_iter().any(|name| mentions(text, name)),
        Field::TemplateSwitch => named || mentions(text, "enable_thinking"),
        _ => named,
    }
}

/// Every text in a JSON value, keys too: some servers name the field there.
fn collect(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) => texts.push(without_quotation(text).to_owned()),
        Value::Array(list) => list.iter().for_each(|item| collect(item, texts)),
        Value::Object(entries) => {
            for (key, value) in entries.iter().filter(|(key, _)| *key != QUOTED) {
                texts.push(key.clone());
                collect(value, texts);
            }
        }
        _ => {}
    }
}

/// Engines that pack a validator's list into one message write it as Python does.
fn without_quotation(text: &str) -> &str {
    text.split("'input': {").next().unwrap_or(text)
}

/// Whether a text has this word, not only as a part of another.
fn mentions(text: &str, word: &str) -> bool {
    let part_of_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.match_indices(word).any(|(at, _)| {
        !text[..at].ends_with(part_of_word) && !text[at + word.len()..].starts_with(part_of_word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(body: &str) -> Vec<Field> {
        objections(body.as_bytes(), Fields::of(&Field::ALL)).iter().collect()
    }

    #[test]
    fn fields_are_found_in_every_shape_of_refusal() {
        use Field::{
            ContinuousUsage, IgnoreEos, MaxTokens, MinTokens, Reasoning, Store, StreamOptions, TemplateSwitch,
        };
        let cases: [(&str, &[Field]); 13] = [
            // OpenAI, of a reasoning model
            (
                r#"{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","type":"invalid_request_error","param":"max_tokens","code":"unsupported_parameter"}}"#,
                &[MaxTokens],
            ),
            (r#"{"detail":"Unexpected fields in the request: {'store'}"}"#, &[Store]),
            // transformers serve 5.22
            (
                r#"{"detail":"Unexpected fields in the request: {'ignore_eos', 'min_tokens'}"}"#,
                &[IgnoreEos, MinTokens],
            ),
            (
                r#"{"detail":[{"type":"extra_forbidden","loc":["body","ignore_eos"],"msg":"Extra inputs are not permitted","input":true}]}"#,
                &[IgnoreEos],
            ),
            (
                r#"{"detail":[{"loc":["body","stream_options","continuous_usage_stats"]}]}"#,
                &[ContinuousUsage],
            ),
            (
                r#"{"error":{"message":"Unknown parameter: 'stream_options.include_usage'."}}"#,
                &[StreamOptions],
            ),
            (r#"{"error":{"param":"stream_options","message":"not supported"}}"#, &[StreamOptions]),
            (r#"{"errors":{"min_tokens":["unknown field"]}}"#, &[MinTokens]),
            ("unknown field `stream_options`, expected one of `model`", &[StreamOptions]),
            (
                r#"{"error":{"message":"Unsupported value: 'reasoning_effort' does not support 'none' with this model."}}"#,
                &[Reasoning],
            ),
            (r#"{"error":"\"tiny\" does not support thinking"}"#, &[Reasoning]),
            (
                r#"{"error":{"message":"Budget 0 is invalid. This model only works in thinking mode."}}"#,
                &[Reasoning],
            ),
            (r#"{"detail":"Unexpected fields in the request: {'chat_template_kwargs'}"}"#, &[TemplateSwitch]),
        ];
        for (body, expected) in cases {
            assert_eq!(named(body), expected, "{body}");
        }
    }

    #[test]
    fn a_quoted_request_and_similar_words_are_no_objection() {
        for body in [
            r#"{"detail":[{"type":"missing","loc":["body","messages"],"input":{"stream_options":{},"min_tokens":3}}]}"#,
            r#"{"message":"[{'type': 'missing', 'loc': ('body', 'messages'), 'input': {'ignore_eos': True}}]"}"#,
            r#"{"error":{"message":"'max_tokens' or 'max_completion_tokens' is too large: 5000.","param":"max_tokens"}}"#,
            r#"{"message":"model xmin_tokens or ignore_eos_2 does not exist"}"#,
            "data: {\"detail\":[{\"loc\":[\"body\",\"messages\"],\"input\":{\"min_tokens\":3}}]}\n\n",
            "",
        ] {
            assert_eq!(named(body), [], "{body}");
        }
    }

    #[test]
    fn a_field_that_was_not_sent_is_none_of_our_business() {
        let body = br#"{"detail":"Unexpected fields: {'ignore_eos'}"}"#;
        assert!(objections(body, Fields::of(&[Field::StreamOptions])).is_empty());
    }
}
