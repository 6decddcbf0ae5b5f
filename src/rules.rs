//! Alert rules for Prometheus, written from the objectives, the catalogue and nothing else.
//!
//! - Those about objectives rest on what the probe itself judged (`sloprobe_slo_*_total`); the few that read a histogram
//!   take it classic, native, or converted to a native one with classic buckets.
//! - Objectives are read from the metrics, not from this file: whoever changes an objective need not write the rules
//!   anew, and is told when they no longer fit (`SloprobeRulesOutdated`).
//! - Every sum leaves out what tells replicas of a probe apart, and both sides of every comparison keep the same labels:
//!   nothing is counted twice, and labels that Prometheus adds (a region, a cluster) keep places apart.
//! - A comparison with a gauge that only a present target has ends an alert when its target goes.

mod openslo;
mod probe;
mod regression;
mod release;
pub mod rule;
mod slo;
mod target;
pub mod tier;
mod yaml;

use std::sync::Arc;
use std::time::Duration;

use crate::domain::{Slo, Target};
pub use openslo::openslo;
pub use regression::LEVEL as TTFT_LEVEL;
use rule::{Alert, Group, Rule, Span};
pub use slo::{BUDGET, LEFT as BUDGET_LEFT};
pub use yaml::{Resource, kubernetes, prometheus};

/// What the rules are about.
#[derive(Debug, Clone, Copy)]
pub struct Watched<'a> {
    pub targets: &'a [Arc<Target>],
    pub slos: &'a [Arc<Slo>],
}

/// How the rules are to be written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Every window and wait is divided by this, so that a drill shows in minutes what takes hours.
    pub time_scale: u32,
    /// The labels by which replicas of one probe differ.
    pub replicas: Vec<String>,
    /// Where the runbooks are; the name of the alert and `.md` follow.
    pub runbooks: String,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            time_scale: 1,
            replicas: ["instance", "pod"].map(str::to_owned).into(),
            runbooks: concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/main/deploy/runbooks").to_owned(),
        }
    }
}

/// All groups, in the order of the file.
pub fn groups(watched: Watched<'_>, options: &Options) -> Vec<Group> {
    let mut groups = slo::groups(watched, options);
    groups.push(target::group(options));
    groups.push(probe::group(watched, options));
    groups.push(regression::group(options));
    groups.push(release::group(options));
    groups
}

/// The names of all alerts that there can be, each once.
pub fn alert_names(groups: &[Group]) -> Vec<&'static str> {
    let alerts = groups.iter().flat_map(|group| &group.rules).filter_map(|rule| match rule {
        Rule::Alert(alert) => Some(alert.name),
        Rule::Record { .. } => None,
    });
    let mut names: Vec<_> = alerts.collect();
    names.sort_unstable();
    names.dedup();
    names
}

const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

const fn minutes(minutes: u64) -> Duration {
    seconds(60 * minutes)
}

const fn hours(hours: u64) -> Duration {
    minutes(60 * hours)
}

const fn days(days: u64) -> Duration {
    hours(24 * days)
}

impl Options {
    fn scaled(&self, nominal: Duration) -> Duration {
        nominal / self.time_scale
    }

    /// A window or a wait, as it stands in an expression.
    fn span(&self, nominal: Duration) -> Span {
        Span(self.scaled(nominal))
    }

    /// The same in seconds, for comparisons.
    fn secs(&self, nominal: Duration) -> f64 {
        self.scaled(nominal).as_secs_f64()
    }

    /// An aggregation over replicas.
    fn over_replicas(&self, aggregation: &str, of: &str) -> String {
        self.over(aggregation, &[], of)
    }

    /// An aggregation over replicas and further labels.
    fn over(&self, aggregation: &str, labels: &[&str], of: &str) -> String {
        let replicas = self.replicas.iter().map(String::as_str);
        let without: Vec<_> = replicas.chain(labels.iter().copied()).collect();
        format!("{aggregation} without ({}) ({of})", without.join(", "))
    }

