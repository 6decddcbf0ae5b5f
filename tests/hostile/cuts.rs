//! A short answer, cut at every byte.

use super::server::{CHUNKED, FINISH, Hostile, PLAIN, TEXT};
use super::support::{PATIENT, Prober, plan};

/// The outcome of an answer that ends after each of its bytes, in order.
async fn cut_everywhere(answer: &str, more: &str) -> Vec<String> {
    let mut outcomes = Vec::new();
    for end in 0..answer.len() {
        let server = Hostile::saying(&answer.as_bytes()[..end]).await;
        let report = Prober::new(plan(&server.url(), more, PATIENT)).probe().await;
        outcomes.push(report.outcome().to_owned());
    }
    outcomes
}

/// The first cut that may be a success: the last byte of the terminal signal is there.
fn signal(answer: &str) -> usize {
    answer.find(FINISH).map_or(0, |at| at + FINISH.len())
}

fn assert_cut(answer: &str, outcomes: &[String]) {
    let signal = signal(answer);
    for (end, outcome) in outcomes.iter().enumerate() {
        let cut = &answer[..end];
        if end < signal {
            assert_eq!(outcome, "truncated", "{cut:?}");
        } else {
            assert!(["truncated", "ok"].contains(&outcome.as_str()), "{outcome}: {cut:?}");
        }
    }
    assert_eq!(outcomes.last().map(String::as_str), Some("ok"));
}

#[tokio::test]
async fn an_answer_that_ends_with_its_connection_is_truncated_before_its_signal() {
    let answer = format!("{PLAIN}data: {TEXT}\n\ndata: {FINISH}\n\ndata: [DONE]\n\n");
    assert_cut(&answer, &cut_everywhere(&answer, "").await);
}

#[tokio::test]
async fn an_answer_in_chunks_is_truncated_before_its_signal() {
    let events = [TEXT, FINISH, "[DONE]"].map(|data| format!("data: {data}\r\n\r\n"));
    let chunks = events.map(|event| format!("{:x}\r\n{event}\r\n", event.len())).concat();
    let answer = format!("{CHUNKED}{chunks}0\r\n\r\n");
    assert_cut(&answer, &cut_everywhere(&answer, "").await);
}

#[tokio::test]
async fn an_answer_of_announced_length_is_truncated_before_its_signal() {
    let body = format!("data: {TEXT}\n\ndata: {FINISH}\n\ndata: [DONE]\n\n");
    let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    assert_cut(&answer, &cut_everywhere(&answer, "").await);
}

#[tokio::test]
async fn a_whole_answer_is_no_answer_until_its_last_byte() {
    let body = r#"{"choices":[{"message":{"content":"a"},"finish_reason":"stop"}]}"#;
    let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    let outcomes = cut_everywhere(&answer, "stream = false").await;
    assert!(outcomes.iter().all(|outcome| outcome == "truncated"), "{outcomes:?}");
}
