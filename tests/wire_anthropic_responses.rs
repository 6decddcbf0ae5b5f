//! Recorded answers in Anthropic's and the Responses format, played back over a socket in their own time.

mod support;

use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use sloprobe::domain::{Report, TokenSource};
use support::{Prober, Server, Step, in_time, ms, plan, punctually};

const TIMEOUTS: &str = "connect = '2s'\nfirst_token = '5s'\nstall = '2s'\ntotal = '10s'";

/// What was measured when a recording was played back, and what the server was asked.
struct Replay {
    report: Report,
    request: String,
}

fn recording(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/wire").join(format!("{name}.json"));
    let text = std::fs::read_to_string(&path).expect(name);
    serde_json::from_str(&text).expect(name)
}

fn script(recorded: &Value) -> Vec<Step> {
    let seconds = |value: &Value| Duration::from_secs_f64(value.as_f64().expect("an instant"));
    let reads = recorded["reads"].as_array().expect("reads");
    let send = |read: &Value| {
        [Step::At(seconds(&read[0])), Step::Send(read[1]["utf8"].as_str().expect("text").to_owned())]
    };
    reads.iter().flat_map(send).collect()
}

/// Asks as the recorded client did: the same format, streamed or not.
async fn replay(name: &str) -> Replay {
    let recorded = recording(name);
    let request = &recorded["request"];
    let api = match request["path"].as_str().expect("a path") {
        "/v1/messages" => "anthropic",
        "/v1/responses" => "openai-responses",
        other => panic!("{name} was sent to {other}"),
    };
    let stream = request["body"]["stream"].as_bool().unwrap_or(false);
    let server = Server::start(script(&recorded)).await;
    let more = format!("api = '{api}'\nstream = {stream}");
    let report = Prober::new(plan(&format!("http://{}/v1", server.address), &more, TIMEOUTS)).probe().await;
    Replay { report, request: server.requests().concat() }
}

