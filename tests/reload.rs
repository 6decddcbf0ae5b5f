//! The configuration is read again while probes go on.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

mod common;
#[path = "reload/ledger.rs"]
mod ledger;
#[path = "reload/load.rs"]
mod load;
mod support;

use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixDatagram;
use std::path::Path;

use common::{Daemon, PATIENCE, config, eventually, sloprobe};
use support::{Server, Step, answer, end, head, ms, text};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

const WORKLOAD: &str = "[[workloads]]\nname = 'w'\nkind = 'chat'\ninput_tokens = 30\noutput_tokens = 20\n";

/// Answers every probe after a moment, and knows no page.
async fn engine() -> Server {
    Server::answering(|request| {
        if request.starts_with("GET ") {
            return answer("404 Not Found", "", "{}");
        }
        vec![head(), Step::At(ms(20)), Step::Send(text("a")), end(1)]
    })
    .await
}

fn target(name: &str, engine: &Server, more: &str) -> String {
    format!(
        "[[targets]]\nname = '{name}'\nurl = 'http://{}'\nmodel = 'm'\nrate = '10/s'\n{more}",
        engine.address
    )
}

fn write(folder: &TempDir, name: &str, text: &str) {
    fs::write(folder.path().join(name), text).unwrap();
}

/// The status and the body of the answer to a POST with these headers, each with its line break.
async fn post(address: &str, path: &str, headers: &str) -> (u16, String) {
    let request = format!(
        "POST {path} HTTP/1.1\r\nHost: {address}\r\nconnection: close\r\ncontent-length: 0\r\n{headers}\r\n"
    );
    let asking = async {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    };
    let answer = timeout(PATIENCE, asking).await.expect("an answer in time");
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

async fn reload(daemon: &Daemon) -> (u16, String) {
    post(&daemon.address, "/-/reload", "").await
}

/// Waits until the metrics have a line that begins so.
async fn shown(daemon: &Daemon, line: &str) {
    eventually(line, PATIENCE, async || {
        let metrics = daemon.metrics().await;
        if metrics.lines().any(|shown| shown.starts_with(line)) { Ok(()) } else { Err(metrics) }
    })
    .await;
}

/// Waits until the newest probe carries this key.
async fn used(engine: &Server, key: &str) {
    eventually(key, PATIENCE, async || {
        let requests = engine.requests();
        let newest = requests.iter().rev().find(|request| request.starts_with("POST ")).cloned();
        let newest = newest.ok_or("no probe yet")?;
        if newest.contains(&format!("Bearer {key}\r\n")) { Ok(()) } else { Err(newest) }
    })
    .await;
}

#[tokio::test]
async fn a_signal_a_request_and_a_watched_file_each_bring_a_new_target() {
    let engine = engine().await;
    let before = WORKLOAD.to_owned() + &target("old", &engine, "");
    let after = before.clone() + &target("new", &engine, "");
    for way in ["signal", "request", "watch"] {
        let folder = config(&before);
        let args: &[&str] = if way == "watch" { &["run", "--watch"] } else { &["run"] };
        let daemon = Daemon::start(sloprobe(args).current_dir(&folder)).await;
        shown(&daemon, "sloprobe_up{target=\"old\"} 1").await;
        write(&folder, "sloprobe.toml", &after);
        match way {
            "signal" => daemon.process.signal("HUP"),
            "request" => assert_eq!(reload(&daemon).await, (200, "added new\n".into())),
            _ => {}
        }
        shown(&daemon, "sloprobe_up{target=\"new\"} 1").await;
        let page = common::get(&daemon.address, "/").await.unwrap();
        assert!(page.contains("<td>new</td>"), "{way}: {page}");
        write(&folder, "sloprobe.toml", &before);
        assert_eq!(reload(&daemon).await, (200, "removed new\n".into()), "{way}");
        let metrics = daemon.metrics().await;
        assert!(!metrics.contains("target=\"new\""), "{way}: {metrics}");
    }
}

#[tokio::test]
async fn a_bad_file_is_told_with_every_problem_and_changes_nothing() {
    let engine = engine().await;
    let good = WORKLOAD.to_owned() + &target("t", &engine, "");
    let folder = config(&good);
    let daemon = Daemon::start(sloprobe(&["run"]).current_dir(&folder)).await;
    shown(&daemon, "sloprobe_up{target=\"t\"} 1").await;
    write(&folder, "sloprobe.toml", &(good.clone() + "burst = 3\nin_flight = 'many'\n"));
    let (status, problems) = reload(&daemon).await;
    assert_eq!(status, 500, "{problems}");
    let check = common::run(sloprobe(&["check", "--offline"]).current_dir(&folder)).await;
    assert_eq!(check.code, Some(2));
    assert_eq!(problems, check.stderr, "the same words as on the command line");
    assert!(problems.contains("burst") && problems.contains("in_flight"), "{problems}");
    assert!(problems.ends_with("2 problems in sloprobe.toml\n"), "{problems}");
    for problem in problems.lines() {
        assert!(daemon.process.stderr().contains(problem), "{}", daemon.process.stderr());
    }

    let metrics = daemon.metrics().await;
    assert!(metrics.contains("sloprobe_config_last_reload_successful 0\n"), "{metrics}");
    let sent = engine.requests().len();
    eventually("more probes", PATIENCE, async || {
        let now = engine.requests().len();
        if now > sent + 5 { Ok(()) } else { Err(now.to_string()) }
    })
    .await;
    let (status, _) = post(&daemon.address, "/-/reload", "origin: http://evil.example\r\n").await;
    assert_eq!(status, 403, "a page of another site");
    write(&folder, "sloprobe.toml", &good);
    assert_eq!(reload(&daemon).await, (200, "nothing changed\n".into()));
    shown(&daemon, "sloprobe_config_last_reload_successful 1").await;
}

#[tokio::test]
async fn what_only_a_start_can_set_is_said_and_the_rest_is_adopted() {
    let engine = engine().await;
    let before = WORKLOAD.to_owned() + &target("t", &engine, "");
    let folder = config(&before);
    let daemon = Daemon::start(sloprobe(&["run"]).current_dir(&folder)).await;
    let moved = "[daemon]\nlisten = '127.0.0.1:1'\nhistory = 'other.db'\n".to_owned();
    write(&folder, "sloprobe.toml", &(moved + &before + &target("new", &engine, "")));
    for expected in [
        "added new; restart for daemon.listen, daemon.history\n",
        "restart for daemon.listen, daemon.history\n",
    ] {
        let (status, said) = reload(&daemon).await;
        assert_eq!(status, 200, "{said}");
        assert!(said.ends_with(expected), "{said}");
    }
    shown(&daemon, "sloprobe_up{target=\"new\"} 1").await;
}

#[tokio::test]
async fn a_renewed_secret_is_used_though_nobody_asked_and_the_text_is_not_read() {
    let engine = engine().await;
    let folder = config(&(WORKLOAD.to_owned() + &target("t", &engine, "api_key = { file = 'key' }\n")));
    write(&folder, "key", "sk-first\n");
    let daemon = Daemon::start(sloprobe(&["run"]).current_dir(&folder)).await;
    used(&engine, "sk-first").await;
    write(&folder, "sloprobe.toml", "half a file");
    write(&folder, "key", "sk-second\n");
    used(&engine, "sk-second").await;
    let metrics = daemon.metrics().await;
    assert!(metrics.contains("sloprobe_config_last_reload_successful 1\n"), "{metrics}");
    assert!(!daemon.process.stderr().contains("sk-"), "{}", daemon.process.stderr());
}

/// Puts files into a folder as Kubernetes does: names that lead through a link to the newest version.
fn mount(folder: &Path, version: &str, files: &[(&str, &str)]) {
    let newest = folder.join(version);
    fs::create_dir(&newest).unwrap();
    for (name, text) in files {
        fs::write(newest.join(name), text).unwrap();
        if !folder.join(name).exists() {
            symlink(Path::new("..data").join(name), folder.join(name)).unwrap();
        }
    }
    symlink(version, folder.join("..data_tmp")).unwrap();
    fs::rename(folder.join("..data_tmp"), folder.join("..data")).unwrap();
}

#[tokio::test]
async fn links_that_kubernetes_swaps_are_followed() {
    let engine = engine().await;
    let (folder, secrets) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let key = format!("api_key = {{ file = '{}' }}\n", secrets.path().join("key").display());
    let asking = |more: &str| {
        let workload = "[[workloads]]\nname = 'w'\nkind = 'file'\nprompts = 'asked.jsonl'\n";
        workload.to_owned() + &target("t", &engine, &key) + more
    };
    mount(secrets.path(), "..1", &[("key", "sk-first")]);
    let asked = |question: &str| format!("{{\"question\": \"{question}\"}}\n");
    mount(folder.path(), "..1", &[("sloprobe.toml", &asking("")), ("asked.jsonl", &asked("how far?"))]);
    let daemon = Daemon::start(sloprobe(&["run", "--watch"]).current_dir(&folder)).await;
    used(&engine, "sk-first").await;

    mount(secrets.path(), "..2", &[("key", "sk-second")]);
    used(&engine, "sk-second").await;
    mount(folder.path(), "..2", &[("sloprobe.toml", &asking("")), ("asked.jsonl", &asked("how deep?"))]);
    eventually("another question", PATIENCE, async || {
        let newest = engine.requests().pop().unwrap_or_default();
        if newest.contains("how deep?") { Ok(()) } else { Err(newest) }
    })
    .await;
    let more = target("new", &engine, &key);
    mount(folder.path(), "..3", &[("sloprobe.toml", &asking(&more)), ("asked.jsonl", &asked("how deep?"))]);
    shown(&daemon, "sloprobe_up{target=\"new\"} 1").await;
}

#[tokio::test]
async fn systemd_is_told_of_the_start_of_each_reload_and_of_the_end() {
    let engine = engine().await;
    let folder = config(&(WORKLOAD.to_owned() + &target("t", &engine, "")));
    let manager = UnixDatagram::bind(folder.path().join("notify")).unwrap();
    manager.set_read_timeout(Some(PATIENCE)).unwrap();
    let heard = || {
        let mut bytes = [0; 4096];
        let count = manager.recv(&mut bytes).expect("a message in time");
        String::from_utf8_lossy(&bytes[..count]).into_owned()
    };
    let socket = folder.path().join("notify");
    let daemon = Daemon::start(sloprobe(&["run"]).current_dir(&folder).env("NOTIFY_SOCKET", socket)).await;
    assert_eq!(heard(), "READY=1");
    for (file, status) in [(None, "STATUS=nothing changed"), (Some("bad"), "STATUS=not reloaded: ")] {
        if let Some(text) = file {
            write(&folder, "sloprobe.toml", text);
        }
        daemon.process.signal("HUP");
        assert!(heard().starts_with("RELOADING=1\nMONOTONIC_USEC="));
        assert!(heard().starts_with(status));
        assert_eq!(heard(), "READY=1", "it runs as before");
    }
    daemon.process.signal("TERM");
    assert_eq!(heard(), "STOPPING=1");
    assert_eq!(daemon.process.ended(PATIENCE).await.code, Some(0));
}

#[tokio::test]
async fn a_rest_that_was_asked_for_is_kept_through_every_reload() {
    let limited = answer("429 Too Many Requests", "retry-after: 600\r\n", "later");
    let engine = Server::answering(move |request| {
        if request.starts_with("GET ") { answer("404 Not Found", "", "{}") } else { limited.clone() }
    })
    .await;
    let probes = || engine.requests().iter().filter(|request| request.starts_with("POST ")).count();
    let folder = config(WORKLOAD);
    let with = |more: &str| WORKLOAD.to_owned() + &target("t", &engine, more);
    write(&folder, "sloprobe.toml", &with(""));
    let daemon = Daemon::start(sloprobe(&["run"]).current_dir(&folder)).await;
    shown(&daemon, "sloprobe_skipped_total{reason=\"back_off\",target=\"t\",workload=\"w\"} 1").await;
    shown(&daemon, "sloprobe_in_flight{target=\"t\",workload=\"w\"} 0").await;
    let sent = probes();
    for n in 0..10 {
        let changed = with(&format!("headers = {{ x-team = 'a{n}' }}\n"));
        for text in [changed, WORKLOAD.to_owned() + &target("other", &engine, "tokens_per_hour = 1\n")] {
            write(&folder, "sloprobe.toml", &text);
            let (status, said) = reload(&daemon).await;
            assert_eq!(status, 200, "{said}");
        }
    }
    write(&folder, "sloprobe.toml", &with(""));
    assert_eq!(reload(&daemon).await.0, 200);
    shown(&daemon, "sloprobe_skipped_total{reason=\"back_off\",target=\"t\",workload=\"w\"} 3").await;
    assert_eq!(probes(), sent, "neither a change nor an absence of a moment ends the rest");
}
