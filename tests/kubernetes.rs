//! The Helm chart and the kustomize bases, by the real tools: they render, every object fits the schema of its kind, what is
//! rendered belongs together, and the real daemon runs with it.
//!
//! `UPDATE_GOLDEN=1 cargo test --test kubernetes` writes anew what is generated: the chart's rules, its copies of the dashboards,
//! its table of values, and the objects for kustomize.

mod common;
#[path = "kubernetes/kustomize.rs"]
mod kustomize;
#[path = "kubernetes/objects.rs"]
mod objects;
#[path = "kubernetes/runs.rs"]
mod runs;
#[path = "kubernetes/tools.rs"]
mod tools;
#[path = "kubernetes/values.rs"]
mod values;

use std::fs;
use std::path::Path;

use common::{PATIENCE, Process, root, run, sloprobe};
use objects::{list, loose_ends, one, text, unsafe_pods};
use serde_json::Value;
use tools::{ask, chart, check_rules, notes, plain, template, validated};

const FULL: &str = "deploy/helm/sloprobe/ci/full-values.yaml";

/// Compares a generated file with what it should be, or renews it when asked to.
fn hold(path: &Path, generated: &str) {
    if fs::read_to_string(path).is_ok_and(|is| is == generated) {
        return;
    }
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::create_dir_all(path.parent().expect("it is in a folder")).expect("the folder can be made");
        fs::write(path, generated).expect("it can be written");
        return;
    }
    panic!(
        "{} is not what it should be; to renew it: UPDATE_GOLDEN=1 cargo test --test kubernetes",
        path.display()
    );
}

