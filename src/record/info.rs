//! `sloprobe_target_info`: one series per target, whose labels follow what the target turns out to be.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::{Arc, Mutex};

use prometheus::core::{Collector, Desc};
use prometheus::{Error, GaugeVec, Opts, proto};

use super::lock;
use crate::domain::{Engine, Identity, Target};

/// The labels beside those of the user.
const FIXED: [&str; 7] = ["target", "api", "model", "served_model", "engine", "version", "fingerprint"];

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
    name: Name,
    values: Vec<String>,
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
            info.identified(target, &Identity::of(target.engine));
        }
        Ok(info)
    }

    /// Shows what was found; gives what was shown before if that was another engine, version or model.
    pub(super) fn identified(&self, target: &Target, identity: &Identity) -> Option<Identity> {
        self.change(target, |shown| {
            let old = shown.identity();
            shown.engine = identity.engine;
            shown.name.version = identity.version.clone().unwrap_or_default();
            shown.name.served_model = identity.model.clone().unwrap_or_default();
            (old != shown.identity()).then_some(old)
        })
    }

    pub(super) fn fingerprinted(&self, target: &Target, fingerprint: &str) {
        self.change(target, |shown| {
            if shown.name.fingerprint != fingerprint {
                fingerprint.clone_into(&mut shown.name.fingerprint);
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
        Self { engine, name: Name::default(), values: Vec::new(), names: HashSet::new(), told: false }
    }

    /// As it would have been found.
    fn identity(&self) -> Identity {
        let text = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
        Identity {
            version: text(&self.name.version),
            model: text(&self.name.served_model),
            ..Identity::of(self.engine)
        }
    }

    fn labels(&mut self, target: &Target, own: &[String]) -> Vec<String> {
        let may_show = self.names.contains(&self.name) || self.names.len() < MAX_NAMES;
        if may_show {
            self.names.insert(self.name.clone());
        } else if !std::mem::replace(&mut self.told, true) {
            tracing::warn!(
                target = &*target.name,
                "the target has had {MAX_NAMES} names; new ones are not shown on sloprobe_target_info"
            );
        }
        let Name { served_model, version, fingerprint } =
            if may_show { self.name.clone() } else { Name::default() };
        let [name, api, model] = [&*target.name, target.api.name(), &target.model].map(str::to_owned);
        let fixed = [name, api, model, served_model, self.engine.name().to_owned(), version, fingerprint];
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
