//! The daemon scraped by a real Prometheus: every family arrives with its type, and questions have answers.

mod common;

use std::io::Write as _;
use std::process::{Command, Stdio};

use common::prometheus::Prometheus;
use common::service::{BOUND, REMEDY};
use common::{Daemon, config, engine, eventually, healthy, sloprobe};
use sloprobe::catalogue::{self, Family, Form, Kind, Scope};
use sloprobe::config::{Outside, Plan, parse};
use tempfile::TempDir;

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
    let slos = "[[slos]]\nname = 'up'\nmetric = 'availability'\nobjective = 99\n\
                [[slos]]\nname = 'in-time'\nmetric = 'latency'\nbelow = '30s'\nobjective = 99\n";
    targets + &workload("tiny", "chat") + &workload("small", "rag") + slos
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

/// Waits until a family has its type and help, and exactly the series that the catalogue announces.
async fn expect_family(prometheus: &Prometheus, family: &Family, plan: &Plan) {
    let declared = serde_json::json!({ "type": family.kind.name(), "help": family.help, "unit": "" });
    eventually(family.name, BOUND, async || {
        // In OpenMetrics a counter's family has no `_total`.
        let name = family.name.trim_end_matches("_total");
        let metadata = prometheus.api(&format!("metadata?metric={name}")).await?;
        let known = &metadata[name][0];
        if *known == declared { Ok(()) } else { Err(format!("{known} is known, {declared} is declared")) }
    })
    .await;
    let parts = if matches!(family.kind, Kind::Histogram(_)) { "_(bucket|sum|count)" } else { "" };
    let query = format!("count({{__name__=~\"{}{parts}\"}})", family.name);
    let series = family.series_at_start(&plan.targets, &plan.slos, Form::CLASSIC) as f64;
    prometheus.expect(&query, series, series).await;
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
    let prometheus = Prometheus::start(&Prometheus::scraping(&daemon.address, "500ms"), &[]).await;

    prometheus.expect("up{job=\"sloprobe\"}", 1.0, 1.0).await;
    let (present, absent): (Vec<_>, Vec<_>) =
        catalogue::ALL.into_iter().partition(|family| family.scope.is_there_at_once());
    for family in present {
        expect_family(&prometheus, family, &plan).await;
    }
    // What the targets run is soon known. They speak plain http, and stay what they are.
    for family in absent {
        let is_known = family.scope == Scope::Released;
        let query =
            if is_known { format!("count({})", family.name) } else { format!("absent({})", family.name) };
        let wanted = if is_known { 2.0 } else { 1.0 };
        prometheus.expect(&query, wanted, wanted).await;
    }
    prometheus.expect("sum(sloprobe_up)", 2.0, 2.0).await;
    prometheus.expect("min(sloprobe_probes_total)", 4.0, f64::MAX).await;
    prometheus.expect("sum(sloprobe_failures_total)", 0.0, 0.0).await;
    prometheus.expect("min(sloprobe_slo_events_total)", 4.0, f64::MAX).await;
    prometheus.expect("sum(sloprobe_slo_bad_events_total)", 0.0, 0.0).await;
    // The engine holds its first token for 40 ms and each later one for 10 ms; a busy machine adds to that.
    // What lies within one of few buckets is guessed to lie in its middle.
    let median =
        |of: &str| format!("histogram_quantile(0.5, sum by (le) (rate(sloprobe_{of}_seconds_bucket[1m])))");
    prometheus.expect(&median("ttft"), 0.02, 0.5).await;
    prometheus.expect(&median("tpot"), 0.007, 0.1).await;
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
    for tool in ["promtool", "promtool3"] {
        let mut promtool = Command::new(tool)
            .args(["check", "metrics"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{tool} cannot be started: {error}\n    {REMEDY}"));
        promtool.stdin.take().unwrap().write_all(metrics.as_bytes()).unwrap();
        let ended = promtool.wait_with_output().unwrap();
        let said = [ended.stdout, ended.stderr].concat();
        assert_eq!((ended.status.code(), String::from_utf8_lossy(&said).as_ref()), (Some(0), ""), "{tool}");
    }
}
