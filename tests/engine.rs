//! What a target runs: found out by reading, shown, and used to decide which fields are sent.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

mod common;
mod support;

use std::fmt::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::{PATIENCE, config, eventually, run, sloprobe};
use serde_json::Value;
use sloprobe::daemon::Daemon;
use sloprobe::domain::{Engine, Failure};
use sloprobe::probe::{Page, Transport, Trust, identify};
use sloprobe::record::Recorder;
use sloprobe::schedule::identify::Pace;
use sloprobe::simulate::{self, Handle, Profile, Settings};
use support::{PATIENT, Prober, Server, Step, answer, end, event, head, in_time, ms, plan, punctually, text};
use tokio::net::TcpListener;

const MODELS: &str =
    r#"{"object":"list","data":[{"id":"tiny","owned_by":"vllm","root":"org/tiny","max_model_len":4096}]}"#;

async fn simulated() -> Handle {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    simulate::start(listener, Settings { model: "tiny".into(), ..Settings::of(Profile::Fast) }).unwrap()
}

fn stream() -> Vec<Step> {
    vec![head(), Step::Send(text("a")), end(1)]
}

fn is_get(request: &str) -> bool {
    request.starts_with("GET ")
}

/// The path of a request.
fn path(request: &str) -> &str {
    request.split(' ').nth(1).unwrap()
}

fn body(request: &str) -> &str {
    request.split_once("\r\n\r\n").unwrap().1
}

/// A server that is not there for GETs, and answers a probe as told.
async fn closed_server(probe: impl Fn(&str) -> Vec<Step> + Send + Sync + 'static) -> Server {
    Server::answering(move |request| {
        let not_found = r#"{"detail":"Not Found"}"#;
        if is_get(request) { answer("404 Not Found", "", not_found) } else { probe(request) }
    })
    .await
}

