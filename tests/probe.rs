//! One probe against a server that follows a script, over real sockets.

mod support;

use std::time::Duration;

use sloprobe::domain::{Failure, Report, Sample, Verdict};
use support::{
    FINISH, PATIENT, Prober, QUICK, ROLE, Server, Step, answer, end, event, head, in_time, ms, plan,
    probe_script, probe_script_within, punctually, text, tokens_without_gap,
};

fn failure(report: &Report) -> Option<Failure> {
    report.fault.as_ref().map(|fault| fault.failure)
}

/// Gaps per token in milliseconds, one entry per token, sorted.
fn gaps(sample: &Sample) -> Vec<f64> {
    let mut gaps: Vec<f64> = sample
        .itl
        .iter()
        .flat_map(|gap| std::iter::repeat_n(gap.per_token.as_secs_f64() * 1e3, gap.tokens as usize))
        .collect();
    gaps.sort_by(f64::total_cmp);
    gaps
}

/// Not before the script says so, and not much later.
fn about(measured: Option<Duration>, expected: Duration) -> Result<(), String> {
    let measured = measured.expect("it was measured");
    assert!(measured > expected.mul_f64(0.8), "{measured:?}, not {expected:?}");
    in_time(measured < expected + ms(80), &(measured, expected))
}

/// As far apart as the script says, if both ends of the gap came in time.
fn about_apart(measured: Option<Duration>, expected: Duration) -> Result<(), String> {
    let measured = measured.expect("it was measured");
    in_time(measured > expected.mul_f64(0.8) && measured < expected + ms(80), &(measured, expected))
}

#[tokio::test]
async fn a_role_chunk_sent_at_once_changes_ttft_by_nothing() {
    let script = vec![
        head(),
        Step::Send(event(ROLE)),
        Step::At(ms(200)),
        Step::Send(text("a")),
        Step::At(ms(240)),
        Step::Send(text("b")),
        end(2),
    ];
    punctually(async || {
        let report = probe_script(script.clone()).await;
        assert_eq!(report.fault, None);
        assert_eq!((report.tokens.prompt, report.tokens.output), (Some(9), Some(2)));
        about(report.sample.ttft, ms(200))?;
        about(report.sample.wait, ms(0))
    })
    .await;
}

#[tokio::test]
async fn a_stall_shows_as_a_stall_and_nowhere_else() {
    let mut script = vec![head()];
    for token in 0..20_u64 {
        let stall = if token >= 10 { 300 } else { 0 };
        script.extend([Step::At(ms(50 + 10 * token + stall)), Step::Send(text("x"))]);
    }
    script.push(end(20));
    punctually(async || {
        let report = probe_script(script.clone()).await;
        assert_eq!(report.fault, None);
        assert_eq!((report.timeline.deltas.len(), report.tokens.output), (20, Some(20)));
        about(report.sample.ttft, ms(50))?;
        about_apart(report.sample.stall, ms(310))?;
        let gaps = gaps(&report.sample);
        assert_eq!(gaps.len() as u64 + tokens_without_gap(&report), 20, "{gaps:?}");
        in_time(gaps.len() == 19 && (5.0..30.0).contains(&gaps[9]), &gaps)
    })
    .await;
}

#[tokio::test]
async fn four_tokens_in_a_chunk_or_four_events_in_a_write_never_give_a_zero() {
    for piece in [text("a b c d"), text("a").repeat(4)] {
        let mut script = vec![head()];
        for burst in 0..6_u64 {
            script.extend([Step::At(ms(50 + 40 * burst)), Step::Send(piece.clone())]);
        }
        script.push(end(24));
        punctually(async || {
            let report = probe_script(script.clone()).await;
            assert_eq!(report.fault, None);
            assert_eq!(report.tokens.output, Some(24));
            let gaps = gaps(&report.sample);
            assert_eq!(gaps.len() as u64 + tokens_without_gap(&report), 24, "{gaps:?}");
            assert!(gaps.iter().all(|&gap| gap > 0.0), "{gaps:?}");
            // Arrivals are at least a millisecond apart, and no write brings more than four tokens; but a late host
            // reads several writes at once.
            in_time(gaps.len() == 20 && gaps[0] > 0.2 && (5.0..20.0).contains(&gaps[10]), &gaps)
        })
        .await;
    }
}

