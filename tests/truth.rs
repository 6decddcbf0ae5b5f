//! The probe against the simulated engine, whose log says exactly what was sent when.

mod support;

use std::time::Duration;

use sloprobe::domain::Report;
use sloprobe::simulate::log::Entry;
use sloprobe::simulate::{self, Handle, Profile, Settings};
use support::{Prober, ms, plan};
use tokio::net::TcpListener;

const TIMEOUTS: &str = "connect = '2s'\nfirst_token = '10s'\nstall = '10s'\ntotal = '30s'";

async fn engine(faults: &[&str]) -> Handle {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback has a free port");
    let settings = Settings { model: "tiny".into(), ..Settings::of(Profile::Fast) };
    let engine = simulate::start(listener, settings).expect("it starts");
    engine.control().set_faults(faults.iter().map(|fault| fault.parse().expect("a fault")).collect());
    engine
}

async fn probe(engine: &Handle, api: &str) -> (Report, Entry) {
    let prober = Prober::new(plan(&engine.base_url(), &format!("api = '{api}'\nengine = 'vllm'"), TIMEOUTS));
    let report = prober.probe().await;
    let entry = engine.log().entries().pop().expect("the engine logged the request");
    (report, entry)
}

/// As sent, or at most so much later as a busy machine takes.
fn near(measured: Duration, sent: Duration) -> bool {
    measured + ms(1) > sent && measured < sent + ms(40)
}

#[tokio::test]
async fn ttft_tokens_and_gaps_are_those_of_the_log() {
    for api in ["openai-chat", "openai-completions"] {
        let engine = engine(&[]).await;
        let (report, entry) = probe(&engine, api).await;
        assert_eq!(report.fault, None, "{api}");
        let (ttft, first) = (report.sample.ttft.expect("a TTFT"), entry.first_text().expect("text"));
        assert!(near(ttft, first), "{api}: {ttft:?}, sent after {first:?}");
        assert_eq!(report.tokens.output, Some(u64::from(entry.tokens())), "{api}");
        assert_eq!(report.tokens.prompt, Some(u64::from(entry.prompt_tokens)), "{api}");
        engine.stop().await;
    }
}

#[tokio::test]
async fn a_role_chunk_that_comes_early_is_no_token() {
    let engine = engine(&["early-role", "slow-first-token=6"]).await;
    let (report, entry) = probe(&engine, "openai-chat").await;
    let (ttft, first) = (report.sample.ttft.expect("a TTFT"), entry.first_text().expect("text"));
    assert!(first > ms(100), "{first:?}");
    assert!(near(ttft, first), "{ttft:?}, sent after {first:?}");
    let role = report.timeline.first_event.zip(report.timeline.sent).map(|(event, sent)| event - sent);
    assert!(role.is_some_and(|role| role < first / 2), "{role:?}");
    engine.stop().await;
}

#[tokio::test]
async fn a_stall_of_the_engine_is_the_stall_of_the_report() {
    let engine = engine(&["stall=1s@4"]).await;
    let (report, _) = probe(&engine, "openai-chat").await;
    let stall = report.sample.stall.expect("a stall");
    assert!(near(stall, ms(1000)), "{stall:?}");
    let mut gaps: Vec<_> = report.sample.itl.iter().map(|gap| gap.per_token).collect();
    gaps.sort();
    assert!(gaps[gaps.len() / 2] < ms(60), "{gaps:?}");
    engine.stop().await;
}

#[tokio::test]
async fn each_fault_of_the_engine_is_one_outcome_of_the_probe() {
    for (fault, outcome) in [
        ("http-400", "rejected"),
        ("http-401", "auth"),
        ("http-403", "auth"),
        ("http-404", "rejected"),
        ("http-429=3", "rate_limited"),
        ("http-500", "server_error"),
        ("http-503", "server_error"),
        ("http-503=3", "rate_limited"),
        ("in-band-error", "in_band"),
        ("cut-stream", "truncated"),
        ("early-end", "truncated"),
        ("garbage", "malformed"),
        ("html", "malformed"),
        ("empty-body", "truncated"),
        ("empty-answer", "empty"),
        ("refuse-connection", "truncated"),
        ("tokens-per-chunk=4", "ok"),
        ("events-per-write=4", "ok"),
    ] {
        let engine = engine(&[fault]).await;
        let prober = Prober::new(plan(&engine.base_url(), "engine = 'vllm'", TIMEOUTS));
        let report = prober.probe().await;
        assert_eq!(report.outcome(), outcome, "{fault}: {:?}", report.fault);
        engine.stop().await;
    }
}
