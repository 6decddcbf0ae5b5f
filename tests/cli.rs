//! The command line as its user meets it: exit codes, what goes to which stream, signals, secrets.

mod common;

use std::collections::BTreeSet;
use std::fs;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use common::{
    Daemon, Ended, PATIENCE, Process, Script, config, engine, eventually, get, healthy, root, run, sloprobe,
};
use serde_json::Value;
use tempfile::TempDir;

/// Long enough for a busy machine, shorter than the 10 s that probes under way may take to end.
const SOON: Duration = Duration::from_secs(6);

/// No eight characters of it occur by chance.
const SECRET: &str = "k7Qz9fWm2Xr4tLp8Vb3nHs6Yd1cJg5aE0uKwTi";

/// A configuration with one target at this address and one small workload.
fn target_at(address: &str) -> TempDir {
    target_with(address, "")
}

fn target_with(address: &str, more: &str) -> TempDir {
    config(&format!(
        "[[targets]]\nname = 'local'\nurl = 'http://{address}'\nmodel = 'm'\nrate = '20/s'\n{more}\n\
         [[workloads]]\nname = 'tiny'\nkind = 'chat'\ninput_tokens = 20\noutput_tokens = 8\n"
    ))
}

/// The binary in the folder of its configuration.
fn sloprobe_in(folder: &TempDir, args: &[&str]) -> Command {
    let mut command = sloprobe(args);
    command.current_dir(folder.path());
    command
}

fn assert_misuse(ended: &Ended, said: &str) {
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert_eq!(ended.stdout, "", "a mistake is no result");
    assert!(ended.stderr.contains(said), "{said:?} is not in\n{}", ended.stderr);
}

fn bad_configs() -> Vec<PathBuf> {
    let entries = fs::read_dir(root().join("tests/bad-config")).expect("the folder exists");
    let paths = entries.map(|entry| entry.expect("it can be listed").path());
    paths.filter(|path| path.extension().is_some_and(|extension| extension == "toml")).collect()
}

#[tokio::test]
async fn every_command_tells_the_problems_of_a_bad_config_and_exits_with_2() {
    let files = bad_configs();
    assert!(files.len() >= 36, "only {} bad configurations", files.len());
    for path in files {
        let name = path.file_name().unwrap().to_str().unwrap();
        let message = fs::read_to_string(path.with_extension("txt")).unwrap();
        // Files of secrets are made up in the unit tests: here only their place in the message is sure.
        let made_up =
            fs::read_to_string(&path).unwrap().contains("/run/secrets/") && name != "everything-wrong.toml";
        let said = if made_up { message.split(": ").take(2).collect::<Vec<_>>().join(": ") } else { message };
        for command in ["check", "run", "once"] {
            let mut command = sloprobe(&[command, "--config", name]);
            command.current_dir(path.parent().unwrap());
            command
                .env("GOOD_KEY", "sk-hunter2")
                .env("EMPTY_KEY", " \n")
                .env("BROKEN_KEY", "sk-hunter2\nsecond line");
            let ended = run(&mut command).await;
            assert_misuse(&ended, said.trim_end());
            assert!(!ended.stderr.contains("hunter2"), "{}", ended.stderr);
        }
    }
}

#[tokio::test]
async fn a_missing_config_is_a_mistake_with_a_remedy() {
    let folder = TempDir::new().unwrap();
    for command in ["check", "run", "once"] {
        let ended = run(&mut sloprobe_in(&folder, &[command])).await;
        assert_misuse(
            &ended,
            "sloprobe.toml: there is no such file\n    write one after config/example.toml",
        );
    }
}

#[tokio::test]
async fn unknown_flags_commands_and_log_filters_are_mistakes() {
    let folder = target_at("127.0.0.1:1");
    for (args, said) in [
        (&["run", "--colour"][..], "--colour"),
        (&["dance"], "dance"),
        (&[], "Usage: sloprobe"),
        (&["run", "--listen", "nowhere"], "nowhere"),
        (&["check", "--log", "a=b=c"], "--log \"a=b=c\""),
        (&["check", "--log-format", "xml"], "possible values: text, json"),
    ] {
        assert_misuse(&run(&mut sloprobe_in(&folder, args)).await, said);
    }
}

