//! What differs between two plans. Pure.

use std::fmt::{self, Display};
use std::sync::Arc;

use crate::config::Plan;
use crate::domain::Target;

pub(super) const THREADS: &str = "daemon.threads";

/// What a new plan changes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Changes {
    pub added: Vec<Arc<str>>,
    /// With what is other than before.
    pub changed: Vec<(Arc<str>, Vec<&'static str>)>,
    pub removed: Vec<Arc<str>>,
    pub objectives: bool,
    pub limits: bool,
    /// In which form durations are shown.
    pub exposure: bool,
    /// Keys whose new values wait for a restart.
    pub waiting: Vec<&'static str>,
}

impl Changes {
    pub fn between(old: &Plan, new: &Plan) -> Self {
        let missing = |of: &Plan, from: &Plan| -> Vec<Arc<str>> {
            let is_new = |target: &&Arc<Target>| find(from, &target.name).is_none();
            of.targets.iter().filter(is_new).map(|target| Arc::clone(&target.name)).collect()
        };
        let changed = new.targets.iter().filter_map(|target| {
            let before = find(old, &target.name)?;
            (before != target).then(|| (Arc::clone(&target.name), differences(before, target)))
        });
        Self {
            added: missing(new, old),
            changed: changed.collect(),
            removed: missing(old, new),
            objectives: old.slos != new.slos,
            limits: old.limits != new.limits,
            exposure: old.exposure != new.exposure,
            waiting: waiting(old, new),
        }
    }

    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// One line for the log and for whoever asked.
impl Display for Changes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        let mut list = |what: &str, names: Vec<String>| {
            if !names.is_empty() {
                parts.push(format!("{what} {}", names.join(", ")));
            }
        };
        let names = |names: &[Arc<str>]| names.iter().map(ToString::to_string).collect();
        list("added", names(&self.added));
        let changed = self.changed.iter().map(|(name, what)| format!("{name} ({})", what.join(", ")));
        list("changed", changed.collect());
        list("removed", names(&self.removed));
        let rest = [(self.objectives, "objectives"), (self.limits, "limits"), (self.exposure, "histograms")];
        let rest = rest.into_iter().filter(|(is_other, _)| *is_other).map(|(_, what)| what.to_owned());
        list("other", rest.collect());
        if parts.is_empty() {
            f.write_str("nothing changed")?;
        } else {
            f.write_str(&parts.join("; "))?;
        }
        if self.waiting.is_empty() {
            return Ok(());
        }
        write!(f, "; restart for {}", self.waiting.join(", "))
    }
}

fn find<'a>(plan: &'a Plan, name: &str) -> Option<&'a Arc<Target>> {
    plan.targets.iter().find(|target| *target.name == *name)
}

/// Which keys differ, in the words of the configuration.
fn differences(old: &Target, new: &Target) -> Vec<&'static str> {
    let keys = [
        ("url", old.url != new.url),
        ("api", old.api != new.api),
        ("model", old.model != new.model),
        ("api_key", old.api_key != new.api_key),
        ("headers", old.headers != new.headers),
        ("labels", old.labels != new.labels),
        ("rate", old.rate != new.rate),
        ("workloads", old.mix != new.mix),
        ("in_flight", old.in_flight != new.in_flight),
        ("tokens_per_hour", old.tokens_per_hour != new.tokens_per_hour),
        ("connection", (&old.way, old.connection) != (&new.way, new.connection)),
    ];
    let found: Vec<_> = keys.into_iter().filter(|(_, differs)| *differs).map(|(key, _)| key).collect();
    if found.is_empty() { vec!["settings"] } else { found }
}

/// What only a start can set.
fn waiting(old: &Plan, new: &Plan) -> Vec<&'static str> {
    let keys = [
        ("daemon.listen", old.listen != new.listen),
        (THREADS, old.threads != new.threads),
        ("daemon.state", old.state != new.state),
        ("daemon.history", old.history.path != new.history.path),
        ("daemon.history_age", old.history.age != new.history.age),
        ("daemon.history_size", old.history.bytes != new.history.bytes),
        ("otlp", old.otlp != new.otlp),
    ];
    keys.into_iter().filter(|(_, differs)| *differs).map(|(key, _)| key).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{self, Outside};

    const TWO: &str = "[[targets]]\nname = 'a'\nurl = 'http://127.0.0.1:1'\nmodel = 'm'\nrate = '1/s'\n\
                       [[targets]]\nname = 'b'\nurl = 'http://127.0.0.1:2'\nmodel = 'm'\napi_key = { env = 'KEY' }\n";

    fn plan(text: &str, key: &str) -> Plan {
        let none = |_: &std::path::Path| Err(std::io::ErrorKind::NotFound.into());
        let env = |_: &str| Some(key.to_owned());
        config::parse("t.toml", text, &Outside { env: &env, file: &none, text: &none }).unwrap()
    }

    fn told(new: &str, key: &str) -> String {
        Changes::between(&plan(TWO, "sk-1"), &plan(new, key)).to_string()
    }

    #[test]
    fn the_same_text_changes_nothing() {
        assert_eq!(Changes::between(&plan(TWO, "sk-1"), &plan(TWO, "sk-1")), Changes::default());
        assert_eq!(told(TWO, "sk-1"), "nothing changed");
    }

    #[test]
    fn targets_come_go_and_change() {
        assert_eq!(told(TWO, "sk-2"), "changed b (api_key)");
        assert_eq!(told(&TWO.replace("'b'", "'c'"), "sk-1"), "added c; removed b");
        assert_eq!(told(&TWO.replace("1/s", "2/s").replace(":1'", ":3'"), "sk-1"), "changed a (url, rate)");
    }

    #[test]
    fn a_workload_concerns_every_target_that_uses_it() {
        let mine = "[[workloads]]\nname = 'w'\nkind = 'chat'\n";
        assert_eq!(told(&(TWO.to_owned() + mine), "sk-1"), "changed a (workloads), b (workloads)");
    }

    #[test]
    fn objectives_limits_and_what_must_wait_are_told() {
        let more = "[[slos]]\nname = 's'\nmetric = 'ttft'\nbelow = '1s'\nobjective = 99\n\
                    [limits]\nin_flight = 7\n[daemon]\nlisten = '127.0.0.1:1'\nhistory_age = '2d'\nbuckets = 'many'\n";
        let changes = Changes::between(&plan(TWO, "sk-1"), &plan(&(TWO.to_owned() + more), "sk-1"));
        assert!(changes.objectives && changes.limits && changes.exposure, "{changes:?}");
        assert_eq!(changes.waiting, ["daemon.listen", "daemon.history_age"]);
        assert!(changes.to_string().ends_with(
            "other objectives, limits, histograms; restart for daemon.listen, daemon.history_age"
        ));
    }
}
