//! Mistakes that other clients are known to make, one test each, named after what is right.

mod support;

use std::collections::HashSet;
use std::path::Path;

use sloprobe::domain::Quantiles;
use sloprobe::domain::{Channel, Failure, Report};
use sloprobe::workload::{Ruler, Source};
use support::{
    FINISH, PATIENT, Prober, ROLE, Server, Step, end, event, head, in_time, ms, plan, probe_script,
    punctually, text,
};

/// The report of an answer that consists of these bytes and ends with the connection.
async fn answered(body: String) -> Report {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    probe_script(vec![Step::Send(head.to_owned() + &body), Step::Close]).await
}

/// A mistake: a lone comment ends or blocks the reading of the stream.
#[tokio::test]
async fn a_comment_does_not_block_the_stream() {
    for comment in
        [": OPENROUTER PROCESSING\n\n", ":\n\n", ": keep-alive\n", ": ping - 2026-01-01 00:00:00\r\n\r\n"]
    {
        let chunk = format!("{:x}\r\n{comment}\r\n", comment.len());
        let script =
            vec![head(), Step::Send(chunk), Step::At(ms(60)), Step::Send(text("a") + &text("b")), end(2)];
        let report = probe_script(script).await;
        assert_eq!((report.fault, report.timeline.deltas.len()), (None, 2), "{comment:?}");
    }
}

/// A mistake: a stream with CRLF is taken for one without text.
#[tokio::test]
async fn a_crlf_stream_has_text() {
    let text = r#"{"choices":[{"delta":{"content":"a"}}]}"#;
    for end in ["\r\n", "\n", "\r"] {
        let body: String =
            [text, text, FINISH, "[DONE]"].map(|data| format!("data: {data}{end}{end}")).concat();
        let report = answered(body).await;
        assert_eq!((report.fault, report.tokens.output), (None, Some(2)), "{end:?}");
    }
}

/// A mistake: a chunk that names the role counts as the first token.
#[tokio::test]
async fn a_role_chunk_is_not_the_first_token() {
    let script = vec![head(), Step::Send(event(ROLE)), Step::At(ms(150)), Step::Send(text("a")), end(1)];
    let report = probe_script(script).await;
    assert!(report.sample.ttft.is_some_and(|ttft| ttft > ms(120)), "{:?}", report.sample.ttft);
}

