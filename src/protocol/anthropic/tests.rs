//! What each event of Anthropic's format must mean.

use std::sync::Arc;

use super::*;
use crate::domain::fixture;

fn meaning(json: &str) -> Meaning<'static> {
    interpret(json.as_bytes()).unwrap().into_owned()
}

fn whole(json: &str) -> Meaning<'static> {
    interpret_whole(json.as_bytes()).unwrap().into_owned()
}

fn usage_at_start(usage: &str) -> Tokens {
    let json = format!(r#"{{"type":"message_start","message":{{"content":[],"usage":{usage}}}}}"#);
    meaning(&json).usage.unwrap()
}

fn usage_at_end(usage: &str) -> Tokens {
    meaning(&format!(r#"{{"type":"message_delta","delta":{{}},"usage":{usage}}}"#)).usage.unwrap()
}

#[test]
fn a_request_goes_to_messages_wherever_the_base_ends() {
    let mut target = Arc::unwrap_or_clone(fixture::target("t", &["w"]));
    for base in ["http://h:1", "http://h:1/v1/", "http://h:1/v1/messages"] {
        target.url = Url::parse(base).unwrap();
        assert_eq!(url(&target).as_str(), "http://h:1/v1/messages", "{base}");
    }
    let prompt = Prompt { exact_output: true, ..Prompt::of_user("say \"a\"", 7) };
    assert_eq!(
        body(&target, &prompt),
        r#"{"model":"tiny","max_tokens":7,"messages":[{"role":"user","content":"say \"a\""}],"stream":true}"#
    );
}

#[test]
fn text_thinking_and_tool_input_are_told_apart() {
    let channels = |delta: &str| {
        meaning(&format!(r#"{{"type":"content_block_delta","index":0,"delta":{delta}}}"#)).channels
    };
    assert_eq!(channels(r#"{"type":"text_delta","text":"a"}"#), [Channel::Answer]);
    assert_eq!(channels(r#"{"type":"thinking_delta","thinking":"a"}"#), [Channel::Reasoning]);
    assert_eq!(channels(r#"{"type":"input_json_delta","partial_json":"{"}"#), [Channel::ToolCall]);
    for nothing in [
        r#"{"type":"text_delta","text":""}"#,
        r#"{"type":"thinking_delta","thinking":"","text":null}"#,
        r#"{"type":"input_json_delta","partial_json":""}"#,
        r#"{"type":"signature_delta","signature":"c2ln"}"#,
        r#"{"type":"citations_delta","citation":{"cited_text":"a"}}"#,
        "null",
    ] {
        assert_eq!(channels(nothing), [], "{nothing}");
    }
}

#[test]
fn a_block_counts_when_it_opens_with_something() {
    let channels = |block: &str| {
        meaning(&format!(r#"{{"type":"content_block_start","index":0,"content_block":{block}}}"#)).channels
    };
    assert_eq!(channels(r#"{"type":"text","text":""}"#), []);
    assert_eq!(channels(r#"{"type":"thinking","thinking":"","signature":""}"#), []);
    assert_eq!(channels(r#"{"type":"text","text":"a"}"#), [Channel::Answer]);
    assert_eq!(channels(r#"{"type":"thinking","thinking":"a"}"#), [Channel::Reasoning]);
    assert_eq!(channels(r#"{"type":"redacted_thinking","data":"x"}"#), [Channel::Reasoning]);
    assert_eq!(channels(r#"{"type":"tool_use","id":"t","name":"clock","input":{}}"#), [Channel::ToolCall]);
}

#[test]
fn text_and_thinking_are_read_from_starts_and_deltas() {
    let said = |event: &str, field: &str, block: &str| {
        let Meaning { text, thought, .. } = meaning(&format!(r#"{{"type":"{event}","{field}":{block}}}"#));
        (text.into_owned(), thought.into_owned())
    };
    let [nothing, a] = ["", "a"].map(str::to_owned);
    for (event, field) in [("content_block_start", "content_block"), ("content_block_delta", "delta")] {
        let said = |block: &str| said(event, field, block);
        assert_eq!(said(r#"{"type":"text","text":"a"}"#), (a.clone(), nothing.clone()), "{event}");
        assert_eq!(said(r#"{"type":"thinking","thinking":"a"}"#), (nothing.clone(), a.clone()), "{event}");
        let others = [r#"{"type":"redacted_thinking","data":"x"}"#, r#"{"partial_json":"{"}"#, "null"];
        for other in others {
            assert_eq!(said(other), (nothing.clone(), nothing.clone()), "{event} {other}");
        }
    }
}

#[test]
fn only_the_limit_on_length_cuts() {
    for (reason, cut) in [("max_tokens", true), ("end_turn", false), ("stop_sequence", false)] {
        let delta = format!(r#"{{"type":"message_delta","delta":{{"stop_reason":"{reason}"}}}}"#);
        assert_eq!(meaning(&delta).cut, cut, "{reason}");
        let answer = format!(r#"{{"type":"message","content":[],"stop_reason":"{reason}"}}"#);
        assert_eq!(whole(&answer).cut, cut, "{reason}");
    }
}

#[test]
fn pings_ends_of_blocks_and_the_unknown_mean_nothing() {
    for json in [
        r#"{"type":"ping"}"#,
        r#"{"type":"content_block_stop","index":0}"#,
        r#"{"type":"message_start","message":{"content":[]}}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":null}}"#,
        r#"{"type":"of the future","delta":"a","message":"b","usage":3,"error":null}"#,
        "{}",
    ] {
        assert_eq!(meaning(json), Meaning::default(), "{json}");
    }
}

#[test]
fn the_start_counts_the_prompt_but_never_the_output() {
    let tokens = usage_at_start(r#"{"input_tokens":40,"output_tokens":1}"#);
    assert_eq!(tokens, Tokens { prompt: Some(40), ..Tokens::default() });
}

#[test]
fn zeros_at_the_start_are_not_counts() {
    let tokens = usage_at_start(
        r#"{"input_tokens":0,"output_tokens":0,"cache_creation_input_tokens":0,"cache_read_input_tokens":0}"#,
    );
    assert_eq!(tokens, Tokens::default());
}

#[test]
fn cached_tokens_are_part_of_the_prompt() {
    let tokens = usage_at_end(
        r#"{"input_tokens":5,"cache_read_input_tokens":30,"cache_creation_input_tokens":2,"output_tokens":9}"#,
    );
    assert_eq!((tokens.prompt, tokens.cached, tokens.output), (Some(37), Some(30), Some(9)));
    let tokens = usage_at_end(r#"{"input_tokens":0,"cache_read_input_tokens":30}"#);
    assert_eq!((tokens.prompt, tokens.cached), (Some(30), Some(30)));
    let tokens = usage_at_end(r#"{"input_tokens":5,"cache_read_input_tokens":0}"#);
    assert_eq!((tokens.prompt, tokens.cached), (Some(5), Some(0)));
    let most = u64::MAX;
    let tokens = usage_at_end(&format!(r#"{{"input_tokens":{most},"cache_read_input_tokens":{most}}}"#));
    assert_eq!(tokens.prompt, Some(most));
}

#[test]
fn the_end_may_count_the_output_alone() {
    let tokens = usage_at_end(r#"{"output_tokens":16}"#);
    assert_eq!(tokens, Tokens { output: Some(16), ..Tokens::default() });
}

#[test]
fn a_stop_reason_finishes_and_an_end_marker_ends() {
    let stop = meaning(
        r#"{"type":"message_delta","delta":{"stop_reason":"max_tokens","stop_sequence":null},"usage":{"output_tokens":3}}"#,
    );
    assert!(stop.finished && !stop.ended && stop.channels.is_empty());
    for end in [r#"{"type":"message_stop"}"#, "[DONE]", " [DONE]\r"] {
        assert_eq!(meaning(end), Meaning { ended: true, ..Meaning::default() }, "{end}");
    }
}

#[test]
fn every_shape_of_error_is_an_error() {
    for json in [
        r#"{"type":"error","error":{"type":"overloaded_error","message":"boom"}}"#,
        r#"{"type":"error","message":"boom"}"#,
        r#"{"error":{"message":"boom","code":500}}"#,
        r#"{"error":"boom"}"#,
        r#"{"object":"error","message":"boom","type":"BadRequestError","code":400}"#,
        r#"{"object":"error","message":"boom","type":null}"#,
        r#"{"message":"boom"}"#,
        r#"{"detail":"boom"}"#,
    ] {
        assert_eq!(meaning(json).error.as_deref(), Some("boom"), "{json}");
        assert_eq!(whole(json).error.as_deref(), Some("boom"), "{json}");
    }
}

#[test]
fn a_whole_answer_tells_channels_counts_and_the_stop() {
    let answer = whole(
        r#"{"type":"message","content":[{"type":"thinking","thinking":"a"},{"type":"text","text":"b"},
            {"type":"text","text":"c"},{"type":"tool_use","id":"t","name":"n","input":{}}],"stop_reason":"tool_use",
            "usage":{"input_tokens":4,"output_tokens":2}}"#,
    );
    assert_eq!(answer.channels, [Channel::Reasoning, Channel::Answer, Channel::ToolCall]);
    assert_eq!((&*answer.text, &*answer.thought), ("bc", "a"));
    let usage = Tokens { prompt: Some(4), output: Some(2), ..Tokens::default() };
    assert_eq!((answer.usage, answer.finished), (Some(usage), true));
    let empty = whole(r#"{"type":"message","content":[{"type":"text","text":""}],"stop_reason":"end_turn"}"#);
    assert_eq!((empty.channels.len(), empty.finished), (0, true));
}

#[test]
fn nonsense_is_refused() {
    for data in [
        &b"<html>"[..],
        b"{\"type\":\"content_block_delta\",\"delta\":3}",
        b"{\"type\":\"content_block_delta\",\"delta\":{\"text\":\"\xff\"}}",
    ] {
        assert!(interpret(data).is_err());
    }
    assert!(interpret_whole(b"<html>").is_err());
}

#[test]
fn thinking_that_is_counted_is_not_what_is_streamed_of_it() {
    let end = |usage: &str| {
        meaning(&format!(
            r#"{{"type":"message_delta","delta":{{"stop_reason":"end_turn"}},"usage":{usage}}}"#
        ))
    };
    let counted = end(r#"{"output_tokens":461,"output_tokens_details":{"thinking_tokens":450}}"#);
    assert_eq!(counted.usage.unwrap().reasoning, Some(450));
    assert!(counted.is_summary && counted.finished);
    let plain = end(r#"{"output_tokens":461}"#);
    assert_eq!((plain.usage.unwrap().reasoning, plain.is_summary), (None, false));
    let json = r#"{"type":"message_start","message":{"usage":{"input_tokens":9,"output_tokens":1,"output_tokens_details":{"thinking_tokens":0}}}}"#;
    assert_eq!(meaning(json).usage.unwrap().reasoning, None);
}

#[test]
fn a_delta_is_borrowed_and_a_strange_one_is_no_delta() {
    let event = br#"{"type":"content_block_delta","delta":{"type":"text_delta","text":" a"}}"#;
    assert!(matches!(interpret(event).unwrap().text, std::borrow::Cow::Borrowed(" a")));
    assert!(interpret(br#"{"type":"content_block_delta","delta":"a"}"#).is_err());
    assert_eq!(meaning(r#"{"type":"ping","delta":"a"}"#), Meaning::default());
}
