//! What each objective counts: events and bad events.

use std::sync::Arc;

use prometheus::{Error, GaugeVec, IntCounter, IntCounterVec, Registry};

use super::metrics::{Places, counter, gauge};
use crate::catalogue as cat;
use crate::domain::{Slo, Target, Workload};

#[derive(Debug)]
pub(super) struct Objectives {
    events: IntCounterVec,
    bad: IntCounterVec,
}

impl Objectives {
    pub(super) fn new(
        registry: &Registry,
        places: &Places,
        targets: &[Arc<Target>],
        slos: &[Arc<Slo>],
    ) -> Result<Self, Error> {
        let budget: GaugeVec = gauge(registry, &cat::SLO_BUDGET, places)?;
        let window: GaugeVec = gauge(registry, &cat::SLO_WINDOW, places)?;
        let threshold: GaugeVec = gauge(registry, &cat::SLO_THRESHOLD, places)?;
        for (target, workload, slo) in self::places(targets, slos) {
            let place = [&*target.name, &*workload.name, &*slo.name];
            budget.with_label_values(&place).set(slo.objective.budget());
            window.with_label_values(&place).set(slo.window.as_secs_f64());
            if let Some(bound) = slo.goal.bound() {
                let [target, workload, name] = place;
                let series = threshold.with_label_values(&[target, workload, name, slo.goal.name()]);
                series.set(bound.as_secs_f64());
            }
        }
        Ok(Self {
            events: counter(registry, &cat::SLO_EVENTS, places)?,
            bad: counter(registry, &cat::SLO_BAD_EVENTS, places)?,
        })
    }

    /// The counters of an objective at a target's workload: events and bad events.
    pub(super) fn counted(
        &self,
        [target, workload]: [&str; 2],
        slo: &Arc<Slo>,
    ) -> (Arc<Slo>, [IntCounter; 2]) {
        let place = [target, workload, &*slo.name];
        (Arc::clone(slo), [&self.events, &self.bad].map(|vec| vec.with_label_values(&place)))
    }
}

/// Every objective with every workload of every target that it covers.
pub(super) fn places<'a>(
    targets: &'a [Arc<Target>],
    slos: &'a [Arc<Slo>],
) -> impl Iterator<Item = (&'a Target, &'a Workload, &'a Slo)> {
    let pairs =
        targets.iter().flat_map(|target| target.mix.iter().map(move |share| (&**target, &*share.workload)));
    pairs.flat_map(move |(target, workload)| {
        let covering = slos.iter().filter(move |slo| slo.covers(target, workload));
        covering.map(move |slo| (target, workload, &**slo))
    })
}
