//! The probe against the simulated engine, whose log says exactly what was sent when.

mod support;

use std::time::Duration;

use sloprobe::domain::Report;
use sloprobe::simulate::log::Entry;
use sloprobe::simulate::{self, Handle, Profile, Settings};
use support::{PATIENT, Prober, in_time, ms, plan, punctually};
use tokio::net::TcpListener;

async fn engine(faults: &[&str]) -> Handle {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback has a free port");
    let settings = Settings { model: "tiny".into(), ..Settings::of(Profile::Fast) };
    let engine = simulate::start(listener, settings).expect("it starts");
    engine.control().set_faults(faults.iter().map(|fault| fault.parse().expect("a fault")).collect());
    engine
}

async fn probe(engine: &Handle, api: &str) -> (Report, Entry) {
    let prober = Prober::new(plan(&engine.base_url(), &format!("api = '{api}'\nengine = 'vllm'"), PATIENT));
    let report = prober.probe().await;
    let entry = engine.log().entries().pop().expect("the engine logged the request");
    (report, entry)
}

/// Not before it was sent, and not much later.
fn near(measured: Duration, sent: Duration) -> Result<(), String> {
    assert!(measured + ms(1) > sent, "{measured:?}, sent after {sent:?}");
    in_time(measured < sent + ms(40), &(measured, sent))
}

#[tokio::test]
async fn ttft_tokens_and_gaps_are_those_of_the_log() {
    for api in ["openai-chat", "openai-completions"] {
        punctually(async || {
            let engine = engine(&[]).await;
            let (report, entry) = probe(&engine, api).await;
            engine.stop().await;
            assert_eq!(report.fault, None, "{api}");
            assert_eq!(report.tokens.output, Some(u64::from(entry.tokens())), "{api}");
            assert_eq!(report.tokens.prompt, Some(u64::from(entry.prompt_tokens)), "{api}");
            near(report.sample.ttft.expect("a TTFT"), entry.first_text().expect("text"))
        })
        .await;
    }
}

#[tokio::test]
async fn a_role_chunk_that_comes_early_is_no_token() {
    punctually(async || {
        let engine = engine(&["early-role", "slow-first-token=6"]).await;
        let (report, entry) = probe(&engine, "openai-chat").await;
        engine.stop().await;
        let (ttft, first) = (report.sample.ttft.expect("a TTFT"), entry.first_text().expect("text"));
        assert!(first > ms(100), "{first:?}");
        near(ttft, first)?;
        let event = report.timeline.first_event.expect("an event");
        let role = event - report.timeline.sent.expect("a request");
        in_time(role < first / 2, &(role, first))
    })
    .await;
}

#[tokio::test]
async fn a_stall_of_the_engine_is_the_stall_of_the_report() {
    punctually(async || {
        let engine = engine(&["stall=1s@4"]).await;
        let (report, _) = probe(&engine, "openai-chat").await;
        engine.stop().await;
        assert_eq!(report.fault, None);
        // It begins with a token, and is shorter if that one was read late.
        let stall = report.sample.stall.expect("a stall");
        in_time(stall + ms(1) > ms(1000) && stall < ms(1040), &stall)?;
        let mut gaps: Vec<_> = report.sample.itl.iter().map(|gap| gap.per_token).collect();
        gaps.sort();
        in_time(gaps[gaps.len() / 2] < ms(60), &gaps)
    })
    .await;
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
        let prober = Prober::new(plan(&engine.base_url(), "engine = 'vllm'", PATIENT));
        let report = prober.probe().await;
        assert_eq!(report.outcome(), outcome, "{fault}: {:?}", report.fault);
        engine.stop().await;
    }
}
