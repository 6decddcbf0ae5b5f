//! The daemon scraped by a real Prometheus: every family arrives with its type, and questions have answers.

mod common;

use std::fs;
use std::io::Write as _;
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::time::Duration;

use common::{Daemon, Process, config, engine, eventually, get, healthy, sloprobe};
use serde_json::Value;
use sloprobe::catalogue::{self, Family, Kind};
use sloprobe::config::{Outside, Plan, parse};
use tempfile::TempDir;

/// Several scrapes and a start on a busy machine.
const BOUND: Duration = Duration::from_secs(60);

const REMEDY: &str =
    "run tests/run.sh, which installs what the tests need (Debian: apt-get install prometheus)";

/// A Prometheus of our own; the process ends before its folder goes.
struct Prometheus {
    process: Process,
    address: String,
    _folder: TempDir,
}

impl Prometheus {
    /// Starts one that scrapes this address twice a second.
    async fn scraping(address: &str) -> Self {
        let settings = format!(
            "global:\n  scrape_interval: 500ms\n  scrape_timeout: 500ms\n\
             scrape_configs:\n  - job_name: sloprobe\n    static_configs:\n      - targets: ['{address}']\n"
        );
        let mut last_words = String::new();
        // It cannot choose a free port itself, and somebody else may take the one chosen for it.
        for _ in 0..3 {
            let mut prometheus = Self::start(&settings);
            let ready = eventually("the start of Prometheus", BOUND, async || {
                if prometheus.process.has_ended() {
                    return Ok(false);
                }
                get(&prometheus.address, "/-/ready").await.map(|_| true)
            });
            if ready.await {
                return prometheus;
            }
            last_words = prometheus.process.stderr();
        }
        panic!("Prometheus ends as soon as it is started: {last_words}");
    }

    fn start(settings: &str) -> Self {
        let folder = TempDir::new().expect("a folder for the data");
        fs::write(folder.path().join("prometheus.yml"), settings).expect("the folder can be written to");
        let address = free_address();
        let mut command = Command::new("prometheus");
        command.current_dir(folder.path()).args([
            "--config.file=prometheus.yml",
            "--storage.tsdb.path=data",
            &format!("--web.listen-address={address}"),
            "--log.level=warn",
        ]);
        let process = Process::spawn(&mut command)
            .unwrap_or_else(|error| panic!("prometheus cannot be started: {error}\n    {REMEDY}"));
        Self { process, address, _folder: folder }
    }

    /// The `data` of an answer of its API.
    async fn api(&self, path: &str) -> Result<Value, String> {
        let body = get(&self.address, &format!("/api/v1/{path}")).await?;
        let answer: Value = serde_json::from_str(&body).map_err(|error| format!("{error}: {body}"))?;
        if answer["status"] == "success" { Ok(answer["data"].clone()) } else { Err(body) }
    }

    /// The one number that a query gives.
    async fn number(&self, query: &str) -> Result<f64, String> {
        let data = self.api(&format!("query?query={}", percent_encoded(query))).await?;
        let result = data["result"].as_array().map(Vec::as_slice).unwrap_or_default();
        let [series] = result else { return Err(format!("{query} gives {} series", result.len())) };
        let value = series["value"][1].as_str().and_then(|text| text.parse().ok());
        value.ok_or_else(|| format!("{query} gives {series}"))
    }

    /// Waits until a query gives a number within these bounds.
    async fn expect(&self, query: &str, low: f64, high: f64) {
        eventually(query, BOUND, async || {
            let number = self.number(query).await?;
            if (low..=high).contains(&number) {
                Ok(())
            } else {
                Err(format!("it is {number}, not {low} to {high}"))
            }
        })
        .await;
    }

    /// Waits until a family has its type and help, and exactly the series that the catalogue announces.
    async fn expect_family(&self, family: &Family, plan: &Plan) {
        let declared = serde_json::json!({ "type": family.kind.name(), "help": family.help, "unit": "" });
        eventually(family.name, BOUND, async || {
            let metadata = self.api(&format!("metadata?metric={}", family.name)).await?;
            let known = &metadata[family.name][0];
            if *known == declared { Ok(()) } else { Err(format!("{known} is known, {declared} is declared")) }
        })
        .await;
        let parts = if matches!(family.kind, Kind::Histogram(_)) { "_(bucket|sum|count)" } else { "" };
        let query = format!("count({{__name__=~\"{}{parts}\"}})", family.name);
        let series = family.series(&plan.targets, &plan.slos) as f64;
        self.expect(&query, series, series).await;
    }
}

/// A moment ago nobody listened there.
fn free_address() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    listener.local_addr().expect("it has an address").to_string()
}

fn percent_encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    text.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect::<Vec<_>>()
        .concat()
}

