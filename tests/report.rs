//! `sloprobe report`, by the real binary, against a calculation of its own.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

mod common;
#[path = "support/reports.rs"]
mod reports;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use common::{Ended, root, run, sloprobe};
use humantime::format_rfc3339;
use reports::{INTERVAL, Maker, began};
use serde_json::Value;
use sloprobe::domain::{Makeup, Report};
use sloprobe::history::{History, Settings};

const TARGETS: usize = 2;
const PROBES: usize = 4000;

/// A history with two releases of each target, of which the second came after half the time.
struct Scene {
    folder: tempfile::TempDir,
    kept: Vec<Report>,
}

impl Scene {
    fn new(sum_up: bool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = Some(folder.path().join("history.db"));
        let history = History::open(&Settings { path, keep: Duration::MAX, max_bytes: u64::MAX }).unwrap();
        let mut releases = Vec::new();
        for (number, version) in ["0.32.0", "0.33.0"].into_iter().enumerate() {
            let makeup = Makeup { engine: "vllm".into(), version: Some(version.into()), ..Makeup::default() };
            let at = began() + Duration::from_secs(number as u64 * 5000);
            releases.push([0, 1].map(|n| history.begin_release(&format!("target-{n}"), &makeup, at)));
        }
        let mut maker = Maker::new(TARGETS);
        let mut kept = Vec::new();
        for n in 0..PROBES {
            let report = maker.next(n).clone();
            history.keep(&report, releases[n * 2 / PROBES][n % TARGETS], false);
            kept.push(report);
        }
        history.flush().unwrap();
        if sum_up {
            history.sum_up().unwrap();
        }
        Self { folder, kept }
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("history.db")
    }

    async fn report(&self, args: &[&str]) -> Ended {
        let file = self.file();
        run(sloprobe(&["report", "--history"]).arg(&file).args(args)).await
    }

    async fn json(&self, args: &[&str]) -> Value {
        let ended = self.report(&[args, &["--format", "json"]].concat()).await;
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{args:?}");
        serde_json::from_str(&ended.stdout).unwrap()
    }

    /// Those of one target between two seconds after the beginning.
    fn of(&self, target: &str, seconds: std::ops::Range<u64>) -> Vec<&Report> {
        let [from, to] = [seconds.start, seconds.end].map(|n| began() + Duration::from_secs(n));
        let within =
            |report: &&Report| *report.target.name == *target && report.wall >= from && report.wall < to;
        self.kept.iter().filter(within).collect()
    }
}

/// Seconds after the beginning, as an argument.
fn at(seconds: u64) -> String {
    format_rfc3339(began() + Duration::from_secs(seconds)).to_string()
}

fn near(found: &Value, wanted: f64, within: f64) {
    let found = found.as_f64().unwrap_or_else(|| panic!("{found} for {wanted}"));
    assert!((found - wanted).abs() <= wanted.abs() * within + 1e-9, "{found} {wanted}");
}

/// Mean, quantiles by nearest rank and maximum, from the values themselves.
fn hold(found: &Value, mut values: Vec<f64>, within: f64) {
    values.sort_by(f64::total_cmp);
    assert_eq!(found["count"].as_u64(), Some(values.len() as u64));
    // Only the gaps are not kept to the microsecond.
    let mean_within = if within > 0.001 { within / 2.0 } else { 1e-5 };
    near(&found["mean"], values.iter().sum::<f64>() / values.len() as f64, mean_within);
    near(&found["max"], *values.last().unwrap(), within);
    for percent in [50, 75, 90, 95, 99] {
        let rank = (values.len() * percent).div_ceil(100);
        near(&found[format!("p{percent}")], values[rank - 1], within);
    }
}

