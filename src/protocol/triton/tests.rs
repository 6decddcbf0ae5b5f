//! What each event of Triton's format must mean, as its back ends write it.

use std::sync::Arc;

use super::*;
use crate::domain::fixture::target;

const MS: Duration = Duration::from_millis(1);

fn meaning(json: &str) -> Meaning<'static> {
    interpret(json.as_bytes()).unwrap().into_owned()
}

#[test]
fn text_is_an_answer_and_its_absence_is_nothing() {
    let said = |json: &str| {
        let Meaning { channels, text, thought, .. } = meaning(json);
        assert_eq!((thought.is_empty(), channels.is_empty()), (true, text.is_empty()), "{json}");
        text
    };
    assert_eq!(said(r#"{"text_output":" a"}"#), " a");
    assert_eq!(said(r#"{"text_output":["a","b"]}"#), "a");
    assert_eq!(said(r#"{"text_output":""}"#), "");
    assert_eq!(meaning(r#"{"model_name":"m"}"#), Meaning::default());
}

#[test]
fn mindie_counts_on_every_event_and_finishes_on_the_last() {
    let event = |reason: &str, tokens: u32| {
        let json = format!(
            r#"{{"text_output":"a","details":{{{reason}"generated_tokens":{tokens},"batch_size":1}}}}"#
        );
        let meaning = meaning(&json);
        (meaning.usage.unwrap().output, meaning.finished, meaning.may_be_last)
    };
    assert_eq!(event("", 1), (Some(1), false, false));
    assert_eq!(event(r#""finish_reason":"length","#, 5), (Some(5), true, false));
    assert_eq!(event(r#""finish_reason":null,"#, 5), (Some(5), false, false));
}

#[test]
fn only_the_limit_on_length_cuts() {
    for (reason, cut) in
        [(r#""length""#, true), (r#"["length"]"#, true), (r#""stop""#, false), (r#""None""#, false)]
    {
        for json in [
            format!(r#"{{"text_output":"a","finish_reason":{reason}}}"#),
            format!(r#"{{"text_output":"a","details":{{"finish_reason":{reason}}}}}"#),
        ] {
            assert_eq!(meaning(&json).cut, cut, "{json}");
            assert_eq!(interpret_whole(json.as_bytes()).unwrap().cut, cut, "{json}");
        }
    }
}

#[test]
fn only_the_first_wait_is_the_queue() {
    let first = meaning(
        r#"{"text_output":"a","details":{"generated_tokens":1,"queue_wait_time":5082},
            "prefill_time":28,"decode_time":null}"#,
    );
    let queue = Some(Duration::from_micros(5082));
    assert_eq!(first.times, ServerTimes { queue, prefill: Some(28 * MS), decode: None, load: None });
    let later = meaning(
        r#"{"text_output":"b","details":{"generated_tokens":2,"queue_wait_time":36},
            "prefill_time":null,"decode_time":9}"#,
    );
    assert_eq!(later.times, ServerTimes::default());
    assert_eq!(meaning(r#"{"text_output":"","queue_wait_time":[5082,36]}"#).times.queue, queue);
}

#[test]
fn an_event_without_any_word_of_an_end_may_be_the_last() {
    let plain = r#"{"model_name":"ensemble","model_version":"1","sequence_end":false,"sequence_id":0,
        "sequence_start":false,"text_output":"a"}"#;
    assert!(meaning(plain).may_be_last && !meaning(plain).finished);
    assert!(meaning(r#"{"text_output":""}"#).may_be_last);
    assert!(!meaning(r#"{"text_output":"a","finish_reason":"None"}"#).may_be_last);
    assert!(!meaning(r#"{"error":"x"}"#).may_be_last);
    assert!(!meaning("{}").may_be_last);
}

#[test]
fn vllm_says_none_until_it_says_why_it_stopped() {
    let event = |reason: &str| {
        meaning(&format!(
            r#"{{"text_output":"a","finish_reason":"{reason}","num_input_tokens":9,"num_output_tokens":2}}"#
        ))
    };
    assert!(!event("None").finished);
    let last = event("length");
    assert!(last.finished);
    assert_eq!((last.token_ids, last.usage.unwrap().prompt), (Some(2), Some(9)));
    assert_eq!(last.usage.unwrap().output, None);
    assert!(meaning(r#"{"text_output":"","triton_final_response":true}"#).finished);
}

#[test]
fn only_vllm_is_asked_for_an_exact_length_and_spared_the_parameters_of_others() {
    let prompt = Prompt { exact_output: true, ..Prompt::of_user("hi", 7) };
    let sent = |engine| {
        let target = Target { engine, ..Arc::unwrap_or_clone(target("t", &[])) };
        serde_json::from_str::<Value>(&body(&target, &prompt)).unwrap()
    };
    let (vllm, others) = (sent(Engine::Vllm), sent(Engine::Auto));
    assert_eq!((&vllm["min_tokens"], &vllm["ignore_eos"]), (&7.into(), &true.into()));
    assert_eq!((vllm.get("parameters"), others.get("min_tokens")), (None, None));
    assert_eq!(others["parameters"]["max_new_tokens"], 7);
}

#[test]
fn an_error_object_is_an_error() {
    assert_eq!(meaning(r#"{"error":"failed"}"#).error.as_deref(), Some("failed"));
    assert!(interpret(b"<html>").is_err());
}

#[test]
fn whole_answers_tell_their_total() {
    let output = |body: &str| interpret_whole(body.as_bytes()).unwrap().usage.and_then(|u| u.output);
    assert_eq!(
        output(r#"{"text_output":"a","details":{"finish_reason":"length","generated_tokens":5}}"#),
        Some(5)
    );
    assert_eq!(output(r#"{"text_output":"a","num_output_tokens":6}"#), Some(6));
    assert_eq!(output(r#"{"text_output":"a"}"#), None);
}

#[test]
fn counts_of_drafts_are_read_plain_or_as_tensors() {
    let guesses = |json: &str| meaning(json).usage.and_then(|usage| usage.speculation);
    let taken = Some(crate::domain::Speculation { drafted: 16, accepted: 14 });
    for json in [
        r#"{"text_output":"a","acceptance_rate":0.8,"total_draft_tokens":16,"total_accepted_draft_tokens":14}"#,
        r#"{"text_output":"a","total_draft_tokens":[16],"total_accepted_draft_tokens":[14]}"#,
    ] {
        assert_eq!(guesses(json), taken, "{json}");
    }
    assert_eq!(
        guesses(r#"{"text_output":"a","total_draft_tokens":0,"total_accepted_draft_tokens":0}"#),
        None
    );
}
