//! What each chunk of the OpenAI-like formats must mean.

use super::*;
use crate::domain::{Channel, Channels};

fn meaning(json: &str) -> Meaning<'static> {
    interpret(json.as_bytes()).unwrap().into_owned()
}

#[test]
fn addresses_work_with_and_without_a_version() {
    let cases = [
        ("http://h:1", "http://h:1/v1/chat/completions"),
        ("http://h:1/", "http://h:1/v1/chat/completions"),
        ("http://h:1/v1", "http://h:1/v1/chat/completions"),
        ("http://h:1/v1/", "http://h:1/v1/chat/completions"),
        ("http://h:1/api/v3", "http://h:1/api/v3/chat/completions"),
        ("http://h:1/gateway", "http://h:1/gateway/v1/chat/completions"),
        (
            "http://h:1/v1beta/openai/v1/chat/completions?x=1",
            "http://h:1/v1beta/openai/v1/chat/completions?x=1",
        ),
        ("http://h:1/v1?api-version=2", "http://h:1/v1/chat/completions?api-version=2"),
        (
            "https://x.example.com/openai/deployments/d?api-version=2024-10-21",
            "https://x.example.com/openai/deployments/d/chat/completions?api-version=2024-10-21",
        ),
    ];
    for (base, expected) in cases {
        assert_eq!(join(&Url::parse(base).unwrap(), "chat/completions").as_str(), expected);
    }
}

