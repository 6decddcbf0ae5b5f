//! Several places, one picture: the files of `deploy/places/` and the rules that put places together, with real daemons,
//! engines and Prometheus, as a drill in which minutes are seconds.

mod common;
#[path = "rules/forms.rs"]
mod forms;

use std::fs;

use common::prometheus::{Prometheus, Version, promtool};
use common::service::BOUND;
use common::{Daemon, config, eventually, root, run, sloprobe};
use forms::{FORMS, Form, converted};
use serde_json::{Value, json};
use sloprobe::simulate::{self, Handle, Profile, Settings};
use tempfile::TempDir;
use tokio::net::TcpListener;

/// What a drill makes faster, in the rules and in the configurations. The times of each line are told apart by their words.
const FASTER: [(&str, &str); 15] = [
    ("interval: 30s", "interval: 1s"),
    ("interval: 15s", "interval: 250ms"),
    ("interval: 10m", "interval: 1s"),
    ("interval: 1m", "interval: 1s"),
    ("keep_firing_for: 10m", "keep_firing_for: 1s"),
    ("keep_firing_for: 5m", "keep_firing_for: 1s"),
    (" for: 5m", " for: 2s"),
    (" for: 2m", " for: 2s"),
    (" for: 1m", " for: 1s"),
    ("[30d]", "[1m]"),
    ("[1h]", "[20s]"),
    ("[15m]", "[10s]"),
    ("[5m]", "[5s]"),
    // Of the age that makes a target down.
    (":mean, 120)", ":mean, 2)"),
    // Nobody listens there: alerts are asked for, not sent.
    ("alertmanager.example.com:9093", "127.0.0.1:1"),
];

const REGIONS: [&str; 2] = ["eu-west", "us-east"];

