//! The dashboards alive: every query of every panel, variable and annotation, and every rule, on a real Prometheus.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;
use sloprobe::simulate::faults::Fault;

use super::ask::{ALL, Choice, Series, ask, has_data, name};
use super::common::prometheus::Prometheus;
use super::common::{eventually, run, sloprobe};
use super::dashboard::{Dashboard, Kind, Query, text};
use super::stage::{OTHERWISE, PLACES, Stage, Storing};

/// What has nothing to show while all is well.
#[derive(Debug)]
pub struct Quiet {
    pub dashboard: &'static str,
    pub owner: &'static str,
    /// Part of the expression, where the rest of the panel has something to show.
    pub part: &'static str,
    pub why: &'static str,
}

/// The daemon compares releases once a minute; and some.
const A_LOOK: Duration = Duration::from_secs(90);

/// Who is asked, and how it stores histograms.
type Watching = (Storing, Prometheus);

/// A panel, a variable or an annotation, with all that it asks.
#[derive(Debug)]
struct Asking {
    dashboard: String,
    owner: String,
    /// Its rows are not named by legends.
    is_table: bool,
    is_heat: bool,
    /// The variables of its dashboard.
    variables: Vec<String>,
    /// What can be chosen there: everything, or one target after the other.
    choices: Vec<Choice>,
    queries: Vec<Query>,
}

impl Asking {
    fn all(dashboards: &[Dashboard]) -> Vec<Self> {
        let mut all: Vec<Self> = Vec::new();
        for dashboard in dashboards {
            let panels = dashboard.panels();
            let is = |query: &Query, kind: &str| {
                panels.iter().any(|panel| panel.title() == query.owner && panel.kind() == kind)
            };
            let is_single = |name| dashboard.variable(name).is_some_and(|one| one["includeAll"] != true);
            let singles = ["target", "workload"].map(is_single);
            let variables = dashboard.variables().iter().map(|variable| text(&variable["name"]).to_owned());
            let variables: Vec<_> = variables.collect();
            for query in dashboard.queries() {
                let is_same =
                    |last: &&mut Self| last.dashboard == dashboard.uid() && last.owner == query.owner;
                match all.last_mut().filter(is_same) {
                    Some(last) => last.queries.push(query),
                    None => all.push(Self {
                        dashboard: dashboard.uid().to_owned(),
                        is_table: is(&query, "table"),
                        is_heat: is(&query, "heatmap"),
                        variables: variables.clone(),
                        choices: choices(singles, &query.repeat),
                        owner: query.owner.clone(),
                        queries: vec![query],
                    }),
                }
            }
        }
        all
    }

    fn is_quiet(&self, query: &Query, quiet: &[Quiet]) -> bool {
        quiet.iter().any(|one| {
            one.dashboard == self.dashboard && one.owner == self.owner && query.expr.contains(one.part)
        })
    }

    /// A heat map asks for both forms of a histogram, as they are drawn in different ways: one of them is there.
    fn is_elsewhere(&self, query: &Query, storing: Storing) -> bool {
        self.is_heat && query.expr.contains("_bucket{") != (storing == Storing::Classic)
    }

    /// Everything that is wrong with what comes back; those that `quiet` names must have nothing to show.
    async fn problems(&self, watching: &Watching, quiet: &[Quiet]) -> Vec<String> {
        let mut problems = Vec::new();
        let mut filled = vec![false; self.queries.len()];
        for choice in &self.choices {
            let mut names: BTreeMap<String, usize> = BTreeMap::new();
            for (query, filled) in self.queries.iter().zip(&mut filled) {
                match ask(&watching.1, query, choice).await {
                    Ok(series) => {
                        *filled |= has_data(&series);
                        problems.extend(self.misnamed(query, &series, &mut names));
                        problems.extend(mistimed(query, &series));
                    }
                    Err(why) => problems.push(why),
                }
            }
            let twice = names.into_iter().filter(|(_, count)| *count > 1);
            problems.extend(twice.map(|(name, count)| format!("{count} series are called \"{name}\"")));
        }
        for (query, is_filled) in self.queries.iter().zip(filled) {
            if is_filled == (self.is_quiet(query, quiet) || self.is_elsewhere(query, watching.0)) {
                let what = if is_filled { "is not empty" } else { "is empty" };
                problems.push(format!("{what}: {}", query.expr));
            }
        }
        let place = format!("{}: {}", self.dashboard, self.owner);
        problems.into_iter().map(|what| format!("{place}: {what}")).collect()
    }

