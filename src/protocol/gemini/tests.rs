//! What each chunk of Gemini's format must mean.

use super::*;
use crate::domain::Channels;

fn meaning(json: &str) -> Meaning<'static> {
    interpret(json.as_bytes()).unwrap().into_owned()
}

fn part(json: &str) -> Channels {
    meaning(&format!(r#"{{"candidates":[{{"content":{{"role":"model","parts":[{json}]}}}}]}}"#)).channels
}

#[test]
fn the_model_is_found_behind_every_kind_of_base() {
    let cases = [
        ("", "m", "/v1beta/models/m"),
        ("/v1beta", "m", "/v1beta/models/m"),
        ("/v1", "models/m", "/v1/models/m"),
        ("/gateway", "tunedModels/m", "/gateway/v1beta/tunedModels/m"),
        ("/v1/projects/p/publishers/google", "m", "/v1/projects/p/publishers/google/models/m"),
        ("/v1beta/models/m", "m", "/v1beta/models/m"),
    ];
    for (stem, model, expected) in cases {
        assert_eq!(place(stem, model), expected, "{stem} {model}");
    }
}

#[test]
fn text_thoughts_and_function_calls_are_told_apart() {
    assert_eq!(part(r#"{"text":"a"}"#), [Channel::Answer]);
    assert_eq!(part(r#"{"text":"a","thought":true}"#), [Channel::Reasoning]);
    assert_eq!(part(r#"{"functionCall":{"name":"f","args":{}}}"#), [Channel::ToolCall]);
    assert_eq!(part(r#"{"text":"a","thought":true},{"text":"b"}"#), [Channel::Reasoning, Channel::Answer]);
    assert_eq!(part(r#"{"text":"a"},{"text":"b"}"#), [Channel::Answer]);
}

#[test]
fn of_several_candidates_the_first_is_read_and_all_count() {
    let first = r#"{"index":0,"content":{"parts":[{"text":"hm","thought":true},{"text":"a"},{"text":"b"}]}}"#;
    let second = r#"{"index":1,"content":{"parts":[{"text":"c"}]},"finishReason":"MAX_TOKENS"}"#;
    for candidates in [format!("{first},{second}"), format!("{second},{first}")] {
        let both = meaning(&format!(r#"{{"candidates":[{candidates}]}}"#));
        assert_eq!((&*both.text, &*both.thought, both.cut), ("ab", "hm", false));
        assert!(both.finished);
    }
}

#[test]
fn only_the_limit_on_length_cuts() {
    let cut = |reason: &str| meaning(&format!(r#"{{"candidates":[{{"finishReason":"{reason}"}}]}}"#)).cut;
    assert!(cut("MAX_TOKENS"));
    assert!(!cut("STOP") && !cut("SAFETY") && !cut(""));
}

#[test]
fn empty_parts_and_signatures_carry_nothing() {
    for nothing in ["", r#"{"text":""}"#, r#"{"text":"","thoughtSignature":"x"}"#, "{}"] {
        assert_eq!(part(nothing), [], "{nothing}");
    }
    assert_eq!(meaning(r#"{"candidates":[{"content":{"role":"model"},"index":0}]}"#), Meaning::default());
    assert_eq!(meaning("{}"), Meaning::default());
}

#[test]
fn the_last_text_chunk_may_also_finish() {
    let meaning = meaning(
        r#"{"candidates":[{"content":{"parts":[{"text":"."}]},"finishReason":"STOP"}],
            "usageMetadata":{"promptTokenCount":8,"cachedContentTokenCount":4,"candidatesTokenCount":5,
            "thoughtsTokenCount":3,"totalTokenCount":16},"modelVersion":"gemini-x-001"}"#,
    );
    let usage =
        Tokens { prompt: Some(8), cached: Some(4), reasoning: Some(3), output: Some(8), ..Tokens::default() };
    assert_eq!((meaning.channels, meaning.finished), (Channels::from([Channel::Answer]), true));
    assert_eq!((meaning.usage, meaning.fingerprint.as_deref()), (Some(usage), Some("gemini-x-001")));
}

#[test]
fn output_is_absent_until_something_is_counted() {
    let output = |usage: &str| meaning(&format!(r#"{{"usageMetadata":{usage}}}"#)).usage.unwrap().output;
    assert_eq!(output(r#"{"promptTokenCount":8}"#), None);
    assert_eq!(output(r#"{"thoughtsTokenCount":3}"#), Some(3));
    assert_eq!(output(r#"{"candidatesTokenCount":5}"#), Some(5));
    let most = u64::MAX;
    assert_eq!(output(&format!(r#"{{"candidatesTokenCount":{most},"thoughtsTokenCount":9}}"#)), Some(most));
}

#[test]
fn a_blocked_prompt_finishes_without_text() {
    let blocked = meaning(r#"{"promptFeedback":{"blockReason":"SAFETY"}}"#);
    assert!(blocked.finished && blocked.channels.is_empty());
    assert!(!meaning(r#"{"promptFeedback":{"safetyRatings":[]}}"#).finished);
}

#[test]
fn errors_come_plain_or_in_a_list() {
    let error = r#"{"error":{"code":503,"message":"overloaded","status":"UNAVAILABLE"}}"#;
    assert_eq!(meaning(error).error.as_deref(), Some("overloaded"));
    assert_eq!(meaning(&format!("[{error}]")).error.as_deref(), Some("overloaded"));
    assert!(interpret(b"<html>").is_err());
    assert!(interpret(b"[DONE]").is_err());
}

#[test]
fn a_list_of_chunks_is_one_answer() {
    let whole = interpret_whole(
        br#"[{"candidates":[{"content":{"parts":[{"text":"a"}]}}],"modelVersion":"x"},
             {"candidates":[{"content":{"parts":[{"text":"b"}]}}]},
             {"candidates":[{"finishReason":"STOP"}],"usageMetadata":{"candidatesTokenCount":2}}]"#,
    )
    .unwrap();
    assert_eq!((whole.channels, whole.finished), (Channels::from([Channel::Answer]), true));
    assert_eq!(whole.text, "ab");
    assert_eq!((whole.usage.unwrap().output, whole.fingerprint.as_deref()), (Some(2), Some("x")));
}