fn shipped(path: &str) -> String {
    fs::read_to_string(root().join("deploy").join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// A shipped file as a drill needs it, with these further changes, each of which must apply.
fn drill(path: &str, changes: &[(&str, &str)]) -> String {
    let mut text = shipped(path);
    for (from, to) in changes {
        assert!(text.contains(from), "{path} has no {from}");
        text = text.replace(from, to);
    }
    FASTER.iter().fold(text, |text, (from, to)| text.replace(from, to))
}

/// An engine, the probe beside it, and what scrapes the probe; the last started ends first.
struct Place {
    prometheus: Prometheus,
    engine: Handle,
    _daemon: Daemon,
    _folder: TempDir,
}

/// A probe of an engine of its own.
async fn probe() -> (Handle, Daemon, TempDir) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
    let engine = simulate::start(listener, Settings::of(Profile::Fast)).expect("a listener with an address");
    let folder = config(&format!(
        "[[targets]]\nname = 'chat'\nurl = '{}'\nmodel = 'sim-fast'\nrate = '4/s'\n\
         [[workloads]]\nname = 'tiny'\nkind = 'chat'\ninput_tokens = 20\noutput_tokens = 8\n\
         [[slos]]\nname = 'answers'\nmetric = 'availability'\nobjective = 95\n",
        engine.base_url()
    ));
    let daemon = Daemon::start(sloprobe(&["run"]).current_dir(&folder)).await;
    (engine, daemon, folder)
}

impl Place {
    /// A place as `deploy/places/place.yml` has it.
    async fn start(region: &str) -> Self {
        let (engine, daemon, folder) = probe().await;
        let rules = run(sloprobe(&["rules"]).current_dir(&folder)).await;
        assert_eq!((rules.code, rules.stderr.as_str()), (Some(0), ""));
        let settings = drill("places/place.yml", &[("127.0.0.1:9788", &daemon.address), ("eu-west", region)]);
        let files = [("sloprobe.rules.yml", rules.stdout.as_str())];
        let prometheus = Prometheus::start(&settings, &files).await;
        Self { prometheus, engine, _daemon: daemon, _folder: folder }
    }

    fn break_engine(&self) {
        self.engine.control().set_faults(vec!["http-500".parse().expect("a known fault")]);
    }
}

/// The labels of the alerts that fire, without those that every alert of the rules has.
async fn firing(prometheus: &Prometheus) -> Result<Vec<Value>, String> {
    let data = prometheus.api("alerts").await?;
    let alerts = data["alerts"].as_array().ok_or_else(|| format!("no list of alerts: {data}"))?;
    let mut labels: Vec<_> = alerts
        .iter()
        .filter(|alert| alert["state"] == "firing")
        .map(|alert| alert["labels"].clone())
        .collect();
    labels.sort_by_key(Value::to_string);
    Ok(labels)
}

/// Waits until exactly these alerts fire.
async fn expect_alerts(prometheus: &Prometheus, what: &str, wanted: &[Value]) {
    eventually(what, BOUND, async || {
        let found = firing(prometheus).await?;
        // That the budget of the target burns, too, is true while it is down, and for a while after.
        let found: Vec<_> =
            found.into_iter().filter(|labels| labels["alertname"] != "SloprobePlacesBudgetBurn").collect();
        if found == wanted { Ok(()) } else { Err(format!("{found:#?} fire, not {wanted:#?}")) }
    })
    .await;
}

fn down_in(region: &str) -> Value {
    json!({ "alertname": "SloprobeDownInOnePlace", "region": region, "severity": "warning", "target": "chat" })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn by_federation_it_is_seen_whether_a_target_is_down_in_one_place_or_everywhere() {
    let [eu, us] = REGIONS;
    let (europe, america) = tokio::join!(Place::start(eu), Place::start(us));
    let settings = drill(
        "places/federation.yml",
        &[
            ("prometheus.eu-west.example.com:9090", europe.prometheus.address()),
            ("prometheus.us-east.example.com:9090", america.prometheus.address()),
        ],
    );
    let rules = drill("prometheus/places.rules.yml", &[]);
    // Samples that are federated keep their times, so they count for as long as Prometheus looks back: 5 minutes in life.
    let flags = ["--storage.tsdb.path=data", "--query.lookback-delta=4s"];
    let all = Prometheus::start_with(Version::Two, &settings, &[("places.rules.yml", &rules)], &flags).await;

    all.expect("count(region_target:sloprobe_down:bool == 0)", 2.0, 2.0).await;
    all.expect("count(region:sloprobe_build_info:count)", 2.0, 2.0).await;
    // A probe keeps the name by which its own place knows it.
    all.expect("count(sloprobe_build_info{job=\"sloprobe\"})", 2.0, 2.0).await;
    all.expect("count(region_target_workload:sloprobe_ttft_seconds:p95_15m > 0)", 2.0, 2.0).await;
    all.expect("target_workload:sloprobe_ttft_seconds:p95_15m_spread", 1.0, f64::MAX).await;
    all.expect("target_workload_slo:sloprobe_slo_bad_events_per_events:places_ratio1h", 0.0, 0.0).await;
    all.expect("target_workload_slo:sloprobe_slo_error_budget:places_left30d", 1.0, 1.0).await;
    expect_alerts(&all, "silence while all is well", &[]).await;

    europe.break_engine();
    expect_alerts(&all, "the alert about one place", &[down_in(eu)]).await;
    america.break_engine();
    let everywhere =
        json!({ "alertname": "SloprobeDownEverywhere", "severity": "critical", "target": "chat" });
    expect_alerts(&all, "the alert about all places", &[everywhere]).await;
    all.expect("target_workload_slo:sloprobe_slo_bad_events_per_events:places_ratio1h", 0.05, 1.0).await;

    europe.engine.control().clear_faults();
    expect_alerts(&all, "the alert about the other place", &[down_in(us)]).await;
    america.engine.control().clear_faults();
    expect_alerts(&all, "the end of all alerts", &[]).await;

    drop(america);
    let silent = json!({ "alertname": "SloprobePlaceSilent", "region": us, "severity": "critical" });
    expect_alerts(&all, "the alert about a place that is gone", &[silent]).await;
    all.expect_sound_rules().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn by_remote_write_an_agent_brings_all_that_the_rules_need() {
    let [eu, _] = REGIONS;
    let (engine, daemon, _folder) = probe().await;
    let rules = drill("prometheus/places.rules.yml", &[]);
    let all = Prometheus::start_with(
        Version::Two,
        "global:\n  evaluation_interval: 1s\nrule_files: ['places.rules.yml']\n",
        &[("places.rules.yml", &rules)],
        &["--storage.tsdb.path=data", "--web.enable-remote-write-receiver"],
    )
    .await;
    let settings = drill(
        "places/agent.yml",
        &[
            ("127.0.0.1:9788", &daemon.address),
            ("https://prometheus.example.com", &format!("http://{}", all.address())),
            ("/etc/prometheus/remote-write.password", "remote-write.password"),
        ],
    );
    let password = [("remote-write.password", "a-password-of-a-test")];
    let flags = ["--enable-feature=agent", "--storage.agent.path=data"];
    let _agent = Prometheus::start_with(Version::Two, &settings, &password, &flags).await;

    let of_europe = |series: &str| format!("count({series}{{region=\"{eu}\"}})");
    all.expect(&of_europe("region_target:sloprobe_down:bool"), 1.0, 1.0).await;
    all.expect(&of_europe("up"), 1.0, 1.0).await;
    all.expect(&of_europe("process_start_time_seconds"), 1.0, 1.0).await;
    all.expect(&of_europe("sloprobe_target_info"), 1.0, 1.0).await;
    all.expect("region_target_workload:sloprobe_ttft_seconds:p95_15m", 0.0, f64::MAX).await;
    // Seen from one place alone, an outage is SloprobeTargetDown and nothing more.
    engine.control().set_faults(vec!["http-500".parse().expect("a known fault")]);
    all.expect("region_target:sloprobe_down:bool", 1.0, 1.0).await;
    assert_eq!(firing(&all).await, Ok(Vec::new()));
}

#[test]
fn promtool_has_no_complaint_about_the_rules_and_the_configurations() {
    let deploy = root().join("deploy");
    let rules = ["check", "rules", "--lint=all", "--lint-fatal", "prometheus/places.rules.yml"];
    for version in [Version::Two, Version::Three] {
        let (is_good, said) = promtool(version, &rules, &deploy);
        assert!(is_good && said.contains("SUCCESS"), "{version:?}: {said}");
    }
    let mut files: Vec<_> = fs::read_dir(deploy.join("places"))
        .expect("there are configurations")
        .map(|file| file.expect("it can be listed").file_name().into_string().expect("UTF-8"))
        .collect();
    files.sort();
    assert_eq!(files, ["agent.yml", "federation.yml", "mimir.yml", "place.yml", "thanos.yml"]);
    for file in files {
        let mut args = vec!["check", "config", "--syntax-only"];
        // Those have no rules and no store.
        args.extend(["agent.yml", "mimir.yml"].contains(&&*file).then_some("--agent"));
        let path = format!("places/{file}");
        args.push(&path);
        let (is_good, said) = promtool(Version::Two, &args, &deploy);
        assert!(is_good && said.contains("SUCCESS"), "{file}: {said}");
    }
}

/// Every unit test of the rules, each as a file of its own: a mutant need not face them all.
fn unit_tests() -> Vec<String> {
    let files = ["places.test.yml", "places-day.test.yml"];
    let texts = files.map(|file| fs::read_to_string(root().join("tests/places").join(file)).expect(file));
    let singles = texts.iter().flat_map(|text| {
        let (head, rest) = text.split_once("\n- name: ").expect("every test has a name");
        rest.split("\n- name: ").map(move |test| format!("{head}\n- name: {test}\n"))
    });
    let classic: Vec<_> = singles.collect();
    // With the same bounds every quantile is the same, to the last digit.
    let forms = FORMS.into_iter().filter(|form| *form == Form::Converted);
    let converted: Vec<_> =
        forms.flat_map(|form| classic.iter().filter_map(move |test| converted(test, form))).collect();
    [classic, converted].concat()
}

/// Runs a unit test against these rules.
fn tested(test: &str, rules: &str) -> (bool, String) {
    let folder = TempDir::new().expect("a folder for a test");
    fs::write(folder.path().join("places.rules.yml"), rules).expect("it can be written to");
    fs::write(folder.path().join("places.test.yml"), test).expect("it can be written to");
    // Only the newer one can be told of histograms that are one series.
    let version = if test.contains("{{schema:") { Version::Three } else { Version::Two };
    promtool(version, &["test", "rules", "places.test.yml"], folder.path())
}

/// What each guard is, and the rules without it.
const GUARDS: [(&str, &str); 20] = [
    // Either form of the histogram.
    (
        "      histogram_quantile(0.95, sum by (target, workload) (rate(sloprobe_ttft_seconds[15m])))\n      or\n",
        "",
    ),
    (
        "\n      or\n      histogram_quantile(0.95, sum by (le, target, workload) (rate(sloprobe_ttft_seconds_bucket[15m])))",
        "",
    ),
    ("bool == 1) > 1", "bool == 1) > 0"),
    ("      unless\n      count by (target) (region_target:sloprobe_down:bool == 0)\n", ""),
    ("      and on (target)\n      count by (target) (region_target:sloprobe_down:bool == 0)\n", ""),
    ("sloprobe_down:bool == 1\n", "sloprobe_down:bool >= 0\n"),
    (" > 0)\n        or\n", ")\n        or\n"),
    ("      * (region_target:sloprobe_up:max == bool 0)\n", ""),
    (":mean, 120)", ":mean, 150)"),
    (":mean, 120)", ":mean, 90)"),
    ("3.5 * ", "1 * "),
    ("max by (region, target) (sloprobe_up)", "min by (region, target) (sloprobe_up)"),
    ("[1d])\n      unless\n      region:sloprobe_build_info:count\n", "[1d])\n"),
    ("count[1d]", "count[1h]"),
    ("    for: 1m\n", ""),
    ("    for: 5m\n", ""),
    ("    keep_firing_for: 5m\n", ""),
    ("places > 6\n", "places > 4\n"),
    ("      and\n      target_workload_slo:sloprobe_slo_bad_events:places_increase1h > 10\n", ""),
    (
        "      and\n      target_workload_slo:sloprobe_slo_bad_events_per_events:places_ratio5m / target_workload_slo:sloprobe_slo_error_budget_ratio:places > 6\n",
        "",
    ),
];

#[test]
fn every_guard_of_the_rules_is_needed_and_tested() {
    let rules = shipped("prometheus/places.rules.yml");
    let mut tests = unit_tests();
    for test in &tests {
        let (is_good, said) = tested(test, &rules);
        assert!(is_good, "{said}");
    }
    for (guard, instead) in GUARDS {
        assert!(rules.contains(guard), "the rules have no {guard:?}");
        let weaker = rules.replace(guard, instead);
        let noticed = tests.iter().position(|test| {
            let (is_good, said) = tested(test, &weaker);
            // What Prometheus cannot even read proves nothing.
            let is_read = is_good || (said.contains("exp:") && !said.contains("rror parsing"));
            assert!(is_read, "{guard:?}: {said}");
            !is_good
        });
        let at = noticed.unwrap_or_else(|| panic!("no test notices {instead:?} for {guard:?}"));
        // Guards of one rule come one after the other, and the same test notices them.
        tests[..=at].rotate_right(1);
    }
}
