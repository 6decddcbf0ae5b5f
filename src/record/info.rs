//! `sloprobe_target_info`: one series per target, whose labels follow what the target turns out to be.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex};

use prometheus::core::{Collector, Desc};
use prometheus::{Error, GaugeVec, Opts, proto};

use super::lock;
use crate::domain::{Engine, Identity, Target};

/// The labels beside those of the user.
const FIXED: [&str; 6] = ["target", "api", "model", "engine", "version", "fingerprint"];

/// A server that calls itself something new in every answer would fill a database: after so many names of
/// one target no further ones are shown.
const MAX_NAMES: usize = 100;

/// Clones show the same.
#[derive(Debug, Clone)]
pub(super) struct TargetInfo {
    vec: GaugeVec,
    /// Held while series change and while they are read: every reading has one series per target.
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    /// Names of the labels of any target, in order.
    own: Vec<String>,
    shown: HashMap<Arc<str>, Shown>,
}

/// What one target's series says now.
#[derive(Debug)]
struct Shown {
    engine: Engine,
    version: String,
    fingerprint: String,
    values: Vec<String>,
    /// Versions and fingerprints that have been shown.
    names: HashSet<(String, String)>,
    /// It has been told that there are too many of them.
    told: bool,
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
            info.identified(target, &Identity::of(target.engine));
        }
        Ok(info)
    }

    /// Shows what was found; gives what was shown before if that was another engine or version.
    pub(super) fn identified(&self, target: &Target, identity: &Identity) -> Option<(Engine, String)> {
        let version = identity.version.clone().unwrap_or_default();
        self.change(target, |shown| {
            let old = (shown.engine, shown.version.clone());
            (shown.engine, shown.version) = (identity.engine, version);
            (old != (shown.engine, shown.version.clone())).then_some(old)
        })
    }

    pub(super) fn fingerprinted(&self, target: &Target, fingerprint: &str) {
        self.change(target, |shown| {
            if shown.fingerprint != fingerprint {
                fingerprint.clone_into(&mut shown.fingerprint);
            }
        });
    }

    fn change<T>(&self, target: &Target, work: impl FnOnce(&mut Shown) -> T) -> T {
        let mut state = lock(&self.state);
        let State { own, shown } = &mut *state;
        let shown = shown.entry(Arc::clone(&target.name)).or_insert_with(|| Shown::new(target.engine));
        let done = work(shown);
        let values = shown.labels(target, own);
        if values != shown.values {
            // An error says that there was no such series, as at the beginning.
            let _ = self.vec.remove_label_values(&shown.values);
            self.vec.with_label_values(&values).set(1.0);
            shown.values = values;
        }
        done
    }
}

impl Shown {
    fn new(engine: Engine) -> Self {
        let (version, fingerprint) = (String::new(), String::new());
        Self { engine, version, fingerprint, values: Vec::new(), names: HashSet::new(), told: false }
    }

    fn labels(&mut self, target: &Target, own: &[String]) -> Vec<String> {
        let name = (self.version.clone(), self.fingerprint.clone());
        let may_show = self.names.contains(&name) || self.names.len() < MAX_NAMES;
        if may_show {
            self.names.insert(name.clone());
        } else if !std::mem::replace(&mut self.told, true) {
            tracing::warn!(
                target = &*target.name,
                "the target has had {MAX_NAMES} names; new ones are not shown on sloprobe_target_info"
            );
        }
        let (version, fingerprint) = if may_show { name } else { <(String, String)>::default() };
        let fixed = [&*target.name, target.api.name(), &target.model, self.engine.name()];
        let own = own.iter().map(|name| target.labels.get(name).cloned().unwrap_or_default());
        fixed.into_iter().map(str::to_owned).chain([version, fingerprint]).chain(own).collect()
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
