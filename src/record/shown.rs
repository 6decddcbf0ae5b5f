//! What is shown at present: the targets and places of the configuration in use.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::SystemTime;

use super::layouts::Layouts;
use super::place::{self, PlaceMetrics};
use super::target::{self, TargetMetrics};
use crate::domain::{PlaceId, Share, Slo, Target};
use crate::series::Writer;

/// Never changed: a new configuration makes a new one, so that a page that is being written shows one of them only.
#[derive(Debug, Default)]
pub(super) struct Shown {
    targets: Vec<Arc<TargetMetrics>>,
    by_name: HashMap<Arc<str>, Arc<TargetMetrics>>,
    /// In the order of the targets and their mixes.
    places: Vec<Arc<PlaceMetrics>>,
}

impl Shown {
    /// With what stays of the one before, by its identity, and the rest made anew.
    pub(super) fn after(
        before: &Self,
        targets: &[Arc<Target>],
        slos: &[Arc<Slo>],
        layouts: &Arc<Layouts>,
        now: SystemTime,
    ) -> Self {
        let known: HashMap<PlaceId, &Arc<PlaceMetrics>> =
            before.places.iter().map(|place| (place.id(), place)).collect();
        let mut after = Self::default();
        for target in targets {
            let metrics = match before.by_name.get(&target.name) {
                Some(metrics) => Arc::clone(metrics),
                None => Arc::new(TargetMetrics::new(target, now)),
            };
            metrics.arrange(target);
            let place = |share: &Share| {
                let id = PlaceId::of(target, &share.workload);
                let new = || Arc::new(PlaceMetrics::new(id, &metrics, &share.workload.name, layouts, now));
                let place = known.get(&id).map_or_else(new, |&place| Arc::clone(place));
                place.arrange(target, share, slos, layouts);
                place
            };
            after.places.extend(target.mix.iter().map(place));
            after.by_name.insert(Arc::clone(&target.name), Arc::clone(&metrics));
            after.targets.push(metrics);
        }
        after
    }

    pub(super) fn target(&self, name: &str) -> Option<&Arc<TargetMetrics>> {
        self.by_name.get(name)
    }

    pub(super) fn places(&self) -> &[Arc<PlaceMetrics>] {
        &self.places
    }

    pub(super) fn walk(&self, writer: &mut dyn Writer) {
        place::walk(&self.places, writer);
        target::walk(&self.targets, writer);
    }
}
