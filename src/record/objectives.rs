//! What each objective counts: events and bad events.

use std::sync::Arc;

use prometheus::{Error, GaugeVec, IntCounterVec, Registry};

use super::metrics::{Places, counter, gauge};
use crate::catalogue as cat;
use crate::domain::slo::Event;
use crate::domain::{Report, Slo, Target, Workload};

#[derive(Debug)]
pub(super) struct Objectives {
    slos: Vec<Arc<Slo>>,
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
            slos: slos.to_vec(),
            events: counter(registry, &cat::SLO_EVENTS, places)?,
            bad: counter(registry, &cat::SLO_BAD_EVENTS, places)?,
        })
    }

    pub(super) fn record(&self, report: &Report) {
        let covering = self.slos.iter().filter(|slo| slo.covers(&report.target, &report.workload));
        for slo in covering {
            let Some(event) = slo.judge(report) else { continue };
            let place = [&*report.target.name, &*report.workload.name, &*slo.name];
            // In this order, so that a scrape in between does not see more bad events than events.
            self.events.with_label_values(&place).inc();
            self.bad.with_label_values(&place).inc_by(u64::from(event == Event::Bad));
        }
    }

    /// Events and bad events.
    pub(super) fn counted(&self, target: &Target, workload: &Workload, slo: &Slo) -> [u64; 2] {
        let place = [&*target.name, &*workload.name, &*slo.name];
        [&self.events, &self.bad].map(|counter| counter.with_label_values(&place).get())
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
