//! `tgi`: `/generate_stream` and `/generate` of Text Generation Inference; one event per token.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use url::Url;

use super::reason::Reason;
use super::words::Words;
use super::{Meaning, Nonsense, address, from_json, refusal, to_json};
use crate::domain::{Prompt, Target, Tokens};

#[derive(Debug, Serialize)]
struct Body<'a> {
    inputs: &'a str,
    parameters: Parameters,
}

#[derive(Debug, Serialize)]
struct Parameters {
    max_new_tokens: u32,
    return_full_text: bool,
    /// A stream tells its details unasked.
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<bool>,
}

#[derive(Debug, Deserialize)]
struct Event<'a> {
    #[serde(default, borrow)]
    token: Option<Token<'a>>,
    /// The whole text, which may well be empty; in the last event only.
    #[serde(default, borrow)]
    generated_text: Option<Words<'a>>,
    #[serde(default)]
    details: Option<Details>,
    #[serde(default)]
    error: Option<Value>,
}

#[derive(Debug, Deserialize)]
struct Token<'a> {
    /// A number; servers that decode several tokens at a time may list theirs.
    #[serde(default)]
    id: Value,
    #[serde(default, borrow)]
    text: Words<'a>,
    #[serde(default)]
    special: Option<bool>,
}

#[derive(Debug, Deserialize)]
struct Details {
    #[serde(default)]
    finish_reason: Reason,
    #[serde(default)]
    generated_tokens: Option<u64>,
    #[serde(default)]
    input_length: Option<u64>,
}

pub(super) fn url(target: &Target) -> Url {
    let stem = address::stem(&target.url, &["/generate_stream", "/generate", "/v1"]);
    let call = if target.stream { "generate_stream" } else { "generate" };
    address::at(&target.url, &format!("{stem}/{call}"))
}

pub(super) fn body(target: &Target, prompt: &Prompt) -> String {
    to_json(&Body {
        inputs: &prompt.text(),
        parameters: Parameters {
            max_new_tokens: prompt.max_tokens,
            return_full_text: false,
            details: (!target.stream).then_some(true),
        },
    })
}

pub(super) fn interpret(data: &[u8]) -> Result<Meaning<'_>, Nonsense> {
    let event: Event<'_> = from_json(data)?;
    let end = event.end();
    let token_ids = event.token.as_ref().map(Token::count);
    // The end of the text is a token too, but one that nobody reads.
    let token = event.token.filter(|token| token.special != Some(true));
    let words = token.map(|token| token.text).unwrap_or_default();
    Ok(Meaning { token_ids, ..end }.saying(words))
}

/// An answer that comes whole is an object, or a list of one.
pub(super) fn interpret_whole(body: &[u8]) -> Result<Meaning<'_>, Nonsense> {
    let event: Event<'_> = match body.trim_ascii_start().first() {
        Some(b'[') => {
            let [event] = from_json::<[Event<'_>; 1]>(body)?;
            event
        }
        _ => from_json(body)?,
    };
    let end = event.end();
    Ok(end.saying(event.generated_text.unwrap_or_default()))
}

impl Event<'_> {
    /// What is said about the answer as a whole; its text comes token by token before, and is not read again.
    fn end(&self) -> Meaning<'static> {
        let error = self.error.as_ref().filter(|error| !error.is_null());
        let reason = self.details.as_ref().map(|details| details.finish_reason).unwrap_or_default();
        Meaning {
            error: error.map(refusal::text_of),
            finished: reason.told || self.generated_text.is_some(),
            cut: reason.cut,
            usage: self.details.as_ref().and_then(Details::tokens),
            ..Meaning::default()
        }
    }
}

impl Token<'_> {
    fn count(&self) -> u32 {
        self.id.as_array().map_or(1, |ids| u32::try_from(ids.len()).unwrap_or(u32::MAX))
    }
}

impl Details {
    fn tokens(&self) -> Option<Tokens> {
        let tokens = Tokens { prompt: self.input_length, output: self.generated_tokens, ..Tokens::default() };
        (tokens != Tokens::default()).then_some(tokens)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meaning(json: &str) -> Meaning<'static> {
        interpret(json.as_bytes()).unwrap().into_owned()
    }