    /// How much a counter grew, over all replicas and these labels.
    fn grown(&self, counter: &str, window: Duration, labels: &[&str]) -> String {
        self.over("sum", labels, &format!("increase({counter}[{}])", self.span(window)))
    }
}

fn record(name: impl Into<String>, expr: String) -> Rule {
    Rule::Record { name: name.into(), expr }
}

fn alert(alert: Alert) -> Rule {
    Rule::Alert(alert)
}

/// More than this share of one count in another, if it is more than a mishap or two.
fn share_above(share: f64, part: &str, whole: &str) -> String {
    format!("(\n    {part}\n  /\n    {whole}\n) > {share}\nand\n{part} > 2.5")
}

/// What a histogram says in whichever form Prometheus stores it: as one series, which is native or made of classic buckets
/// by Prometheus, or as a series for each part. Both keep the same labels; where both are scraped, the first is finer.
fn either(whole: &str, parts: &str) -> String {
    format!("{whole}\nor\n{parts}")
}

/// What a target runs, as a sentence of an annotation; nothing where no version is known.
const RUNNING: &str = concat!(
    r#"{{ with printf "count by (engine, version) (sloprobe_target_info{target=%q,version!=\"\"})" $labels.target | query | sortByLabel "version" }}"#,
    " It runs{{ range $at, $found := . }}{{ if $at }} and{{ end }} {{ .Labels.engine }} {{ .Labels.version }}{{ end }}.{{ end }}"
);

/// A text as Go and PromQL quote it.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// A regular expression, quoted, that matches any of these values and nothing else.
fn any_of<'a>(values: impl Iterator<Item = &'a str>) -> String {
    let literal = |value: &str| {
        let special = |c: char| r"\.+*?()|[]{}^$".contains(c);
        value.chars().flat_map(|c| special(c).then_some('\\').into_iter().chain([c])).collect::<String>()
    };
    let values: Vec<_> = values.map(literal).collect();
    quoted(&values.join("|"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Goal, fixture};

    /// Names that a person may well choose, and that regular expressions, PromQL, Go and YAML take amiss.
    const NASTY: [&str; 4] = ["a|b (50.0%)", r"back\slash", "\"quoted\" and 'quoted'", "{{ $labels }}"];

    #[test]
    fn no_name_breaks_out_of_its_quotes() {
        let targets = NASTY.map(|name| fixture::target(name, &["w"]));
        let slos = NASTY.map(|name| Arc::new(fixture::slo(name, Goal::Availability)));
        let watched = Watched { targets: &targets, slos: &slos };
        let groups = groups(watched, &Options::default());
        let outdated = groups.iter().flat_map(|group| &group.rules).find_map(|rule| match rule {
            Rule::Alert(alert) if alert.name == "SloprobeRulesOutdated" => Some(&alert.expr),
            _ => None,
        });
        let outdated = outdated.unwrap();
        for wanted in [
            r#"{slo!~"a\\|b \\(50\\.0%\\)|back\\\\slash|\"quoted\" and 'quoted'|\\{\\{ \\$labels \\}\\}"}"#,
            r#"{slo="back\\slash"}"#,
            r#"{target="\"quoted\" and 'quoted'"}"#,
        ] {
            assert!(outdated.contains(wanted), "{wanted} is not in\n{outdated}");
        }
    }

    #[test]
    fn without_objectives_there_are_still_alerts_about_targets_and_probes() {
        let targets = [fixture::target("t", &["w"])];
        let groups = groups(Watched { targets: &targets, slos: &[] }, &Options::default());
        let names = alert_names(&groups);
        assert!(names.contains(&"SloprobeTargetDown") && names.contains(&"SloprobeAbsent"), "{names:?}");
        assert!(!names.contains(&"SloprobeFastDegradation"), "{names:?}");
    }
}