fn read(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The ways to install it that the other tests look at: each value is used in one of them.
fn variants() -> Vec<(&'static str, Vec<&'static str>)> {
    vec![
        ("default", vec![]),
        ("full", vec!["-f", FULL]),
        ("rules of the chart", vec!["--set", "prometheusRule.enabled=true"]),
        (
            "other choices",
            vec![
                "--set",
                "podMonitor.enabled=true,dashboards.enabled=false,existingSecret=settings,serviceAccount.create=false",
                "--set",
                "replicas=2,podDisruptionBudget.enabled=true,networkPolicy.enabled=true,fullnameOverride=watch",
            ],
        ),
        (
            "existing claim and configuration",
            vec![
                "--set",
                "persistence.enabled=true,persistence.existingClaim=disk,existingConfigMap=settings",
            ],
        ),
    ]
}

#[test]
fn helm_lint_finds_nothing() {
    for (variant, args) in variants() {
        let chart = chart();
        let said = ask("helm", ["lint", "--strict", &chart.to_string_lossy()].iter().chain(&args)).good();
        let found: Vec<_> =
            said.lines().filter(|line| line.contains("[WARNING]") || line.contains("[ERROR]")).collect();
        assert!(found.is_empty(), "{variant}: {found:?}");
    }
}

#[test]
fn every_object_fits_its_schema_and_the_others_and_is_safe() {
    for (variant, args) in variants() {
        let rendered = validated(&template(&args).good());
        assert_eq!(unsafe_pods(&rendered), Vec::<String>::new(), "{variant}");
        assert_eq!(loose_ends(&rendered), Vec::<String>::new(), "{variant}");
    }
}

#[test]
fn the_checks_notice_what_is_unsafe_or_loose() {
    let rendered = plain(&template(&[]).good());
    let spoiled = |pointer: &str, value: Value| {
        let mut rendered = rendered.clone();
        let deployment = list(&rendered).iter().position(|object| object["kind"] == "Deployment");
        let path = format!("/{}{pointer}", deployment.expect("there is one"));
        *rendered.pointer_mut(&path).unwrap_or_else(|| panic!("no {path}")) = value;
        unsafe_pods(&rendered).len() + loose_ends(&rendered).len()
    };
    let container = "/spec/template/spec/containers/0";
    for (path, value) in [
        ("/spec/template/spec/securityContext/runAsNonRoot", false.into()),
        ("/spec/template/spec/securityContext/runAsUser", 0.into()),
        ("/spec/template/spec/securityContext/seccompProfile/type", "Unconfined".into()),
        ("/spec/template/spec/automountServiceAccountToken", true.into()),
        ("/spec/template/spec/volumes/0", serde_json::json!({"name": "config", "hostPath": {"path": "/"}})),
        ("/spec/template/spec/volumes/0/name", "other".into()),
        ("/spec/template/metadata/labels/app.kubernetes.io~1component", "other".into()),
        (&format!("{container}/securityContext/readOnlyRootFilesystem"), false.into()),
        (&format!("{container}/securityContext/allowPrivilegeEscalation"), true.into()),
        (&format!("{container}/securityContext/capabilities/drop"), Value::Array(Vec::new())),
        (&format!("{container}/resources/limits"), serde_json::json!({"memory": "1Gi", "cpu": 1})),
        (&format!("{container}/ports/0/name"), "other".into()),
        (&format!("{container}/livenessProbe/httpGet/port"), "other".into()),
    ] {
        assert!(spoiled(path, value) > 0, "{path}");
    }
}

#[tokio::test]
async fn the_configurations_are_sound() {
    for args in [&[][..], &["-f", FULL]] {
        let rendered = plain(&template(args).good());
        let folder = common::config(text(&one(&rendered, "ConfigMap", "sloprobe")["data"]["sloprobe.toml"]));
        let path = folder.path().join("sloprobe.toml");
        let said = check(&path).await;
        assert!(!said.contains("Warning"), "{args:?}: {said}");
    }
}

/// What `sloprobe check` says of a sound configuration.
async fn check(path: &Path) -> String {
    let mut command = sloprobe(&["check", "--offline", "-c", &path.to_string_lossy()]);
    let process = Process::spawn(command.env("CHAT_PROD_KEY", "k")).expect("it can be started");
    // It simulates months of alerts: seconds of work, and more beside other tests.
    let ended = process.ended(4 * PATIENCE).await;
    assert_eq!(ended.code, Some(0), "{}: {}", path.display(), ended.stderr);
    ended.stdout
}

/// What the chart was given must come out as it went in, though it looks like a template.
#[test]
fn braces_of_users_are_left_alone() {
    let rendered = plain(&template(&["-f", FULL]).good());
    let given = plain(&read(FULL));
    let map = one(&rendered, "ConfigMap", "sloprobe");
    assert_eq!(text(&map["data"]["sloprobe.toml"]).trim_end(), text(&given[0]["config"]).trim_end());
    let rule = one(&rendered, "PrometheusRule", "sloprobe");
    assert!(
        rule["spec"]["groups"][0]["rules"][0]["annotations"]["summary"] == "{{ $labels.target }} is down."
    );
}

/// The rules for the chart's configuration; the file in the chart has the same.
async fn rules() -> String {
    let settings = chart().join("sloprobe.toml");
    let ended = run(&mut sloprobe(&["rules", "--kubernetes", "-c", &settings.to_string_lossy()])).await;
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    hold(&chart().join("rules.yaml"), &ended.stdout);
    ended.stdout
}

#[tokio::test]
async fn the_rules_of_the_chart_are_those_of_its_configuration() {
    let rules = rules().await;
    let rendered = plain(&template(&["--set", "prometheusRule.enabled=true"]).good());
    let rule = one(&rendered, "PrometheusRule", "sloprobe");
    assert_eq!(rule["spec"], plain(&rules)[0]["spec"], "helm changed the rules");
    check_rules(&rule["spec"]["groups"]);
    let full = plain(&template(&["-f", FULL]).good());
    check_rules(&one(&full, "PrometheusRule", "sloprobe")["spec"]["groups"]);
}

#[test]
fn the_dashboards_of_the_chart_are_those_of_the_project() {
    let mut names = Vec::new();
    for entry in fs::read_dir(root().join("grafana")).expect("there are dashboards") {
        let path = entry.expect("it can be listed").path();
        if path.extension().is_some_and(|end| end == "json") {
            let name = path.file_name().expect("it has a name").to_string_lossy().into_owned();
            hold(&chart().join("dashboards").join(&name), &read(&path));
            names.push(name);
        }
    }
    names.sort();
    let expected = ["health", "overview", "releases", "target"].map(|name| format!("sloprobe-{name}.json"));
    assert_eq!(names, expected);
    let mut copies: Vec<_> = fs::read_dir(chart().join("dashboards"))
        .expect("there are copies")
        .map(|entry| entry.expect("it can be listed").file_name().to_string_lossy().into_owned())
        .collect();
    copies.sort();
    assert_eq!(copies, expected, "a copy of what is no more");

    let rendered = plain(&template(&[]).good());
    for name in names {
        let stem = name.trim_start_matches("sloprobe-").trim_end_matches(".json");
        let map = one(&rendered, "ConfigMap", &format!("sloprobe-dashboard-{stem}"));
        assert_eq!(map["metadata"]["labels"]["grafana_dashboard"], "1");
        let original = read(Path::new("grafana").join(&name));
        assert_eq!(text(&map["data"][&name]).trim_end(), original.trim_end(), "helm changed {name}");
    }
}

#[test]
fn a_changed_configuration_is_reloaded_and_does_not_roll_the_pod() {
    let pod = |args: &[&str]| {
        let rendered = plain(&template(args).good());
        one(&rendered, "Deployment", "sloprobe")["spec"]["template"].clone()
    };
    let (own, other) = (pod(&[]), pod(&["--set", "config=other"]));
    let args = |pod: &Value| pod["spec"]["containers"][0]["args"].as_array().cloned().unwrap_or_default();
    for pod in [&own, &other, &pod(&["--set", "existingConfigMap=settings"])] {
        assert!(args(pod).iter().any(|arg| arg == "--watch"), "{pod}");
    }
    assert_eq!(own, other);
}

#[test]
fn what_would_do_harm_is_refused_with_a_remedy() {
    for (values, remedy) in [
        ("config=x,existingSecret=y", "one place"),
        ("simulatedEngine.enabled=false", "--set-file config="),
        ("config=x,prometheusRule.enabled=true", "--set-file prometheusRule.rules="),
        ("prometheusRule.enabled=true,prometheusRule.rules=x: y", "what `sloprobe rules` writes"),
        ("persistence.enabled=true,replicas=2", "must not write to one history"),
        ("serviceMonitor.enabled=true,podMonitor.enabled=true", "scraped twice"),
        ("config=x,networkPolicy.enabled=true,networkPolicy.egress.restricted=true", "Allow each target"),
    ] {
        let said = template(&["--set", values]).bad();
        assert!(said.contains(remedy), "{values}: {said}");
    }
}

#[test]
fn the_notes_say_what_is_watched_and_what_is_armed() {
    let said = notes(&[]);
    for words in
        ["SIMULATED", "svc/sloprobe 9788:9788", "Nobody scrapes it yet", "No alerts yet", "[x] Dashboards"]
    {
        assert!(said.contains(words), "{words} is not in: {said}");
    }
    let said = notes(&["-f", FULL]);
    for words in ["What your configuration says.", "[x] The Prometheus operator scrapes", "[x] Alert rules,"]
    {
        assert!(said.contains(words), "{words} is not in: {said}");
    }
    assert!(!said.contains("SIMULATED"), "{said}");
    let said = notes(&["--set", "existingConfigMap=settings,simulatedEngine.enabled=false"]);
    assert!(said.contains("the pod reloads it when it changes"), "{said}");
}

#[test]
fn the_chart_is_of_this_version() {
    let chart = &plain(&read("deploy/helm/sloprobe/Chart.yaml"))[0];
    assert_eq!(chart["appVersion"], env!("CARGO_PKG_VERSION"));
}

/// Kubernetes keeps a release in one Secret, which holds at most 1 MiB.
#[test]
fn the_release_fits_into_its_secret() {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let chart = chart();
    let destination = folder.path().to_string_lossy();
    ask("helm", ["package", &*chart.to_string_lossy(), "--destination", &*destination]).good();
    let packaged =
        fs::read_dir(folder.path()).expect("it is there").next().expect("one file").expect("listed");
    let bytes = packaged.metadata().expect("it has a size").len();
    // What is rendered goes into it a second time, compressed with the rest; Base64 makes both a third larger.
    assert!(bytes * 2 * 4 / 3 < 900_000, "{bytes} bytes packaged");
}
