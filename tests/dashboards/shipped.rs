//! The dashboards that are shipped, by every rule and alive.

use std::fs;

use super::common::root;
use super::dashboard::{Dashboard, text};
use super::lint::{Exception, House, RULES};
use super::live::{Quiet, prove};

/// By these Grafana knows them, people bookmark them and runbooks link to them.
const UIDS: [&str; 4] = ["sloprobe-health", "sloprobe-overview", "sloprobe-releases", "sloprobe-target"];

/// What rules would find, and is meant to be.
const EXCEPTIONS: &[Exception] = &[
    an_hour("Fastest burn"),
    an_hour("Targets and workloads"),
    an_hour("Objectives"),
    an_hour("Error budgets burning"),
    an_hour("Error budgets burning, by objective"),
    a_month("Targets and workloads"),
    a_month("Objectives"),
    a_month("Budget left"),
    Exception {
        rule: "what_was_chosen_is_shown",
        owner: "Alerts firing",
        what: "chosen or not",
        why: "it asks whether the rules are loaded at all, whatever they are about",
    },
];

/// The window of a burn rate is part of what it means.
const fn an_hour(owner: &'static str) -> Exception {
    let why = "a burn rate is over an hour, as alerts see it, whatever is looked at";
    Exception { rule: "ranges_follow_the_window", owner, what: "[1h]", why }
}

/// So is that of an error budget.
const fn a_month(owner: &'static str) -> Exception {
    let why = "a budget is for its window, and without rules 30 days are assumed";
    Exception { rule: "ranges_follow_the_window", owner, what: "[30d]", why }
}

/// What has nothing to show while all is well; when something is wrong, or new, all of it does.
const QUIET: &[Quiet] = &[
    Quiet { part: "sloprobe_release_compared_timestamp_seconds", ..unchanged("What runs") },
    unchanged("What the last change did to durations"),
    unchanged("What the last change did to failures and answers"),
    unchanged("Verdicts over time"),
    unchanged("TTFT shift with its bounds"),
    unchanged("TPOT shift with its bounds"),
];

const fn unchanged(owner: &'static str) -> Quiet {
    let why = "no target has changed its release yet, so there is nothing to compare";
    Quiet { dashboard: "sloprobe-releases", owner, part: "", why }
}

fn house() -> House {
    let rules = fs::read_to_string(root().join("deploy/prometheus/sloprobe.rules.yml")).unwrap();
    let recorded = rules.lines().filter_map(|line| line.trim().strip_prefix("- record: "));
    House {
        dashboards: Dashboard::shipped(),
        recorded: recorded.map(str::to_owned).collect(),
        palette: sloprobe::dashboards::PALETTE.to_vec(),
        exceptions: EXCEPTIONS.to_vec(),
    }
}

/// A test of all shipped dashboards for each rule.
macro_rules! hold {
    ($($rule:ident),* $(,)?) => {
        const HELD: &[&str] = &[$(stringify!($rule)),*];
        $(
            #[test]
            fn $rule() {
                let findings = house().findings(stringify!($rule));
                assert!(findings.is_empty(), "\n{}\n", findings.join("\n"));
            }
        )*
    };
}

hold! {
    expressions_can_be_read,
    metrics_exist,
    variables_exist,
    nothing_is_hard_coded,
    what_was_chosen_is_shown,
    several_values_can_be_chosen,
    ranges_follow_the_window,
    counters_are_rated_and_nothing_else_is,
    quantiles_are_of_rates_by_le,
    histograms_are_asked_in_both_forms,
    data_sources_are_chosen,
    ids_are_unique,
    panels_do_not_overlap,
    types_are_in_every_grafana,
    the_schema_is_old_enough,
    the_window_is_never_too_short,
    titles_are_unique,
    descriptions_say_something,
    units_are_known,
    series_have_names,
    overrides_and_columns_name_something,
    nothing_says_no_data,
    colours_are_of_the_palette,
    colours_that_differ_look_different,
    links_lead_somewhere,
}

#[test]
fn every_rule_is_held() {
    assert_eq!(HELD, RULES.iter().map(|(rule, _)| *rule).collect::<Vec<_>>());
}

#[test]
fn uids_never_change() {
    let dashboards = Dashboard::shipped();
    assert_eq!(dashboards.iter().map(Dashboard::uid).collect::<Vec<_>>(), UIDS);
}

#[test]
fn every_exception_is_needed_and_says_why() {
    let strict = House { exceptions: Vec::new(), ..house() };
    for Exception { rule, owner, what, why } in EXCEPTIONS {
        let is_meant = |line: &String| line.contains(&format!(": {owner}: ")) && line.contains(what);
        assert!(strict.findings(rule).iter().any(is_meant), "{rule}: {owner} has no {what}");
        assert!(why.split_whitespace().count() > 3, "{rule}: {owner}: why?");
    }
}

/// What is on that list must have words of its own, whatever the rule about them thinks.
#[test]
fn what_is_quiet_says_so_in_words_and_the_list_says_why() {
    for Quiet { dashboard, owner, part, why } in QUIET {
        let dashboards = Dashboard::shipped();
        let of = dashboards.iter().find(|one| one.uid() == *dashboard).expect("a dashboard of this uid");
        let asked = of.queries().iter().any(|query| query.owner == *owner && query.expr.contains(part));
        assert!(asked, "{dashboard} has no {owner} with {part}");
        assert!(why.split_whitespace().count() > 3, "{dashboard}: {owner}: why?");
        let silent = of.panels().into_iter().find(|panel| panel.title() == *owner && part.is_empty());
        let words = silent.map(|panel| text(&panel.defaults()["noValue"]).to_owned());
        assert_ne!(words.as_deref(), Some(""), "{dashboard}: {owner} says \"No data\" when nothing is wrong");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_query_of_every_dashboard_and_every_rule_has_data() {
    prove(&Dashboard::shipped(), QUIET).await;
}
