//! Every recorded exchange, played back over a socket as fast as it goes, must give the expected report.
//!
//! What to expect was worked out from the recordings by another reader than the one under test, and stands in
//! each file.

mod support;

use std::path::PathBuf;

use serde_json::Value;
use sloprobe::domain::{Answer, Report, TokenSource};
use support::{Prober, Server, Step, plan};

const TIMEOUTS: &str = "connect = '2s'\nfirst_token = '2s'\nstall = '700ms'\ntotal = '20s'";

fn recordings() -> Vec<(String, Value)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/wire");
    let mut found: Vec<_> = std::fs::read_dir(folder)
        .expect("tests/wire is there")
        .map(|entry| entry.expect("a file").path())
        .filter(|path| path.extension().is_some_and(|end| end == "json"))
        .map(|path| {
            let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
            let text = std::fs::read_to_string(&path).expect("readable");
            (name, serde_json::from_str(&text).expect("JSON"))
        })
        .filter(|(_, recorded): &(_, Value)| recorded["expect"].is_object())
        .collect();
    found.sort_by(|a, b| a.0.cmp(&b.0));
    found
}

/// The steps of a recording, without its pauses.
fn script(recorded: &Value) -> Vec<Step> {
    let reads = recorded["reads"].as_array().expect("reads").iter();
    let mut script: Vec<_> =
        reads.map(|read| Step::Send(read[1]["utf8"].as_str().expect("text").to_owned())).collect();
    match recorded["response"]["end"].as_str().expect("how it ended") {
        "eof" => script.push(Step::Close),
        "timeout" => script.push(Step::Hang),
        _ => {}
    }
    script
}

/// The format that was spoken, and whether the answer was to be streamed.
fn call(recorded: &Value) -> (&'static str, bool) {
    let streams = recorded["request"]["body"]["stream"] == true;
    match recorded["request"]["path"].as_str().expect("a path") {
        "/v1/chat/completions" => ("openai-chat", streams),
        "/v1/completions" => ("openai-completions", streams),
        "/v1/responses" => ("openai-responses", streams),
        "/v1/messages" => ("anthropic", streams),
        "/api/chat" => ("ollama", streams),
        // Here the address says it.
        "/generate_stream" => ("tgi", true),
        path if path.starts_with("/v2/models/") => ("triton", path.ends_with("/generate_stream")),
        "/v1beta/models/tiny:streamGenerateContent?alt=sse" => ("gemini", true),
        other => panic!("sent to {other}"),
    }
}

/// FNV-1a, 64 bits, in hexadecimal digits.
fn fingerprint(text: &str) -> String {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    format!("{hash:016x}")
}

fn assert_said(name: &str, expected: &Value, answer: &Answer) {
    let Answer { text, thought, cut, .. } = answer;
    assert_eq!(expected["text_chars"], text.chars().count(), "{name}: {text}");
    assert_eq!(expected["text_fnv"], fingerprint(text), "{name}: {text}");
    assert_eq!(expected["thought_chars"], thought.chars().count(), "{name}: {thought}");
    if !thought.is_empty() {
        assert_eq!(expected["thought_fnv"], fingerprint(thought), "{name}: {thought}");
    }
    assert_eq!(expected["cut"], *cut, "{name}");
}

fn assert_measured(name: &str, expected: &Value, report: &Report, stream: bool) {
    assert_eq!(expected["outcome"], report.outcome(), "{name}: {:?}", report.fault);
    if report.succeeded() {
        assert_eq!(expected["deltas"], report.timeline.deltas.len(), "{name}");
        assert_eq!(expected["prompt"].as_u64(), report.tokens.prompt, "{name}");
        assert_eq!(expected["output"].as_u64(), report.tokens.output, "{name}");
        assert_attributed(name, expected, report);
        assert_eq!(report.sample.ttft.is_some(), stream, "{name}");
        assert!(stream || report.sample.tokens_per_second.is_some(), "{name}");
    } else {
        assert!(!report.fault.as_ref().expect("a fault").detail.is_empty(), "{name}");
    }
}

/// Which tokens came with which chunk, where it is written down.
fn assert_attributed(name: &str, expected: &Value, report: &Report) {
    if let Some(shares) = expected["shares"].as_array() {
        let tokens = &report.tokens;
        let found: Vec<_> = report.timeline.deltas.iter().map(|delta| delta.tokens).collect();
        let shares: Vec<_> = shares.iter().map(|share| share.as_u64().map(|n| n as u32)).collect();
        assert_eq!(found, shares, "{name}");
        assert_eq!(expected["source"].as_str(), tokens.source.map(TokenSource::label), "{name}");
        assert_eq!(expected["hidden"].as_u64(), tokens.hidden, "{name}");
        let drafted = expected["drafted"].as_u64().zip(expected["accepted"].as_u64());
        assert_eq!(drafted, tokens.speculation.map(|guesses| (guesses.drafted, guesses.accepted)), "{name}");
    }
}

#[tokio::test]
async fn every_recording_gives_the_expected_report() {
    let recordings = recordings();
    assert!(recordings.len() >= 250, "{} recordings", recordings.len());
    for (name, recorded) in recordings {
        let server = Server::start(script(&recorded)).await;
        let (api, stream) = call(&recorded);
        let more = format!("api = '{api}'\nstream = {stream}");
        let prober = Prober::new(plan(&format!("http://{}", server.address), &more, TIMEOUTS));
        let report = prober.probe().await;

        let expected = &recorded["expect"];
        assert_said(&name, expected, &report.answer);
        // Of the formats other than OpenAI's, tests of their own know what to measure.
        if expected["outcome"].is_string() {
            assert_measured(&name, expected, &report, stream);
        }
    }
}