#[tokio::test]
async fn every_status_and_body_that_is_no_stream_is_one_failure() {
    let html = "<html><body>Bad gateway</body></html>";
    let cases = [
        (answer("401 Unauthorized", "", r#"{"error":"Unauthorized"}"#), Failure::Auth, "Unauthorized"),
        (
            answer("429 Too Many Requests", "retry-after: 7\r\n", "slow down"),
            Failure::RateLimited,
            "slow down",
        ),
        (answer("503 Busy", "retry-after: 1\r\n", ""), Failure::RateLimited, "HTTP 503"),
        (
            answer("503 Busy", "", ""),
            Failure::ServerError,
            "HTTP 503: Service Unavailable (POST /v1/chat/completions)",
        ),
        (
            answer("404 Not Found", "", r#"{"detail":"Not Found"}"#),
            Failure::Rejected,
            "HTTP 404: Not Found (POST /v1/chat/completions)",
        ),
        (
            answer("404 Not Found", "", "404 page not found\n"),
            Failure::Rejected,
            "HTTP 404: 404 page not found (POST /v1/chat/completions)",
        ),
        (
            answer("404 Not Found", "", r#"{"error":{"message":"no such model"}}"#),
            Failure::Rejected,
            "HTTP 404: no such model",
        ),
        (
            answer("302 Found", "location: http://127.0.0.1:9/elsewhere\r\n", ""),
            Failure::Rejected,
            "/elsewhere",
        ),
        (answer("500 Oops", "", "boom"), Failure::ServerError, "boom"),
        (answer("200 OK", "content-type: text/html\r\n", html), Failure::Malformed, "Bad gateway"),
        (answer("200 OK", "", ""), Failure::Truncated, "the answer is empty: status 200 without a body"),
        (answer("200 OK", "", r#"{"error":{"message":"overloaded"}}"#), Failure::InBand, "overloaded"),
        (vec![Step::Close], Failure::Truncated, "the server closed the connection before it answered ("),
        (vec![Step::Send("SSH-2.0-OpenSSH_9.2\r\n".into()), Step::Close], Failure::Malformed, ""),
    ];
    for (script, expected, says) in cases {
        let shown = format!("{script:?}");
        let report = probe_script(script).await;
        let fault = report.fault.expect(&shown);
        assert_eq!(fault.failure, expected, "{shown}: {}", fault.detail);
        assert!(fault.detail.contains(says), "{shown}: {}", fault.detail);
        assert_eq!(report.verdict, None);
    }
}

#[tokio::test]
async fn every_way_to_ask_for_rest_is_heard() {
    let in_the_year_2096 = std::time::SystemTime::UNIX_EPOCH + Duration::from_secs(4_000_000_000);
    let date = format!("retry-after: {}\r\n", httpdate::fmt_http_date(in_the_year_2096));
    for (headers, rest) in [
        ("retry-after: 7\r\n", Some(Duration::from_secs(7))),
        ("retry-after: 60\r\nretry-after-ms: 1500\r\n", Some(ms(1500))),
        ("retry-after: Wed, 21 Oct 2015 07:28:00 GMT\r\n", Some(Duration::ZERO)),
        ("retry-after: soon\r\n", None),
        ("", None),
    ] {
        let report = probe_script(answer("429 Too Many Requests", headers, "")).await;
        assert_eq!(report.retry_after, rest, "{headers}");
    }
    let report = probe_script(answer("429 Too Many Requests", &date, "")).await;
    assert!(report.retry_after > Some(Duration::from_secs(3600)), "{:?}", report.retry_after);
}

#[tokio::test]
async fn a_stream_that_goes_wrong_is_one_failure_that_says_how_far_it_came() {
    let error = r#"{"error":{"message":"engine died","code":500}}"#;
    let closed = "the server closed the connection in the middle of the answer, after 1 chunk (";
    let cases: Vec<(Vec<Step>, Failure, &str)> = vec![
        (vec![head(), Step::Send(text("a")), Step::Close], Failure::Truncated, closed),
        (
            vec![head(), Step::Send(event(ROLE)), Step::Close],
            Failure::Truncated,
            "the server closed the connection in the middle of the answer, before the first token (",
        ),
        (vec![head(), Step::Send(text("a") + "0\r\n\r\n")], Failure::Truncated, ""),
        (vec![head(), Step::Send(text("a") + "zz\r\n")], Failure::Malformed, ""),
        (vec![head(), Step::Send(text("a") + &event("{{{"))], Failure::Malformed, ""),
        (vec![head(), Step::Send(event(error) + &event("[DONE]") + "0\r\n\r\n")], Failure::InBand, ""),
        (vec![head(), Step::Send(event(FINISH) + &event("[DONE]") + "0\r\n\r\n")], Failure::Empty, ""),
        (vec![Step::Hang], Failure::TimeoutFirstToken, "no token within 600 ms"),
        (
            vec![head(), Step::Send(event(ROLE)), Step::Hang],
            Failure::TimeoutFirstToken,
            "no token within 600 ms, though the answer had begun",
        ),
        (
            vec![head(), Step::Send(text("a") + &text("b")), Step::Hang],
            Failure::TimeoutStall,
            "no further token for 400 ms, after 2 chunks",
        ),
    ];
    for (script, expected, says) in cases {
        let shown = format!("{script:?}");
        let is_timeout = matches!(expected, Failure::TimeoutFirstToken | Failure::TimeoutStall);
        let timeouts = if is_timeout { QUICK } else { PATIENT };
        punctually(async || {
            let report = probe_script_within(timeouts, script.clone()).await;
            assert_eq!(failure(&report), Some(expected), "{shown}: {:?}", report.fault);
            let detail = report.fault.unwrap().detail;
            assert!(detail.starts_with(says), "{shown}: {detail}");
            let latency = report.sample.latency.expect(&shown);
            in_time(latency < ms(2500), &(latency, &shown))
        })
        .await;
    }
}

#[tokio::test]
async fn the_silence_in_which_a_stream_failed_is_its_stall() {
    punctually(async || {
        let report = probe_script_within(QUICK, vec![head(), Step::Send(text("a")), Step::Hang]).await;
        assert_eq!(failure(&report), Some(Failure::TimeoutStall));
        about(report.sample.stall, ms(400))
    })
    .await;
}

#[tokio::test]
async fn a_whole_answer_that_does_not_end_in_time_says_how_far_it_came() {
    let begun = "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"choices\":[";
    for (script, says) in [
        (vec![Step::Hang], "not complete within 700 ms, before any answer"),
        (vec![Step::Send(begun.into()), Step::Hang], "not complete within 700 ms, after 12 bytes"),
    ] {
        let server = Server::start(script).await;
        let timeouts = "connect = '500ms'\nfirst_token = '500ms'\nstall = '500ms'\ntotal = '700ms'";
        let plan = plan(&format!("http://{}", server.address), "stream = false", timeouts);
        let fault = Prober::new(plan).probe().await.fault.unwrap();
        assert_eq!((fault.failure, &*fault.detail), (Failure::TimeoutTotal, says));
    }
}

#[tokio::test]
async fn an_answer_that_drips_for_ever_ends_at_the_total_timeout() {
    let mut script = vec![head()];
    script.extend((1..40).flat_map(|n| [Step::At(ms(50 * n)), Step::Send(text("x"))]));
    let server = Server::start(script).await;
    let url = format!("http://{}", server.address);
    let timeouts = "connect = '700ms'\nfirst_token = '700ms'\nstall = '700ms'\ntotal = '800ms'";
    punctually(async || {
        let report = Prober::new(plan(&url, "", timeouts)).probe().await;
        assert_eq!(failure(&report), Some(Failure::TimeoutTotal));
        about(report.sample.latency, ms(800))
    })
    .await;
}

#[tokio::test]
async fn comments_keep_a_connection_busy_but_are_no_tokens() {
    let comment = ": keep-alive\n\n";
    let chunk = format!("{:x}\r\n{comment}\r\n", comment.len());
    let mut script = vec![head()];
    script.extend((1..60).flat_map(|n| [Step::At(ms(50 * n)), Step::Send(chunk.clone())]));
    let report = probe_script_within(QUICK, script).await;
    assert_eq!(failure(&report), Some(Failure::TimeoutFirstToken));
}

#[tokio::test]
async fn a_finished_answer_on_a_held_connection_is_a_success() {
    let script = vec![head(), Step::Send(text("a") + &text("b") + &event(FINISH)), Step::Hang];
    punctually(async || {
        let report = probe_script(script.clone()).await;
        assert_eq!(report.fault, None);
        let latency = report.sample.latency.unwrap();
        in_time(latency < ms(500), &latency)
    })
    .await;
}

#[tokio::test]
async fn what_cannot_be_reached_is_named_by_the_step_that_failed() {
    let closed = {
        let server = Server::start(vec![]).await;
        server.address
    };
    let plain = Server::start(answer("200 OK", "", "")).await;
    let long_name = "n".repeat(70);
    for (url, expected) in [
        (format!("http://{closed}"), Failure::Connect),
        (format!("https://{}", plain.address), Failure::Tls),
        (format!("http://{long_name}.test"), Failure::Dns),
    ] {
        let report = Prober::new(plan(&url, "", QUICK)).probe().await;
        assert_eq!(failure(&report), Some(expected), "{url}: {:?}", report.fault);
        let address = url.split_once("://").unwrap().1;
        let says = format!("cannot connect to {address}");
        assert!(report.fault.as_ref().unwrap().detail.starts_with(&says), "{says}: {:?}", report.fault);
        assert_eq!(report.sample.ttft, None);
    }
}

#[tokio::test]
async fn a_connection_is_used_again_unless_fresh_ones_are_wanted() {
    for (more, connections) in [("connection = 'reuse'", 1), ("connection = 'fresh'", 3)] {
        let server = Server::start(vec![head(), Step::Send(text("a")), end(1)]).await;
        let prober = Prober::new(plan(&format!("http://{}", server.address), more, PATIENT));
        let mut connects = Vec::new();
        for _ in 0..3 {
            let report = prober.probe().await;
            assert_eq!(report.fault, None);
            connects.push(report.sample.connect.is_some());
        }
        assert_eq!(server.connections(), connections, "{more}");
        assert_eq!(connects, [true, connections > 1, connections > 1], "{more}");
    }
}

#[tokio::test]
async fn what_the_model_says_is_kept_without_the_key_that_it_quotes() {
    let key = "api_key = { env = 'TEST_KEY' }";
    let thought =
        event(r#"{"choices":[{"index":0,"delta":{"reasoning":"hm, sk-very-secret"},"finish_reason":null}]}"#);
    // The key comes in pieces, and once more where the limit on length cuts the answer.
    let answer = ["It is sk-very", "-sec", "ret.\\n", "Again: sk-very-sec"].map(text).concat();
    let cut = event(r#"{"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}"#);
    let script = vec![head(), Step::Send([thought, answer, cut].concat()), end(5)];
    let server = Server::start(script).await;
    let report = Prober::new(plan(&format!("http://{}", server.address), key, PATIENT)).probe().await;
    assert_eq!(report.fault, None);
    assert_eq!(report.answer.text, "It is [redacted].\nAgain: [redacted]");
    assert_eq!((&*report.answer.thought, report.answer.cut), ("hm, [redacted]", true));
    assert!(!format!("{report:?}").contains("sk-very"));
}

#[tokio::test]
async fn a_long_answer_is_kept_from_its_beginning_and_within_bounds() {
    let mut script = vec![head(), Step::Send(text("It begins. "))];
    let piece = text(&"é".repeat(10_000));
    script.extend(std::iter::repeat_n(Step::Send(piece), 100));
    script.push(end(101));
    let mut report = probe_script(script).await;
    assert_eq!((&report.fault, report.timeline.deltas.len()), (&None, 101));
    let kept = &report.answer.text;
    assert!(kept.starts_with("It begins. é") && kept.ends_with('é'));
    assert!(kept.len() <= 128 << 10 && kept.len() + 2 > 128 << 10, "{} bytes", kept.len());
    report.judged(Verdict::Degenerate);
    assert!(report.answer.text.starts_with("It begins. é") && report.answer.text.len() <= 2048);
    report.judged(Verdict::Right);
    assert_eq!(report.answer.text, "");
}

#[tokio::test]
async fn the_request_is_as_configured_and_the_key_stays_secret() {
    let echo = r#"{"error":{"message":"Incorrect key provided: sk-very-secret"}}"#;
    let server = Server::start(answer("401 Unauthorized", "", echo)).await;
    let more = "api_key = { env = 'TEST_KEY' }\nheaders = { x-team = 'sre' }";
    let report = Prober::new(plan(&format!("http://{}/v1/", server.address), more, PATIENT)).probe().await;
    let request = server.requests().remove(0);
    assert!(request.starts_with("POST /v1/chat/completions HTTP/1.1\r\n"), "{request}");
    assert!(request.contains("authorization: Bearer sk-very-secret\r\n"), "{request}");
    assert!(request.contains("x-team: sre\r\n"), "{request}");
    assert!(request.contains("content-type: application/json\r\n"), "{request}");
    assert!(request.contains(r#""stream_options":{"include_usage":true}"#), "{request}");
    assert_eq!(report.fault.as_ref().unwrap().detail, "HTTP 401: Incorrect key provided: [redacted]");
    assert!(!format!("{report:?}").contains("sk-very-secret"));
}