    #[test]
    fn every_token_counts_and_those_with_text_are_deltas() {
        let event = |token: &str| {
            let meaning =
                meaning(&format!(r#"{{"index":1,"token":{token},"generated_text":null,"details":null}}"#));
            (meaning.token_ids, meaning.channels.len(), meaning.finished)
        };
        assert_eq!(event(r#"{"id":7,"text":" a","logprob":-0.1,"special":false}"#), (Some(1), 1, false));
        assert_eq!(event(r#"{"id":2,"text":"</s>","logprob":-0.1,"special":true}"#), (Some(1), 0, false));
        assert_eq!(event(r#"{"id":7,"text":"","special":false}"#), (Some(1), 0, false));
        assert_eq!(event(r#"{"id":[7,8],"text":" a b","special":null}"#), (Some(2), 1, false));
        assert_eq!(event(r#"{"text":"a"}"#), (Some(1), 1, false));
    }

    #[test]
    fn the_last_event_finishes_even_with_an_empty_text() {
        for end in [
            r#"{"token":{"id":2,"text":"</s>","special":true},"generated_text":"","details":null}"#,
            r#"{"token":{"id":2,"text":"</s>","special":true},"details":{"finish_reason":"eos_token"}}"#,
        ] {
            let meaning = meaning(end);
            assert!(meaning.finished && !meaning.ended && meaning.channels.is_empty(), "{end}");
            assert_eq!(meaning.usage, None);
        }
    }

    #[test]
    fn the_text_is_read_token_by_token_and_not_again_at_the_end() {
        let text = |json: &str| meaning(json).text;
        assert_eq!(text(r#"{"token":{"id":7,"text":" a","special":false}}"#), " a");
        assert_eq!(text(r#"{"token":{"id":2,"text":"</s>","special":true}}"#), "");
        assert_eq!(text(r#"{"token":{"id":7,"text":"b","special":false},"generated_text":" ab"}"#), "b");
        assert_eq!(interpret_whole(br#"{"generated_text":" ab"}"#).unwrap().text, " ab");
    }

    #[test]
    fn only_the_limit_on_length_cuts() {
        for (reason, cut) in [("length", true), ("eos_token", false), ("stop_sequence", false)] {
            let end = format!(r#"{{"generated_text":"a","details":{{"finish_reason":"{reason}"}}}}"#);
            assert_eq!(meaning(&end).cut, cut, "{reason}");
            assert_eq!(interpret_whole(end.as_bytes()).unwrap().cut, cut, "{reason}");
        }
    }

    #[test]
    fn details_tell_the_counts() {
        let meaning = meaning(
            r#"{"index":9,"token":{"id":5,"text":".","special":false},"generated_text":"a b.",
                "details":{"finish_reason":"length","generated_tokens":9,"seed":null,"input_length":4}}"#,
        );
        let usage = Tokens { prompt: Some(4), output: Some(9), ..Tokens::default() };
        assert_eq!((meaning.usage, meaning.finished, meaning.channels.len()), (Some(usage), true, 1));
    }

    #[test]
    fn an_error_and_its_type_are_an_error() {
        let error = meaning(r#"{"error":"Model is overloaded","error_type":"overloaded"}"#);
        assert_eq!(error.error.as_deref(), Some("Model is overloaded"));
        assert!(!error.finished);
        assert!(interpret(b"<html>").is_err());
    }

    #[test]
    fn a_whole_answer_may_be_in_a_list() {
        let answer = r#"{"generated_text":"a","details":{"finish_reason":"length","generated_tokens":3,
            "prefill":[],"tokens":[{"id":7,"text":"a","special":false}]}}"#;
        for body in [answer.to_owned(), format!("[{answer}]")] {
            let whole = interpret_whole(body.as_bytes()).unwrap();
            assert_eq!((whole.channels.len(), whole.usage.unwrap().output), (1, Some(3)), "{body}");
        }
        assert!(interpret_whole(br#"{"generated_text":""}"#).unwrap().channels.is_empty());
        assert!(interpret_whole(br#"{"error":"x"}"#).unwrap().error.is_some());
        assert!(interpret_whole(b"[]").is_err());
    }
}
