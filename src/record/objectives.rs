//! What each objective counts at one place: events and bad events.

use std::sync::Arc;

use super::page::Page;
use crate::domain::slo::Event;
use crate::domain::{Report, Slo, Target, Workload};

#[derive(Debug, Default)]
pub(super) struct Objectives(Vec<Counted>);

#[derive(Debug)]
struct Counted {
    slo: Arc<Slo>,
    events: u64,
    bad: u64,
}

impl Objectives {
    /// Takes the objectives that cover this place from now on. One that asks the same as before goes on counting.
    pub(super) fn arrange(&mut self, target: &Target, workload: &Workload, slos: &[Arc<Slo>]) {
        let before = std::mem::take(&mut self.0);
        let covering = slos.iter().filter(|slo| slo.covers(target, workload));
        self.0 = covering
            .map(|slo| {
                let known = before.iter().find(|counted| counted.slo.asks_the_same_as(slo));
                let (events, bad) = known.map_or((0, 0), |known| (known.events, known.bad));
                Counted { slo: Arc::clone(slo), events, bad }
            })
            .collect();
    }

    pub(super) fn take(&mut self, report: &Report) {
        for Counted { slo, events, bad } in &mut self.0 {
            if let Some(event) = slo.judge(report) {
                *events += 1;
                *bad += u64::from(event == Event::Bad);
            }
        }
    }

    /// Events and bad events of an objective.
    pub(super) fn counted(&self, name: &str) -> [u64; 2] {
        let counted = self.0.iter().find(|counted| &*counted.slo.name == name);
        counted.map_or([0; 2], |counted| [counted.events, counted.bad])
    }

    pub(super) fn show_events(&self, page: &mut Page<'_>) {
        self.0.iter().for_each(|counted| page.counter(&[counted.label()], counted.events, None));
    }

    pub(super) fn show_bad(&self, page: &mut Page<'_>) {
        self.0.iter().for_each(|counted| page.counter(&[counted.label()], counted.bad, None));
    }

    pub(super) fn show_budgets(&self, page: &mut Page<'_>) {
        self.0.iter().for_each(|counted| page.gauge(&[counted.label()], counted.slo.objective.budget()));
    }

    pub(super) fn show_windows(&self, page: &mut Page<'_>) {
        self.0.iter().for_each(|counted| page.gauge(&[counted.label()], counted.slo.window.as_secs_f64()));
    }

    pub(super) fn show_thresholds(&self, page: &mut Page<'_>) {
        for counted in &self.0 {
            if let Some(bound) = counted.slo.goal.bound() {
                let labels = [("metric", counted.slo.goal.name()), counted.label()];
                page.gauge(&labels, bound.as_secs_f64());
            }
        }
    }
}

impl Counted {
    fn label(&self) -> (&str, &str) {
        ("slo", &self.slo.name)
    }
}
