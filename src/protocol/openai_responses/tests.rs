//! What each event of the Responses format must mean.

use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::domain::{Channels, fixture};

const TEXT: &str = r#"{"type":"response.output_text.delta","delta":"a"}"#;
const COMPLETED: &str =
    r#"{"type":"response.completed","response":{"usage":{"input_tokens":9,"output_tokens":2}}}"#;

fn meaning(json: &str) -> Meaning<'static> {
    interpret(json.as_bytes()).unwrap().into_owned()
}

fn whole(json: &str) -> Meaning<'static> {
    interpret_whole(json.as_bytes()).unwrap().into_owned()
}

fn stream(events: &[&str]) -> String {
    format!("data: {}\n\n", events.join("\n\ndata: "))
}

#[test]
fn a_request_goes_to_responses_wherever_the_base_ends() {
    let mut target = Arc::unwrap_or_clone(fixture::target("t", &["w"]));
    for base in ["http://h:1", "http://h:1/v1/", "http://h:1/v1/responses"] {
        target.url = Url::parse(base).unwrap();
        assert_eq!(url(&target).as_str(), "http://h:1/v1/responses", "{base}");
    }
    target.stream = false;
    let prompt = Prompt { exact_output: true, ..Prompt::of_user("say \"a\"", 7) };
    assert_eq!(
        body(&target, &prompt, Fields::COMMON),
        r#"{"model":"tiny","input":"say \"a\"","max_output_tokens":7,"stream":false,"store":false}"#
    );
    assert!(!body(&target, &prompt, Fields::NONE).contains("store"));
}