fn hold_row(row: &Value, reports: &[&Report], seconds: f64) {
    let good: Vec<_> = reports.iter().filter(|report| report.succeeded()).collect();
    let (all, failed) = (reports.len() as f64, (reports.len() - good.len()) as f64);
    assert_eq!(row["requests"].as_u64(), Some(reports.len() as u64));
    assert_eq!(row["failures"]["total"].as_f64(), Some(failed));
    near(&row["failures"]["by_reason"]["server_error"], failed, 0.0);
    near(&row["failures"]["share"], failed / all, 1e-9);
    near(&row["success_rate"], 1.0 - failed / all, 1e-9);
    near(&row["window"]["seconds"], seconds, 1e-6);
    near(&row["requests_per_second"], all / seconds, 1e-6);
    let output: u64 = reports.iter().filter_map(|report| report.tokens.output).sum();
    near(&row["output_tokens_per_second"], output as f64 / seconds, 1e-6);
    let characters: u64 = reports.iter().map(|report| report.answer.characters).sum();
    near(&row["characters_per_token"], characters as f64 / output as f64, 1e-9);
    near(&row["input_tokens_per_second"], 312.0 * all / seconds, 1e-6);
    assert_eq!(row["answers"]["right"], row["answers"]["judged"]);
    assert_eq!(row["answers"]["right"].as_u64(), Some(good.len() as u64));
    let of = |measure: fn(&Report) -> Option<Duration>| -> Vec<f64> {
        good.iter().filter_map(|report| measure(report)).map(|d| d.as_secs_f64()).collect()
    };
    hold(&row["ttft_seconds"], of(|report| report.sample.ttft), 0.001);
    hold(&row["answer_ttft_seconds"], of(|report| report.sample.answer_ttft), 0.001);
    hold(&row["stall_seconds"], of(|report| report.sample.stall), 0.001);
    hold(&row["latency_seconds"], of(|report| report.sample.latency), 0.001);
    let tpot = of(|report| report.sample.tpot);
    near(&row["stream_tokens_per_second"], tpot.len() as f64 / tpot.iter().sum::<f64>(), 1e-4);
    hold(&row["tpot_seconds"], tpot, 0.001);
    let gaps = good.iter().flat_map(|report| &report.sample.itl).map(|gap| gap.per_token.as_secs_f64());
    hold(&row["itl_seconds"], gaps.collect(), 0.01);
}

#[tokio::test]
async fn the_figures_are_those_of_the_probes_with_and_without_sums() {
    for scene in [Scene::new(false), Scene::new(true)] {
        let (from, to) = (at(1000), at(9000));
        let report = scene.json(&["--from", &from, "--to", &to]).await;
        assert_eq!(report["schema"], 1);
        let rows = report["rows"].as_array().unwrap();
        assert_eq!(rows.len(), TARGETS);
        for (n, row) in rows.iter().enumerate() {
            let target = format!("target-{n}");
            assert_eq!((row["target"].as_str(), row["workload"].as_str()), (Some(&*target), Some("chat")));
            hold_row(row, &scene.of(&target, 1000..9000), 8000.0);
        }
    }
}

#[tokio::test]
async fn rates_are_over_the_time_that_the_history_covers_and_releases_are_told_apart() {
    let scene = Scene::new(true);
    let whole = at(20_000);
    // Asked for a day more than there is.
    let report = scene.json(&["--from", "2025-11-14", "--to", &whole, "--target", "target-0"]).await;
    hold_row(&report["rows"][0], &scene.of("target-0", 0..20_000), 20_000.0);
    // The second release began after half the time; what came shortly before may have been its own already.
    for (release, seconds) in [("latest", 5000..10_000), ("#3", 5000..10_000), ("0.32.0", 0..4700)] {
        let args = ["--from", "2025-11-14", "--target", "target-0", "--release", release];
        let report = scene.json(&args).await;
        let length = (seconds.end - seconds.start - INTERVAL.as_secs()) as f64;
        hold_row(&report["rows"][0], &scene.of("target-0", seconds), length);
    }
}

