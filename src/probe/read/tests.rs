use std::time::Duration;

use super::*;

const ROLE: &str = r#"{"choices":[{"delta":{"role":"assistant","content":""}}]}"#;
const TEXT: &str = r#"{"choices":[{"delta":{"content":"a"}}]}"#;
const FINISH: &str = r#"{"choices":[{"delta":{},"finish_reason":"stop"}]}"#;

/// Reads the events one by one, a millisecond apart, then the end of the body.
fn read(events: &[&str]) -> (Result<(), Fault>, Timeline, Tokens) {
    let start = Instant::now();
    let mut reading = Reading::new(Dialect::OpenAiChat, true, Timeline::new(start, start));
    let mut at = start;
    let mut outcome = Ok(());
    for event in events {
        at += Duration::from_millis(1);
        outcome = outcome.and_then(|()| reading.take(at, format!("data: {event}\n\n").as_bytes()));
    }
    let outcome = outcome.and_then(|()| reading.end(at));
    let Read { timeline, tokens, .. } = reading.finish();
    (outcome, timeline, tokens)
}

fn failure(events: &[&str]) -> Option<Failure> {
    read(events).0.err().map(|fault| fault.failure)
}

fn usage(output: u32) -> String {
    format!(r#"{{"choices":[],"usage":{{"prompt_tokens":9,"completion_tokens":{output}}}}}"#)
}

#[test]
fn a_role_chunk_is_an_event_but_no_token() {
    let (outcome, timeline, _) = read(&[ROLE, TEXT, FINISH, "[DONE]"]);
    assert_eq!(outcome, Ok(()));
    let since_start = |at: Option<Instant>| (at.unwrap() - timeline.started).as_millis();
    assert_eq!(since_start(timeline.first_event), 1);
    assert_eq!(since_start(timeline.deltas.first().map(|d| d.at)), 2);
    assert_eq!(since_start(timeline.finished), 3);
}

#[test]
fn success_needs_a_terminal_signal_and_a_token() {
    assert_eq!(failure(&[TEXT, FINISH]), None);
    assert_eq!(failure(&[TEXT, "[DONE]"]), None);
    assert_eq!(failure(&[TEXT]), Some(Failure::Truncated));
    assert_eq!(failure(&[]), Some(Failure::Truncated));
    assert_eq!(failure(&[ROLE, FINISH, "[DONE]"]), Some(Failure::Empty));
    assert_eq!(failure(&["[DONE]"]), Some(Failure::Empty));
}

#[test]
fn a_limit_that_hidden_reasoning_used_up_is_no_failure() {
    let cut = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}"#;
    let reasoned = r#"{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":20,"completion_tokens_details":{"reasoning_tokens":20}}}"#;
    let (outcome, timeline, tokens) = read(&[ROLE, cut, reasoned, "[DONE]"]);
    assert_eq!((outcome, timeline.deltas.len(), tokens.reasoning), (Ok(()), 0, Some(20)));
    // Twenty tokens of nothing, and no word of reasoning: an engine that writes blanks is broken.
    assert_eq!(failure(&[ROLE, cut, &usage(20), "[DONE]"]), Some(Failure::Empty));
    assert_eq!(failure(&[ROLE, cut, &usage(0), "[DONE]"]), Some(Failure::Empty));
    assert_eq!(failure(&[ROLE, cut, "[DONE]"]), Some(Failure::Empty));
    assert_eq!(failure(&[ROLE, FINISH, &usage(20), "[DONE]"]), Some(Failure::Empty));
}

#[test]
fn an_error_anywhere_in_the_stream_is_in_band() {
    let error = r#"{"error":{"message":"engine dead","code":500}}"#;
    assert_eq!(failure(&[error, "[DONE]"]), Some(Failure::InBand));
    assert_eq!(failure(&[TEXT, error]), Some(Failure::InBand));
    assert_eq!(failure(&[TEXT, FINISH, error]), Some(Failure::InBand));
}

