//! Streams of formats other than OpenAI's, written after their documentation and played back over a socket.

mod support;

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use sloprobe::domain::TokenSource::{ChunkUsage, Deltas, FinalUsage, TokenIds};
use sloprobe::domain::{Channel, Report, ServerTimes, TokenSource};
use support::{Prober, Server, Step, answer, in_time, ms, plan, punctually};

const TIMEOUTS: &str = "connect = '2s'\nfirst_token = '5s'\nstall = '2s'\ntotal = '10s'";

fn written(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/wire").join(format!("{name}.json"));
    serde_json::from_str(&std::fs::read_to_string(&path).expect(name)).expect(name)
}

fn script(stream: &Value) -> Vec<Step> {
    let seconds = |value: &Value| Duration::from_secs_f64(value.as_f64().expect("an instant"));
    let mut script = Vec::new();
    for read in stream["reads"].as_array().expect("reads") {
        script.push(Step::At(seconds(&read[0])));
        script.push(Step::Send(read[1]["utf8"].as_str().expect("text").to_owned()));
    }
    if stream["response"]["end"] == "eof" {
        script.extend([Step::At(seconds(&stream["end_at_s"])), Step::Close]);
    }
    script
}

/// The settings of the target that the stream of this name is an answer to.
fn settings(name: &str) -> String {
    let api = name.split('-').next().expect("a name");
    let engine = if name.contains("vllm") { "vllm" } else { "auto" };
    format!("api = '{api}'\nengine = '{engine}'")
}

/// The path and the body of the only request that the server has seen.
fn request(server: &Server) -> (String, Value) {
    let requests = server.requests();
    assert_eq!(requests.len(), 1);
    let (head, body) = requests[0].split_once("\r\n\r\n").expect("a head and a body");
    let path = head.strip_prefix("POST ").and_then(|rest| rest.split(' ').next()).expect("a POST");
    (path.to_owned(), serde_json::from_str(body).expect("a body of JSON"))
}

/// Plays a stream, after a look at the request: it must be the one that the stream answers.
async fn replay(name: &str) -> Report {
    let stream = written(name);
    let server = Server::start(script(&stream)).await;
    let url = format!("http://{}", server.address);
    let report = Prober::new(plan(&url, &settings(name), TIMEOUTS)).probe().await;
    let (path, body) = request(&server);
    assert_eq!(path, stream["request"]["path"].as_str().expect("a path"), "{name}");
    assert_eq!(body, stream["request"]["body"], "{name}");
    report
}