#[tokio::test]
async fn rows_are_added_up_by_what_is_asked() {
    let scene = Scene::new(true);
    for (by, name, rows) in [("target", "target", 2), ("workload", "workload", 1)] {
        let report = scene.json(&["--since", "2025-11-14", "--by", by]).await;
        assert_eq!(report["by"], serde_json::json!([name]));
        let found = report["rows"].as_array().unwrap();
        assert_eq!(found.len(), rows);
        assert!(found.iter().all(|row| row["target"].is_null() != row["workload"].is_null()));
        let sum: u64 = found.iter().map(|row| row["requests"].as_u64().unwrap()).sum();
        assert_eq!(sum, PROBES as u64);
    }
}

const CONFIG: &str = r#"
[[targets]]
name = "target-0"
url = "https://llm.example.com/v1"
model = "m"
api_key = { env = "NOT_THERE" }
rate = "12/min"
mix = { chat = 1 }

[[workloads]]
name = "chat"
kind = "chat"

[[slos]]
name = "ttft"
metric = "ttft"
below = "200ms"
objective = 90.0

[[slos]]
name = "up | running"
metric = "availability"
objective = 99.99
"#;

#[tokio::test]
async fn objectives_of_a_configuration_are_judged_without_its_secrets() {
    let scene = Scene::new(true);
    let config = scene.folder.path().join("sloprobe.toml");
    fs::write(&config, CONFIG).unwrap();
    let config = config.to_str().unwrap();
    let report = scene.json(&["--since", "2025-11-14", "-c", config]).await;
    assert_eq!(report["rows"][1]["objectives"], serde_json::json!([]));
    let all = scene.of("target-0", 0..100_000);
    let failed = all.iter().filter(|report| !report.succeeded()).count() as f64;
    let slow = all.iter().filter(|report| report.sample.ttft.unwrap() > Duration::from_millis(200));
    let slow = slow.filter(|report| report.succeeded()).count() as f64;
    let objectives = &report["rows"][0]["objectives"];
    let events = all.len() as f64;
    assert_eq!(
        (objectives[0]["name"].as_str(), objectives[0]["events"].as_f64()),
        (Some("ttft"), Some(events))
    );
    near(&objectives[0]["bad"], slow + failed, 0.02);
    assert_eq!(objectives[1]["bad"].as_f64(), Some(failed));
    near(&objectives[1]["compliance_percent"], 100.0 * (1.0 - failed / events), 1e-9);
    near(&objectives[1]["budget_left"], 1.0 - failed / (events * 0.0001), 1e-6);
    assert_eq!(objectives[1]["met"], false);
    // The file may be the one that the configuration names.
    let named =
        CONFIG.replacen("[[targets]]", &format!("[daemon]\nhistory = {:?}\n\n[[targets]]", scene.file()), 1);
    fs::write(config, named).unwrap();
    let mut command = sloprobe(&["report", "-c", config, "--since", "2025-11-14", "--format", "json"]);
    let ended = run(&mut command).await;
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    let again: Value = serde_json::from_str(&ended.stdout).unwrap();
    assert_eq!(&again["rows"][0]["objectives"], objectives);
    // The other target is not in the configuration, so it counts for nobody.
    let report = scene.json(&["--since", "2025-11-14", "-c", config, "--by", "workload"]).await;
    assert_eq!(&report["rows"][0]["objectives"], objectives);
}

/// Compares with the golden file, or writes it when asked to.
fn golden(name: &str, said: &str) {
    let path = root().join("tests/golden").join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, said).unwrap();
    }
    let wanted = fs::read_to_string(&path).unwrap();
    assert_eq!(said, wanted, "to renew {name}: UPDATE_GOLDEN=1 cargo test --test report");
}

#[tokio::test]
async fn people_see_tables_in_the_terminal_and_in_markdown() {
    let scene = Scene::new(true);
    let config = scene.folder.path().join("sloprobe.toml");
    fs::write(&config, CONFIG).unwrap();
    let (from, to) = (at(1000), at(9000));
    let window = ["--from", &from, "--to", &to, "-c", config.to_str().unwrap()];
    let table = scene.report(&window).await;
    assert_eq!((table.code, table.stderr.as_str()), (Some(0), ""));
    golden("report.txt", &table.stdout);
    let file = scene.folder.path().join("report.md");
    let output = ["--format", "markdown", "-o", file.to_str().unwrap()];
    let ended = scene.report(&[&window[..], &output].concat()).await;
    assert_eq!((ended.code, ended.stdout.as_str(), ended.stderr.as_str()), (Some(0), "", ""));
    golden("report.md", &fs::read_to_string(file).unwrap());
}