#[test]
fn nonsense_is_malformed_and_half_an_event_is_truncated() {
    assert_eq!(failure(&[TEXT, "}{"]), Some(Failure::Malformed));
    let start = Instant::now();
    let end_of = |body: &str| {
        let mut reading = Reading::new(Dialect::OpenAiChat, true, Timeline::new(start, start));
        reading.take(start, body.as_bytes()).and_then(|()| reading.end(start)).unwrap_err().failure
    };
    assert_eq!(end_of(&format!("data: {TEXT}\n\ndata: {{\"choi")), Failure::Truncated);
    assert_eq!(end_of("data: {\"choi"), Failure::Truncated);
    assert_eq!(end_of("data"), Failure::Truncated);
    let after_finish = format!("data: {TEXT}\n\ndata: {FINISH}\n\ndata: {{\"error\":\"dead\"}}");
    assert_eq!(end_of(&after_finish), Failure::InBand);
    assert_eq!(end_of("<!doctype html>\n<title>502</title>"), Failure::Malformed);
    assert_eq!(end_of("<html>"), Failure::Malformed);
    assert_eq!(end_of(r#"{"error":"overloaded"}"#), Failure::InBand);
    assert_eq!(end_of(r#"{"choices":[{"message":{"content":"a"}}]}"#), Failure::Malformed);
}

#[test]
fn tokens_come_from_the_best_source() {
    let (_, _, tokens) = read(&[TEXT, TEXT, FINISH, &usage(3), "[DONE]"]);
    assert_eq!((tokens.prompt, tokens.output), (Some(9), Some(3)));
    assert_eq!(tokens.source, Some(TokenSource::FinalUsage));

    let (_, _, tokens) = read(&[TEXT, TEXT, FINISH]);
    assert_eq!((tokens.output, tokens.source), (Some(2), Some(TokenSource::Deltas)));

    let counted = |n: u32| {
        format!(r#"{{"choices":[{{"delta":{{"content":"a"}}}}],"usage":{{"completion_tokens":{n}}}}}"#)
    };
    let (_, timeline, tokens) = read(&[&counted(1), &counted(4), FINISH, &usage(4)]);
    assert_eq!((tokens.output, tokens.source), (Some(4), Some(TokenSource::ChunkUsage)));
    assert_eq!(timeline.deltas.iter().map(|d| d.tokens).collect::<Vec<_>>(), [Some(1), Some(3)]);
}

#[test]
fn a_total_on_the_last_chunk_does_not_count_again_what_ids_counted() {
    let listed = |more: &str| {
        format!(r#"{{"choices":[{{"delta":{{"content":"a"}},"token_ids":[7]{more}}}]"#)
            + if more.is_empty() { "}" } else { r#","usage":{"completion_tokens":3}}"# }
    };
    let last = listed(r#","finish_reason":"length""#);
    let (outcome, _, tokens) = read(&[&listed(""), &listed(""), &last]);
    assert_eq!(outcome, Ok(()));
    assert_eq!((tokens.output, tokens.source), (Some(3), Some(TokenSource::TokenIds)));
}

#[test]
fn where_a_format_has_no_end_marker_a_whole_body_is_a_whole_answer() {
    let start = Instant::now();
    let end_of = |body: &str| {
        let mut reading = Reading::new(Dialect::Triton, true, Timeline::new(start, start));
        reading.take(start, body.as_bytes()).and_then(|()| reading.end(start)).err().map(|f| f.failure)
    };
    let text = "data: {\"text_output\":\"a\"}\n\n";
    assert_eq!(end_of(text), None);
    assert_eq!(end_of(&format!("{text}data: {{\"text_out")), Some(Failure::Truncated));
    assert_eq!(end_of(&format!("{text}data: {{}}\n\n")), Some(Failure::Truncated));
    assert_eq!(end_of("data: {\"text_output\":\"\"}\n\n"), Some(Failure::Empty));
    assert_eq!(end_of(""), Some(Failure::Truncated));
}

#[test]
fn an_answer_that_comes_whole_has_tokens_but_no_deltas() {
    let start = Instant::now();
    let whole = |body: &str| {
        let mut reading = Reading::new(Dialect::OpenAiChat, false, Timeline::new(start, start));
        let outcome = reading.take(start, body.as_bytes()).and_then(|()| reading.end(start));
        (outcome.err().map(|fault| fault.failure), reading.finish())
    };
    let (failure, read) = whole(
        r#"{"choices":[{"message":{"content":"a"},"finish_reason":"stop"}],"usage":{"completion_tokens":5}}"#,
    );
    assert_eq!(failure, None);
    assert_eq!((read.tokens.output, read.timeline.deltas.len()), (Some(5), 0));
    assert_eq!(whole(r#"{"choices":[{"message":{"content":""}}]}"#).0, Some(Failure::Empty));
    assert_eq!(whole(r#"{"error":"x"}"#).0, Some(Failure::InBand));
    assert_eq!(whole("<html>").0, Some(Failure::Malformed));
    assert_eq!(whole("").0, Some(Failure::Truncated));
}

#[test]
fn counts_that_cannot_be_are_not_believed() {
    let lie =
        format!(r#"{{"choices":[],"usage":{{"prompt_tokens":{0},"completion_tokens":{0}}}}}"#, u64::MAX);
    let (outcome, _, tokens) = read(&[TEXT, TEXT, FINISH, &lie, "[DONE]"]);
    assert_eq!(outcome, Ok(()));
    assert_eq!((tokens.prompt, tokens.output), (None, Some(2)));
    assert_eq!(tokens.source, Some(TokenSource::Deltas));
}

#[test]
fn a_chunk_is_one_delta_per_channel_however_many_choices_it_has() {
    let choices = vec![r#"{"delta":{"content":"a","reasoning":"b"}}"#; 1000].join(",");
    let (outcome, timeline, _) = read(&[&format!(r#"{{"choices":[{choices}]}}"#), FINISH]);
    assert_eq!(outcome, Ok(()));
    assert_eq!(timeline.deltas.len(), 2);
}

#[test]
fn whatever_comes_after_the_end_marker_is_not_looked_at() {
    let start = Instant::now();
    let mut reading = Reading::new(Dialect::OpenAiChat, true, Timeline::new(start, start));
    let answer = format!("data: {TEXT}\n\ndata: [DONE]\n\n");
    assert_eq!(reading.take(start, answer.as_bytes()), Ok(()));
    assert_eq!(reading.take(start, &vec![b'x'; MAX_BODY_BYTES + 1]), Ok(()));
    assert_eq!(reading.end(start), Ok(()));
}

#[test]
fn an_answer_that_comes_whole_is_no_longer_than_an_event() {
    let start = Instant::now();
    let mut reading = Reading::new(Dialect::OpenAiChat, false, Timeline::new(start, start));
    let piece = "{},".repeat(10_000);
    let refused = (0..1000).find_map(|_| reading.take(start, piece.as_bytes()).err()).unwrap();
    assert_eq!(refused.failure, Failure::Malformed);
    assert!(matches!(reading.body, Body::Whole(body) if body.len() <= MAX_EVENT_BYTES));
}

#[test]
fn an_answer_without_end_is_cut_off() {
    let start = Instant::now();
    let mut reading = Reading::new(Dialect::OpenAiChat, true, Timeline::new(start, start));
    let piece = format!("data: {TEXT}\n\n").repeat(10_000);
    let refused = (0..1000).find_map(|_| reading.take(start, piece.as_bytes()).err()).unwrap();
    assert_eq!(refused.failure, Failure::Malformed);
    assert!(reading.account.timeline.deltas.len() < 500_000);
}