/// A mistake: reasoning is ignored, and the first token is the first of the answer, minutes later.
#[tokio::test]
async fn reasoning_tokens_count() {
    for field in ["reasoning", "reasoning_content"] {
        let thought = event(&format!(r#"{{"choices":[{{"delta":{{"{field}":"hm"}}}}]}}"#));
        let script = vec![head(), Step::Send(thought), Step::At(ms(250)), Step::Send(text("a")), end(2)];
        punctually(async || {
            let report = probe_script(script.clone()).await;
            assert_eq!(report.fault, None, "{field}");
            assert_eq!(report.timeline.deltas[0].channel, Channel::Reasoning);
            let (ttft, answer) = (report.sample.ttft.unwrap(), report.sample.answer_ttft.unwrap());
            assert!(answer > ms(200), "{field}: {answer:?}");
            in_time(ttft + ms(80) < answer, &(field, ttft, answer))
        })
        .await;
    }
}

fn failure(report: &Report) -> Option<Failure> {
    report.fault.as_ref().map(|fault| fault.failure)
}

/// A mistake: a status of 200 is a success, whatever the stream says.
#[tokio::test]
async fn an_error_inside_a_200_is_no_success() {
    for error in [
        r#"{"error":{"message":"dead","code":500}}"#,
        r#"{"error":"dead"}"#,
        r#"{"object":"error","message":"dead"}"#,
    ] {
        for before in [String::new(), text("a"), text("a") + &event(FINISH)] {
            let body = before + &event(error) + &event("[DONE]") + "0\r\n\r\n";
            let report = probe_script(vec![head(), Step::Send(body)]).await;
            assert_eq!(failure(&report), Some(Failure::InBand), "{error}");
        }
    }
}

/// A mistake: a stream that stops without a terminal signal is a short answer.
#[tokio::test]
async fn an_end_without_a_terminal_signal_is_no_success() {
    for end in ["0\r\n\r\n", ""] {
        let report = probe_script(vec![head(), Step::Send(text("a").repeat(5) + end), Step::Close]).await;
        assert_eq!(failure(&report), Some(Failure::Truncated), "{end:?}");
    }
}

/// A mistake: `choices[0]` of a list that may be empty.
#[tokio::test]
async fn an_empty_list_of_choices_is_no_harm() {
    for empty in [r#"{"choices":[]}"#, r#"{"choices":null}"#, r#"{"choices":[{}]}"#, "{}"] {
        let script = vec![head(), Step::Send(event(empty) + &text("a") + &event(empty)), end(1)];
        let report = probe_script(script).await;
        assert_eq!((report.fault, report.tokens.output), (None, Some(1)), "{empty}");
    }
}

/// A mistake: what was not measured is stored as 0.
#[tokio::test]
async fn a_missing_value_is_absent_and_never_0() {
    let refused = probe_script(support::answer("500 Oops", "", "boom")).await;
    let sample = &refused.sample;
    assert_eq!((sample.ttft, sample.answer_ttft, sample.tpot, sample.stall), (None, None, None, None));
    assert_eq!((sample.tokens_per_second, refused.tokens.prompt, refused.tokens.output), (None, None, None));
    assert!(sample.itl.is_empty() && sample.tls.is_none() && sample.resolve.is_none());

    let one = probe_script(vec![head(), Step::Send(text("a")), end(1)]).await;
    assert!(one.sample.ttft.is_some());
    assert_eq!((one.sample.tpot, one.sample.stall), (None, None));
    assert_eq!((one.tokens.cached, one.tokens.reasoning), (None, None));
}

/// A mistake: the length that was asked for is taken for the length that came.
#[tokio::test]
async fn the_length_asked_for_is_never_the_length_that_came() {
    // 20 tokens are asked for; 3 come, and nobody counts them.
    let close = event(FINISH) + &event("[DONE]") + "0\r\n\r\n";
    let report = probe_script(vec![head(), Step::Send(text("a").repeat(3) + &close)]).await;
    assert_eq!((report.fault, report.tokens.output), (None, Some(3)));
}

/// A mistake: the time per token includes the time to the first.
#[tokio::test]
async fn the_time_per_token_leaves_the_first_out() {
    let mut script = vec![head()];
    for token in 0..5 {
        script.extend([Step::At(ms(400 + 20 * token)), Step::Send(text("a"))]);
    }
    script.push(end(5));
    punctually(async || {
        let report = probe_script(script.clone()).await;
        assert_eq!((report.fault, report.tokens.output), (None, Some(5)));
        // A late host may read the whole answer at once, and then there is no time per token.
        in_time(report.sample.tpot.is_some_and(|tpot| tpot > ms(15) && tpot < ms(60)), &report.sample.tpot)
    })
    .await;
}

/// A mistake: lines end at 64 KiB, because the reader of lines was left at its default.
#[tokio::test]
async fn a_line_of_more_than_64_kib_is_read() {
    for length in [64 << 10, 200_000, 900_000] {
        let script = vec![head(), Step::Send(text(&"x".repeat(length)) + &text("y")), end(2)];
        let report = probe_script(script).await;
        assert_eq!((report.fault, report.timeline.deltas.len()), (None, 2), "{length}");
    }
}

/// A mistake: the nonce stands at the prompt's end, and the prefix cache stays warm.
#[test]
fn the_nonce_of_a_cold_prompt_comes_first() {
    let plan = plan("http://127.0.0.1:9", "", PATIENT);
    let mut source = Source::new(&plan.targets[0].mix[0].workload, 1, Ruler::default());
    let beginnings: HashSet<String> =
        (0..100).map(|_| source.next_prompt().text().chars().take(16).collect()).collect();
    assert_eq!(beginnings.len(), 100);
}

/// A mistake: durations come from a clock that people and daemons set.
#[test]
fn only_one_file_reads_the_wall_clock() {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
    let mut readers = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if std::fs::read_to_string(&path).unwrap().contains("SystemTime::now") {
                readers.push(path.file_name().unwrap().to_owned());
            }
        }
    }
    assert_eq!(readers, ["clock.rs"]);
}

/// A mistake: a request that failed is sent again, and nobody is told.
#[tokio::test]
async fn nothing_is_retried() {
    for script in [
        vec![Step::Close],
        support::answer("503 Busy", "retry-after: 0\r\n", ""),
        support::answer("500 Oops", "", ""),
        support::answer("408 Timeout", "connection: close\r\n", ""),
        vec![head(), Step::Send(text("a")), Step::Close],
    ] {
        let server = Server::start(script.clone()).await;
        let report = Prober::new(plan(&format!("http://{}", server.address), "", PATIENT)).probe().await;
        assert!(report.fault.is_some(), "{script:?}");
        assert_eq!(server.requests().len(), 1, "{script:?}");
    }
}

/// A mistake: the 99th percentile is the 99 % best, because speed was sorted like time.
#[tokio::test]
async fn the_last_percentile_is_the_slowest() {
    let mut script = vec![head()];
    for token in 0..20_u64 {
        let stall = if token == 19 { 300 } else { 0 };
        script.extend([Step::At(ms(20 + 10 * token + stall)), Step::Send(text("a"))]);
    }
    script.push(end(20));
    punctually(async || {
        let report = probe_script(script.clone()).await;
        assert_eq!((report.fault, report.tokens.output), (None, Some(20)));
        let Some(Quantiles { p50, p90, p99, max, .. }) = Quantiles::of_gaps(&report.sample) else {
            return Err("a late host read the whole answer at once".to_owned());
        };
        assert!(p50 <= p90 && p90 <= p99 && p99 <= max, "{p50:?} {p90:?} {p99:?} {max:?}");
        // Speed is the inverse of the mean time per token, and nothing sorts it.
        let (speed, tpot) = (report.sample.tokens_per_second.unwrap(), report.sample.tpot.unwrap());
        assert!((speed * tpot.as_secs_f64() - 1.0).abs() < 1e-6, "{speed} {tpot:?}");
        in_time(p99 > ms(280) && p50 < ms(100), &(p50, p99))
    })
    .await;
}
