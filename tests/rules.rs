//! Every alert of `sloprobe rules` is proven by promtool: it fires when it should, is silent when it should be, says what
//! it should, and every guard in it is needed; and it does so in whichever form Prometheus stores the histograms it reads.
//!
//! `tests/rules/ALERT.test.yml` is about the rules of `tests/rules/sloprobe.toml`. To try one by hand:
//! `sloprobe rules -c tests/rules/sloprobe.toml > tests/rules/rules.yml; promtool test rules tests/rules/ALERT.test.yml`

mod common;
#[path = "rules/forms.rs"]
mod forms;
#[path = "rules/mutants.rs"]
mod mutants;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use common::prometheus::Version;
use common::{root, run, sloprobe};
use forms::{FORMS, converted};
use mutants::Mutant;
use sloprobe::config;
use sloprobe::rules::rule::Group;
use sloprobe::rules::{self, Options, Watched};
use tempfile::TempDir;

const CONFIG: &str = "tests/rules/sloprobe.toml";

/// The end of promtool and all that it said.
struct Verdict {
    is_good: bool,
    said: String,
}

fn promtool(version: Version, args: &[&str], folder: &Path) -> Verdict {
    let (is_good, said) = common::prometheus::promtool(version, args, folder);
    Verdict { is_good, said }
}

fn test_file(alert: &str) -> String {
    let name = format!("{alert}.test.yml");
    fs::read_to_string(root().join("tests/rules").join(&name))
        .unwrap_or_else(|error| panic!("tests/rules/{name}: {error}\nwrite it: every alert has one"))
}

/// The tests of a file, each as a file of its own.
fn single_tests(file: &str) -> Vec<String> {
    let (head, tests) = file.split_once("\n- name: ").expect("every test has a name");
    tests.split("\n- name: ").map(|test| format!("{head}\n- name: {test}\n")).collect()
}

/// Runs a test file against rules.
fn tested(file: &str, groups: &[Group]) -> Verdict {
    let folder = TempDir::new().expect("a folder for the test");
    let write = |name, text: &str| fs::write(folder.path().join(name), text).expect("it can be written to");
    // A wait of nothing would still be written as the shortest that there is.
    let text = rules::prometheus(groups, &Options::default(), "").replace("for: 1ms\n", "for: 0s\n");
    write("rules.yml", &text);
    write("alert.test.yml", file);
    // Only the newer one can be told of histograms that are one series.
    let version = if file.contains("{{schema:") { Version::Three } else { Version::Two };
    promtool(version, &["test", "rules", "alert.test.yml"], folder.path())
}

fn groups(options: &Options) -> Vec<Group> {
    let plan = config::load_without_secrets(&root().join(CONFIG)).expect("it is sound");
    rules::groups(Watched { targets: &plan.targets, slos: &plan.slos }, options)
}

/// The alert does what its test file says, and the file says all that matters: with any one guard of it gone, and with
/// replicas that are not told from places, some test of it fails.
fn prove(alert: &str) {
    let file = test_file(alert);
    let groups = groups(&Options::default());
    let verdict = tested(&file, &mutants::groups_of(&groups, alert));
    assert!(verdict.is_good, "{alert}: {}", verdict.said);

    // Else every mutant would seem to be noticed.
    let own = mutants::only(&groups, alert);
    let verdict = tested(&file, &own);
    assert!(verdict.is_good, "{alert} and nothing but what it reads: {}", verdict.said);
    let strangers = Options { replicas: vec!["none".into()], ..Options::default() };
    let apart = mutants::only(&self::groups(&strangers), alert);
    let mut mutants = mutants::of(&own);
    if apart != own {
        mutants.push(Mutant { change: "replicas count as places".into(), groups: apart });
    }
    assert!(!mutants.is_empty(), "{alert} has nothing that could be taken away");
    let mut tests = single_tests(&file);
    let others: Vec<_> =
        FORMS.iter().flat_map(|form| tests.iter().filter_map(|test| converted(test, *form))).collect();
    for test in &others {
        let verdict = tested(test, &own);
        assert!(verdict.is_good, "{alert} in another form: {}", verdict.said);
    }
    tests.extend(others);
    mutants.retain(|mutant| !is_noticed(mutant, &mut tests));
    let survivors: Vec<_> = mutants.into_iter().map(|mutant| mutant.change).collect();
    assert!(survivors.is_empty(), "no test in {alert}.test.yml notices:\n{}", survivors.join("\n"));
}

