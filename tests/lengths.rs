//! Prompts fit into what a target takes, whatever its tokenizer; and requests carry what the user and the target ask for.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

mod common;
mod support;

use std::sync::Arc;
use std::time::Duration;

use common::{PATIENCE, config, eventually, run, sloprobe};
use serde_json::Value;
use sloprobe::config::Plan;
use sloprobe::daemon::{Daemon, Memory, sources};
use sloprobe::domain::{Failure, Report, Verdict};
use sloprobe::probe::{Transport, Trust};
use sloprobe::schedule::pulse::Pulse;
use sloprobe::schedule::trip::{Errand, Trip};
use support::{PATIENT, Prober, Server, Step, answer, event, head, in_time, ms, plan, punctually, text};
use tokio::net::TcpListener;
use tokio::time::Instant;

const CONTEXT: u64 = 4096;

/// How a server says that a prompt is too long.
#[derive(Debug, Clone, Copy)]
enum Style {
    /// The count and the limit.
    Openai,
    LlamaCpp,
    /// The limit, and a count that is only a lower bound.
    Vllm,
    /// With a good status, inside the stream.
    InBand,
    /// No number at all.
    Bare,
}

const STYLES: [Style; 5] = [Style::Openai, Style::LlamaCpp, Style::Vllm, Style::InBand, Style::Bare];

/// A tokenizer that makes two tokens of each word and each mark: twice what ours expects.
fn count(request: &str) -> (u64, u64) {
    let body: Value = serde_json::from_str(request.split_once("\r\n\r\n").unwrap().1).unwrap();
    let text = body["messages"][0]["content"].as_str().unwrap();
    let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).count();
    let marks = text.chars().filter(char::is_ascii_punctuation).count();
    (12 + 2 * (words + marks) as u64, body["max_tokens"].as_u64().unwrap())
}

fn fits((prompt, output): (u64, u64)) -> bool {
    prompt + output <= CONTEXT
}

