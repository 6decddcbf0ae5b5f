//! Objectives at the command line: what `check` foretells of them, and what `rules` does without being trusted.

mod common;

use common::{config, run, sloprobe};

/// Probed twelve times an hour: too rarely for what is promised.
const RARE: &str = "[[targets]]\nname = 'rare'\nurl = 'http://127.0.0.1:1'\nmodel = 'm'\nrate = '12/h'\n\
    api_key = { env = 'NOBODY_HAS_SET_THIS' }\nmix = { short-chat = 1 }\n";

const SLOS: &str = "[[slos]]\nname = 'up'\nmetric = 'availability'\nobjective = 99.9\nwindow = '7d'\n\
    [[slos]]\nname = 'easy'\nmetric = 'ttft'\nbelow = '2s'\nobjective = 90\n";

async fn said(settings: &str, args: &[&str]) -> common::Ended {
    let folder = config(settings);
    run(sloprobe(args).current_dir(folder.path())).await
}

#[tokio::test]
async fn check_says_which_tiers_cannot_help_and_what_would() {
    let settings = RARE.replace("api_key = { env = 'NOBODY_HAS_SET_THIS' }\n", "") + SLOS;
    let ended = said(&settings, &["check", "--offline"]).await;
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    for wanted in [
        "Note: at 90 % an outage is only 10.0 times what easy allows, so its burn tier 14.4x (1h) cannot fire",
        "Note: up of short-chat on rare: one bad probe of the 864 in 3d is over the limit of the 1x tier.",
        "Warning: up of short-chat on rare: only 2.0 bad probes are allowed in 7d.",
        "Warning: easy of short-chat on rare: with a probe every 5m, an outage is found after ",
        "an outage is found after 18m 30s. Every 30s, it would be 3m 30s: raise the rate",
    ] {
        assert!(ended.stdout.contains(wanted), "{wanted:?} is not in\n{}", ended.stdout);
    }
    let row = ended.stdout.lines().find(|line| line.starts_with("easy ")).unwrap_or_default();
    assert!(row.contains("8640") && row.contains("864.0") && row.contains("allowed"), "{row}");
}

#[tokio::test]
async fn check_says_that_nothing_is_promised() {
    let settings = RARE.replace("api_key = { env = 'NOBODY_HAS_SET_THIS' }\n", "");
    let ended = said(&settings, &["check", "--offline"]).await;
    assert!(ended.stdout.contains("There are no [[slos]]: nothing is promised"), "{}", ended.stdout);
}

#[tokio::test]
async fn rules_need_no_secret_and_are_refused_for_a_bad_file() {
    let settings = RARE.to_owned() + SLOS;
    let ended = said(&settings, &["rules"]).await;
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    assert!(ended.stdout.contains("alert: SloprobeFastDegradation"));
    // Rare probes get windows that hold enough of them.
    assert!(ended.stdout.contains("window: '6h'") && !ended.stdout.contains("window: '1d'"));
    let ended = said(&settings.replace("99.9", "0.999"), &["rules"]).await;
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""));
    assert!(ended.stderr.contains("an objective is a percentage, not a share"), "{}", ended.stderr);
}

#[tokio::test]
async fn options_of_the_rules_reach_the_text() {
    let settings = RARE.to_owned() + SLOS;
    let args = [
        "rules",
        "--kubernetes",
        "--namespace",
        "watch",
        "--label",
        "release=prom",
        "--runbooks",
        "http://books/",
    ];
    let ended = said(&settings, &args).await;
    for wanted in [
        "kind: PrometheusRule",
        "namespace: 'watch'",
        "'release': 'prom'",
        "'http://books/SloprobeAbsent.md'",
    ] {
        assert!(ended.stdout.contains(wanted), "{wanted} is not in\n{}", ended.stdout);
    }
    let ended = said(&settings, &["rules", "--replica-label", "replica", "--time-scale", "30"]).await;
    assert!(ended.stdout.contains("sum without (replica) (increase(sloprobe_slo_events_total[30s]))"));
    assert!(ended.stdout.contains("drill: '30'") && ended.stdout.contains("A FIRE DRILL"));
    for args in [
        &["rules", "--label", "a=b"][..],
        &["rules", "--time-scale", "0"],
        &["rules", "--replica-label", "a-b"],
    ] {
        assert_eq!(said(&settings, args).await.code, Some(2), "{args:?}");
    }
}