/// Whether some test fails with it. That one is tried first the next time: similar mutants come one after the other.
fn is_noticed(mutant: &Mutant, tests: &mut [String]) -> bool {
    let fails = |test: &String| {
        let Verdict { is_good, said } = tested(test, &mutant.groups);
        // What Prometheus cannot even read proves nothing.
        let is_read = is_good || (said.contains("alertname: ") && !said.contains("rror parsing"));
        assert!(is_read, "{}: {said}", mutant.change);
        !is_good
    };
    let found = tests.iter().position(fails);
    if let Some(at) = found {
        tests[..=at].rotate_right(1);
    }
    found.is_some()
}

macro_rules! proofs {
    ($($test:ident: $alert:literal,)*) => {
        const PROVEN: &[&str] = &[$($alert),*];

        mod every_guard_is_needed_and_tested_in {
            $(#[test]
            fn $test() {
                super::prove($alert);
            })*
        }
    };
}

proofs! {
    absent: "SloprobeAbsent",
    answers_degenerate: "SloprobeAnswersDegenerate",
    certificate_expires: "SloprobeCertificateExpires",
    config_reload_failed: "SloprobeConfigReloadFailed",
    error_budget_burn: "SloprobeErrorBudgetBurn",
    error_budget_low: "SloprobeErrorBudgetLow",
    fast_degradation: "SloprobeFastDegradation",
    host_late: "SloprobeHostLate",
    probe_stalled: "SloprobeProbeStalled",
    rate_limited: "SloprobeRateLimited",
    release_regressed: "SloprobeReleaseRegressed",
    release_undecided: "SloprobeReleaseUndecided",
    rules_outdated: "SloprobeRulesOutdated",
    stream_stalls: "SloprobeStreamStalls",
    target_down: "SloprobeTargetDown",
    token_budget_spent: "SloprobeTokenBudgetSpent",
    ttft_regression: "SloprobeTtftRegression",
}

#[test]
fn every_alert_is_tested_where_it_fires_and_where_it_is_silent() {
    let folder = root().join("tests/rules");
    assert_eq!(
        PROVEN,
        rules::alert_names(&groups(&Options::default())),
        "the list of proofs, and the alerts"
    );
    let files =
        fs::read_dir(&folder).expect("the folder exists").map(|entry| entry.expect("it can be listed"));
    let names: BTreeSet<_> = files.filter_map(|file| file.file_name().into_string().ok()).collect();
    let tests: Vec<_> = names.iter().filter_map(|name| name.strip_suffix(".test.yml")).collect();
    assert_eq!(PROVEN, tests, "alerts, and files in tests/rules");
    for alert in PROVEN {
        let text = test_file(alert);
        assert!(text.starts_with("rule_files: [rules.yml]\n"), "{alert}");
        assert!(text.contains("exp_alerts: []") && text.contains("- exp_labels:"), "{alert}");
        let about = text.split("alertname: ").skip(1).map(|rest| rest.split([',', '\n']).next());
        assert!(about.into_iter().all(|name| name == Some(alert)), "{alert}.test.yml is about another alert");
    }
}

/// What `sloprobe rules` writes.
async fn written(config: &str, args: &[&str]) -> String {
    let ended = run(sloprobe(&["rules", "-c", config]).args(args).current_dir(root())).await;
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{config} {args:?}");
    ended.stdout
}

/// What stands below `spec`, as a file of its own.
fn spec(object: &str) -> String {
    let (_, spec) = object.split_once("\nspec:\n").expect("the object has a spec");
    let lines: Vec<_> =
        spec.lines().map(|line| line.strip_prefix("  ").expect("all of it is the spec")).collect();
    lines.join("\n") + "\n"
}

#[tokio::test]
async fn promtool_has_no_complaint_about_the_rules() {
    for config in [CONFIG, "config/example.toml"] {
        let plain = written(config, &[]).await;
        let drill = written(config, &["--time-scale", "60"]).await;
        let object = spec(&written(config, &["--kubernetes"]).await);
        for (rules, what) in [(&plain, "plain"), (&drill, "drill"), (&object, "kubernetes")] {
            let folder = TempDir::new().expect("a folder for the rules");
            fs::write(folder.path().join("rules.yml"), rules).expect("it can be written to");
            for version in [Version::Two, Version::Three] {
                let args = ["check", "rules", "--lint=all", "--lint-fatal", "rules.yml"];
                let Verdict { is_good, said } = promtool(version, &args, folder.path());
                assert!(is_good && said.contains("SUCCESS"), "{config}, {what}, {version:?}: {said}");
            }
        }
        let (_, groups) = plain.split_once("groups:").expect("there are groups");
        assert!(object.ends_with(groups), "{config}: the object holds the same rules");
    }
}