    /// Whether the answers of a table's queries become rows: each has one that agrees with one of the first in all labels
    /// that they share.
    async fn apart(&self, prometheus: &Prometheus) -> Vec<String> {
        let mut answers = Vec::new();
        for query in self.queries.iter().filter(|_| self.is_table) {
            answers.push(ask(prometheus, query, &self.choices[0]).await.unwrap_or_default());
        }
        let Some((first, rest)) = answers.split_first() else { return Vec::new() };
        let agree = |one: &Series, other: &Series| {
            one.labels.iter().all(|(label, value)| other.labels.get(label).is_none_or(|other| other == value))
        };
        let is_alone =
            |others: &&Vec<Series>| !others.iter().any(|other| first.iter().any(|one| agree(one, other)));
        let alone = rest.iter().filter(is_alone);
        alone.map(|_| format!("{}: {}: a column has rows of its own", self.dashboard, self.owner)).collect()
    }

    fn misnamed(&self, query: &Query, series: &[Series], names: &mut BTreeMap<String, usize>) -> Vec<String> {
        if self.is_table || query.kind == Kind::Variable {
            return Vec::new();
        }
        let mut problems = Vec::new();
        for (legend, one) in
            query.legends.iter().flat_map(|legend| series.iter().map(move |one| (legend, one)))
        {
            match name(legend, one) {
                Ok(name) if query.kind != Kind::Moments => *names.entry(name).or_default() += 1,
                Ok(_) => {}
                Err(why) => problems.push(why),
            }
        }
        problems
    }

    /// Series of a target or workload that was not chosen.
    async fn unasked(&self, prometheus: &Prometheus, choice: &Choice) -> Vec<String> {
        let mut problems = Vec::new();
        for query in &self.queries {
            let series = match ask(prometheus, query, choice).await {
                Ok(series) => series,
                Err(why) => {
                    problems.push(why);
                    continue;
                }
            };
            let own = self.owner.strip_prefix("variable ");
            let chosen = [("target", choice.target), ("workload", choice.workload)];
            for (label, chosen) in
                chosen.into_iter().filter(|(label, _)| self.variables.iter().any(|v| v == label))
            {
                let is_other = |one: &&Series| {
                    let value = one.labels.get(label).map(String::as_str);
                    chosen != ALL.target && own != Some(label) && value.is_some_and(|value| value != chosen)
                };
                let other = series.iter().find(is_other);
                problems.extend(other.map(|one| format!("only {chosen} was chosen: {:?}", one.labels)));
            }
        }
        problems.into_iter().map(|what| format!("{}: {}: {what}", self.dashboard, self.owner)).collect()
    }
}

/// What a person may choose where only one target, or one workload, can be chosen or is shown at a time.
fn choices([one_target, one_workload]: [bool; 2], repeat: &str) -> Vec<Choice> {
    let one_target = one_target || repeat == "target";
    let one_workload = one_workload || repeat == "workload";
    let mut choices: Vec<Choice> = Vec::new();
    for (target, workload) in PLACES {
        let target = if one_target { target } else { ALL.target };
        let workload = if one_workload { workload } else { ALL.workload };
        let choice = Choice { target, workload };
        if !choices.contains(&choice) {
            choices.push(choice);
        }
    }
    choices
}

/// An annotation that stands at its value needs milliseconds of our time.
fn mistimed(query: &Query, series: &[Series]) -> Option<String> {
    let is_ours = |value: &f64| (1.7e12..4e12).contains(value);
    let mut values = series.iter().flat_map(|one| &one.values);
    let wrong = values.find(|value| !is_ours(value)).filter(|_| query.kind == Kind::Moments);
    wrong.map(|value| format!("{value} is no time in milliseconds"))
}

