//! What the log says: a change once, not every repetition of it.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::domain::{Failure, Report, Skip, Target, Workload};

/// Skips that go on are told again after this: some are served in between, so there is no clear end.
const TELL_AGAIN: Duration = Duration::from_secs(600);

#[derive(Debug, Default)]
pub(super) struct Narrator {
    states: HashMap<(Arc<str>, Arc<str>), State>,
}

/// How a target's workload has fared lately.
#[derive(Debug, Default)]
struct State {
    failing: Option<Failing>,
    skipping: Option<(Skip, Instant)>,
}

#[derive(Debug)]
struct Failing {
    reason: Failure,
    since: Instant,
    failures: u64,
}

impl Narrator {
    pub(super) fn tell(&mut self, report: &Report) {
        let (target, workload) = (&*report.target.name, &*report.workload.name);
        let ttft = report.sample.ttft.map(|t| t.as_secs_f64());
        let latency = report.sample.latency.map(|t| t.as_secs_f64());
        tracing::debug!(
            target,
            workload,
            outcome = report.outcome(),
            ttft,
            latency,
            seed = %report.seed,
            "probe"
        );

        let state = self.state(&report.target, &report.workload);
        match (&report.fault, &mut state.failing) {
            (None, failing) => {
                if let Some(past) = failing.take() {
                    let lasted = humantime::format_duration(seconds_between(past.since, Instant::now()));
                    tracing::info!(target, workload, failures = past.failures, %lasted, "probes succeed again");
                }
            }
            (Some(fault), Some(known)) if known.reason == fault.failure => known.failures += 1,
            (Some(fault), failing) => {
                let (reason, detail) = (fault.failure.label(), &*fault.detail);
                tracing::warn!(target, workload, reason, detail, "probes fail");
                let before = failing.take();
                *failing = Some(Failing {
                    reason: fault.failure,
                    since: before.as_ref().map_or_else(Instant::now, |b| b.since),
                    failures: before.map_or(0, |b| b.failures) + 1,
                });
            }
        }
    }

    pub(super) fn skipped(&mut self, target: &Target, workload: &Workload, reason: Skip) {
        let now = Instant::now();
        let told = &mut self.state(target, workload).skipping;
        if told.is_some_and(|(known, at)| known == reason && now - at < TELL_AGAIN) {
            return;
        }
        *told = Some((reason, now));
        let (target, workload, reason) = (&*target.name, &*workload.name, reason.label());
        if reason == Skip::Shutdown.label() {
            tracing::debug!(target, workload, reason, "due probes are skipped");
        } else {
            tracing::warn!(target, workload, reason, "due probes are skipped");
        }
    }

    fn state(&mut self, target: &Target, workload: &Workload) -> &mut State {
        self.states.entry((target.name.clone(), workload.name.clone())).or_default()
    }
}

fn seconds_between(start: Instant, end: Instant) -> Duration {
    Duration::from_secs((end - start).as_secs())
}