#[test]
fn an_exact_length_is_asked_for_where_it_can_be() {
    let target = fixture::target("t", &["w"]);
    let with = Fields::of(&[Field::IgnoreEos]);
    for (exact_output, allowed, asked) in
        [(true, with, true), (false, with, false), (true, Fields::NONE, false)]
    {
        let prompt = Prompt { exact_output, ..Prompt::of_user("a", 7) };
        let body = body(&target, &prompt, useful(&prompt, allowed));
        assert_eq!(body.contains(r#""ignore_eos":true"#), asked, "{body}");
    }
}

#[test]
fn text_refusals_reasoning_and_arguments_are_told_apart() {
    for (kind, channel) in [
        ("output_text", Channel::Answer),
        ("refusal", Channel::Answer),
        ("reasoning_text", Channel::Reasoning),
        ("reasoning_summary_text", Channel::Reasoning),
        ("function_call_arguments", Channel::ToolCall),
    ] {
        let event = |delta| format!(r#"{{"delta":{delta},"type":"response.{kind}.delta"}}"#);
        let said = |wanted| if channel == wanted { "a".into() } else { "".into() };
        let (text, thought) = (said(Channel::Answer), said(Channel::Reasoning));
        let is_summary = kind == "reasoning_summary_text";
        let channels = Channels::from([channel]);
        let expected = Meaning { channels, text, thought, is_summary, ..Meaning::default() };
        assert_eq!(meaning(&event(r#""a""#)), expected, "{kind}");
        assert_eq!(meaning(&event(r#""""#)), Meaning::default(), "{kind}");
        assert_eq!(meaning(&event("null")), Meaning::default(), "{kind}");
    }
}

#[test]
fn an_announced_function_counts_and_an_announced_message_does_not() {
    let channels =
        |item: &str| meaning(&format!(r#"{{"type":"response.output_item.added","item":{item}}}"#)).channels;
    assert_eq!(channels(r#"{"type":"function_call","name":"clock","arguments":""}"#), [Channel::ToolCall]);
    assert_eq!(channels(r#"{"type":"message","content":[]}"#), []);
    assert_eq!(channels(r#"{"type":"reasoning","summary":[]}"#), []);
}

#[test]
fn progress_repetitions_and_the_unknown_mean_nothing() {
    for json in [
        r#"{"type":"response.created","response":{"status":"in_progress","error":null,"usage":null}}"#,
        r#"{"type":"response.in_progress","response":{"status":"in_progress"}}"#,
        r#"{"type":"response.content_part.added","part":{"type":"output_text","text":""}}"#,
        r#"{"type":"response.output_text.done","text":"a"}"#,
        r#"{"type":"response.content_part.done","part":{"type":"output_text","text":"a"}}"#,
        r#"{"type":"response.output_item.done","item":{"type":"message"}}"#,
        r#"{"type":"of the future","response":3,"item":"a","message":"b","error":null}"#,
        "{}",
    ] {
        assert_eq!(meaning(json), Meaning::default(), "{json}");
    }
}

#[test]
fn an_answer_that_is_over_tells_its_counts_and_times() {
    for kind in ["completed", "incomplete"] {
        let over = meaning(&format!(
            r#"{{"type":"response.{kind}","response":{{"status":"incomplete","error":null,"usage":{{
                "input_tokens":29,"input_tokens_details":{{"cached_tokens":4}},
                "output_tokens":16,"output_tokens_details":{{"reasoning_tokens":3}}}},
                "metrics":{{"queue_time_ms":1,"time_to_first_token_ms":2.5,"generation_time_ms":30}}}}}}"#
        ));
        let usage = Tokens {
            prompt: Some(29),
            cached: Some(4),
            reasoning: Some(3),
            output: Some(16),
            ..Tokens::default()
        };
        assert_eq!((over.usage, over.finished, over.ended), (Some(usage), true, false), "{kind}");
        assert_eq!((over.channels.len(), over.error), (0, None), "{kind}");
        assert_eq!(over.times.queue, Some(Duration::from_millis(1)));
        assert_eq!(over.times.prefill, Some(Duration::from_micros(2500)));
        assert_eq!(over.times.decode, Some(Duration::from_millis(30)));
    }
}

#[test]
fn times_that_stand_beside_the_answer_are_read() {
    let over = meaning(
        r#"{"type":"response.completed","response":{"status":"completed","usage":{"input_tokens":160,"output_tokens":32}},
            "timings":{"cache_n":0,"prompt_n":160,"prompt_ms":6.439,"predicted_n":32,"predicted_ms":12.955}}"#,
    );
    assert_eq!(over.times.prefill, Some(Duration::from_micros(6439)));
    assert_eq!(over.times.decode, Some(Duration::from_micros(12_955)));
    assert_eq!(over.usage.and_then(|usage| usage.prompt), Some(160));
}

#[test]
fn an_answer_is_cut_if_its_details_say_so() {
    for (details, cut) in [
        (r#"{"reason":"max_output_tokens"}"#, true),
        (r#"{"reason":"content_filter"}"#, false),
        ("{}", false),
        ("null", false),
    ] {
        let ending = format!(r#""status":"incomplete","incomplete_details":{details},"output":[]"#);
        assert_eq!(whole(&format!(r#"{{"object":"response",{ending}}}"#)).cut, cut, "{details}");
        for kind in ["completed", "incomplete"] {
            let over = format!(r#"{{"type":"response.{kind}","response":{{{ending}}}}}"#);
            assert_eq!(meaning(&over).cut, cut, "{kind} {details}");
        }
    }
}

#[test]
fn what_the_end_says_once_more_is_not_read_again() {
    let output = r#"[{"type":"message","content":[{"type":"output_text","text":"aa"}]}]"#;
    let over = format!(r#"{{"type":"response.completed","response":{{"output":{output}}}}}"#);
    assert_eq!(meaning(&over).text, "");
    let done = r#"{"type":"response.output_text.done","text":"aa"}"#;
    assert_eq!(whole(&stream(&[TEXT, TEXT, done, &over])).text, "aa");
}

#[test]
fn a_whole_answer_is_read_part_by_part() {
    let answer = whole(
        r#"{"status":"completed","output":[
            {"type":"reasoning","summary":[{"text":"c"}],"content":[{"type":"reasoning_text","text":"b"}]},
            {"type":"message","content":[{"type":"output_text","text":"a"},{"type":"refusal","refusal":"no"}]},
            {"type":"function_call","name":"n","arguments":"{}"}]}"#,
    );
    assert_eq!((&*answer.text, &*answer.thought), ("ano", "bc"));
    assert_eq!(answer.channels, [Channel::Reasoning, Channel::Answer, Channel::ToolCall]);
}

#[test]
fn counts_that_are_not_told_are_absent() {
    let over = meaning(
        r#"{"type":"response.completed","response":{"usage":{"output_tokens":2,"input_tokens_details":null}}}"#,
    );
    assert_eq!(over.usage, Some(Tokens { output: Some(2), ..Tokens::default() }));
    assert_eq!(meaning(r#"{"type":"response.completed","response":{"usage":null}}"#).usage, None);
}

#[test]
fn the_end_marker_of_other_formats_ends_this_one_too() {
    assert_eq!(meaning("[DONE]"), Meaning { ended: true, ..Meaning::default() });
}

#[test]
fn a_failed_answer_is_an_error_whatever_it_is_called() {
    for json in [
        r#"{"type":"response.failed","response":{"status":"failed","error":{"code":"x","message":"boom"}}}"#,
        r#"{"type":"response.failed","response":{"error":"boom"}}"#,
        r#"{"type":"response.completed","response":{"status":"failed","error":{"message":"boom"}}}"#,
    ] {
        assert_eq!(meaning(json).error.as_deref(), Some("boom"), "{json}");
    }
    for json in [
        r#"{"type":"response.failed","response":{"status":"failed","error":null}}"#,
        r#"{"type":"response.failed","response":{}}"#,
        r#"{"type":"response.completed","response":{"status":"failed"}}"#,
    ] {
        let silent = meaning(json);
        assert!(silent.error.is_some() && !silent.finished, "{json}");
    }
}

#[test]
fn every_shape_of_error_is_an_error() {
    for json in [
        r#"{"type":"error","code":"x","message":"boom","param":null,"sequence_number":3}"#,
        r#"{"type":"error","error":{"type":"server_error","message":"boom"}}"#,
        r#"{"error":{"message":"boom","code":500}}"#,
        r#"{"error":"boom"}"#,
        r#"{"object":"error","message":"boom","type":"BadRequestError","code":400}"#,
        r#"{"message":"boom"}"#,
        r#"{"detail":"boom"}"#,
    ] {
        assert_eq!(meaning(json).error.as_deref(), Some("boom"), "{json}");
        assert_eq!(whole(json).error.as_deref(), Some("boom"), "{json}");
    }
}

#[test]
fn a_whole_answer_tells_channels_counts_and_its_status() {
    let answer = |output: &str, status: &str| {
        whole(&format!(
            r#"{{"object":"response","status":"{status}","error":null,"output":[{output}],
                "usage":{{"input_tokens":4,"output_tokens":2}}}}"#
        ))
    };
    for (output, channel) in [
        (r#"{"type":"message","content":[{"type":"output_text","text":"a"}]}"#, Channel::Answer),
        (r#"{"type":"message","content":[{"type":"refusal","refusal":"a"}]}"#, Channel::Answer),
        (r#"{"type":"reasoning","content":null,"summary":[{"text":"a"}]}"#, Channel::Reasoning),
        (r#"{"type":"reasoning","content":[{"type":"reasoning_text","text":"a"}]}"#, Channel::Reasoning),
        (r#"{"type":"function_call","name":"n","arguments":"{}"}"#, Channel::ToolCall),
    ] {
        let answer = answer(output, "completed");
        let usage = Tokens { prompt: Some(4), output: Some(2), ..Tokens::default() };
        assert_eq!(answer.channels, [channel], "{output}");
        assert_eq!((answer.usage, answer.finished), (Some(usage), true), "{output}");
    }
    let empty = r#"{"type":"message","content":[{"type":"output_text","text":""}]},{"type":"reasoning"}"#;
    assert_eq!(answer(empty, "incomplete").channels, []);
    assert!(answer(empty, "incomplete").finished);
    assert!(!answer("", "in_progress").finished);
    assert!(answer(empty, "failed").error.is_some());
}

#[test]
fn a_stream_that_nobody_asked_for_is_read_as_one_answer() {
    let events = stream(&[TEXT, TEXT, COMPLETED, "[DONE]"]);
    for body in [events.clone(), format!(": hello\n\n{events}"), format!("\nevent: x\r\n{events}")] {
        let answer = whole(&body);
        assert_eq!(answer.channels, [Channel::Answer; 2], "{body}");
        assert_eq!(answer.usage.and_then(|usage| usage.output), Some(2), "{body}");
        assert!(answer.finished && answer.ended && answer.error.is_none(), "{body}");
    }
}

#[test]
fn a_stream_that_nobody_asked_for_fails_as_streams_do() {
    let error = r#"{"type":"error","message":"boom"}"#;
    assert_eq!(whole(&stream(&[TEXT, error, COMPLETED])).error.as_deref(), Some("boom"));
    assert!(interpret_whole(stream(&[TEXT]).as_bytes()).is_err());
    assert!(interpret_whole(stream(&[TEXT, "}{", COMPLETED]).as_bytes()).is_err());
    assert!(interpret_whole(format!("{}<html>", stream(&[TEXT])).as_bytes()).is_err());
    let endless = format!("data: {}", "x".repeat(sse::MAX_EVENT_BYTES));
    assert!(interpret_whole(endless.as_bytes()).is_err());
}

#[test]
fn nonsense_is_refused() {
    for data in [
        &b"<html>"[..],
        b"{\"type\":\"response.completed\"}",
        b"{\"type\":\"response.output_text.delta\",\"delta\":\"\xff\"}",
    ] {
        assert!(interpret(data).is_err());
    }
    assert!(interpret_whole(b"<html>").is_err());
}

#[test]
fn guesses_are_told_at_the_end() {
    let taken = Some(crate::domain::Speculation { drafted: 16, accepted: 14 });
    for json in [
        r#"{"type":"response.completed","response":{"status":"completed"},"timings":{"draft_n":16,"draft_n_accepted":14}}"#,
        r#"{"type":"response.completed","response":{"status":"completed","metrics":{"speculative_decoding":{"num_draft_tokens":16,"num_accepted_draft_tokens":14}}}}"#,
    ] {
        assert_eq!(meaning(json).usage.and_then(|usage| usage.speculation), taken, "{json}");
    }
}

#[test]
fn a_delta_is_borrowed() {
    let event = br#"{"type":"response.output_text.delta","delta":" a"}"#;
    assert!(matches!(interpret(event).unwrap().text, std::borrow::Cow::Borrowed(" a")));
}
