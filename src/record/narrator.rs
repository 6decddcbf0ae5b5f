//! What the log says: a change once, not every repetition of it.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::domain::{Failure, Report, Skip};

/// Skips that go on are told again after this: some are served in between, so there is no clear end.
const TELL_AGAIN: Duration = Duration::from_secs(600);

/// After so long without a suspect sample, this machine is no longer called busy: one that is busy is not so
/// at every instant.
const CALM: Duration = Duration::from_secs(60);

#[derive(Debug, Default)]
pub(super) struct Narrator {
    states: HashMap<(Arc<str>, Arc<str>), State>,
    busy: Option<Busy>,
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

/// A time in which samples are suspect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Busy {
    /// The first and the newest suspect sample.
    since: Instant,
    newest: Instant,
    suspect: u64,
    /// With those in between that are not suspect.
    samples: u64,
}

/// What there is to say about suspect samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Doubt {
    Begins,
    Ends(Busy),
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
        match self.doubt(report.suspect, Instant::now()) {
            Some(Doubt::Begins) => tracing::warn!(
                "this machine is busy and the event loop runs late: what is measured now is suspect, times may be too long"
            ),
            Some(Doubt::Ends(Busy { since, newest, suspect, samples })) => {
                let lasted = humantime::format_duration(seconds_between(since, newest));
                tracing::info!(suspect, samples, %lasted, "samples are no longer suspect");
            }
            None => {}
        }

        let state = self.state(&report.target.name, &report.workload.name);
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

    /// Takes a sample, and gives what is news about how far samples can be trusted.
    fn doubt(&mut self, is_suspect: bool, now: Instant) -> Option<Doubt> {
        match &mut self.busy {
            None if is_suspect => {
                self.busy = Some(Busy { since: now, newest: now, suspect: 1, samples: 1 });
                Some(Doubt::Begins)
            }
            None => None,
            Some(busy) if is_suspect => {
                *busy = Busy { newest: now, suspect: busy.suspect + 1, samples: busy.samples + 1, ..*busy };
                None
            }
            Some(busy) if now - busy.newest < CALM => {
                busy.samples += 1;
                None
            }
            busy => busy.take().map(Doubt::Ends),
        }
    }

    pub(super) fn skipped(&mut self, target: &Arc<str>, workload: &Arc<str>, reason: Skip) {
        let now = Instant::now();
        let told = &mut self.state(target, workload).skipping;
        if told.is_some_and(|(known, at)| known == reason && now - at < TELL_AGAIN) {
            return;
        }
        *told = Some((reason, now));
        let (target, workload, reason) = (&**target, &**workload, reason.label());
        if reason == Skip::Shutdown.label() {
            tracing::debug!(target, workload, reason, "due probes are skipped");
        } else {
            tracing::warn!(target, workload, reason, "due probes are skipped");
        }
    }

    /// Forgets places that left.
    pub(super) fn forget_others(&mut self, stays: impl Fn(&str, &str) -> bool) {
        self.states.retain(|(target, workload), _| stays(target, workload));
    }

    fn state(&mut self, target: &Arc<str>, workload: &Arc<str>) -> &mut State {
        self.states.entry((Arc::clone(target), Arc::clone(workload))).or_default()
    }
}

fn seconds_between(start: Instant, end: Instant) -> Duration {
    Duration::from_secs((end - start).as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_busy_machine_is_told_when_it_begins_and_when_it_has_ended() {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let mut narrator = Narrator::default();
        let mut said = |is_suspect, seconds| narrator.doubt(is_suspect, at(seconds));
        assert_eq!(said(false, 0), None);
        assert_eq!(said(true, 1), Some(Doubt::Begins));
        assert_eq!([said(true, 2), said(false, 30), said(true, 60), said(false, 119)], [None; 4]);
        let busy = Busy { since: at(1), newest: at(60), suspect: 3, samples: 5 };
        assert_eq!(said(false, 120), Some(Doubt::Ends(busy)));
        assert_eq!(said(false, 500), None);
        assert_eq!(said(true, 501), Some(Doubt::Begins));
    }
}
