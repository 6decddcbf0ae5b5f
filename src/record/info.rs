//! `sloprobe_target_info`: what a target turns out to be, a series for everything that answers there now.

use std::collections::HashSet;
use std::sync::Arc;

use crate::domain::{Identity, Makeup, Target};
use crate::series::{Labels, Value, Writer};

/// A server that calls itself something new in every answer would fill a database: after so many names of
/// one target no further ones are shown.
const MAX_NAMES: usize = 100;

#[derive(Debug)]
pub(super) struct Info {
    target: Arc<Target>,
    makeups: Vec<Makeup>,
    /// The labels of each series: one, or several while several releases answer in turn.
    series: Vec<Labels>,
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

impl Info {
    pub(super) fn new(target: &Arc<Target>) -> Self {
        let mut info = Self {
            target: Arc::clone(target),
            makeups: Vec::new(),
            series: Vec::new(),
            names: HashSet::new(),
            told: false,
        };
        info.show(&[&Makeup::of(&Identity::of(target.engine), &target.labels)]);
        info
    }

    /// The configuration says something else about the target.
    pub(super) fn arrange(&mut self, target: &Arc<Target>) {
        self.target = Arc::clone(target);
        let makeups = self.makeups.clone();
        self.show(&makeups.iter().collect::<Vec<_>>());
    }

    /// Shows what the target is now, and nothing else of it.
    pub(super) fn show(&mut self, makeups: &[&Makeup]) {
        self.series.clear();
        for makeup in makeups {
            let labels = self.labels(makeup);
            // Two makeups that differ by a mark alone look the same here.
            if self.series.iter().all(|known| known.text() != labels.text()) {
                self.series.push(labels);
            }
        }
        self.makeups = makeups.iter().map(|&makeup| makeup.clone()).collect();
    }

    fn labels(&mut self, makeup: &Makeup) -> Labels {
        let name = self.name(makeup);
        let target = &self.target;
        let engine = if makeup.engine.is_empty() { target.engine.name() } else { &makeup.engine };
        let fixed = [
            ("api", target.api.name()),
            ("engine", engine),
            ("fingerprint", &name.fingerprint),
            ("model", &target.model),
            ("served_model", &name.served_model),
            ("target", &target.name),
            ("version", &name.version),
        ];
        let own = target.labels.iter().map(|(name, value)| (&**name, &**value));
        let mut pairs: Vec<_> = fixed.into_iter().chain(own).collect();
        pairs.sort_unstable();
        Labels::new(pairs)
    }

    fn name(&mut self, makeup: &Makeup) -> Name {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let name = Name {
            served_model: text(&makeup.model),
            version: text(&makeup.version),
            fingerprint: text(&makeup.fingerprint),
        };
        if self.names.contains(&name) || self.names.len() < MAX_NAMES {
            self.names.insert(name.clone());
            return name;
        }
        if !std::mem::replace(&mut self.told, true) {
            tracing::warn!(
                target = &*self.target.name,
                "the target has had {MAX_NAMES} names; new ones are not shown on sloprobe_target_info"
            );
        }
        Name::default()
    }

    pub(super) fn write(&self, writer: &mut dyn Writer) {
        for labels in &self.series {
            writer.series(&[], labels, Value::Gauge(1.0));
        }
    }
}
