//! The processes of `deploy/compose.yaml` without their containers and without Grafana, from the very files that the
//! containers mount: only names of hosts are rewritten, and time is made to pass faster.

use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::common::alertmanager::Alertmanager;
use crate::common::prometheus::Prometheus;
use crate::common::service::BOUND;
use crate::common::{Daemon, PATIENCE, Process, config, eventually, run, sloprobe};
use crate::compose::services;
use crate::{deployed, replaced};

/// Every wait of the rules is divided by this, and probes and scrapes come as much more often: minutes become seconds.
const TIME_SCALE: &str = "20";

/// What the walk-through tells people to send to the engine.
const OUTAGE: &str = r#"{"faults":["http-503"]}"#;

/// A running `sloprobe simulate`.
#[derive(Debug)]
pub struct Engine {
    _process: Process,
    /// Where it listens, such as "127.0.0.1:40123".
    pub address: String,
}

impl Engine {
    pub async fn start(args: &[&str]) -> Self {
        let mut process = Process::spawn(&mut sloprobe(args)).expect("it can be started");
        let address = eventually("the line with the address", PATIENCE, async || {
            let greeting = process.stdout();
            assert!(!process.has_ended(), "the engine ended: {greeting}{}", process.stderr());
            let found =
                greeting.split_once("listening on http://").and_then(|(_, rest)| rest.split_once("/v1"));
            found.map(|(address, _)| address.to_owned()).ok_or(greeting)
        })
        .await;
        Self { _process: process, address }
    }

    /// What `curl -d` does.
    async fn set_faults(&self, faults: &str) {
        let request = format!(
            "POST /sim/faults HTTP/1.0\r\nhost: {}\r\ncontent-type: application/x-www-form-urlencoded\r\ncontent-length: {}\r\n\r\n{faults}",
            self.address,
            faults.len()
        );
        let mut stream = TcpStream::connect(&self.address).await.expect("the engine listens");
        stream.write_all(request.as_bytes()).await.expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.expect("it answers");
        assert!(answer.contains(" 200 "), "{answer}");
    }
}

/// Each part ends with this, the last started first.
struct Stack {
    prometheus: Prometheus,
    alertmanager: Alertmanager,
    daemon: Daemon,
    engine: Engine,
    _folder: TempDir,
}

impl Stack {
    async fn start() -> Self {
        let services = services().await;
        let command = services["engine"]["command"].as_array().expect("the engine has a command");
        let command: Vec<_> = command.iter().filter_map(Value::as_str).collect();
        assert_eq!(command, ["simulate", "--listen", "0.0.0.0:8200"]);
        let engine = Engine::start(&["simulate", "--listen", "127.0.0.1:0"]).await;
        let watched = replaced(
            &deployed("compose/sloprobe.toml"),
            &[("engine:8200", &engine.address), ("rate = \"30/min\"", "rate = \"10/s\"")],
        );
        let folder = config(&watched);
        let rules = run(sloprobe(&["rules", "--time-scale", TIME_SCALE]).current_dir(&folder)).await;
        assert_eq!((rules.code, rules.stderr.as_str()), (Some(0), ""));
        let daemon = Daemon::start(sloprobe(&["run"]).current_dir(&folder)).await;
        let [routes, template] = ["compose/alertmanager.yml", "alertmanager/sloprobe.tmpl"].map(deployed);
        let files = [("alertmanager.yml", routes.as_str()), ("sloprobe.tmpl", template.as_str())];
        let alertmanager = Alertmanager::start(&files).await;
        let settings = replaced(
            &deployed("compose/prometheus.yml"),
            &[
                ("sloprobe:9788", &daemon.address),
                ("alertmanager:9093", alertmanager.address()),
                // Its own port is not known before it has started.
                ("127.0.0.1:9090", alertmanager.address()),
                ("scrape_interval: 5s", "scrape_interval: 250ms"),
                ("scrape_timeout: 4s", "scrape_timeout: 250ms"),
            ],
        );
        let files = [("sloprobe.rules.yml", rules.stdout.as_str())];
        let prometheus = Prometheus::start(&settings, &files).await;
        Self { prometheus, alertmanager, daemon, engine, _folder: folder }
    }

    /// The alerts that Alertmanager holds, without the one that may be true of a busy machine, and without those about
    /// speed, which such a machine may make true as well.
    async fn alerts(&self) -> Result<Vec<Value>, String> {
        let mut alerts = self.alertmanager.alerts().await?;
        let is_about_speed = |alert: &Value| {
            let labels = &alert["labels"];
            labels["alertname"] == "SloprobeHostLate"
                || labels["slo"] == "chat-ttft"
                || labels["slo"] == "pace"
        };
        alerts.retain(|alert| !is_about_speed(alert));
        Ok(alerts)
    }

    /// Waits for an alert, and for it to be told ("active") or to be kept back because another says enough ("suppressed").
    async fn expect(&self, name: &str, state: &str) -> Value {
        eventually(&format!("{name}, {state}"), BOUND, async || {
            let alerts = self.alerts().await?;
            let is_wanted =
                |alert: &&Value| alert["labels"]["alertname"] == name && alert["status"]["state"] == state;
            alerts.iter().find(is_wanted).cloned().ok_or_else(|| format!("only {alerts:#?}"))
        })
        .await
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_engine_that_is_broken_as_the_readme_says_is_an_alert_in_alertmanager() {
    let readme = deployed("README.md");
    assert!(
        readme.contains(&format!("curl -d '{OUTAGE}' http://127.0.0.1:8200/sim/faults")),
        "the README breaks it"
    );

    let stack = Stack::start().await;
    for address in [&stack.daemon.address, &stack.engine.address] {
        let health = run(&mut sloprobe(&["health", "--url", &format!("http://{address}")])).await;
        assert_eq!(health.code, Some(0), "{}", health.stderr);
    }
    stack.prometheus.expect("sum(increase(sloprobe_probes_total[10s]))", 50.0, f64::MAX).await;
    stack.prometheus.expect("min(sloprobe_up)", 1.0, 1.0).await;
    stack.prometheus.expect("count(up == 1)", 3.0, 3.0).await;
    stack.prometheus.expect_sound_rules().await;
    let early = stack.alerts().await.expect("Alertmanager answers");
    assert!(early.is_empty(), "all is well, and yet there is {early:#?}");

    stack.engine.set_faults(OUTAGE).await;
    let down = stack.expect("SloprobeTargetDown", "active").await;
    let labels = &down["labels"];
    assert_eq!(
        [&labels["target"], &labels["severity"], &labels["region"], &labels["drill"]],
        ["simulated", "critical", "compose", TIME_SCALE]
    );
    assert_eq!(down["annotations"]["summary"], "simulated answers no probe.");
    assert_eq!(down["receivers"][0]["name"], "drills");
    // That every objective is missed, too, is true, and is not told a second time.
    stack.expect("SloprobeFastDegradation", "suppressed").await;
}
