//! Recorded streams of real servers, played back over a socket in their own time.

mod support;

use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use sloprobe::domain::TokenSource::{ChunkUsage, FinalUsage, TokenIds};
use sloprobe::domain::{Report, TokenSource};
use support::{Prober, Server, Step, in_time, ms, plan, punctually, tokens_without_gap};

const TIMEOUTS: &str = "connect = '2s'\nfirst_token = '5s'\nstall = '700ms'\ntotal = '10s'";

/// The script of a recording, and the API that it speaks.
fn recording(name: &str) -> (Vec<Step>, &'static str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/wire").join(format!("{name}.json"));
    let text = std::fs::read_to_string(&path).expect(name);
    let recorded: Value = serde_json::from_str(&text).expect(name);
    let seconds = |value: &Value| Duration::from_secs_f64(value.as_f64().expect("an instant"));
    let mut script = Vec::new();
    for read in recorded["reads"].as_array().expect("reads") {
        script.push(Step::At(seconds(&read[0])));
        script.push(Step::Send(read[1]["utf8"].as_str().expect("text").to_owned()));
    }
    match recorded["response"]["end"].as_str().expect("how it ended") {
        "eof" => script.extend([Step::At(seconds(&recorded["end_at_s"])), Step::Close]),
        "timeout" => script.push(Step::Hang),
        _ => {}
    }
    let path = recorded["request"]["path"].as_str().expect("a path");
    let api = if path == "/v1/completions" { "openai-completions" } else { "openai-chat" };
    (script, api)
}

async fn replay(name: &str) -> Report {
    let (script, api) = recording(name);
    let server = Server::start(script).await;
    let more = format!("api = '{api}'");
    Prober::new(plan(&format!("http://{}/v1", server.address), &more, TIMEOUTS)).probe().await
}

/// What an answer must be measured as: first text in milliseconds, chunks with text, tokens in and out.
struct Measured(&'static str, f64, usize, u64, u64, TokenSource);

#[tokio::test]
async fn answers_of_real_servers_are_measured_as_they_were_sent() {
    for Measured(name, ttft_ms, deltas, prompt, output, source) in [
        Measured("vllm-chat-stream", 137.8, 31, 40, 32, FinalUsage),
        Measured("vllm-completions-stream", 28.9, 32, 8, 32, FinalUsage),
        Measured("vllm-chat-stream-continuous-usage", 32.5, 30, 40, 32, ChunkUsage),
        Measured("vllm-chat-stream-return-token-ids", 17.2, 6, 40, 6, TokenIds),
        Measured("vllm-flags-chat-stream-long-prompt", 998.7, 16, 7773, 16, FinalUsage),
        Measured("xinference-chat-stream", 278.2, 16, 40, 32, FinalUsage),
        Measured("transformers-chat-stream", 23.2, 32, 40, 32, FinalUsage),
        Measured("transformers-chat-stream-long-prompt", 786.4, 15, 7773, 16, FinalUsage),
        Measured("litellm-chat-stream", 801.4, 31, 40, 32, FinalUsage),
    ] {
        let sent = Duration::from_secs_f64(ttft_ms / 1e3);
        punctually(async || {
            let report = replay(name).await;
            assert_eq!(report.fault, None, "{name}");
            assert_eq!(report.timeline.deltas.len(), deltas, "{name}");
            assert_eq!((report.tokens.prompt, report.tokens.output), (Some(prompt), Some(output)), "{name}");
            assert_eq!(report.tokens.source, Some(source), "{name}");
            let ttft = report.sample.ttft.expect(name);
            assert!(ttft + ms(1) >= sent, "{name}: {ttft:?} for {sent:?}");
            assert!(report.sample.itl.iter().all(|gap| gap.per_token > Duration::ZERO), "{name}");
            let counted: u64 = report.sample.itl.iter().map(|gap| u64::from(gap.tokens)).sum();
            let first = tokens_without_gap(&report);
            // Where the server says which chunk has which tokens, the shares are not quite equal.
            let is_whole = counted < output && (output - 2..=output + 2).contains(&(counted + first));
            assert!(is_whole, "{name}: {counted} gaps, and {first} tokens came first");
            in_time(ttft < sent + ms(60), &(name, ttft, sent))
        })
        .await;
    }
}

#[tokio::test]
async fn what_real_servers_do_wrong_is_called_by_its_name() {
    for (name, outcome, says) in [
        ("vllm-chat-stream-apiserver-sigkill-midstream", "truncated", "the server closed the connection"),
        ("vllm-chat-stream-sigterm-midstream", "timeout_stall", "no further token for 700 ms, after "),
        ("vllm-flags-chat-stream-enginecore-sigkill-midstream", "in_band", "EngineCore"),
        ("vllm-chat-stream-unknown-model", "rejected", "does not exist"),
        ("vllm-flags-chat-stream-wrong-key", "auth", "Unauthorized"),
        ("vllm-flags-overload-4-of-6", "server_error", "HTTP 503"),
    ] {
        let report = replay(name).await;
        assert_eq!(report.outcome(), outcome, "{name}: {:?}", report.fault);
        let detail = &report.fault.as_ref().expect(name).detail;
        assert!(detail.contains(says), "{name}: {detail}");
    }
}