/// Two targets at one engine, each probed five times a second.
fn settings(engine: &str) -> String {
    let target = |name: &str, mix: &str| {
        format!(
            "[[targets]]\nname = '{name}'\nurl = 'http://{engine}'\nmodel = 'm'\nrate = '5/s'\nmix = {mix}\n"
        )
    };
    let workload = |name: &str, kind: &str| {
        format!("[[workloads]]\nname = '{name}'\nkind = '{kind}'\ninput_tokens = 20\noutput_tokens = 8\n")
    };
    let targets = target("one", "{ tiny = 3, small = 1 }") + &target("two", "{ tiny = 1 }");
    let slo = "[[slos]]\nname = 'up'\nmetric = 'availability'\nobjective = 99\n";
    targets + &workload("tiny", "chat") + &workload("small", "rag") + slo
}

fn plan(text: &str) -> Plan {
    let file = |_: &std::path::Path| Err(std::io::ErrorKind::NotFound.into());
    parse(
        "sloprobe.toml",
        text,
        &Outside { env: &|_| None, file: &file, text: &|_| Err(std::io::ErrorKind::NotFound.into()) },
    )
    .expect("the settings are sound")
}

async fn daemon(settings: &str) -> (Daemon, TempDir) {
    let folder = config(settings);
    let daemon = Daemon::start(sloprobe(&["run"]).current_dir(folder.path())).await;
    (daemon, folder)
}

#[tokio::test]
async fn a_real_prometheus_stores_every_family_and_answers_questions() {
    let settings = settings(&engine(healthy).await);
    let plan = plan(&settings);
    let (daemon, _folder) = daemon(&settings).await;
    let prometheus = Prometheus::scraping(&daemon.address).await;

    prometheus.expect("up{job=\"sloprobe\"}", 1.0, 1.0).await;
    let (present, absent): (Vec<_>, Vec<_>) =
        catalogue::ALL.into_iter().partition(|family| family.series(&plan.targets, &plan.slos) > 0);
    for family in present {
        prometheus.expect_family(family, &plan).await;
    }
    // The targets speak plain http.
    let [certificate] = absent[..] else { panic!("{absent:?} have no series") };
    prometheus.expect(&format!("absent({})", certificate.name), 1.0, 1.0).await;
    prometheus.expect("sum(sloprobe_up)", 2.0, 2.0).await;
    prometheus.expect("min(sloprobe_probes_total)", 4.0, f64::MAX).await;
    prometheus.expect("sum(sloprobe_failures_total)", 0.0, 0.0).await;
    prometheus.expect("min(sloprobe_slo_events_total)", 4.0, f64::MAX).await;
    prometheus.expect("sum(sloprobe_slo_bad_events_total)", 0.0, 0.0).await;
    // The engine holds its first token for 40 ms and each later one for 10 ms; a busy machine adds to that.
    let median =
        |of: &str| format!("histogram_quantile(0.5, sum by (le) (rate(sloprobe_{of}_seconds_bucket[1m])))");
    prometheus.expect(&median("ttft"), 0.03, 0.5).await;
    prometheus.expect(&median("tpot"), 0.009, 0.1).await;
    prometheus.expect(&median("latency"), 0.1, 1.0).await;
    let age = "max(time() - sloprobe_last_success_timestamp_seconds)";
    prometheus.expect(age, -1.0, 5.0).await;
    prometheus.expect("sum(sloprobe_tokens_total{direction=\"output\"}) % 8", 0.0, 0.0).await;
    // Two targets, five times a second each: as announced, and as done.
    prometheus.expect("sum(1 / sloprobe_probe_interval_seconds)", 9.999, 10.001).await;
    prometheus.expect("sum(rate(sloprobe_probes_total[5s]))", 8.0, 12.0).await;
}

#[tokio::test]
async fn promtool_has_no_complaint_about_the_metrics() {
    let (daemon, _folder) = daemon(&settings(&engine(healthy).await)).await;
    let metrics = eventually("a successful probe", BOUND, async || {
        let metrics = daemon.metrics().await;
        if metrics.contains("sloprobe_up{target=\"one\"} 1") {
            Ok(metrics)
        } else {
            Err(daemon.process.stderr())
        }
    })
    .await;
    let mut promtool = Command::new("promtool")
        .args(["check", "metrics"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("promtool cannot be started: {error}\n    {REMEDY}"));
    promtool.stdin.take().unwrap().write_all(metrics.as_bytes()).unwrap();
    let ended = promtool.wait_with_output().unwrap();
    let said = [ended.stdout, ended.stderr].concat();
    assert_eq!((ended.status.code(), String::from_utf8_lossy(&said).as_ref()), (Some(0), ""));
}