/// Streams a short answer with its counts, or refuses what does not fit.
fn reply(style: Style, request: &str) -> Vec<Step> {
    if request.starts_with("GET ") {
        return answer("404 Not Found", "", "{}");
    }
    let (prompt, output) = count(request);
    if fits((prompt, output)) {
        let end = format!(r#"{{"choices":[],"usage":{{"prompt_tokens":{prompt},"completion_tokens":1}}}}"#);
        let rest = [event(support::FINISH), event(&end), event("[DONE]"), "0\r\n\r\n".into()].concat();
        return vec![head(), Step::Send(text("a")), Step::Send(rest)];
    }
    let total = prompt + output;
    let says = match style {
        Style::Openai | Style::InBand => format!(
            "This model's maximum context length is {CONTEXT} tokens. However, you requested {total} tokens ({prompt} in the messages, {output} in the completion)."
        ),
        Style::LlamaCpp => {
            format!(
                "request ({prompt} tokens) exceeds the available context size ({CONTEXT} tokens), try increasing it"
            )
        }
        Style::Vllm => format!(
            "This model's maximum context length is {CONTEXT} tokens. However, your prompt contains at least {} input tokens, which exceeds this limit.",
            CONTEXT + 1
        ),
        Style::Bare => "prompt is too long".to_owned(),
    };
    let error = format!(r#"{{"error":{{"message":"{says}"}}}}"#);
    match style {
        Style::InBand => vec![head(), Step::Send(event(&error) + "0\r\n\r\n")],
        _ => answer("400 Bad Request", "", &error),
    }
}

async fn engine(style: Style) -> Server {
    Server::answering(move |request| reply(style, request)).await
}

fn rag(server: &Server, input_tokens: u32, rate: &str) -> Plan {
    let rag = format!(
        "[[workloads]]\nname = 'rag'\nkind = 'rag'\ninput_tokens = {input_tokens}\noutput_tokens = 256\n"
    );
    let more = format!("rate = '{rate}'\nmix = {{ rag = 1 }}");
    plan(&format!("http://{}", server.address), &more, &format!("{PATIENT}\n{rag}"))
}

/// The prompts that came, each with the limit of its answer.
fn prompts(server: &Server) -> Vec<(u64, u64)> {
    server.requests().iter().filter(|request| !request.starts_with("GET ")).map(|r| count(r)).collect()
}

/// Probes one after another, as the schedule of a target does.
async fn probe(plan: &Plan, probes: usize) -> Vec<Report> {
    let target = &plan.targets[0];
    let transport = Arc::new(Transport::new(target, &Trust::default()).unwrap());
    let trip = Trip { transport, pulse: Arc::new(Pulse::new(Instant::now())) };
    let mut source = sources(target, &Memory::load(None)).remove(0);
    let mut reports = Vec::new();
    for _ in 0..probes {
        let workload = Arc::clone(&target.mix[0].workload);
        let (draft, learner) = (source.next_draft(), source.learner());
        let errand = Errand { workload, draft, learner, due: Instant::now() };
        reports.push(trip.measure(errand).await.finish());
    }
    reports
}

#[tokio::test]
async fn the_third_prompt_fits_a_short_context_and_a_strange_tokenizer() {
    for style in STYLES {
        for input_tokens in [3500, 6000] {
            let server = engine(style).await;
            let reports = probe(&rag(&server, input_tokens, "1/s"), 6).await;
            let sent = prompts(&server);
            assert!(sent[2..].iter().all(|&one| fits(one)), "{style:?} {input_tokens}: {sent:?}");
            assert!(reports[2..].iter().all(Report::succeeded), "{style:?} {input_tokens}");
            let goal = match style {
                Style::Bare if input_tokens == 6000 => 2000..3840,
                _ if input_tokens == 6000 => 3600..3840,
                _ => 3395..3605,
            };
            assert!(goal.contains(&sent[5].0), "{style:?} {input_tokens}: {sent:?}");
        }
    }
}

#[tokio::test]
async fn the_daemon_sends_a_fitting_prompt_by_the_third_probe() {
    for style in [Style::Openai, Style::Vllm] {
        // A late host may send the third probe before the answer to the first is read.
        punctually(async || {
            let server = engine(style).await;
            let daemon = Daemon::new(rag(&server, 6000, "2/s")).unwrap();
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let running = tokio::spawn(daemon.run(listener, std::future::pending(), Duration::ZERO));
            let sent = eventually("four probes", PATIENCE, async || {
                let sent = prompts(&server);
                if sent.len() >= 4 { Ok(sent) } else { Err(format!("{sent:?}")) }
            })
            .await;
            running.abort();
            in_time(sent[2..].iter().all(|&one| fits(one)), &sent)
        })
        .await;
    }
}

#[tokio::test]
async fn once_tries_again_with_a_shorter_prompt_and_shows_each_try() {
    for style in [Style::LlamaCpp, Style::Vllm] {
        let server = engine(style).await;
        let folder = config(&format!(
            "[[targets]]\nname = 't'\nurl = 'http://{}'\nmodel = 'tiny'\n\
             [[workloads]]\nname = 'rag'\nkind = 'rag'\n",
            server.address
        ));
        let ended = run(sloprobe(&["once", "--json"]).current_dir(&folder)).await;
        assert_eq!(ended.code, Some(0), "{ended:?}");
        let lines: Vec<Value> =
            ended.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert!((2..=3).contains(&lines.len()), "{lines:?}");
        let (last, refused) = lines.split_last().unwrap();
        assert_eq!((&last["outcome"], fits(prompts(&server)[lines.len() - 1])), (&Value::from("ok"), true));
        assert!(refused.iter().all(|line| line["outcome"] == "rejected"), "{refused:?}");

        let table = run(sloprobe(&["once"]).current_dir(&folder)).await.stdout;
        assert!(table.contains("refused as too long; sent again with a shorter prompt"), "{table}");
        assert!(table.contains("6000 are asked for: no more fits, the target takes 4096"), "{table}");
    }
}

#[tokio::test]
async fn once_asks_the_tokenize_page_before_it_writes_a_prompt() {
    let server = Server::answering(|request| match request.split(' ').nth(1).unwrap() {
        "/v1/models" => answer(
            "200 OK",
            "",
            r#"{"data":[{"id":"tiny","owned_by":"vllm","root":"org/tiny","max_model_len":4096}]}"#,
        ),
        "/tokenize" => {
            let with_limit = request.replacen("\"messages\"", "\"max_tokens\":1,\"messages\"", 1);
            answer("200 OK", "", &format!(r#"{{"count":{},"tokens":[]}}"#, count(&with_limit).0))
        }
        _ => reply(Style::Vllm, request),
    })
    .await;
    let folder = config(&format!(
        "[[targets]]\nname = 't'\nurl = 'http://{}'\nmodel = 'tiny'\n\
         [[workloads]]\nname = 'rag'\nkind = 'rag'\ninput_tokens = 3000\n",
        server.address
    ));
    let ended = run(sloprobe(&["once", "--json"]).current_dir(&folder)).await;
    let line: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!((ended.code, &line["outcome"]), (Some(0), &Value::from("ok")), "{line}");
    let tokens = line["tokens"]["prompt"].as_u64().unwrap();
    assert!((2910..=3090).contains(&tokens), "the very first prompt is met: {tokens}");
}

fn body(request: &str) -> Value {
    serde_json::from_str(request.split_once("\r\n\r\n").unwrap().1).unwrap()
}

fn stream() -> Vec<Step> {
    vec![head(), Step::Send(text("a")), support::end(1)]
}

#[tokio::test]
async fn a_least_limit_of_the_answer_is_met_and_remembered() {
    let server = Server::answering(|request| {
        let limit = body(request)["max_tokens"].as_u64().unwrap();
        let says = format!("Invalid 'max_tokens': integer below minimum value. Expected a value >= 32, but got {limit} instead.");
        if limit < 32 {
            answer("400 Bad Request", "", &format!(r#"{{"error":{{"message":"{says}"}}}}"#))
        } else {
            stream()
        }
    })
    .await;
    let prober = Prober::new(plan(&format!("http://{}", server.address), "", PATIENT));
    for _ in 0..2 {
        assert_eq!(prober.probe().await.fault, None);
    }
    let limits: Vec<_> = server.requests().iter().map(|r| body(r)["max_tokens"].clone()).collect();
    assert_eq!(limits, [20, 32, 32]);
}

#[tokio::test]
async fn a_server_that_demands_more_and_more_is_not_asked_for_ever() {
    let server = Server::answering(|request| {
        let limit = body(request)["max_tokens"].as_u64().unwrap();
        answer("400 Bad Request", "", &format!("max_tokens must be at least {}", limit + 1))
    })
    .await;
    let prober = Prober::new(plan(&format!("http://{}", server.address), "", PATIENT));
    let report = prober.probe().await;
    assert_eq!(report.fault.unwrap().failure, Failure::Rejected);
    assert_eq!(server.requests().len(), 3);
}

#[tokio::test]
async fn extra_fields_are_sent_and_a_refused_wish_to_reason_less_is_dropped() {
    let server = Server::answering(|request| {
        if body(request)["reasoning_effort"].is_null() {
            return stream();
        }
        let says = "Unsupported value: 'reasoning_effort' does not support 'none' with this model.";
        answer("400 Bad Request", "", &format!(r#"{{"error":{{"message":"{says}"}}}}"#))
    })
    .await;
    let more =
        "reasoning = 'off'\nextra = { temperature = 0.5, provider = { order = ['a', 'b'] }, user = 'x' }";
    let prober = Prober::new(plan(&format!("http://{}", server.address), more, PATIENT));
    for _ in 0..2 {
        assert_eq!(prober.probe().await.fault, None);
    }
    let sent: Vec<_> = server.requests().iter().map(|request| body(request)).collect();
    assert_eq!(sent.len(), 3);
    assert_eq!(sent[0]["reasoning_effort"], "none");
    assert!(sent[1..].iter().all(|body| body["reasoning_effort"].is_null()));
    for body in &sent {
        assert_eq!(
            (&body["temperature"], &body["provider"]["order"][1]),
            (&Value::from(0.5), &Value::from("b"))
        );
        assert_eq!((&body["stream"], &body["max_tokens"]), (&Value::from(true), &Value::from(20)));
    }
}

#[tokio::test]
async fn an_answer_that_hidden_reasoning_used_up_is_unchecked_and_no_failure() {
    let cut = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"length"}]}"#;
    let usage = r#"{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":20,"completion_tokens_details":{"reasoning_tokens":20}}}"#;
    let rest = [event(cut), event(usage), event("[DONE]"), "0\r\n\r\n".into()].concat();
    let server = Server::start(vec![head(), Step::At(ms(5)), Step::Send(rest)]).await;
    let plan = plan(&format!("http://{}", server.address), "", PATIENT);
    let report = probe(&plan, 1).await.remove(0);
    assert_eq!((report.fault, report.verdict), (None, Some(Verdict::Unchecked)));
    assert_eq!((report.sample.ttft, report.tokens.reasoning), (None, Some(20)));
}