/// Streams unless the request has one of these fields.
fn refusing(fields: &'static [&'static str]) -> impl Fn(&str) -> Vec<Step> {
    move |request| match fields.iter().find(|field| request.contains(*field)) {
        Some(field) => {
            let detail = format!(r#"{{"detail":"Unexpected fields in the request: {{'{field}'}}"}}"#);
            answer("422 Unprocessable Entity", "", &detail)
        }
        None => stream(),
    }
}

#[tokio::test]
async fn an_engine_and_its_upgrade_are_shown() {
    let engine = simulated().await;
    let mut daemon = Daemon::new(plan(&engine.base_url(), "", PATIENT)).unwrap();
    daemon.pace.every = ms(20);
    let recorder = daemon.recorder();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let running = tokio::spawn(daemon.run(listener, std::future::pending(), Duration::ZERO));
    for version in ["0.32.0", "0.33.0"] {
        engine.control().set_version(version);
        shown(&recorder, version).await;
    }
    running.abort();
}

/// What a daemon shows of its only target once that is this version of vLLM: until it is sure, the one before as
/// well.
async fn shown(recorder: &Recorder, version: &str) {
    eventually("the version on the info metric", PATIENCE, async || {
        let exposed = recorder.text();
        let infos: Vec<_> = exposed.lines().filter(|l| l.starts_with("sloprobe_target_info{")).collect();
        assert!((1..=2).contains(&infos.len()), "{infos:#?}");
        let wanted = format!("version=\"{version}\"");
        let shown = infos.iter().any(|info| info.contains("engine=\"vllm\"") && info.contains(&wanted));
        if shown { Ok(()) } else { Err(infos.concat()) }
    })
    .await;
}

#[tokio::test]
async fn what_comes_back_or_has_a_new_name_is_asked_at_once_what_it_runs() {
    // "" is away; otherwise the version that it runs.
    let runs = Arc::new(Mutex::new(String::new()));
    let server = Server::answering({
        let runs = Arc::clone(&runs);
        move |request| {
            let version = runs.lock().unwrap().clone();
            match path(request) {
                _ if version.is_empty() => answer("503 Service Unavailable", "", "loading"),
                "/v1/models" => answer("200 OK", "", MODELS),
                "/version" => answer("200 OK", "", &format!(r#"{{"version":"{version}"}}"#)),
                _ => {
                    let name = format!(r#"{{"choices":[],"system_fingerprint":"vllm-{version}"}}"#);
                    vec![head(), Step::Send(event(&name) + &text("a")), end(1)]
                }
            }
        }
    })
    .await;
    let mut daemon =
        Daemon::new(plan(&format!("http://{}", server.address), "rate = '20/s'", PATIENT)).unwrap();
    let hour = Duration::from_secs(3600);
    daemon.pace = Pace { every: hour, soonest: ms(50), rolling: hour };
    let recorder = daemon.recorder();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let running = tokio::spawn(daemon.run(listener, std::future::pending(), Duration::ZERO));
    eventually("a probe that failed", PATIENCE, async || {
        let posts = server.requests().iter().filter(|request| !is_get(request)).count();
        if posts > 1 { Ok(()) } else { Err(posts.to_string()) }
    })
    .await;
    for version in ["0.32.0", "0.33.0"] {
        version.clone_into(&mut runs.lock().unwrap());
        shown(&recorder, version).await;
    }
    running.abort();
}

#[tokio::test]
async fn only_pages_of_the_list_are_read_and_only_probes_are_posted() {
    let server = closed_server(|_| stream()).await;
    let prober = Prober::new(plan(&format!("http://{}/gateway/v1", server.address), "", PATIENT));
    let plan =
        plan(&format!("http://{}/gateway/v1", server.address), "api_key = { env = 'TEST_KEY' }", PATIENT);
    let transport = Transport::new(&plan.targets[0], &Trust::default()).unwrap();
    assert_eq!(identify(&transport).await.engine, Engine::Auto);
    assert_eq!(prober.probe().await.fault, None);
    let requests = server.requests();
    let (gets, others): (Vec<_>, Vec<_>) = requests.iter().partition(|request| is_get(request));
    assert!((1..=5).contains(&gets.len()), "{gets:#?}");
    for get in gets {
        let page = path(get).strip_prefix("/gateway").unwrap();
        assert!(Page::ALL.iter().any(|known| known.path() == page), "{page}");
        assert!(get.to_lowercase().contains("authorization: bearer sk-very-secret"), "{get}");
    }
    assert_eq!(others.len(), 1);
    assert!(others[0].starts_with("POST /gateway/v1/chat/completions "), "{}", others[0]);
}

#[tokio::test]
async fn two_pages_are_enough_for_vllm_and_redirects_are_not_followed() {
    let server = Server::answering(|request| match path(request) {
        "/v1/models" => answer("200 OK", "", MODELS),
        _ => answer("302 Found", "location: /stopService\r\n", ""),
    })
    .await;
    let plan = plan(&format!("http://{}", server.address), "", PATIENT);
    let transport = Transport::new(&plan.targets[0], &Trust::default()).unwrap();
    let identity = identify(&transport).await;
    assert_eq!((identity.engine, identity.version), (Engine::Vllm, None));
    assert_eq!((identity.model.as_deref(), identity.context_tokens), (Some("org/tiny"), Some(4096)));
    let requests = server.requests();
    assert_eq!(requests.iter().map(|r| path(r)).collect::<Vec<_>>(), ["/v1/models", "/version"]);
}

/// A recorded server: the pages that it has, and nothing else.
async fn recorded_server(name: &str) -> Server {
    let file = common::root().join("tests/wire/pages").join(format!("{name}.json"));
    let pages: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    Server::answering(move |request| match pages.get(path(request)) {
        Some(page) => answer(page["status"].as_str().unwrap(), "", page["body"].as_str().unwrap()),
        None => answer("404 Not Found", "", r#"{"error":"Not Found"}"#),
    })
    .await
}

#[tokio::test]
async fn real_servers_are_asked_no_more_than_they_can_tell() {
    for (name, more, identity, pages) in [
        ("llama-server", "", "llama.cpp b11669-Debian", &["/v1/models", "/props"][..]),
        ("ollama", "", "ollama 0.17.4", &["/v1/models", "/api/version"]),
        ("ollama", "engine = 'ollama'", "ollama 0.17.4", &["/api/version"]),
        ("triton", "api = 'triton'", "triton 2.51.0", &["/v2"]),
        ("llama-cpp-python", "", "an engine that is not known", &["/v1/models", "/info"]),
    ] {
        let server = recorded_server(name).await;
        let plan = plan(&format!("http://{}", server.address), more, PATIENT);
        let transport = Transport::new(&plan.targets[0], &Trust::default()).unwrap();
        assert_eq!(identify(&transport).await.to_string(), identity, "{name}");
        assert_eq!(server.requests().iter().map(|r| path(r)).collect::<Vec<_>>(), pages, "{name}");
    }
}

#[tokio::test]
async fn a_page_without_end_is_left_alone() {
    let endless = format!("HTTP/1.1 200 OK\r\ncontent-length: 9999999\r\n\r\n{}", "x".repeat(100_000));
    let server = Server::start(vec![Step::Send(endless), Step::Hang]).await;
    let plan = plan(&format!("http://{}", server.address), "", PATIENT);
    let transport = Transport::new(&plan.targets[0], &Trust::default()).unwrap();
    assert_eq!(identify(&transport).await.engine, Engine::Auto);
}

#[tokio::test]
async fn a_server_that_wants_rest_refuses_the_key_or_hangs_up_is_asked_for_one_page_only() {
    for script in [
        answer("429 Too Many Requests", "retry-after: 60\r\n", "later"),
        answer("401 Unauthorized", "", r#"{"error":"Unauthorized"}"#),
        answer("403 Forbidden", "", "no"),
        vec![Step::Close],
    ] {
        let server = Server::start(script).await;
        let plan = plan(&format!("http://{}", server.address), "", PATIENT);
        let transport = Transport::new(&plan.targets[0], &Trust::default()).unwrap();
        assert_eq!(identify(&transport).await.engine, Engine::Auto);
        assert_eq!(server.requests().len(), 1);
    }
}

#[tokio::test]
async fn a_page_is_asked_for_again_if_the_connection_of_the_last_one_broke() {
    for (times, engine, pages) in [(1, Engine::Tgi, 3), (2, Engine::Auto, 3)] {
        let broken = AtomicUsize::new(0);
        let server = Server::answering(move |request| match path(request) {
            "/info" if broken.fetch_add(1, Ordering::Relaxed) < times => vec![Step::Close],
            "/info" => answer("200 OK", "", r#"{"model_id":"org/tiny","version":"3.0.1"}"#),
            _ => answer("500 Internal Server Error", "", "no"),
        })
        .await;
        let plan = plan(&format!("http://{}", server.address), "", PATIENT);
        let transport = Transport::new(&plan.targets[0], &Trust::default()).unwrap();
        assert_eq!(identify(&transport).await.engine, engine);
        assert_eq!(server.requests().len(), pages);
    }
}

#[tokio::test]
async fn a_refused_field_is_left_out_at_once_and_from_then_on() {
    let server = closed_server(refusing(&["stream_options"])).await;
    let prober = Prober::new(plan(&format!("http://{}", server.address), "", PATIENT));
    for _ in 0..3 {
        assert_eq!(prober.probe().await.fault, None);
    }
    let with_field = server.requests().iter().map(|r| body(r).contains("stream_options")).collect::<Vec<_>>();
    assert_eq!(with_field, [true, false, false, false]);
}

#[tokio::test]
async fn a_model_that_wants_the_later_name_of_the_length_limit_gets_it() {
    let server = closed_server(|request| {
        if body(request).contains("\"max_tokens\"") {
            answer(
                "400 Bad Request",
                "",
                r#"{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","param":"max_tokens"}}"#,
            )
        } else {
            stream()
        }
    })
    .await;
    let prober = Prober::new(plan(&format!("http://{}", server.address), "", PATIENT));
    assert_eq!(prober.probe().await.fault, None);
    let last = server.requests().pop().unwrap();
    assert!(body(&last).contains("\"max_completion_tokens\":"), "{last}");
}

#[tokio::test]
async fn fields_that_are_refused_one_by_one_are_left_out_one_by_one() {
    punctually(async || {
        let server = closed_server(refusing(&["continuous_usage_stats", "stream_options"])).await;
        let prober = Prober::new(plan(&format!("http://{}", server.address), "engine = 'vllm'", PATIENT));
        let report = prober.probe().await;
        assert_eq!(report.fault, None);
        assert_eq!(server.requests().len(), 3);
        in_time(report.sample.lag < ms(500), &report.sample.lag)
    })
    .await;
}

#[tokio::test]
async fn a_refusal_for_another_reason_stays_a_failure_and_is_not_repeated() {
    let says = r#"{"error":{"message":"the model does not exist"}}"#;
    let server = closed_server(move |_| answer("400 Bad Request", "", says)).await;
    let prober = Prober::new(plan(&format!("http://{}", server.address), "", PATIENT));
    assert_eq!(prober.probe().await.fault.unwrap().failure, Failure::Rejected);
    assert_eq!(server.requests().len(), 1);
    // A server that goes on objecting to a field that is gone is not asked for ever.
    let says = r#"{"detail":"Unexpected fields in the request: {'stream_options'}"}"#;
    let server = closed_server(move |_| answer("422 Unprocessable Entity", "", says)).await;
    let prober = Prober::new(plan(&format!("http://{}", server.address), "", PATIENT));
    assert_eq!(prober.probe().await.fault.unwrap().failure, Failure::Rejected);
    assert_eq!(server.requests().len(), 2);
}

#[tokio::test]
async fn a_refused_field_is_told_once() {
    let server = closed_server(refusing(&["stream_options"])).await;
    let folder = config(&format!(
        "[[targets]]\nname = 't'\nurl = 'http://{}'\nmodel = 'm'\nrate = '20/s'\n",
        server.address
    ));
    let daemon = common::Daemon::start(sloprobe(&["run"]).current_dir(&folder)).await;
    eventually("ten probes", PATIENCE, async || {
        let posts = server.requests().iter().filter(|request| !is_get(request)).count();
        if posts > 10 { Ok(()) } else { Err(posts.to_string()) }
    })
    .await;
    daemon.process.signal("TERM");
    let log = daemon.process.ended(PATIENCE).await.stderr;
    let lines: Vec<_> = log.lines().filter(|line| line.contains("refuses a field")).collect();
    assert_eq!(lines.len(), 1, "{log}");
    assert!(lines[0].contains("target=\"t\"") && lines[0].contains("stream_options"), "{lines:?}");
    assert!(!log.contains("probes fail"), "{log}");
}

#[tokio::test]
async fn once_says_what_runs_there_and_its_json_does_not() {
    let engine = simulated().await;
    let folder = config(&format!("[[targets]]\nname = 'a'\nurl = '{}'\nmodel = 'tiny'\n", engine.base_url()));
    let table = run(sloprobe(&["once"]).current_dir(&folder)).await;
    assert!(table.stdout.ends_with("\n\na runs vllm 0.32.0\n"), "{}{}", table.stdout, table.stderr);
    let json = run(sloprobe(&["once", "--json"]).current_dir(&folder)).await;
    assert!(!json.stdout.contains("vllm"), "{}", json.stdout);
    engine.stop().await;
}

#[tokio::test]
async fn an_exact_length_that_cannot_be_asked_for_is_told_once_per_target() {
    let server = Server::answering(|request| match path(request) {
        "/v1/models" => answer("200 OK", "", MODELS),
        "/version" => answer("200 OK", "", r#"{"version":"0.32.0"}"#),
        _ => answer("500 Internal Server Error", "", "no"),
    })
    .await;
    let mut text = "[[workloads]]\nname = 'w'\nkind = 'chat'\nexact_output = true\n".to_owned();
    for (name, api) in [("asked", "openai-responses"), ("not-asked", "anthropic")] {
        let _ = write!(
            text,
            "[[targets]]\nname = '{name}'\nurl = 'http://{}'\nmodel = 'tiny'\napi = '{api}'\nrate = '20/s'\n",
            server.address
        );
    }
    let folder = config(&text);
    let daemon = common::Daemon::start(sloprobe(&["run"]).current_dir(&folder)).await;
    eventually("a word about it, and an answer asked for by name", PATIENCE, async || {
        let log = daemon.process.stderr();
        let asked =
            server.requests().iter().any(|r| path(r) == "/v1/responses" && r.contains("\"ignore_eos\":true"));
        if asked && log.contains("exact_output") { Ok(()) } else { Err(log) }
    })
    .await;
    daemon.process.signal("TERM");
    let log = daemon.process.ended(PATIENCE).await.stderr;
    let lines: Vec<_> = log.lines().filter(|line| line.contains("exact_output")).collect();
    assert_eq!(lines.len(), 1, "{log}");
    assert!(lines[0].contains("INFO") && lines[0].contains("target=\"not-asked\""), "{lines:?}");
}

#[tokio::test]
async fn check_warns_of_a_prompt_that_does_not_fit_the_context_and_sends_no_probe() {
    let server = Server::answering(|request| match path(request) {
        "/v1/models" => answer("200 OK", "", MODELS),
        _ => answer("404 Not Found", "", "{}"),
    })
    .await;
    let folder = config(&format!(
        "[[targets]]\nname = 't'\nurl = 'http://{}'\nmodel = 'tiny'\nmix = {{ fits = 1, long = 1 }}\n\
         [[workloads]]\nname = 'fits'\nkind = 'chat'\n\
         [[workloads]]\nname = 'long'\nkind = 'rag'\ninput_tokens = [100, 4000]\noutput_tokens = 200\n",
        server.address
    ));
    let checked = run(sloprobe(&["check"]).current_dir(&folder)).await;
    assert_eq!(checked.code, Some(0), "{checked:?}");
    let told = "Warning: target t, workload long: 4000 tokens of prompt and 200 of answer do not fit into the context of 4096: prompts of at most ";
    assert!(
        checked.stdout.contains(told) && !checked.stdout.contains("workload fits:"),
        "{}",
        checked.stdout
    );
    assert!(server.requests().iter().all(|request| is_get(request)));

    let asked = server.requests().len();
    let offline = run(sloprobe(&["check", "--offline"]).current_dir(&folder)).await;
    assert_eq!((offline.code, server.requests().len()), (Some(0), asked), "{offline:?}");
}

#[tokio::test]
async fn a_target_that_can_count_is_asked_at_the_start_how_long_prompts_are() {
    let server = Server::answering(|request| match path(request) {
        "/v1/models" => answer("200 OK", "", MODELS),
        "/version" => answer("200 OK", "", r#"{"version":"0.32.0"}"#),
        // A tokenizer that makes two tokens of every word.
        "/tokenize" => {
            let tokens = 30 + 2 * body(request).split([' ', '\n']).count();
            answer("200 OK", "", &format!(r#"{{"count":{tokens},"tokens":[]}}"#))
        }
        // From what fails, nothing is learned.
        _ => answer("500 Internal Server Error", "", "{}"),
    })
    .await;
    let story = "total = '5s'\n[[workloads]]\nname = 'story'\nkind = 'continuation'\ninput_tokens = 1000\n";
    let more = "rate = '20/s'\nmix = { story = 1 }";
    let daemon = Daemon::new(plan(&format!("http://{}", server.address), more, story)).unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let running = tokio::spawn(daemon.run(listener, std::future::pending(), Duration::ZERO));
    let posts = || {
        let requests = server.requests();
        let words = |request: &String| 30 + 2 * body(request).split([' ', '\n']).count();
        let of = |wanted: &str| requests.iter().filter(|r| path(r) == wanted).map(words).collect::<Vec<_>>();
        (of("/tokenize"), of("/v1/chat/completions"))
    };
    eventually("ten probes after the counts", PATIENCE, async || {
        let (counted, probed) = posts();
        if counted.len() >= 15 && probed.len() > 20 { Ok(()) } else { Err(format!("{counted:?} {probed:?}")) }
    })
    .await;
    let (counted, probed) = posts();
    assert_eq!(counted.len(), 15, "asked once, for one workload: {counted:?}");
    let last = probed[probed.len() - 1];
    assert!((950..=1050).contains(&last), "{probed:?}");
    running.abort();
}
