//! What a target runs: seen to change, to be changing, to be changed back, and marked by hand.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

mod common;
mod support;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use common::{PATIENCE, config, eventually, get, run, sloprobe};
use serde_json::{Value, json};
use sloprobe::daemon::Daemon;
use sloprobe::release::{Patience, Releases};
use sloprobe::schedule::identify::Pace;
use sloprobe::simulate::{self, Profile, Settings};
use support::{QUICK, Server, Step, answer, end, event, head, ms, plan, text};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::timeout;

const MODELS: &str =
    r#"{"object":"list","data":[{"id":"tiny","owned_by":"vllm","root":"org/tiny","max_model_len":4096}]}"#;

/// A daemon in this process that is soon sure; it ends with its test.
struct Running {
    address: String,
    releases: Arc<Releases>,
    task: JoinHandle<()>,
}

impl Running {
    async fn start(url: &str, pace: Pace, away: Duration) -> Self {
        let patience = Patience { away, ..Patience::default() };
        let plan = plan(url, "rate = '20/s'", QUICK);
        let mut daemon = Daemon::build(plan, patience).unwrap();
        daemon.pace = pace;
        let releases = daemon.releases();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let task = tokio::spawn(async move {
            daemon.run(listener, std::future::pending(), Duration::ZERO).await.unwrap();
        });
        Self { address, releases, task }
    }

    /// The series of a family.
    async fn series(&self, family: &str) -> Vec<String> {
        let metrics = get(&self.address, "/metrics").await.unwrap();
        let start = format!("{family}{{");
        metrics.lines().filter(|line| line.starts_with(&start)).map(str::to_owned).collect()
    }

    /// The versions on the info metric once they are these.
    async fn shows(&self, versions: &[&str]) {
        eventually("the versions on the info metric", PATIENCE, async || {
            let infos = self.series("sloprobe_target_info").await;
            let has =
                |version: &&str| infos.iter().any(|info| info.contains(&format!("version=\"{version}\"")));
            let shown = infos.len() == versions.len() && versions.iter().all(has);
            if shown { Ok(()) } else { Err(format!("{versions:?} are not {infos:#?}")) }
        })
        .await;
    }

    /// When the release began, as Prometheus sees it.
    async fn began(&self) -> f64 {
        let series = self.series("sloprobe_release_timestamp_seconds").await;
        assert_eq!(series.len(), 1, "{series:?}");
        series[0].rsplit(' ').next().unwrap().parse().unwrap()
    }