#[tokio::test]
async fn the_config_is_found_through_the_environment() {
    let folder = target_at("127.0.0.1:1");
    let path = folder.path().join("sloprobe.toml");
    let ended = run(sloprobe(&["check"]).current_dir("/").env("SLOPROBE_CONFIG", path)).await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stdout.contains("POST http://127.0.0.1:1/v1/chat/completions"), "{}", ended.stdout);
}

#[tokio::test]
async fn a_port_in_use_is_a_mistake_with_a_remedy() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let folder = target_at("127.0.0.1:1");
    let ended = run(&mut sloprobe_in(&folder, &["run", "--listen", &address])).await;
    assert_misuse(&ended, &format!("cannot listen on {address}"));
    assert!(
        ended.stderr.contains("free that port, or choose another with --listen or daemon.listen"),
        "{}",
        ended.stderr
    );
}

#[tokio::test]
async fn once_names_what_there_is_when_nothing_is_chosen() {
    let folder = target_at("127.0.0.1:1");
    for choice in [["--target", "nosuch"], ["--workload", "nosuch"]] {
        let ended = run(&mut sloprobe_in(&folder, &["once", choice[0], choice[1]])).await;
        assert_misuse(&ended, "targets are local; workloads are tiny");
    }
}

fn keys(value: &Value) -> BTreeSet<&str> {
    value.as_object().expect("an object").keys().map(String::as_str).collect()
}

/// The one line of `once --json`, with exactly the keys of the contract.
fn line_of_contract(stdout: &str) -> Value {
    let [line] = stdout.lines().collect::<Vec<_>>()[..] else { panic!("not one line: {stdout}") };
    let value: Value = serde_json::from_str(line).expect("JSON");
    let top = [
        "id",
        "trace_id",
        "target",
        "workload",
        "outcome",
        "ttft_seconds",
        "answer_ttft_seconds",
        "tpot_seconds",
        "itl_seconds",
        "stall_seconds",
        "latency_seconds",
        "lag_seconds",
        "connection",
        "certificate_expiry",
        "tokens",
        "tokens_per_arrival",
        "speculation",
        "verdict",
        "answer",
        "seed",
        "depth",
        "suspect",
        "error",
    ];
    assert_eq!(keys(&value), BTreeSet::from(top));
    assert_eq!(keys(&value["connection"]), BTreeSet::from(["resolve", "connect", "tls", "wait"]));
    assert_eq!(
        keys(&value["tokens"]),
        BTreeSet::from(["prompt", "cached", "reasoning", "hidden", "output", "source"])
    );
    value
}

#[tokio::test]
async fn once_against_a_closed_port_says_connect_and_exits_with_1() {
    let folder = target_at("127.0.0.1:1");
    let ended = run(&mut sloprobe_in(&folder, &["once", "--json"])).await;
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(1), ""));
    let value = line_of_contract(&ended.stdout);
    assert_eq!(
        (&value["outcome"], &value["target"], &value["workload"]),
        (&"connect".into(), &"local".into(), &"tiny".into())
    );
    for absent in
        ["ttft_seconds", "answer_ttft_seconds", "tpot_seconds", "itl_seconds", "stall_seconds", "verdict"]
    {
        assert!(value[absent].is_null(), "{absent} is {}", value[absent]);
    }
    assert!(value["error"].as_str().unwrap().contains("refused"), "{value}");

    let ended = run(&mut sloprobe_in(&folder, &["once"])).await;
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(1), ""));
    assert!(
        ended.stdout.contains("local, tiny: connect\n    cannot connect to 127.0.0.1:1: Connection refused"),
        "{}",
        ended.stdout
    );
}

