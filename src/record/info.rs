//! `sloprobe_target_info`: what each target turns out to be, a series for everything that answers there now.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex};

use prometheus::core::{Collector, Desc};
use prometheus::{Error, GaugeVec, Opts, proto};

use super::lock;
use crate::domain::{Identity, Makeup, Target};

/// The labels beside those of the user.
const FIXED: [&str; 7] = ["target", "api", "model", "served_model", "engine", "version", "fingerprint"];

/// A server that calls itself something new in every answer would fill a database: after so many names of
/// one target no further ones are shown.
const MAX_NAMES: usize = 100;

/// Clones show the same.
#[derive(Debug, Clone)]
pub(super) struct TargetInfo {
    vec: GaugeVec,
    /// Held while series change and while they are read: every reading has at least one series per target, and
    /// more than one only while several releases answer in turn.
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    /// Names of the labels of any target, in order.
    own: Vec<String>,
    shown: HashMap<Arc<str>, Shown>,
}

/// What one target's series say.
#[derive(Debug, Default)]
struct Shown {
    /// The label values of each.
    series: Vec<Vec<String>>,
    /// What has been shown so far.
    names: HashSet<Name>,
    /// It has been told that there are too many of them.
    told: bool,
}

/// What only the server can say; empty where it does not.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
struct Name {
    served_model: String,
    version: String,
    fingerprint: String,
}

impl TargetInfo {
    /// One family has one set of label names, so a label that only one target sets is empty on the others;
    /// Prometheus takes an empty label for an absent one.
    pub(super) fn new(options: Opts, targets: &[Arc<Target>]) -> Result<Self, Error> {
        let own: BTreeSet<&str> = targets.iter().flat_map(|t| t.labels.keys()).map(String::as_str).collect();
        let names: Vec<&str> = FIXED.into_iter().chain(own.iter().copied()).collect();
        let vec = GaugeVec::new(options, &names)?;
        let own = own.into_iter().map(str::to_owned).collect();
        let info = Self { vec, state: Arc::new(Mutex::new(State { own, ..State::default() })) };
        for target in targets {
            info.show(target, &[&Makeup::of(&Identity::of(target.engine), &target.labels)]);
        }
        Ok(info)
    }

    /// Shows what the target is now, and nothing else of it.
    pub(super) fn show(&self, target: &Target, makeups: &[&Makeup]) {
        let mut state = lock(&self.state);
        let State { own, shown } = &mut *state;
        let shown = shown.entry(Arc::clone(&target.name)).or_default();
        let series: Vec<_> = makeups.iter().map(|makeup| shown.labels(target, makeup, own)).collect();
        for old in shown.series.iter().filter(|old| !series.contains(old)) {
            // An error says that two makeups had one series, which is gone.
            let _ = self.vec.remove_label_values(old);
        }
        for values in &series {
            self.vec.with_label_values(values).set(1.0);
        }
        shown.series = series;
    }
}

impl Shown {
    fn labels(&mut self, target: &Target, makeup: &Makeup, own: &[String]) -> Vec<String> {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let mut name = Name {
            served_model: text(&makeup.model),
            version: text(&makeup.version),
            fingerprint: text(&makeup.fingerprint),
        };
        if self.names.contains(&name) || self.names.len() < MAX_NAMES {
            self.names.insert(name.clone());
        } else {
            if !std::mem::replace(&mut self.told, true) {
                tracing::warn!(
                    target = &*target.name,
                    "the target has had {MAX_NAMES} names; new ones are not shown on sloprobe_target_info"
                );
            }
            name = Name::default();
        }
        let engine = if makeup.engine.is_empty() { target.engine.name() } else { &makeup.engine };
        let [target_name, api, model, engine] =
            [&*target.name, target.api.name(), &target.model, engine].map(str::to_owned);
        let fixed = [target_name, api, model, name.served_model, engine, name.version, name.fingerprint];
        let own = own.iter().map(|name| target.labels.get(name).cloned().unwrap_or_default());
        fixed.into_iter().chain(own).collect()
    }
}

impl Collector for TargetInfo {
    fn desc(&self) -> Vec<&Desc> {
        self.vec.desc()
    }

    fn collect(&self) -> Vec<proto::MetricFamily> {
        let _unchanged = lock(&self.state);
        self.vec.collect()
    }
}