/// Asks all until none has a problem; when the time is up, every problem is told.
async fn expect_all(watching: &Watching, what: &str, all: &[Asking], quiet: &[Quiet]) {
    let mut left: Vec<&Asking> = all.iter().collect();
    eventually(what, A_LOOK, async || {
        let mut problems = Vec::new();
        let mut still = Vec::new();
        for asking in std::mem::take(&mut left) {
            let mut found = asking.problems(watching, quiet).await;
            // What has nothing to show yet has no rows.
            if quiet.is_empty() {
                found.extend(asking.apart(&watching.1).await);
            }
            if !found.is_empty() {
                still.push(asking);
                problems.extend(found);
            }
        }
        left = still;
        let unread: Vec<_> = problems.iter().filter(|problem| problem.contains("\"bad_data\"")).collect();
        assert!(unread.is_empty(), "Prometheus cannot read what it is asked: {unread:#?}");
        if problems.is_empty() { Ok(()) } else { Err(format!("\n    {}\n", problems.join("\n    "))) }
    })
    .await;
}

/// Waits until a query has something to show.
async fn expect_some(prometheus: &Prometheus, query: &str) {
    prometheus.expect(&format!("count({query})"), 1.0, f64::MAX).await;
}

/// The names of all rules of a sort, as Prometheus has loaded them.
async fn rules_of(prometheus: &Prometheus, sort: &str) -> Vec<String> {
    let data = prometheus.api("rules").await.unwrap();
    let groups = data["groups"].as_array().unwrap();
    let rules = groups.iter().flat_map(|group| group["rules"].as_array().unwrap());
    let names = rules.filter(|rule| rule["type"] == sort).map(|rule| &rule["name"]);
    names.filter_map(Value::as_str).map(str::to_owned).collect()
}

/// One target gets something new, the other fails, and answers wrongly where it does not.
async fn disturb(stage: &Stage, prometheus: &Prometheus) {
    // A baseline that a release can be held against: nothing counts that was measured while the machine was busy.
    let sound = r#"min(sloprobe_probes_total{target="steady"} - sloprobe_suspect_total)"#;
    prometheus.expect(sound, 45.0, f64::MAX).await;
    let url = format!("http://{}", stage.daemon.address);
    let marked = run(&mut sloprobe(&["mark", "--target", "steady", "--url", &url, "driver 580"])).await;
    assert_eq!(marked.code, Some(0), "{marked:?}");
    let faults = ["http-503,share=0.7", "degenerate"].map(|fault| fault.parse::<Fault>().unwrap());
    stage.secure.control().set_faults(faults.into());
}

/// The whole proof: on a healthy system, then with something new and something broken; then once more for every other way to
/// store histograms.
pub async fn prove(dashboards: &[Dashboard], quiet: &[Quiet]) {
    let stage = Stage::start().await;
    let all = Asking::all(dashboards);
    assert!(!all.is_empty(), "there is nothing to ask");
    let classic = (Storing::Classic, stage.watched(Storing::Classic).await);
    expect_all(&classic, "an answer to every query of a healthy system", &all, quiet).await;
    disturb(&stage, &classic.1).await;
    prove_in_trouble(&classic, &all).await;
    drop(classic);

    let mut others = Vec::new();
    for storing in OTHERWISE {
        others.push((storing, stage.watched(storing).await));
    }
    for other in &others {
        prove_in_trouble(other, &all).await;
    }
}

async fn prove_in_trouble(watching: &Watching, all: &[Asking]) {
    let (storing, prometheus) = watching;
    // What compares with yesterday waits for one, and reads no histogram.
    let is_told = |record: &String| *storing == Storing::Classic || !record.contains("_vs_7d");
    for record in rules_of(prometheus, "recording").await.into_iter().filter(is_told) {
        expect_some(prometheus, &record).await;
    }
    let alert = r#"ALERTS{alertname="SloprobeFastDegradation",alertstate="firing",target="secure"}"#;
    expect_some(prometheus, alert).await;
    let what = format!("an answer of {storing:?} to every query of a system in trouble");
    expect_all(watching, &what, all, &[]).await;
    prometheus.expect_sound_rules().await;

    let mut wrong = Vec::new();
    for choice in [Choice { target: "steady", ..ALL }, Choice { workload: "rag", ..ALL }] {
        for asking in all {
            wrong.extend(asking.unasked(prometheus, &choice).await);
        }
    }
    assert!(wrong.is_empty(), "{storing:?}:\n{}\n", wrong.join("\n"));
}