#[tokio::test]
async fn once_measures_a_stream_and_exits_with_0() {
    let folder = target_at(&engine(healthy).await);
    let ended = run(&mut sloprobe_in(&folder, &["once", "--json"])).await;
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{}", ended.stdout);
    let value = line_of_contract(&ended.stdout);
    assert_eq!((&value["outcome"], &value["error"]), (&"ok".into(), &Value::Null));
    assert_eq!(keys(&value["itl_seconds"]), BTreeSet::from(["p50", "p90", "p99", "max"]));
    let tokens = [&value["tokens"]["prompt"], &value["tokens"]["output"], &value["tokens"]["source"]];
    assert_eq!(tokens, [&Value::from(50), &Value::from(8), &Value::from("final_usage")]);
    let seconds = |key: &str| value[key].as_f64().unwrap_or_else(|| panic!("{key} is {}", value[key]));
    // The engine holds its first token for 40 ms and each later one for 10 ms.
    assert!(seconds("ttft_seconds") >= 0.039, "{value}");
    assert!(seconds("tpot_seconds") >= 0.009, "{value}");
    assert!(seconds("latency_seconds") >= 0.109, "{value}");
    assert!(seconds("stall_seconds") <= seconds("latency_seconds"), "{value}");

    let ended = run(&mut sloprobe_in(&folder, &["once"])).await;
    let row = ended.stdout.lines().nth(1).unwrap_or_default();
    assert_eq!(
        row.split_whitespace().take(3).collect::<Vec<_>>(),
        ["local", "tiny", "ok"],
        "{}",
        ended.stdout
    );
}

#[tokio::test]
async fn once_needs_no_file_for_an_endpoint_on_the_command_line() {
    let url = format!("http://{}/v1", engine(healthy).await);
    let mut command =
        sloprobe(&["once", "--url", &url, "--model", "tiny", "--workload", "short-chat", "--json"]);
    command.env("SLOPROBE_CONFIG", "/nonexistent");
    let ended = run(&mut command).await;
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(line_of_contract(&ended.stdout)["target"], "endpoint");

    let args = ["once", "--url", "ftp://h", "--model", " ", "--key-env", "SLOPROBE_TEST_NO_SUCH_KEY"];
    let ended = run(&mut sloprobe(&args)).await;
    assert_misuse(&ended, "--url: ");
    assert_misuse(&ended, "--model: ");
    assert_misuse(&ended, "--key-env: ");
    assert_misuse(&run(&mut sloprobe(&["once", "--url", &url])).await, "--model");
}

#[tokio::test]
async fn either_signal_ends_the_daemon_in_order() {
    let folder = target_at(&engine(healthy).await);
    for signal in ["TERM", "INT"] {
        let daemon = Daemon::start(&mut sloprobe_in(&folder, &["run"])).await;
        probed(&daemon, "sloprobe_up{target=\"local\"} 1").await;
        daemon.process.signal(signal);
        let ended = daemon.process.ended(SOON).await;
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), ""), "{}", ended.stderr);
        assert!(ended.stderr.contains("ending: no new probes"), "{}", ended.stderr);
        assert!(!ended.stderr.contains("abandoned"), "{}", ended.stderr);
    }
}

fn silent(_request: &str) -> Script {
    vec![(Duration::from_secs(3600), String::new())]
}

#[tokio::test]
async fn a_second_signal_ends_the_daemon_at_once() {
    let folder = target_at(&engine(silent).await);
    let daemon = Daemon::start(&mut sloprobe_in(&folder, &["run"])).await;
    probed(&daemon, "sloprobe_in_flight{target=\"local\",workload=\"tiny\"} 2").await;
    daemon.process.signal("TERM");
    eventually("the first signal", PATIENCE, async || {
        let log = daemon.process.stderr();
        if log.contains("ending: no new probes") { Ok(()) } else { Err(log) }
    })
    .await;
    assert!(get(&daemon.address, "/-/ready").await.is_err(), "it is ready though it ends");
    assert!(get(&daemon.address, "/metrics").await.is_ok(), "metrics stay readable to the end");
    daemon.process.signal("TERM");
    let ended = daemon.process.ended(SOON).await;
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.stderr.contains("asked again"), "{}", ended.stderr);
}