#[test]
fn role_only_empty_and_null_deltas_carry_nothing() {
    for delta in [
        r#"{"role":"assistant"}"#,
        r#"{"role":"assistant","content":""}"#,
        r#"{"content":null,"reasoning_content":null,"tool_calls":[]}"#,
        "{}",
        "null",
    ] {
        let chunk = format!(r#"{{"choices":[{{"index":0,"delta":{delta},"finish_reason":null}}]}}"#);
        assert_eq!(meaning(&chunk), Meaning::default(), "{delta}");
    }
    assert_eq!(meaning(r#"{"choices":[{"index":0}]}"#), Meaning::default());
}

#[test]
fn text_reasoning_and_tool_calls_are_told_apart() {
    let channels = |delta: &str| meaning(&format!(r#"{{"choices":[{{"delta":{delta}}}]}}"#)).channels;
    assert_eq!(channels(r#"{"content":"a"}"#), [Channel::Answer]);
    assert_eq!(channels(r#"{"content":[{"type":"text","text":"a"}]}"#), [Channel::Answer]);
    assert_eq!(channels(r#"{"reasoning":"a"}"#), [Channel::Reasoning]);
    assert_eq!(channels(r#"{"reasoning_content":"a"}"#), [Channel::Reasoning]);
    assert_eq!(channels(r#"{"tool_calls":[{"index":0}]}"#), [Channel::ToolCall]);
}

/// The text and the thought of a streamed choice, and of the same choice in an answer that came whole.
fn said(spoken: &str) -> (String, String) {
    let part = |name: &str| format!(r#"{{"choices":[{{"index":0,"{name}":{spoken}}}]}}"#);
    let streamed = meaning(&part("delta"));
    let whole = interpret_whole(part("message").as_bytes()).unwrap().into_owned();
    assert_eq!(streamed, whole, "{spoken}");
    (streamed.text.into_owned(), streamed.thought.into_owned())
}

#[test]
fn what_is_said_is_read_from_whichever_field_holds_it() {
    for (spoken, text, thought) in [
        (r#"{"content":"a \n\ud83d\ude42"}"#, "a \n🙂", ""),
        (r#"{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}"#, "ab", ""),
        (r#"{"content":null,"refusal":"no"}"#, "no", ""),
        (r#"{"content":"","reasoning":"hm"}"#, "", "hm"),
        (r#"{"content":null,"reasoning_content":"hm"}"#, "", "hm"),
        (r#"{"reasoning":"hm","reasoning_content":"hm"}"#, "", "hm"),
        (r#"{"reasoning":"hm","content":"a"}"#, "a", "hm"),
        (r#"{"tool_calls":[{"function":{"arguments":"{}"}}]}"#, "", ""),
    ] {
        assert_eq!(said(spoken), (text.to_owned(), thought.to_owned()), "{spoken}");
    }
    let completion = r#"{"choices":[{"index":0,"text":" a","finish_reason":null}]}"#;
    assert_eq!(meaning(completion).text, " a");
    assert_eq!(interpret_whole(completion.as_bytes()).unwrap().text, " a");
}

#[test]
fn a_whole_message_inside_a_stream_is_not_read_as_an_addition() {
    let both = r#"{"choices":[{"delta":{"content":"b"},"message":{"content":"ab"}}]}"#;
    assert_eq!(meaning(both).text, "b");
    assert_eq!(interpret_whole(both.as_bytes()).unwrap().text, "ab");
}

#[test]
fn of_several_answers_the_first_is_read_and_all_count() {
    let second = meaning(
        r#"{"choices":[{"index":1,"delta":{"content":"b"},"finish_reason":"length","token_ids":[1]}]}"#,
    );
    assert_eq!((&*second.text, second.cut, second.finished), ("", false, true));
    assert_eq!((second.channels, second.token_ids), (Channels::from([Channel::Answer]), Some(1)));
    for (first, other) in [(r#""index":0,"#, r#""index":1,"#), ("", "")] {
        let both = format!(
            r#"{{"choices":[{{{first}"delta":{{"content":"a"}}}},{{{other}"delta":{{"reasoning":"b"}}}}]}}"#
        );
        let both = meaning(&both);
        assert_eq!((&*both.text, &*both.thought), ("a", ""));
        assert_eq!(both.channels, [Channel::Answer, Channel::Reasoning]);
    }
}

#[test]
fn only_the_limit_on_length_cuts() {
    let stop = |reason: &str| {
        let meaning = meaning(&format!(r#"{{"choices":[{{"delta":{{}},"finish_reason":{reason}}}]}}"#));
        (meaning.finished, meaning.cut)
    };
    assert_eq!(stop(r#""length""#), (true, true));
    assert_eq!(stop(r#""stop""#), (true, false));
    assert_eq!(stop("null"), (false, false));
}

#[test]
fn one_chunk_may_say_everything_at_once() {
    let meaning = meaning(
        r#"{"choices":[{"text":" end","finish_reason":"length","token_ids":[7,8]}],
            "usage":{"prompt_tokens":5,"completion_tokens":9,"prompt_tokens_details":{"cached_tokens":4},
            "completion_tokens_details":{"reasoning_tokens":2}}}"#,
    );
    let usage =
        Tokens { prompt: Some(5), cached: Some(4), reasoning: Some(2), output: Some(9), ..Tokens::default() };
    assert_eq!(meaning.channels, [Channel::Answer]);
    assert_eq!((meaning.token_ids, meaning.usage, meaning.finished), (Some(2), Some(usage), true));
}

#[test]
fn zeros_that_hold_the_place_of_counts_are_none() {
    let usage = |prompt: u32, output: u32| {
        meaning(&format!(
            r#"{{"choices":[{{"text":"a"}}],"usage":{{"prompt_tokens":{prompt},"completion_tokens":{output},"total_tokens":0}}}}"#
        ))
        .usage
        .map(|usage| (usage.prompt, usage.output))
    };
    assert_eq!(usage(0, 0), None);
    assert_eq!(usage(9, 0), Some((Some(9), Some(0))));
    assert_eq!(usage(0, 1), Some((Some(0), Some(1))));
}

#[test]
fn every_shape_of_error_is_an_error() {
    for (json, text) in [
        (r#"{"error":{"message":"boom","code":500}}"#, "boom"),
        (r#"{"error":"boom"}"#, "boom"),
        (r#"{"object":"error","message":"boom","code":"x"}"#, "boom"),
        (r#"{"message":"boom"}"#, "boom"),
        (r#"{"detail":"boom"}"#, "boom"),
    ] {
        assert_eq!(meaning(json).error.as_deref(), Some(text), "{json}");
        assert_eq!(refusal::explain(json.as_bytes()), text, "{json}");
    }
    assert_eq!(meaning(r#"{"error":null,"choices":[]}"#), Meaning::default());
}

#[test]
fn the_end_marker_and_nonsense_are_recognised() {
    assert!(meaning("[DONE]").ended);
    assert!(interpret(b"<html>").is_err());
    assert!(interpret(b"{\"choices\": 3}").is_err());
    assert!(interpret(b"{\"choices\":[{\"delta\":{\"content\":\"\xff\"}}]}").is_err());
}

#[test]
fn reasoning_that_is_counted_beside_the_completion_is_output_too() {
    let counts = |prompt: u32, completion: u32, total: &str| {
        let usage = meaning(&format!(
            r#"{{"choices":[],"usage":{{"prompt_tokens":{prompt},"completion_tokens":{completion},"total_tokens":{total},"completion_tokens_details":{{"reasoning_tokens":495}}}}}}"#
        ))
        .usage
        .unwrap();
        (usage.output, usage.reasoning)
    };
    assert_eq!(counts(89_752, 935, "91182"), (Some(1430), Some(495)));
    assert_eq!(counts(89_752, 935, "90687"), (Some(935), Some(495)));
    assert_eq!(counts(89_752, 935, "null"), (Some(935), Some(495)));
}

#[test]
fn reasoning_is_counted_in_the_details_or_beside_them() {
    let reasoning = |more: &str| {
        let json = format!(r#"{{"choices":[],"usage":{{"prompt_tokens":4,"completion_tokens":9{more}}}}}"#);
        meaning(&json).usage.unwrap().reasoning
    };
    assert_eq!(reasoning(r#","reasoning_tokens":5"#), Some(5));
    assert_eq!(reasoning(r#","reasoning_tokens":0"#), None);
    assert_eq!(
        reasoning(r#","reasoning_tokens":5,"completion_tokens_details":{"reasoning_tokens":3}"#),
        Some(3)
    );
}

#[test]
fn every_engine_s_word_on_its_guesses_is_heard() {
    let guesses = |json: &str| meaning(json).usage.and_then(|usage| usage.speculation);
    let taken = Some(Speculation { drafted: 16, accepted: 14 });
    for json in [
        r#"{"choices":[],"metrics":{"speculative_decoding":{"num_draft_tokens":16,"num_accepted_draft_tokens":14}}}"#,
        r#"{"choices":[],"timings":{"predicted_ms":3.5,"draft_n":16,"draft_n_accepted":14}}"#,
        r#"{"choices":[],"sglext":{"spec_tokens_details":{"spec_num_correct_drafts":14,"spec_num_proposed_drafts":16}}}"#,
        r#"{"choices":[{"index":0,"meta_info":{"spec_accept_token_num":14,"spec_draft_token_num":16}}]}"#,
        r#"{"choices":[],"usage":{"completion_tokens":9,"completion_tokens_details":{"accepted_prediction_tokens":14,"rejected_prediction_tokens":2}}}"#,
    ] {
        assert_eq!(guesses(json), taken, "{json}");
    }
    for json in [
        r#"{"choices":[],"usage":{"completion_tokens":9,"completion_tokens_details":{"accepted_prediction_tokens":0,"rejected_prediction_tokens":0}}}"#,
        r#"{"choices":[],"metrics":{"speculative_decoding":null},"sglext":[],"timings":{"draft_n":-1}}"#,
        r#"{"choices":[{"index":1,"meta_info":{"spec_accept_token_num":14,"spec_draft_token_num":16}}]}"#,
    ] {
        assert_eq!(guesses(json), None, "{json}");
    }
}

#[test]
fn an_ordinary_chunk_is_borrowed_whole() {
    use std::borrow::Cow;
    let chunk = r#"{"object":"chat.completion.chunk","choices":[{"delta":{"content":" a","reasoning":"b"}}],"system_fingerprint":"fp"}"#;
    let meaning = interpret(chunk.as_bytes()).unwrap();
    assert!(matches!(meaning.text, Cow::Borrowed(" a")) && matches!(meaning.thought, Cow::Borrowed("b")));
    assert!(matches!(meaning.fingerprint, Some(Cow::Borrowed("fp"))));
}
