//! `sloprobe probe`: from an id in a log line to all that is known of the probe.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

mod common;

use std::collections::BTreeSet;
use std::process::Command;
use std::time::{Duration, UNIX_EPOCH};

use common::{Daemon, Ended, PATIENCE, config, engine, eventually, healthy, run, sloprobe};
use serde_json::Value;
use sloprobe::domain::ProbeId;
use tempfile::TempDir;

/// A folder with a configuration of two targets, one of which nobody answers for, and their history.
async fn targets() -> TempDir {
    let address = engine(healthy).await;
    config(&format!(
        "[daemon]\nhistory = 'history.db'\n\
         [[targets]]\nname = 'good'\nurl = 'http://{address}'\nmodel = 'm'\nrate = '20/s'\ntraceparent = true\n\
         [[targets]]\nname = 'closed'\nurl = 'http://127.0.0.1:1'\nmodel = 'm'\nrate = '20/s'\n\
         [[workloads]]\nname = 'tiny'\nkind = 'chat'\ninput_tokens = 20\noutput_tokens = 8\n"
    ))
}

fn command(folder: &TempDir, args: &[&str]) -> Command {
    let mut command = sloprobe(args);
    command.current_dir(folder.path());
    command
}

/// The id in the first log line that says all of this.
fn id_in(log: &str, said: [&str; 2]) -> Option<String> {
    let line = log.lines().find(|line| said.iter().all(|said| line.contains(said)))?;
    let (_, id) = line.split_once("probe=")?;
    id.split_whitespace().next().map(str::to_owned)
}

fn json(ended: &Ended) -> Value {
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{}", ended.stdout);
    serde_json::from_str(&ended.stdout).unwrap()
}

#[tokio::test]
async fn the_id_of_a_log_line_finds_its_probe() {
    let folder = targets().await;
    let daemon = Daemon::start(&mut command(&folder, &["run", "--log", "debug"])).await;
    let (good, closed) = eventually("both targets' probes in the log", PATIENCE, async || {
        let log = daemon.process.stderr();
        let ids = id_in(&log, ["outcome=\"ok\"", "good"]).zip(id_in(&log, ["probes fail", "closed"]));
        ids.ok_or(log)
    })
    .await;
    let found = eventually("the probe in the history", PATIENCE, async || {
        let ended = run(&mut command(&folder, &["probe", &good, "--json"])).await;
        if ended.code == Some(0) { Ok(json(&ended)) } else { Err(ended.stderr) }
    })
    .await;
    let known = [&found["id"], &found["target"], &found["workload"], &found["outcome"]];
    assert_eq!(known, [&Value::from(good.as_str()), &"good".into(), &"tiny".into(), &"ok".into()]);
    assert_eq!(found["trace_id"].as_str().map(str::len), Some(32), "{found}");
    assert!(found["ttft_seconds"].as_f64().unwrap() >= 0.039, "{found}");
    assert_eq!((&found["tokens"]["output"], &found["characters"]), (&8.into(), &40.into()));
    let started = humantime::parse_rfc3339(found["started"].as_str().unwrap()).unwrap();
    let id: ProbeId = good.parse().unwrap();
    assert!(started.duration_since(id.started()).unwrap() < Duration::from_millis(1), "{found}");

    // What it says can be typed.
    let again = found["prompt"].as_str().unwrap().strip_prefix("sloprobe ").unwrap();
    let prompt = run(&mut command(&folder, &again.split(' ').collect::<Vec<_>>())).await;
    assert_eq!((prompt.code, prompt.stdout.trim().is_empty()), (Some(0), false), "{prompt:?}");

    let ended = run(&mut command(&folder, &["probe", &closed])).await;
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{}", ended.stdout);
    assert!(ended.stdout.contains("\noutcome   connect: cannot connect to 127.0.0.1:1"), "{}", ended.stdout);
}

#[tokio::test]
async fn an_id_that_is_not_there_is_told_with_what_is() {
    let folder = targets().await;
    let daemon = Daemon::start(&mut command(&folder, &["run"])).await;
    eventually("a history with probes", PATIENCE, async || {
        let ended = run(&mut command(&folder, &["report", "--format", "json"])).await;
        if ended.code == Some(0) { Ok(()) } else { Err(ended.stderr) }
    })
    .await;
    drop(daemon);
    let year = Duration::from_secs(365 * 24 * 3600);
    for (started, said) in [
        (UNIX_EPOCH + 40 * year, "it is too old: daemon.history_age and daemon.history_size"),
        (UNIX_EPOCH + 200 * year, "it may still be under way"),
    ] {
        let id = ProbeId::next(started).to_string();
        let ended = run(&mut command(&folder, &["probe", &id])).await;
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""), "{ended:?}");
        let start = format!("sloprobe: history.db has no probe {id}, which would have started at 2");
        assert!(ended.stderr.starts_with(&start), "{}", ended.stderr);
        assert!(ended.stderr.contains("\n    that history covers 2"), "{}", ended.stderr);
        assert!(ended.stderr.contains(said), "{}", ended.stderr);
    }
}

#[tokio::test]
async fn what_is_no_id_or_no_history_is_a_mistake_with_a_remedy() {
    let folder = config(
        "[[targets]]\nname = 'a'\nurl = 'http://127.0.0.1:1'\nmodel = 'm'\n\
         [[workloads]]\nname = 'tiny'\nkind = 'chat'\ninput_tokens = 20\noutput_tokens = 8\n",
    );
    let id = "1a0e5f3c2b100007";
    for (args, said) in [
        (&["probe", "17"][..], "not the id of a probe; one has 16 digits, such as 1a0e5f3c2b100007"),
        (&["probe"], "<ID>"),
        (&["probe", id], "sloprobe.toml sets no daemon.history: set it, or name a file with --history"),
        (&["probe", id, "-c", "nosuch.toml"], "or name a history with --history"),
        (&["probe", id, "--history", "nosuch.db"], "there is no history at nosuch.db"),
        (&["probe", id, "--history", "sloprobe.toml"], "sloprobe.toml is not a history of sloprobe"),
    ] {
        let ended = run(&mut command(&folder, args)).await;
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""), "{ended:?}");
        assert!(ended.stderr.contains(said), "{said:?} is not in\n{}", ended.stderr);
    }
}

#[tokio::test]
async fn once_says_the_id_of_each_probe() {
    let folder = targets().await;
    let ended = run(&mut command(&folder, &["once", "--json"])).await;
    let lines: Vec<Value> = ended.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let ids: BTreeSet<ProbeId> =
        lines.iter().map(|line| line["id"].as_str().unwrap().parse().unwrap()).collect();
    assert_eq!((lines.len(), ids.len()), (2, 2), "{}", ended.stdout);
}
