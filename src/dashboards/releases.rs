//! What changed, and what did it do?

use super::columns::{self, Columns};
use super::expr::{self, ROW, TARGET_ROW, of, part};
use super::frame::{Board, Section, Variable, repeated, section};
use super::look::{self, BAD, BETTER, GOOD, NEUTRAL};
use super::panel::{Panel, column, lines, range, table, timeline};
use crate::catalogue::{self as cat, Family};

pub(super) const BOARD: Board = Board {
    name: "releases",
    title: "sloprobe / Releases",
    description: "What runs where, since when, and what its last change did to those who use it.",
    from: "now-24h",
    refresh: "1m",
    variables: &[Variable::Targets, Variable::Workloads],
    sections,
};

/// Above every ratio that is ever measured: there is no upper bound yet.
const NO_BOUND: f64 = 11.0;

const NO_CHANGE: &str = "no target has changed its release yet";

fn sections() -> Vec<Section> {
    vec![
        section(
            "What runs, and what did its last change do?",
            vec![running(), durations(), shares(), verdicts()],
        ),
        repeated("Before and after: $target", "target", before_and_after()),
    ]
}

fn running() -> Panel {
    let info = format!(
        "max by ({TARGET_ROW}, engine, version, served_model, fingerprint) ({})",
        of(&cat::TARGET_INFO)
    );
    let of_release = |family: &Family| {
        format!("{info} * on ({TARGET_ROW}) group_left () (max by ({TARGET_ROW}) ({}) * 1000)", of(family))
    };
    let description = "What each target runs, as it says itself, and since when; two rows while a rolling upgrade is under way. Compared since is when its present release began to be held against the one before. Marks (`sloprobe mark`) count as a change of release.";
    Columns::new(&["target", "region", "cluster", "engine", "version", "served_model", "fingerprint"])
        .add(of_release(&cat::RELEASE_TIME), column("Since", "dateTimeAsLocal").width(180))
        .add(of_release(&cat::COMPARED), column("Compared since", "dateTimeAsLocal").width(180))
        .fill(table("What runs", description).size(24, 6).when_empty("what the targets run is not known yet"))
}

/// The verdict on a metric, as a label.
fn judged(of_metrics: &str) -> String {
    format!("max by ({ROW}, metric, verdict) ({} == 1)", part(&cat::VERDICT, "", of_metrics))
}

const DURATIONS: &str = r#"metric!~"failures|bad_answers""#;
const SHARES: &str = r#"metric=~"failures|bad_answers""#;

fn durations() -> Panel {
    let by = format!("{ROW}, metric");
    let middle = |family: &Family| format!("max by ({by}) ({})", part(family, "", "quantile=\"middle\""));
    let change = |name| column(name, "percentunit").decimals(1);
    let description = "How much longer (or shorter, below 0) things take than before the last change: the best estimate of the whole middle of the distribution, and bounds that hold however often one looks. Regressed means that the lower bound is above no change and the estimate beyond the margin: `sloprobe compare` says more, and whether to roll back. Undecided means wait, or probe more often.";
    Columns::new(&["target", "workload", "metric", "region", "cluster", "verdict"])
        .add(format!("{} - 1", middle(&cat::SHIFT)), change("Change"))
        .add(
            format!("{} - 1", middle(&cat::SHIFT_LOWER)),
            change("At least").mapped(&[look::up_to(-1.0, "no bound yet")]),
        )
        .add(
            format!("clamp_max({}, {NO_BOUND}) - 1", middle(&cat::SHIFT_UPPER)),
            change("At most").mapped(&[look::from_on(NO_BOUND - 1.0, "no bound yet")]),
        )
        .text(judged(DURATIONS))
        .fill(table("What the last change did to durations", description).when_empty(NO_CHANGE))
        .over(column("verdict", "string").words(&[verdict_words()]).json())
}