#[tokio::test]
async fn the_table_for_programs_has_the_numbers_of_the_json() {
    let scene = Scene::new(true);
    let window = ["--since", "2025-11-14"];
    let json = scene.json(&window).await;
    let csv = scene.report(&[&window[..], &["--format", "csv"]].concat()).await.stdout;
    let mut records = csv.split("\r\n");
    assert_eq!(records.next(), Some("target,workload,metric,statistic,value"));
    let found: BTreeMap<[&str; 4], &str> = records
        .filter(|record| !record.is_empty())
        .map(|record| {
            let fields: Vec<&str> = record.split(',').collect();
            let [target, workload, metric, statistic, value] = fields.try_into().unwrap();
            ([target, workload, metric, statistic], value)
        })
        .collect();
    for (n, row) in json["rows"].as_array().unwrap().iter().enumerate() {
        let target = format!("target-{n}");
        let value = |metric, statistic| -> f64 {
            found[&[target.as_str(), "chat", metric, statistic]].parse().unwrap()
        };
        near(&row["requests"], value("requests", "value"), 0.0);
        near(&row["ttft_seconds"]["p99"], value("ttft_seconds", "p99"), 0.0);
        near(&row["failures"]["total"], value("failures", "total"), 0.0);
        near(&row["failures"]["by_reason"]["server_error"], value("failures", "server_error"), 0.0);
        near(&row["answers"]["right"], value("answers", "right"), 0.0);
    }
}

async fn refusal(args: &[&str]) -> (Option<i32>, String) {
    let ended = run(&mut sloprobe(&[&["report"], args].concat())).await;
    assert_eq!(ended.stdout, "", "{args:?}");
    (ended.code, ended.stderr)
}

#[tokio::test]
async fn mistakes_are_told_with_what_is_known() {
    let scene = Scene::new(false);
    let file = scene.file();
    let file = file.to_str().unwrap();
    let foreign = scene.folder.path().join("notes.txt");
    fs::write(&foreign, "these are notes").unwrap();
    let config = scene.folder.path().join("sloprobe.toml");
    fs::write(&config, CONFIG).unwrap();
    let config = config.to_str().unwrap();
    let missing: &Path = &scene.folder.path().join("nowhere.db");
    for (args, code, wanted) in [
        (&["-c", config][..], 2, vec!["sets no daemon.history"]),
        (&[], 2, vec!["sloprobe.toml"]),
        (&["--history", missing.to_str().unwrap()], 2, vec!["there is no history at", "nowhere.db"]),
        (&["--history", foreign.to_str().unwrap()], 2, vec!["notes.txt is not a history"]),
        (&["--history", file, "--target", "x"], 2, vec!["no target \"x\"", "target-0, target-1"]),
        (&["--history", file, "--workload", "x"], 2, vec!["no workload \"x\"", "workloads are chat"]),
        (&["--history", file, "--release", "0.34.0"], 2, vec!["target-1 has #2 vllm 0.32.0, #4 vllm 0.33.0"]),
        (&["--history", file, "--from", "1h", "--to", "2h"], 2, vec!["before it begins"]),
        (&["--history", file, "--since", "soon"], 2, vec!["36h"]),
        (&["--history", file, "-c", "nowhere.toml"], 2, vec!["nowhere.toml"]),
        (
            &["--history", file],
            1,
            vec!["no such probe", "covers 2025-11-15T04:13:20Z to 2025-11-15T06:59:57Z"],
        ),
    ] {
        let (found, said) = refusal(args).await;
        assert_eq!(found, Some(code), "{args:?}: {said}");
        assert!(wanted.iter().all(|part| said.contains(part)), "{args:?}: {said}");
    }
}
