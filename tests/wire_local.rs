//! Recorded answers of llama-server, Ollama, llama-cpp-python and Triton, played back over a socket: what is
//! peculiar to them. What else they must be measured as stands in the recordings.

mod support;

use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use sloprobe::domain::Report;
use sloprobe::domain::TokenSource::{Deltas, FinalUsage};
use support::{Prober, Server, Step, plan};

const TIMEOUTS: &str = "connect = '2s'\nfirst_token = '2s'\nstall = '700ms'\ntotal = '10s'";

/// Asks as the recorded client did, and gets the answer as fast as it goes.
async fn replay(name: &str, api: &str) -> Report {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/wire").join(format!("{name}.json"));
    let recorded: Value = serde_json::from_str(&std::fs::read_to_string(&path).expect(name)).expect(name);
    let reads = recorded["reads"].as_array().expect("reads").iter();
    let mut script: Vec<_> =
        reads.map(|read| Step::Send(read[1]["utf8"].as_str().expect("text").to_owned())).collect();
    if recorded["response"]["end"] == "eof" {
        script.push(Step::Close);
    }
    let server = Server::start(script).await;
    let more = format!("api = '{api}'");
    Prober::new(plan(&format!("http://{}", server.address), &more, TIMEOUTS)).probe().await
}

#[tokio::test]
async fn tokens_are_counted_by_whom_they_are_told() {
    for (name, api, prompt, source) in [
        ("llama-server-chat-stream", "openai-chat", Some(162), FinalUsage),
        ("llama-server-completions-stream", "openai-completions", Some(149), FinalUsage),
        ("llama-server-messages-stream", "anthropic", Some(171), FinalUsage),
        ("ollama-native-stream", "ollama", Some(161), FinalUsage),
        // Zeros stand beside every piece of its text.
        ("ollama-completions-stream", "openai-completions", Some(171), FinalUsage),
        ("llama-cpp-python-chat-stream", "openai-chat", None, Deltas),
        ("triton-server-stream", "triton", None, Deltas),
    ] {
        let report = replay(name, api).await;
        assert_eq!(report.fault, None, "{name}");
        assert_eq!((report.tokens.prompt, report.tokens.source), (prompt, Some(source)), "{name}");
    }
    let killed = replay("ollama-completions-stream-runner-sigkill-midstream", "openai-completions").await;
    assert_eq!(killed.outcome(), "truncated");
    assert_eq!(killed.tokens.prompt, None);
}

#[tokio::test]
async fn llama_server_tells_its_time_in_every_format_of_openai() {
    for (name, api, prefill, decode) in [
        ("llama-server-chat-stream", "openai-chat", 26_819, 44_124),
        ("llama-server-completions-stream", "openai-completions", 7_205, 10_001),
        ("llama-server-responses-stream", "openai-responses", 6_439, 12_955),
        ("llama-server-responses-stream-reasoning", "openai-responses", 16_064, 8_790),
    ] {
        let times = replay(name, api).await.times;
        let told = |micros| Some(Duration::from_micros(micros));
        assert_eq!((times.prefill, times.decode), (told(prefill), told(decode)), "{name}");
    }
}

#[tokio::test]
async fn a_stream_of_anthropic_s_format_may_lack_its_beginning() {
    let report = replay("llama-server-messages-stream-reasoning", "anthropic").await;
    assert_eq!(report.fault, None);
    // The prompt's length would have stood in the event that is missing.
    assert_eq!((report.tokens.prompt, report.tokens.output), (None, Some(32)));
    assert!(report.sample.ttft.is_some() && report.sample.answer_ttft.is_none());
    assert!(report.answer.text.is_empty() && !report.answer.thought.is_empty());
}

#[tokio::test]
async fn what_these_servers_refuse_or_break_off_is_told_in_their_words() {
    for (name, api, outcome, says) in [
        (
            "llama-server-chat-stream-context-too-long",
            "openai-chat",
            "rejected",
            "HTTP 400: request (20331 tokens) exceeds the available context size (4096 tokens), try increasing it",
        ),
        ("llama-server-chat-stream-loading-model", "openai-chat", "server_error", "HTTP 503: Loading model"),
        (
            "ollama-messages-stream-unknown-model",
            "anthropic",
            "rejected",
            "HTTP 404: model 'nosuch' not found",
        ),
        (
            "ollama-native-stream-runner-sigkill-midstream",
            "ollama",
            "in_band",
            "an error was encountered while running the model: unexpected EOF",
        ),
        (
            "llama-cpp-python-chat-stream-context-too-long",
            "openai-chat",
            "truncated",
            "the answer is empty: status 200 without a body",
        ),
        (
            "triton-server-stream-context-too-long",
            "triton",
            "rejected",
            "HTTP 400: prompt is longer than the context of 4096 tokens",
        ),
        (
            "triton-server-stream-stub-not-healthy",
            "triton",
            "rejected",
            "HTTP 400: Stub process 'tiny_0_0' is not healthy.",
        ),
    ] {
        let report = replay(name, api).await;
        assert_eq!(report.outcome(), outcome, "{name}: {:?}", report.fault);
        assert_eq!(report.fault.expect(name).detail, says, "{name}");
    }
}