/// What an answer must be measured as: chunks with something generated, tokens in and out.
struct Measured(&'static str, usize, Option<u64>, u64, TokenSource);

#[tokio::test]
async fn answers_are_measured_as_they_were_sent() {
    for Measured(name, deltas, prompt, output, source) in [
        Measured("gemini-stream", 4, Some(9), 12, ChunkUsage),
        Measured("tgi-stream", 4, Some(9), 4, TokenIds),
        Measured("tgi-stream-eos", 2, Some(9), 3, TokenIds),
        Measured("triton-mindie-stream", 4, None, 4, ChunkUsage),
        Measured("triton-trtllm-stream", 3, None, 3, Deltas),
        Measured("triton-vllm-stream", 3, Some(9), 4, TokenIds),
        Measured("ollama-stream", 4, Some(9), 6, FinalUsage),
    ] {
        punctually(async || {
            let report = replay(name).await;
            assert_eq!(report.fault, None, "{name}");
            assert_eq!(report.timeline.deltas.len(), deltas, "{name}");
            assert_eq!((report.tokens.prompt, report.tokens.output), (prompt, Some(output)), "{name}");
            assert_eq!(report.tokens.source, Some(source), "{name}");
            assert!(report.sample.itl.iter().all(|gap| gap.per_token > Duration::ZERO), "{name}");
            let ttft = report.sample.ttft.expect(name);
            assert!(ttft + ms(1) >= ms(50), "{name}: {ttft:?}");
            in_time(ttft < ms(250), &(name, ttft))
        })
        .await;
    }
}

#[tokio::test]
async fn what_goes_wrong_is_called_by_its_name() {
    for (name, outcome, says) in [
        ("gemini-error-midstream", "in_band", "overloaded"),
        ("gemini-truncated", "truncated", "before the answer did"),
        ("gemini-blocked", "empty", ""),
        ("tgi-error-midstream", "in_band", "CANCELLED"),
        ("tgi-truncated", "truncated", "before the answer did"),
        ("tgi-empty", "empty", ""),
        ("triton-trtllm-error-midstream", "in_band", "Executor failed"),
        ("triton-trtllm-cut", "truncated", ""),
        ("triton-trtllm-empty", "empty", ""),
        ("triton-mindie-truncated", "truncated", "before the answer did"),
        ("triton-vllm-truncated", "truncated", "before the answer did"),
        ("ollama-error-midstream", "in_band", "unexpected EOF"),
        ("ollama-truncated", "truncated", "before the answer did"),
        ("ollama-empty", "empty", ""),
    ] {
        let report = replay(name).await;
        assert_eq!(report.outcome(), outcome, "{name}: {:?}", report.fault);
        let detail = &report.fault.as_ref().expect(name).detail;
        assert!(detail.contains(says), "{name}: {detail}");
    }
}

#[tokio::test]
async fn what_servers_tell_of_themselves_is_kept() {
    let mindie = replay("triton-mindie-stream").await;
    let queue = Some(Duration::from_micros(5082));
    assert_eq!(mindie.times, ServerTimes { queue, prefill: Some(ms(28)), decode: None, load: None });

    let ollama = replay("ollama-stream").await;
    let (prefill, decode, load) = (Some(ms(30)), Some(ms(150)), Some(ms(12)));
    assert_eq!(ollama.times, ServerTimes { queue: None, prefill, decode, load });
    assert_eq!(ollama.timeline.deltas[0].channel, Channel::Reasoning);

    let gemini = replay("gemini-stream").await;
    assert_eq!((gemini.tokens.cached, gemini.tokens.reasoning), (Some(4), Some(4)));
    assert_eq!(gemini.fingerprint.as_deref(), Some("tiny-001"));
    assert_eq!(gemini.timeline.deltas[0].channel, Channel::Reasoning);
    // Of its thoughts it tells a summary: the four that it counts are hidden.
    let own: Vec<_> = gemini.timeline.deltas.iter().map(|delta| delta.tokens).collect();
    assert_eq!(own, [Some(1), Some(2), Some(3), Some(3)]);
    assert_eq!((gemini.tokens.hidden, gemini.tokens.output), (Some(4), Some(12)));
}

#[tokio::test]
async fn an_answer_without_end_marker_ends_with_its_body() {
    let report = replay("triton-trtllm-stream").await;
    assert_eq!(report.timeline.finished, report.timeline.closed);
    assert!(report.timeline.finished > report.timeline.deltas.last().map(|delta| delta.at));
}

/// What is asked for without a stream: the path behind a base, a part of the body, and the answer's tokens.
struct Whole(&'static str, &'static str, &'static str, Value, &'static str, Option<u64>);

#[tokio::test]
async fn whole_answers_are_asked_for_and_understood() {
    for Whole(api, base, expected, part, body, output) in [
        Whole(
            "gemini",
            "/v1beta?region=x",
            "/v1beta/models/tiny:generateContent?region=x",
            json!({"generationConfig": {"maxOutputTokens": 20}}),
            r#"{"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":"STOP"}],
                "usageMetadata":{"candidatesTokenCount":3}}"#,
            Some(3),
        ),
        Whole(
            "tgi",
            "/v1/",
            "/generate",
            json!({"parameters": {"max_new_tokens": 20, "return_full_text": false, "details": true}}),
            r#"[{"generated_text":"a","details":{"finish_reason":"length","generated_tokens":3}}]"#,
            Some(3),
        ),
        Whole(
            "triton",
            "/v2",
            "/v2/models/tiny/generate",
            json!({"stream": false, "exclude_input_in_output": true}),
            r#"{"model_name":"tiny","model_version":"1","text_output":"a"}"#,
            None,
        ),
        Whole(
            "ollama",
            "/api",
            "/api/chat",
            json!({"stream": false}),
            r#"{"message":{"role":"assistant","content":"a"},"done":true,"eval_count":3}"#,
            Some(3),
        ),
    ] {
        let server = Server::start(answer("200 OK", "content-type: application/json\r\n", body)).await;
        let url = format!("http://{}{base}", server.address);
        let more = format!("api = '{api}'\nstream = false");
        let report = Prober::new(plan(&url, &more, TIMEOUTS)).probe().await;
        assert_eq!(report.fault, None, "{api}");
        assert_eq!((report.tokens.output, report.timeline.deltas.len()), (output, 0), "{api}");
        let (path, sent) = request(&server);
        assert_eq!(path, expected);
        for (field, value) in part.as_object().expect("fields") {
            assert_eq!(&sent[field], value, "{api}: {field}");
        }
    }
}
