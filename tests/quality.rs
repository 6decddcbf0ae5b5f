//! Answers as the daemon sees them: right, wrong, degenerate, short, lost in the middle, cached when they should
//! not be; each against the simulated engine, over real sockets.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

mod common;

use std::collections::BTreeMap;
use std::time::Duration;

use common::{PATIENCE, config, eventually, run, sloprobe};
use serde_json::Value;
use sloprobe::config::{Outside, parse};
use sloprobe::daemon::Daemon;
use sloprobe::simulate::cost::StepCost;
use sloprobe::simulate::{self, Handle, Profile, Settings};
use tokio::net::TcpListener;

const WORKLOADS: &str = "
[[workloads]]
name = 'chat'
kind = 'chat'
input_tokens = 200
output_tokens = 200
[[workloads]]
name = 'chat-zh'
kind = 'chat'
language = 'zh'
input_tokens = 200
output_tokens = 200
[[workloads]]
name = 'rag'
kind = 'rag'
input_tokens = 800
output_tokens = 200
[[workloads]]
name = 'rag-zh'
kind = 'rag'
language = 'zh'
input_tokens = 800
output_tokens = 200
[[workloads]]
name = 'story'
kind = 'continuation'
input_tokens = 100
output_tokens = 200
[[workloads]]
name = 'story-zh'
kind = 'continuation'
language = 'zh'
input_tokens = 100
output_tokens = 200
";

async fn engine(faults: &[&str]) -> Handle {
    let mut settings = Settings::of(Profile::Fast);
    settings.model = "tiny".into();
    // What is said matters here, not when.
    settings.engine.cost = StepCost::flat(Duration::from_micros(100), Duration::ZERO);
    settings.faults = faults.iter().map(|fault| fault.parse().unwrap()).collect();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    simulate::start(listener, settings).unwrap()
}

fn file(engine: &Handle, more: &str) -> String {
    format!(
        "[[targets]]\nname = 't'\nurl = '{}'\nmodel = 'tiny'\nrate = '20/s'\n{more}\n{WORKLOADS}",
        engine.base_url()
    )
}

/// Probes until every workload has had so many answers; gives all counters of the daemon.
async fn counters(engine: &Handle, answers: f64) -> BTreeMap<String, f64> {
    let nothing = |_: &std::path::Path| Err(std::io::ErrorKind::NotFound.into());
    let outside = Outside { env: &|_| None, file: &nothing, text: &nothing };
    let daemon = Daemon::new(parse("test.toml", &file(engine, ""), &outside).unwrap()).unwrap();
    let recorder = daemon.recorder();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let running = tokio::spawn(daemon.run(listener, std::future::pending(), Duration::ZERO));
    let read = || {
        let text = recorder.text();
        let series = text.lines().filter(|line| !line.starts_with('#'));
        let series = series.filter_map(|line| line.rsplit_once(' '));
        series.map(|(name, value)| (name.to_owned(), value.parse().unwrap())).collect()
    };
    eventually("enough answers", PATIENCE, async || {
        let counters: BTreeMap<String, f64> = read();
        let of =
            |workload: &str| total(&counters, "sloprobe_answers_total", &format!("workload=\"{workload}\""));
        let all = ["chat", "chat-zh", "rag", "rag-zh", "story", "story-zh"].map(of);
        if all.iter().all(|&count| count >= answers) { Ok(()) } else { Err(format!("{all:?}")) }
    })
    .await;
    running.abort();
    read()
}

fn total(counters: &BTreeMap<String, f64>, family: &str, label: &str) -> f64 {
    let of =
        counters.iter().filter(|(name, _)| name.starts_with(&format!("{family}{{")) && name.contains(label));
    of.map(|(_, value)| value).sum()
}

fn verdicts(counters: &BTreeMap<String, f64>) -> BTreeMap<String, f64> {
    let of = |verdict: &str| total(counters, "sloprobe_answers_total", &format!("verdict=\"{verdict}\""));
    let all = ["right", "wrong", "degenerate", "short", "unchecked"];
    all.into_iter().map(|verdict| (verdict.to_owned(), of(verdict))).filter(|(_, n)| *n > 0.0).collect()
}

#[tokio::test]
async fn a_good_engine_is_right_in_every_workload() {
    let engine = engine(&[]).await;
    let counters = counters(&engine, 12.0).await;
    assert_eq!(verdicts(&counters).keys().collect::<Vec<_>>(), ["right"], "{:?}", verdicts(&counters));
    let facts = total(&counters, "sloprobe_facts_total", "");
    assert!(facts >= 24.0, "{facts}");
    assert_eq!(facts.to_bits(), total(&counters, "sloprobe_facts_found_total", "").to_bits());
    assert_eq!(total(&counters, "sloprobe_cold_cached_total", "").to_bits(), 0_f64.to_bits());
    engine.stop().await;
}

#[tokio::test]
async fn an_engine_that_is_wrong_is_seen_to_be() {
    let engine = engine(&["wrong"]).await;
    let verdicts = verdicts(&counters(&engine, 6.0).await);
    // A story that ends after a sentence is too short.
    assert_eq!(verdicts.keys().collect::<Vec<_>>(), ["short", "wrong"], "{verdicts:?}");
    engine.stop().await;
}

#[tokio::test]
async fn an_engine_that_babbles_is_seen_to() {
    let engine = engine(&["degenerate"]).await;
    let verdicts = verdicts(&counters(&engine, 6.0).await);
    assert_eq!(verdicts.keys().collect::<Vec<_>>(), ["degenerate"], "{verdicts:?}");
    engine.stop().await;
}

#[tokio::test]
async fn what_is_lost_in_the_middle_is_seen_by_its_depth() {
    let engine = engine(&["lost-middle"]).await;
    let counters = counters(&engine, 33.0).await;
    let found = |depth: &str| {
        let label = format!("depth=\"{depth}\"");
        total(&counters, "sloprobe_facts_found_total", &label)
            / total(&counters, "sloprobe_facts_total", &label)
    };
    assert!(found("0-20") > 0.99 && found("80-100") > 0.99, "{} {}", found("0-20"), found("80-100"));
    assert!(found("40-60") < 0.01, "{}", found("40-60"));
    engine.stop().await;
}

#[tokio::test]
async fn once_shows_a_bad_answer_with_the_seed_of_its_prompt() {
    let engine = engine(&["wrong"]).await;
    let folder = config(&file(&engine, "mix = { rag = 1 }"));
    let table = run(sloprobe(&["once"]).current_dir(&folder)).await;
    assert_eq!(table.code, Some(0), "{table:?}");
    assert!(table.stdout.contains("t, rag: the answer is wrong (sloprobe prompt --workload rag --seed "));
    let json = run(sloprobe(&["once", "--json"]).current_dir(&folder)).await;
    let report: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(report["verdict"], "wrong");
    assert!(report["answer"].as_str().unwrap().starts_with("Answer: "), "{report}");

    let seed = report["seed"].as_str().unwrap();
    let args = ["prompt", "--workload", "rag", "--seed", seed, "--json"];
    let again = run(sloprobe(&args).current_dir(&folder)).await;
    let prompt: Value = serde_json::from_str(&again.stdout).unwrap();
    assert_eq!((&prompt["seed"], &prompt["depth"]), (&report["seed"], &report["depth"]));
    let asked = prompt["messages"][0]["content"].as_str().unwrap();
    let expected = prompt["expect"]["text"].as_str().unwrap();
    assert!(asked.contains(expected), "{asked}");
    engine.stop().await;
}