fn shares() -> Panel {
    let by = format!("{ROW}, metric");
    let most = |family: &Family| format!("max by ({by}) ({})", of(family));
    let points = |name| column(name, "percentunit").decimals(2);
    let description = "How many more (or fewer, below 0) of all probes fail or are answered badly than before the last change, with bounds that hold however often one looks: 2 % here are two of a hundred probes. Regressed failures are the first thing to look at after an upgrade.";
    Columns::new(&["target", "workload", "metric", "region", "cluster", "verdict"])
        .add(most(&cat::SHARE_SHIFT), points("Change"))
        .add(most(&cat::SHARE_SHIFT_LOWER), points("At least").mapped(&[look::up_to(-1.0, "no bound yet")]))
        .add(most(&cat::SHARE_SHIFT_UPPER), points("At most").mapped(&[look::from_on(1.0, "no bound yet")]))
        .text(judged(SHARES))
        .fill(
            table("What the last change did to failures and answers", description)
                .size(24, 7)
                .when_empty(NO_CHANGE),
        )
        .over(column("verdict", "string").words(&[verdict_words()]).json())
}

fn verdict_words() -> serde_json::Value {
    look::words(&[
        ("regressed", "regressed", BAD),
        ("improved", "improved", BETTER),
        ("same", "same", GOOD),
        ("undecided", "undecided", NEUTRAL),
    ])
}

fn verdicts() -> Panel {
    let with = |verdict: &str| part(&cat::VERDICT, "", &format!("verdict=\"{verdict}\""));
    let state = format!(
        "max by (target, workload, metric) ({} * 3 or {} * 2 or {})",
        with("regressed"),
        with("improved"),
        with("same")
    );
    timeline("Verdicts over time", "What was known of the present release beside the one before, and since when. A line that turns to regressed names the metric to look at; one that stays undecided for days is probed too seldom for its noise.", "none")
        .ask(range(state, "{{target}} {{workload}} {{metric}}"))
        .in_words(&[look::words(&[("0", "undecided", NEUTRAL), ("1", "same", GOOD), ("2", "improved", BETTER), ("3", "regressed", BAD)])])
        .when_empty(NO_CHANGE)
        .size(24, 10)
}

fn before_and_after() -> Vec<Panel> {
    let release = format!(
        "on (target) group_left (version) topk by (target) (1, max by (target, version) ({}))",
        of(&cat::TARGET_INFO)
    );
    let by_version = |title: &str, family: &Family, quantile: &str, what: &str| {
        lines(title, &format!("{what}, with a line of its own for every version: where one ends and the next begins is the upgrade. A step there is the release; a slope across it is not."), "s")
            .ask(range(format!("{} * {release}", expr::quantile(quantile, family, "target, workload")), "{{workload}} {{version}}"))
    };
    let shift = |title: &str, metric: &str| {
        let of_metric = |family: &Family| {
            let matcher = format!("metric=\"{metric}\",quantile=\"middle\"");
            format!("max by (workload) ({})", part(family, "", &matcher))
        };
        lines(title, "After divided by before, as it became known: the estimate, and the bounds that hold however often one looks. Bounds that close in on 1 say that nothing changed; a lower bound above 1 is a regression.", "none")
            .ask(range(of_metric(&cat::SHIFT), "{{workload}}"))
            .ask(range(format!("{} > 0", of_metric(&cat::SHIFT_LOWER)), "{{workload}} at least"))
            .ask(range(format!("{} < {NO_BOUND}", of_metric(&cat::SHIFT_UPPER)), "{{workload}} at most"))
            .when_empty(NO_CHANGE)
            .over(columns::dashed("/ at (least|most)$/"))
    };
    vec![
        by_version(
            "TTFT p50 by version",
            &cat::TTFT,
            "0.5",
            "Half of the first tokens come sooner than this",
        ),
        by_version("TTFT p95 by version", &cat::TTFT, "0.95", "19 of 20 first tokens come sooner than this"),
        by_version(
            "TPOT p50 by version",
            &cat::TPOT,
            "0.5",
            "Half of the answers take less than this for each token",
        ),
        by_version(
            "Longest stall p95 by version",
            &cat::STALL,
            "0.95",
            "19 of 20 answers pause for less than this",
        ),
        shift("TTFT shift with its bounds", "ttft"),
        shift("TPOT shift with its bounds", "tpot"),
    ]
}
