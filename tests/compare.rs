//! What an upgrade did: noticed by the daemon, kept in its history, and told on demand.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

mod common;
mod support;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use common::{PATIENCE, eventually, get, sloprobe};
use serde_json::Value;
use sloprobe::daemon::Daemon;
use sloprobe::schedule::identify::Pace;
use sloprobe::simulate::faults::Fault;
use sloprobe::simulate::{self, Handle, Profile, Settings};
use support::{PATIENT, ms, plan};
use tempfile::TempDir;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

async fn engine() -> Handle {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let settings = Settings { model: "tiny".into(), ..Settings::of(Profile::Fast) };
    simulate::start(listener, settings).unwrap()
}

/// A daemon in this process that looks often and keeps its history in a file.
struct Watching {
    address: String,
    end: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Watching {
    async fn start(engine: &Handle, history: &Path) -> Self {
        let mut plan = plan(&engine.base_url(), "rate = '40/s'", PATIENT);
        plan.history.path = Some(history.to_owned());
        let mut daemon = Daemon::new(plan).unwrap();
        daemon.pace = Pace { every: ms(100), soonest: ms(50), rolling: ms(100) };
        daemon.look_every = ms(200);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let (end, asked) = oneshot::channel();
        let task = tokio::spawn(async move {
            let shutdown = async { drop(asked.await) };
            daemon.run(listener, shutdown, Duration::from_secs(5)).await.unwrap();
        });
        Self { address, end, task }
    }

    async fn value(&self, parts: &[&str]) -> Option<f64> {
        value(&self.address, parts).await
    }

    async fn until(&self, what: &str, parts: &[&str], is: impl Fn(f64) -> bool) {
        until(&self.address, what, parts, is).await;
    }

    async fn stop(self) {
        self.end.send(()).unwrap();
        self.task.await.unwrap();
    }
}

/// The value of the first series that has all of these parts.
async fn value(address: &str, parts: &[&str]) -> Option<f64> {
    let metrics = get(address, "/metrics").await.unwrap();
    let mut series = metrics.lines().filter(|line| !line.starts_with('#'));
    let line = series.find(|line| parts.iter().all(|part| line.contains(part)))?;
    line.rsplit(' ').next().unwrap().parse().ok()
}

async fn until(address: &str, what: &str, parts: &[&str], is: impl Fn(f64) -> bool) {
    eventually(what, PATIENCE, async || {
        let value = value(address, parts).await;
        if value.is_some_and(&is) { Ok(()) } else { Err(format!("{parts:?}: {value:?}")) }
    })
    .await;
}

fn compare(arguments: &[&str]) -> (Option<i32>, String, String) {
    let ended = sloprobe(&["compare"]).args(arguments).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (ended.status.code(), text(&ended.stdout), text(&ended.stderr))
}

/// A history in which an upgrade made the first token three times as late, written by a daemon, and what the daemon said.
async fn upgraded(folder: &TempDir, name: &str) -> PathBuf {
    let history = folder.path().join(name);
    let engine = engine().await;
    let daemon = Watching::start(&engine, &history).await;
    daemon.until("a baseline", &["sloprobe_history_probes_total"], |kept| kept > 250.0).await;
    assert_eq!(daemon.value(&["sloprobe_release_verdict"]).await, None, "nothing has changed yet");
    let faults = ["version=0.33.0", "slow-first-token=3"].map(|fault| fault.parse::<Fault>().unwrap());
    engine.control().set_faults(faults.into());
    let regressed = ["sloprobe_release_verdict", "metric=\"ttft\"", "verdict=\"regressed\""];
    daemon.until("the verdict", &regressed, |verdict| verdict > 0.0).await;
    let middle = ["metric=\"ttft\"", "quantile=\"middle\""];
    let of =
        async |family: &str| daemon.value(&[&format!("{family}{{"), middle[0], middle[1]]).await.unwrap();
    let [estimate, lower, upper] = [
        of("sloprobe_release_shift_ratio").await,
        of("sloprobe_release_shift_ratio_lower").await,
        of("sloprobe_release_shift_ratio_upper").await,
    ];
    assert!(1.0 < lower && lower < estimate && estimate < upper, "{lower} {estimate} {upper}");
    assert!(estimate > 1.5, "{estimate}");
    assert_eq!(daemon.value(&["sloprobe_history_failing"]).await, Some(0.0));
    daemon.stop().await;
    engine.stop().await;
    history
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_upgrade_that_slows_the_first_token_is_called_by_the_daemon_and_by_the_command() {
    let folder = tempfile::tempdir().unwrap();
    let history = upgraded(&folder, "a.db").await;
    let file = history.to_str().unwrap();

    let (code, said, errors) = compare(&["--history", file]);
    assert_eq!(code, Some(1), "{said}{errors}");
    assert!(said.lines().last().unwrap().starts_with("REGRESSED: w ttft"), "{said}");
    assert!(said.contains("vllm 0.32.0") && said.contains("vllm 0.33.0"), "{said}");

    let page = folder.path().join("report.html");
    let named = ["--history", file, "0.32.0", "vllm 0.33.0", "--json", "--html", page.to_str().unwrap()];
    let (code, said, errors) = compare(&named);
    assert_eq!((code, errors.as_str()), (Some(1), ""));
    let found: Value = serde_json::from_str(&said).unwrap();
    assert_eq!(found["verdict"], "regressed", "{found:#}");
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("<svg") && page.contains("REGRESSED"), "no page");

    // The other way round it is an improvement, and no reason to stop a rollout.
    let (code, said, _) = compare(&["--history", file, "latest", "previous", "--json"]);
    let found: Value = serde_json::from_str(&said).unwrap();
    assert_eq!((code, &found["verdict"] != "regressed"), (Some(0), true), "{found:#}");

    let (code, said, _) = compare(&["--history", file, "--list"]);
    assert_eq!(code, Some(0));
    assert!(said.contains("#1") && said.contains("vllm 0.32.0") && said.contains("#2"), "{said}");

    let (code, said, _) = compare(&["--history", file, "--history", file, "previous", "latest"]);
    assert_eq!(code, Some(1), "two files are one target: {said}");
    let (code, said, errors) = compare(&["--history", file, "1h..", "1h.."]);
    assert_eq!(code, Some(0), "a stretch is as it is: {said}{errors}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restart_goes_on_with_the_release_and_its_history() {
    let folder = tempfile::tempdir().unwrap();
    let history = folder.path().join("history.db");
    let engine = engine().await;
    let mut began = Vec::new();
    for round in 1..=2_u32 {
        let daemon = Watching::start(&engine, &history).await;
        daemon.until("probes", &["sloprobe_history_probes_total"], |kept| kept > 30.0).await;
        daemon.until("a release", &["sloprobe_release_timestamp_seconds{"], |at| at > 1.7e9).await;
        began.push(daemon.value(&["sloprobe_release_timestamp_seconds{"]).await.unwrap());
        daemon.stop().await;
        let file = history.to_str().unwrap();
        let (_, said, _) = compare(&["--history", file, "--list"]);
        assert_eq!(said.lines().count(), 2, "round {round}: {said}");
    }
    assert!((began[0] - began[1]).abs() < 1e-3, "{began:?}");
    let (code, _, errors) = compare(&["--history", history.to_str().unwrap()]);
    assert_eq!(code, Some(2));
    assert!(errors.contains("one release only"), "{errors}");
    engine.stop().await;
}

#[test]
fn what_cannot_be_compared_is_told_with_a_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("none.db");
    let foreign = folder.path().join("foreign.db");
    std::fs::write(&foreign, "not a database").unwrap();
    let without = folder.path().join("without.toml");
    std::fs::write(&without, "[[targets]]\nname = 't'\nurl = 'http://127.0.0.1:1'\nmodel = 'm'\n").unwrap();
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    for (arguments, says) in [
        (vec!["--history".to_owned(), text(&missing)], "there is no history at"),
        (vec!["--history".into(), text(&foreign)], "is not a history of sloprobe"),
        (vec!["-c".into(), text(&without)], "sets no daemon.history"),
        (vec!["-c".into(), text(&missing)], "or name a history with --history"),
        (vec!["--margin".into(), "0".into()], "write a number from 0.1 to 100"),
    ] {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let (code, _, errors) = compare(&arguments);
        assert_eq!(code, Some(2), "{arguments:?}");
        assert!(errors.contains(says), "{arguments:?}: {errors}");
    }
}

/// A limit on the size of files makes the kernel refuse to write, as a full disk does.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_stops_the_history_and_not_the_probing() {
    let folder = tempfile::tempdir().unwrap();
    let (config, history) = (folder.path().join("sloprobe.toml"), folder.path().join("history.db"));
    let engine = engine().await;
    let text = format!(
        "[daemon]\nhistory = '{}'\n[[targets]]\nname = 't'\nurl = '{}'\nmodel = 'tiny'\nrate = '40/s'\nmix = {{ short-chat = 1 }}\n",
        history.display(),
        engine.base_url()
    );
    std::fs::write(&config, text).unwrap();
    let mut shell = Command::new("sh");
    // Ignoring the signal leaves the error.
    shell.args(["-c", "trap '' XFSZ; ulimit -f 600; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_sloprobe")]);
    shell.args(["run", "-c", config.to_str().unwrap()]);
    let daemon = common::Daemon::start(&mut shell).await;
    let address = &daemon.address;
    until(address, "a full disk", &["sloprobe_history_failing"], |failing| failing > 0.0).await;
    let probes = ["sloprobe_probes_total"];
    let before = value(address, &probes).await.unwrap();
    until(address, "further probes", &probes, |probes| probes > before + 100.0).await;
    assert_eq!(value(address, &["sloprobe_up{"]).await, Some(1.0));
    let log = daemon.process.stderr();
    assert_eq!(log.matches("the history cannot be written").count(), 1, "{log}");
    engine.stop().await;
}