/// Waits for a series with its value, or a value that begins so.
async fn probed(daemon: &Daemon, series: &str) {
    eventually(series, PATIENCE, async || {
        let metrics = daemon.metrics().await;
        if metrics.contains(series) { Ok(()) } else { Err(daemon.process.stderr()) }
    })
    .await;
}

fn key_of(request: &str) -> &str {
    let line = request.lines().find_map(|line| line.strip_prefix("authorization: Bearer "));
    line.expect("the key is sent")
}

fn refusal(message: &str) -> Script {
    let body = serde_json::json!({ "error": { "message": message } });
    let head = "HTTP/1.1 401 Unauthorized\r\ncontent-type: application/json\r\nconnection: close";
    vec![(Duration::ZERO, format!("{head}\r\n\r\n{body}"))]
}

/// Quotes the key whole.
fn quoting(request: &str) -> Script {
    refusal(&format!("Incorrect API key provided: {}.", key_of(request)))
}

/// Quotes the key so that any cut of the detail goes through one of its repetitions.
fn quoting_often(request: &str) -> Script {
    refusal(&[key_of(request); 40].join(" "))
}

/// Quotes the key inside a stream that began well.
fn quoting_in_band(request: &str) -> Script {
    let message = [key_of(request); 40].join(" ");
    let error = serde_json::json!({ "error": { "message": message } });
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close";
    vec![(Duration::ZERO, format!("{head}\r\n\r\ndata: {error}\n\n"))]
}

/// Even eight characters of it are too many.
fn assert_no_secret(text: &str) {
    for at in 0..=SECRET.len() - 8 {
        let part = &SECRET[at..at + 8];
        assert!(!text.contains(part), "{part} of the secret is in\n{text}");
    }
}

#[tokio::test]
async fn a_secret_that_the_server_quotes_is_never_shown() {
    for (script, outcome) in
        [(quoting as fn(&str) -> Script, "auth"), (quoting_often, "auth"), (quoting_in_band, "in_band")]
    {
        let folder = target_with(&engine(script).await, "api_key = { env = 'KEY' }");
        for args in [&["once"][..], &["once", "--json"], &["once", "--log", "trace"]] {
            let ended = run(sloprobe_in(&folder, args).env("KEY", SECRET)).await;
            assert_eq!(ended.code, Some(1), "{ended:?}");
            assert!(
                ended.stdout.contains(outcome) && ended.stdout.contains("[redacted]"),
                "{}",
                ended.stdout
            );
            assert_no_secret(&ended.stdout);
            assert_no_secret(&ended.stderr);
        }
        let daemon = Daemon::start(sloprobe_in(&folder, &["run", "--log", "trace"]).env("KEY", SECRET)).await;
        eventually("a failed probe", PATIENCE, async || {
            let log = daemon.process.stderr();
            if log.contains("probes fail") { Ok(()) } else { Err(log) }
        })
        .await;
        assert_no_secret(&daemon.metrics().await);
        assert_no_secret(&get(&daemon.address, "/").await.unwrap());
        daemon.process.signal("TERM");
        let ended = daemon.process.ended(SOON).await;
        assert!(ended.stderr.contains("[redacted]"), "{}", ended.stderr);
        assert_no_secret(&ended.stderr);
        assert_no_secret(&ended.stdout);
    }
}

#[tokio::test]
async fn a_process_does_not_outlive_its_test() {
    let folder = target_at("127.0.0.1:1");
    let daemon = Daemon::start(&mut sloprobe_in(&folder, &["run"])).await;
    let address = daemon.address.clone();
    drop(daemon);
    assert!(get(&address, "/metrics").await.is_err());
    assert!(Process::spawn(&mut Command::new("/no/such/program")).is_err());
}
