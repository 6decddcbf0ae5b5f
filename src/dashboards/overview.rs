//! Is anything broken for users now, and since when?

use serde_json::{Value, json};

use super::columns::Columns;
use super::expr::{self, ROW, SLO_ROW, TARGET_ROW, of};
use super::frame::{Board, Section, Variable, section};
use super::look::{self, BAD, BETTER, CLEAR, GOOD, WARN};
use super::panel::{Column, Panel, column, lines, now, range, stacked, stat, table, timeline};
use crate::catalogue::{self as cat, Label};
use crate::rules;

pub(super) const BOARD: Board = Board {
    name: "overview",
    title: "sloprobe / Overview",
    description: "Is anything broken for users now, and since when? A row for every target and workload.",
    from: "now-1h",
    refresh: "30s",
    variables: &[Variable::Targets, Variable::Workloads],
    sections,
};

/// To a target's own dashboard, from a row of a table.
const TO_TARGET: &str = "/d/sloprobe-target?var-target=${__data.fields.target:percentencode}&var-workload=${__data.fields.workload:percentencode}&var-datasource=${datasource:percentencode}&${__url_time_range}";

fn sections() -> Vec<Section> {
    vec![
        section("Is anything broken now?", [numbers(), vec![everything(), objectives()]].concat()),
        section("Since when, and how?", vec![up(), burning(), failures(), ttft()]),
    ]
}

fn numbers() -> Vec<Panel> {
    let down = format!("count(max by ({TARGET_ROW}) ({}) == 0) or vector(0)", of(&cat::UP));
    let evaluated = format!("0 * count({}) or 0 * count({})", rules::BUDGET, rules::TTFT_LEVEL);
    let alerts = format!("count(ALERTS{{alertname=~\"Sloprobe.+\",alertstate=\"firing\"}}) or {evaluated}");
    let share =
        |family| format!("{} / {}", expr::rate(family, "", "", ""), expr::rate(&cat::PROBES, "", "", ""));
    vec![
        stat("Targets down", "Targets whose newest probe failed. Above 0: open the target from the table below; its failures by reason say whether it is the network, the gateway or the engine.", "none")
            .ask(now(down, "down"))
            .steps(GOOD, &[(1.0, BAD)]),
        stat("Alerts firing", "Alerts of sloprobe that fire now; each has a runbook, linked from Alertmanager. Where it says that no rules are loaded, nobody will be woken: load deploy/prometheus/sloprobe.rules.yml, or what `sloprobe rules` writes.", "none")
            .ask(now(alerts, "firing"))
            .when_empty("no rules are loaded")
            .steps(GOOD, &[(1.0, BAD)]),
        stat("Fastest burn", "The error budget that is spent fastest, over the last hour: 1 just lasts for the window of its objective, 14 is gone in two days. Above 1 for hours: find it in the table of objectives.", "none")
            .ask(now(format!("max({})", expr::burn()), "burn"))
            .when_empty("no objectives, or no events yet")
            .default("decimals", json!(1))
            .steps(GOOD, &[(1.0, WARN), (6.0, BAD)]),
        stat("Probes that fail", "The share of all probes that fail now. Small and steady is for the error budget to judge; a sudden rise shows its reason in the graph below.", "percentunit")
            .ask(now(share(&cat::FAILURES), "fail"))
            .when_empty("no probes yet")
            .steps(GOOD, &[(0.01, WARN), (0.05, BAD)]),
        stat("Probes per minute", "What is sent to the chosen targets in all. If it falls without a change of the configuration, open Probe health: skipped probes say why.", "none")
            .ask(now(format!("60 * {}", expr::rate(&cat::PROBES, "", "", "")), "probes"))
            .when_empty("no probes yet")
            .default("decimals", json!(1)),
        stat("Doubtful measurements", "The share of probes during which the probe's own machine was late. Above 1 %: trust no tail of any graph before Probe health is clean again.", "percentunit")
            .ask(now(share(&cat::SUSPECT), "doubtful"))
            .when_empty("no probes yet")
            .steps(GOOD, &[(0.01, WARN), (0.05, BAD)]),
    ]
}

