//! The rules under test: what `sloprobe rules` writes for a small configuration, group by group.

use std::io;
use std::time::Duration;

use sloprobe::config::{self, Outside};
use sloprobe::rules::rule::{Alert, Group, Rule};
use sloprobe::rules::{self, Options, Watched};

use super::outcomes::Slo;

/// Alerts on objectives over windows of up to an hour.
pub const QUICK: &str = "sloprobe-slo";
/// Alerts on objectives over longer windows.
pub const SLOW: &str = "sloprobe-slo-slow";
pub const REGRESSION: &str = "sloprobe-regression";

/// One group of rules, after what it reads of the others.
#[derive(Debug)]
pub struct Rules {
    groups: Vec<Group>,
    /// How often the group is evaluated.
    pub interval: Duration,
}

impl Rules {
    /// The group of this name, as written for this objective.
    pub fn of(slo: Slo, name: &str) -> Self {
        let mut groups = all(slo);
        let interval =
            groups.iter().find(|group| group.name == name).expect("there is such a group").interval;
        let mut kept: Vec<Rule> = Vec::new();
        for group in groups.iter_mut().rev() {
            let mut rules = Vec::new();
            for rule in group.rules.drain(..).rev().map(without_texts) {
                if is_needed(&rule, &kept, group.name == name) {
                    kept.push(rule.clone());
                    rules.insert(0, rule);
                }
            }
            group.rules = rules;
        }
        groups.retain(|group| !group.rules.is_empty());
        Self { groups, interval }
    }

    pub fn yaml(&self) -> String {
        rules::prometheus(&self.groups, &Options::default(), "")
    }

    /// In the order in which they read each other.
    pub fn names(&self) -> Vec<&'static str> {
        self.groups.iter().map(|group| group.name).collect()
    }
}

/// Alerts of the group itself, and whatever those that are kept read: every other rule only takes time.
fn is_needed(rule: &Rule, kept: &[Rule], is_own: bool) -> bool {
    let expr = |rule: &Rule| match rule {
        Rule::Record { expr, .. } => expr.clone(),
        Rule::Alert(alert) => alert.expr.clone(),
    };
    match rule {
        Rule::Alert(_) => is_own,
        Rule::Record { name, .. } => kept.iter().any(|other| expr(other).contains(name)),
    }
}

/// The texts of alerts are templates that ask questions of their own, at every evaluation.
fn without_texts(rule: Rule) -> Rule {
    match rule {
        Rule::Alert(alert) => {
            Rule::Alert(Alert { summary: String::new(), description: String::new(), ..alert })
        }
        record @ Rule::Record { .. } => record,
    }
}

fn all(slo: Slo) -> Vec<Group> {
    let text = format!(
        "[[targets]]\nname = \"model\"\nurl = \"http://127.0.0.1:8000\"\nmodel = \"m\"\nrate = \"1/{}s\"\n\
         [[workloads]]\nname = \"chat\"\nkind = \"chat\"\n\
         [[slos]]\nname = \"ttft\"\nmetric = \"ttft\"\nbelow = \"500ms\"\nobjective = {}\n",
        slo.seconds_between_probes,
        slo.percent()
    );
    let nowhere = |_: &std::path::Path| Err(io::ErrorKind::NotFound.into());
    let outside = Outside { env: &|_| None, file: &nowhere, text: &nowhere };
    let plan = config::parse("sloprobe.toml", &text, &outside).expect("the configuration is sound");
    rules::groups(Watched { targets: &plan.targets, slos: &plan.slos }, &Options::default())
}

#[test]
fn a_group_brings_what_it_reads_of_others_and_nothing_else() {
    let slow = Rules::of(Slo { budget: 0.05, seconds_between_probes: 10 }, SLOW);
    assert_eq!(slow.names(), [QUICK, SLOW]);
    let read: Vec<_> = slow.groups[0].rules.iter().map(|rule| format!("{rule:?}")).collect();
    // The budget, and both counts and their ratio over the short window of the first tier.
    assert_eq!(read.len(), 4, "{read:?}");
    assert!(!slow.yaml().contains("SloprobeFastDegradation"));
    assert_eq!(slow.yaml().matches("alert: SloprobeErrorBudgetBurn").count(), 3);
}