    async fn post(&self, kind: &str, body: &str) -> (u16, Value) {
        let answer = timeout(PATIENCE, async {
            let mut stream = TcpStream::connect(&self.address).await?;
            let head = format!("POST /api/v1/marks HTTP/1.0\r\ncontent-type: {kind}\r\n");
            stream
                .write_all(format!("{head}content-length: {}\r\n\r\n{body}", body.len()).as_bytes())
                .await?;
            let mut answer = String::new();
            stream.read_to_string(&mut answer).await.map(|_| answer)
        });
        let answer = answer.await.expect("an answer in time").unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        (status, serde_json::from_str(body).unwrap_or(Value::Null))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn pace() -> Pace {
    Pace { every: ms(20), soonest: ms(20), rolling: ms(10) }
}

#[tokio::test]
async fn an_upgrade_is_a_release_with_a_time_and_a_series_of_its_own() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let settings = Settings { model: "tiny".into(), ..Settings::of(Profile::Fast) };
    let engine = simulate::start(listener, settings).unwrap();
    let daemon = Running::start(&engine.base_url(), pace(), ms(2000)).await;
    daemon.shows(&["0.32.0"]).await;
    let first = daemon.began().await;
    assert!(first > 1.7e9, "{first}");

    engine.control().set_version("0.33.0");
    daemon.shows(&["0.32.0", "0.33.0"]).await;
    let second = daemon.began().await;
    assert!(second > first, "{second} is not after {first}");
    daemon.shows(&["0.33.0"]).await;
    assert!((daemon.began().await - second).abs() < 1e-3, "to settle does not begin another");

    let (current, previous) = (daemon.releases.current("t"), daemon.releases.previous("t").unwrap());
    assert_eq!(current.len(), 1, "{current:?}");
    assert!(current[0].settled >= Some(current[0].began), "{current:?}");
    assert_eq!([&current[0], &previous].map(ToString::to_string), ["vllm 0.33.0", "vllm 0.32.0"]);
    engine.stop().await;
}

/// Two servers behind one address: whoever asks gets to either in turn, as long as both are there.
async fn balanced(versions: &Arc<Mutex<Vec<&'static str>>>) -> Server {
    let turn = AtomicUsize::new(0);
    let versions = Arc::clone(versions);
    Server::answering(move |request| {
        let versions = versions.lock().unwrap();
        let of = |turn: usize| versions[turn % versions.len()];
        match request.split(' ').nth(1).unwrap() {
            "/v1/models" => answer("200 OK", "", MODELS),
            "/version" => {
                let version = of(turn.fetch_add(1, Ordering::Relaxed));
                answer("200 OK", "", &format!(r#"{{"version":"{version}"}}"#))
            }
            "/tokenize" => answer("404 Not Found", "", "{}"),
            _ => {
                let name = of(turn.load(Ordering::Relaxed));
                let name = event(&format!(r#"{{"choices":[],"system_fingerprint":"fp-{name}"}}"#));
                vec![head(), Step::Send(name + &text("a")), end(1)]
            }
        }
    })
    .await
}

fn asked(server: &Server) -> usize {
    server.requests().iter().filter(|request| request.starts_with("GET /version ")).count()
}

fn probed(server: &Server) -> usize {
    server.requests().iter().filter(|request| request.starts_with("POST /v1/chat/completions ")).count()
}

#[tokio::test]
async fn two_versions_in_turn_are_both_shown_and_asked_often_until_one_is_left() {
    let versions = Arc::new(Mutex::new(vec!["0.32.0"]));
    let server = balanced(&versions).await;
    // Only what the answers are called hints at something new: the next round is an hour away.
    let pace = Pace { every: Duration::from_secs(3600), soonest: ms(10), rolling: ms(20) };
    let daemon = Running::start(&format!("http://{}", server.address), pace, ms(2000)).await;
    daemon.shows(&["0.32.0"]).await;
    let before = asked(&server);

    *versions.lock().unwrap() = vec!["0.32.0", "0.33.0"];
    daemon.shows(&["0.32.0", "0.33.0"]).await;
    let rolling = daemon.began().await;
    eventually("many more questions", PATIENCE, async || {
        let asked = asked(&server);
        if asked > before + 60 { Ok(()) } else { Err(asked.to_string()) }
    })
    .await;
    daemon.shows(&["0.32.0", "0.33.0"]).await;
    assert!((daemon.began().await - rolling).abs() < 1e-3, "a release that goes on in turn begins once");
    assert_eq!(daemon.releases.current("t").len(), 2);

    *versions.lock().unwrap() = vec!["0.33.0"];
    daemon.shows(&["0.33.0"]).await;
    let current = daemon.releases.current("t");
    let [engine, name] = [current[0].makeup.to_string(), current[0].makeup.fingerprint.clone().unwrap()];
    assert_eq!([engine.as_str(), &name], ["vllm 0.33.0", "fp-0.33.0"], "one release, seen in two ways");
    let (after, sent) = (asked(&server), probed(&server));
    eventually("ten more probes", PATIENCE, async || {
        let now = probed(&server);
        if now > sent + 10 { Ok(()) } else { Err(now.to_string()) }
    })
    .await;
    assert!(asked(&server) <= after + 3, "once it is clear, nobody asks for an hour");
}

#[tokio::test]
async fn a_version_that_is_taken_back_leaves_the_release_as_it_was() {
    let versions = Arc::new(Mutex::new(vec!["0.32.0"]));
    let server = balanced(&versions).await;
    let daemon = Running::start(&format!("http://{}", server.address), pace(), ms(2000)).await;
    daemon.shows(&["0.32.0"]).await;
    let first = daemon.began().await;
    *versions.lock().unwrap() = vec!["0.32.0", "0.33.0"];
    daemon.shows(&["0.32.0", "0.33.0"]).await;
    *versions.lock().unwrap() = vec!["0.32.0"];
    daemon.shows(&["0.32.0"]).await;
    assert!((daemon.began().await - first).abs() < 1e-3);
    assert_eq!(daemon.releases.previous("t"), None);
}

#[tokio::test]
async fn a_mark_begins_a_release_by_http_and_by_command() {
    let server = balanced(&Arc::new(Mutex::new(vec!["0.32.0"]))).await;
    let daemon = Running::start(&format!("http://{}", server.address), pace(), ms(2000)).await;
    daemon.shows(&["0.32.0"]).await;
    let first = daemon.began().await;
    let id = daemon.releases.current("t")[0].id.0;

    let body = json!({ "target": "t", "text": "driver 580" }).to_string();
    let (status, marked) = daemon.post("application/json; charset=utf-8", &body).await;
    assert_eq!((status, &marked["target"], &marked["release"]), (201, &json!("t"), &json!(id + 1)));
    let began = marked["began"].as_str().unwrap();
    assert!(humantime::parse_rfc3339(began).is_ok(), "{began}");
    assert!(daemon.began().await > first);
    let current = daemon.releases.current("t");
    assert_eq!((current.len(), current[0].to_string()), (1, "vllm 0.32.0 (driver 580)".into()));
    daemon.shows(&["0.32.0"]).await;

    let url = format!("http://{}/", daemon.address);
    let said = run(&mut sloprobe(&["mark", "--target", "t", "--url", &url, "chunked prefill"])).await;
    assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""));
    assert!(said.stdout.starts_with(&format!("t runs release {} since 2", id + 2)), "{}", said.stdout);

    // The address of the configuration, which is everywhere; its secret is not there, and not needed.
    let port = daemon.address.rsplit(':').next().unwrap();
    let folder = config(&format!(
        "[daemon]\nlisten = '0.0.0.0:{port}'\n[[targets]]\nname = 't'\nurl = 'http://127.0.0.1:1'\nmodel = 'm'\napi_key = {{ env = 'NO_SUCH_KEY' }}\n"
    ));
    let said = run(sloprobe(&["mark", "--target", "t", "new rack"]).current_dir(&folder)).await;
    assert_eq!((said.code, said.stderr.as_str()), (Some(0), ""));
    assert_eq!(daemon.releases.current("t")[0].to_string(), "vllm 0.32.0 (new rack)");
    assert_eq!(daemon.releases.previous("t").unwrap().to_string(), "vllm 0.32.0 (chunked prefill)");

    for (target, text, word) in
        [("u", "driver", "no target is called \"u\": there is t"), ("t", " ", "the text is empty")]
    {
        let said = run(&mut sloprobe(&["mark", "--target", target, "--url", &url, text])).await;
        assert_eq!((said.code, said.stdout.as_str()), (Some(2), ""), "{said:?}");
        assert!(said.stderr.contains(word), "{}", said.stderr);
    }
}

#[tokio::test]
async fn a_bad_mark_begins_nothing_and_says_why() {
    let server = balanced(&Arc::new(Mutex::new(vec!["0.32.0"]))).await;
    let daemon = Running::start(&format!("http://{}", server.address), pace(), ms(2000)).await;
    daemon.shows(&["0.32.0"]).await;
    let json = "application/json";
    let of = |target: &str, text: &str| json!({ "target": target, "text": text }).to_string();
    for (kind, body, status, word) in [
        (json, of("u", "x"), 404, "there is t"),
        (json, of("t", "  "), 400, "empty"),
        (json, of("t", &"é".repeat(201)), 400, "201 characters"),
        (json, of("t", "a\nb"), 400, "control characters"),
        (json, "driver 580".into(), 400, "write {\"target\""),
        (json, r#"{"target":"t"}"#.into(), 400, "missing field"),
        (json, r#"{"target":"t","text":"x","at":"now"}"#.into(), 400, "unknown field"),
        (json, String::new(), 400, "write {\"target\""),
        (json, of("t", &"x".repeat(5000)), 413, "4096 bytes"),
        ("text/plain", of("t", "x"), 415, "application/json"),
        ("application/x-www-form-urlencoded", "target=t&text=x".into(), 415, "application/json"),
        ("application/jsonp", of("t", "x"), 415, "application/json"),
    ] {
        let (found, said) = daemon.post(kind, &body).await;
        let error = said["error"].as_str().unwrap_or_default();
        assert!(found == status && error.contains(word), "{kind} {body}: {found} {said}");
    }
    assert!(get(&daemon.address, "/api/v1/marks").await.unwrap_err().contains(" 405 "));
    assert_eq!(daemon.releases.current("t")[0].to_string(), "vllm 0.32.0");
    assert_eq!(daemon.releases.previous("t"), None);
}

#[tokio::test]
async fn the_command_says_if_nobody_or_somebody_else_listens() {
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let url = format!("http://{free}");
    let said = run(&mut sloprobe(&["mark", "--target", "t", "--url", &url, "x"])).await;
    assert_eq!((said.code, said.stdout.as_str()), (Some(1), ""));
    assert!(
        said.stderr.contains(&free.to_string()) && said.stderr.contains("is the daemon running"),
        "{said:?}"
    );

    let other = Server::start([answer("200 OK", "", "hello"), vec![Step::Close]].concat()).await;
    let url = format!("http://{}", other.address);
    let said = run(&mut sloprobe(&["mark", "--target", "t", "--url", &url, "x"])).await;
    assert_eq!(said.code, Some(1));
    assert!(said.stderr.contains("not as this version of sloprobe does"), "{}", said.stderr);

    let said = run(&mut sloprobe(&["mark", "--target", "t", "--url", "https://probe", "x"])).await;
    assert!(said.code == Some(2) && said.stderr.contains("write http://"), "{}", said.stderr);
}