/// One row per target and workload.
fn everything() -> Panel {
    let [p50, p95] = ["0.5", "0.95"].map(|q| expr::quantile_of_range(q, &cat::TTFT, ROW, ""));
    let before = expr::quantile_of_range("0.95", &cat::TTFT, ROW, " offset 1w");
    let age = format!("(time() - max by ({TARGET_ROW}) ({}))", of(&cat::RELEASE_TIME));
    let is_up = look::words(&[("1", "up", GOOD), ("0", "DOWN", BAD)]);
    let description = "Each target and workload over the time chosen above: whether its newest probe succeeded, how many failed, the worst of its objectives (good events, budget left, burn of the last hour), its TTFT and how that compares with the same time a week ago, and what runs there. Read it from the left: the first coloured cell of a row says what kind of trouble it is. A click on the target opens its dashboard.";
    let panel = table("Targets and workloads", description).when_empty("no target has been scraped yet");
    Columns::new(&["target", "workload", "region", "cluster", "engine", "version"])
        .add(expr::is_up(), column("Now", "none").width(80).words(&[is_up]))
        .add(expr::failed_share(ROW), share("Failed").steps(CLEAR, &[(0.01, WARN), (0.05, BAD)]))
        .add(format!("min by ({ROW}) ({})", expr::compliance()), share("Good events"))
        .add(format!("min by ({ROW}) ({})", expr::budget_left()), budget_column())
        .add(format!("max by ({ROW}) ({})", expr::burn()), burn_column())
        .add(p50, column("TTFT p50", "s").mapped(&[unknown()]))
        .add(p95.clone(), column("TTFT p95", "s").mapped(&[unknown()]))
        .add(
            format!("{p95} / {before} - 1 or {p95} * NaN"),
            column("p95 vs last week", "percentunit")
                .decimals(0)
                .mapped(&[look::no_number("no last week")])
                .steps(BETTER, &[(-0.2, CLEAR), (0.2, WARN), (0.5, BAD)]),
        )
        .add(expr::for_each_workload(&age, ""), column("Release for", "dtdurations"))
        .text(expr::for_each_workload(&expr::running(), "engine, version"))
        .fill(panel)
        .over(column("target", "string").link("Open this target", TO_TARGET).json())
}

fn objectives() -> Panel {
    let description = "What was promised and what was kept: good events over the time chosen above, what is left of the error budget (below 0 the promise is broken for this window), and how fast it is being spent over the last hour (1 is the pace at which it just lasts). Little left and a burn above 1: stop risky changes to that target. Without the recording rules, what is left is reckoned for objectives of 30 days only.";
    let panel =
        table("Objectives", description).when_empty("no objectives: promise something under [[slos]]");
    Columns::new(&["target", "workload", "slo", "region", "cluster"])
        .add(format!("1 - max by ({SLO_ROW}) ({})", of(&cat::SLO_BUDGET)), share("Promised").decimals(2))
        .add(expr::compliance(), share("Good events").decimals(2))
        .add(expr::budget_left(), budget_column())
        .add(expr::burn(), burn_column())
        .fill(panel)
        .over(column("target", "string").link("Open this target", TO_TARGET).json())
}

fn unknown() -> Value {
    look::no_number("–")
}

fn share(name: &'static str) -> Column {
    column(name, "percentunit").mapped(&[unknown()])
}

fn budget_column() -> Column {
    share("Budget left").decimals(1).steps(BAD, &[(0.1, WARN), (0.5, CLEAR)])
}

fn burn_column() -> Column {
    column("Burn", "none").decimals(1).mapped(&[unknown()]).steps(CLEAR, &[(1.0, WARN), (6.0, BAD)])
}

fn up() -> Panel {
    timeline("Up and down", "When each target answered and when it did not, by its newest probe. The left edge of a dark stretch is when it broke: compare it with the vertical lines, which are changes of a release.", "none")
        .ask(range(format!("max by ({TARGET_ROW}) ({})", of(&cat::UP)), "{{target}} {{region}} {{cluster}}"))
        .in_words(&[look::words(&[("1", "up", GOOD), ("0", "down", BAD)])])
        .size(12, 8)
}

fn burning() -> Panel {
    timeline("Error budgets burning", "How fast each error budget was spent, over an hour: below 1 it lasts; from 6 on a page is near. Long orange stretches are for a plan, dark ones for now.", "none")
        .ask(range(format!("max by (target, workload, slo) ({}) >= 0", expr::burn()), "{{target}} {{workload}}: {{slo}}"))
        .when_empty("no objectives: promise something under [[slos]]")
        .steps(GOOD, &[(1.0, WARN), (6.0, BAD)])
        .default("decimals", json!(1))
        .size(12, 8)
}

pub(super) fn failures() -> Panel {
    let share = format!(
        "{} / scalar({})",
        expr::rate(&cat::FAILURES, "", "", "reason"),
        expr::rate(&cat::PROBES, "", "", "")
    );
    stacked("Failures by reason", "The share of probes that failed, by the first thing that went wrong. dns, connect and tls are the way there; auth and rate_limited are about the key; timeout_first_token is a queue or a dead engine; truncated and in_band are an engine that broke off. The runbook of SloprobeTargetDown goes through them.", "percentunit")
        .ask(range(share, "{{reason}}"))
        .coloured(&look::colours_of(&Label::Failure.values()))
}

fn ttft() -> Panel {
    lines("TTFT p95", "The time to the first token that 19 of 20 probes stay below, of each target and workload. One line rising is that target; all of them rising is the network, a shared gateway or the probe itself.", "s")
        .ask(range(expr::quantile("0.95", &cat::TTFT, "target, workload"), "{{target}} {{workload}}"))
}