/// What an answer must be measured as: first text in milliseconds, chunks with text, tokens in, cached and
/// out. The numbers were taken from the recordings by other means than this program's.
struct Measured(&'static str, f64, usize, u64, Option<u64>, u64);

#[tokio::test]
async fn answers_of_real_servers_are_measured_as_they_were_sent() {
    for Measured(name, ttft_ms, deltas, prompt, cached, output) in [
        Measured("vllm-messages-stream", 36.5, 16, 40, None, 16),
        Measured("vllm-flags-messages-stream", 26.9, 15, 40, Some(0), 16),
        Measured("litellm-messages-stream", 1215.7, 14, 40, None, 16),
        Measured("xinference-messages-stream", 404.2, 8, 29, None, 16),
        Measured("vllm-responses-stream", 78.3, 15, 29, Some(0), 16),
        Measured("vllm-flags-responses-stream", 82.4, 13, 29, Some(0), 16),
        Measured("litellm-responses-stream", 284.9, 15, 29, Some(0), 16),
        Measured("transformers-responses-stream", 167.9, 16, 29, Some(0), 16),
        Measured("xinference-responses-stream", 147.4, 8, 29, Some(0), 16),
    ] {
        let sent = Duration::from_secs_f64(ttft_ms / 1e3);
        punctually(async || {
            let Replay { report, .. } = replay(name).await;
            assert_eq!(report.fault, None, "{name}");
            assert_eq!(report.timeline.deltas.len(), deltas, "{name}");
            let tokens = report.tokens;
            let counted = (tokens.prompt, tokens.cached, tokens.output);
            assert_eq!(counted, (Some(prompt), cached, Some(output)), "{name}");
            assert_eq!(tokens.source, Some(TokenSource::FinalUsage), "{name}");
            assert!(report.timeline.first_event.expect(name) <= report.timeline.deltas[0].at, "{name}");
            let ttft = report.sample.ttft.expect(name);
            assert!(ttft + ms(1) >= sent, "{name}: {ttft:?} for {sent:?}");
            in_time(ttft < sent + ms(60), &(name, ttft, sent))
        })
        .await;
    }
}

#[tokio::test]
async fn what_a_server_says_about_its_time_is_kept() {
    let Replay { report, .. } = replay("vllm-flags-responses-stream").await;
    let micros = |time: Option<Duration>| time.expect("told").as_micros();
    assert_eq!(micros(report.times.queue), 35);
    assert_eq!(micros(report.times.prefill), 9_988);
    assert_eq!(micros(report.times.decode), 117_424);
}

#[tokio::test]
async fn answers_that_come_whole_have_counts_but_no_first_token() {
    // The last one streams although it was asked not to.
    for (name, prompt) in [
        ("vllm-messages-nonstream", 40),
        ("vllm-responses-nonstream", 29),
        ("transformers-responses-nonstream", 29),
    ] {
        let Replay { report, request } = replay(name).await;
        assert_eq!(report.fault, None, "{name}");
        assert!(request.contains(r#""stream":false"#), "{name}: {request}");
        assert_eq!((report.tokens.prompt, report.tokens.output), (Some(prompt), Some(16)), "{name}");
        assert_eq!(report.tokens.source, Some(TokenSource::FinalUsage), "{name}");
        assert_eq!((report.sample.ttft, report.timeline.deltas.len()), (None, 0), "{name}");
    }
}

#[tokio::test]
async fn what_real_servers_refuse_is_called_by_its_name() {
    for (name, outcome, says) in [
        (
            "vllm-messages-stream-unknown-model",
            "rejected",
            "HTTP 404: The model `no-such-model` does not exist",
        ),
        (
            "vllm-messages-stream-context-too-long",
            "rejected",
            "HTTP 400: This model's maximum context length",
        ),
        ("vllm-messages-stream-missing-max-tokens", "rejected", "body.max_tokens"),
        (
            "litellm-messages-stream-missing-max-tokens",
            "rejected",
            "Missing required parameter: 'max_tokens'",
        ),
        ("xinference-messages-stream-missing-max-tokens", "rejected", "anthropic-version header is required"),
        ("transformers-messages-stream", "rejected", "HTTP 404: Not Found"),
        (
            "vllm-responses-stream-unknown-model",
            "rejected",
            "HTTP 404: The model `no-such-model` does not exist",
        ),
        ("transformers-responses-stream-unknown-model", "rejected", "HTTP 400: Server is pinned"),
        ("vllm-enginecrash-responses-after-engine-dead", "server_error", "HTTP 500: EngineCore encountered"),
    ] {
        let Replay { report, .. } = replay(name).await;
        assert_eq!(report.outcome(), outcome, "{name}: {:?}", report.fault);
        let detail = &report.fault.as_ref().expect(name).detail;
        assert!(detail.contains(says), "{name}: {detail}");
    }
}

#[tokio::test]
async fn requests_say_what_the_formats_demand() {
    let Replay { request, .. } = replay("vllm-messages-nonstream").await;
    assert!(request.starts_with("POST /v1/messages HTTP/1.1\r\n"), "{request}");
    assert!(request.to_ascii_lowercase().contains("\r\nanthropic-version: 2023-06-01\r\n"), "{request}");
    assert!(request.contains(r#""max_tokens":20"#), "{request}");
    let Replay { request, .. } = replay("vllm-responses-nonstream").await;
    assert!(request.starts_with("POST /v1/responses HTTP/1.1\r\n"), "{request}");
    assert!(request.contains(r#""max_output_tokens":20"#), "{request}");
}

/// The head of a recorded stream and its events up to the one named, and then `last` and a proper end.
async fn replay_changed(name: &str, until: &str, last: &str) -> Report {
    let recorded = recording(name);
    let mut steps = script(&recorded);
    let cut = steps.iter().position(|step| matches!(step, Step::Send(text) if text.contains(until)));
    steps.truncate(cut.expect("the event is in the recording"));
    let last = if last.is_empty() { String::new() } else { support::event(last) };
    steps.push(Step::Send(format!("{last}0\r\n\r\n")));
    let api = if name.contains("messages") { "anthropic" } else { "openai-responses" };
    let server = Server::start(steps).await;
    let more = format!("api = '{api}'");
    Prober::new(plan(&format!("http://{}/v1", server.address), &more, TIMEOUTS)).probe().await
}

#[tokio::test]
async fn streams_that_end_badly_are_no_success() {
    let overloaded = r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    let failed = r#"{"type":"response.failed","response":{"status":"failed","error":{"message":"boom"}}}"#;
    let (messages, responses) = ("vllm-flags-messages-stream", "vllm-responses-stream");
    for (name, until, last, outcome) in [
        (messages, "content_block_stop", "", "truncated"),
        (messages, "content_block_stop", overloaded, "in_band"),
        (messages, "content_block_stop", r#"{"type":"message_stop"}"#, "ok"),
        (messages, "content_block_start", r#"{"type":"message_stop"}"#, "empty"),
        (messages, "content_block_stop", "<html>", "malformed"),
        (responses, "output_text.done", "", "truncated"),
        (responses, "output_text.done", failed, "in_band"),
        (responses, "output_text.done", "[DONE]", "ok"),
        (responses, "output_item.added", "[DONE]", "empty"),
    ] {
        let report = replay_changed(name, until, last).await;
        assert_eq!(report.outcome(), outcome, "{name} {last}: {:?}", report.fault);
    }
}

#[tokio::test]
async fn a_server_that_is_gone_refuses_the_connection() {
    for api in ["anthropic", "openai-responses"] {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("loopback has a free port");
        let address = listener.local_addr().expect("a bound listener has an address");
        drop(listener);
        let more = format!("api = '{api}'");
        let report = Prober::new(plan(&format!("http://{address}"), &more, TIMEOUTS)).probe().await;
        assert_eq!(report.outcome(), "connect", "{api}: {:?}", report.fault);
    }
}
