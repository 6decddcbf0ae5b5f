//! How a target's probes fare, as far as it matters to the task that asks what the target runs.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio::time::Instant;

use crate::domain::{Failure, Report};

/// Behind one address there may be several servers, each with a name of its own, and some make up a name for
/// every answer: beyond so many, a new one is no news.
const MAX_NAMES: usize = 16;

#[derive(Debug, Default)]
pub struct Standing {
    state: Mutex<State>,
    news: Notify,
}

#[derive(Debug, Default)]
struct State {
    /// The newest probe was refused for its key.
    shut_out: bool,
    /// Workloads whose newest probe failed.
    failing: HashSet<Arc<str>>,
    /// What the server has called itself in its answers.
    names: Vec<String>,
    /// When it was last asked what it runs.
    asked: Option<Instant>,
}

impl Standing {
    pub fn hear(&self, report: &Report) {
        if self.state().note(report) {
            self.news.notify_one();
        }
    }

    /// Whether a request with the present key only adds to the failed attempts that a server counts.
    pub fn is_shut_out(&self) -> bool {
        self.state().shut_out
    }

    /// The target is being asked what it runs.
    pub fn note_asking(&self, now: Instant) {
        self.state().asked = Some(now);
    }

    /// When it was last asked what it runs.
    pub fn asked(&self) -> Option<Instant> {
        self.state().asked
    }

    /// Waits until the target may run something else than before.
    pub async fn news(&self) {
        self.news.notified().await;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Whether it is news: a server that is back may be another version, and so may one with a new name.
    fn note(&mut self, report: &Report) -> bool {
        let failure = report.fault.as_ref().map(|fault| fault.failure);
        self.shut_out = failure == Some(Failure::Auth);
        let workload = &report.workload.name;
        let is_back = if failure.is_some() {
            self.failing.insert(Arc::clone(workload));
            false
        } else {
            // By workload: where one always fails and another never does, nothing has come back.
            self.failing.remove(workload)
        };
        let is_renamed = report.fingerprint.as_ref().is_some_and(|name| self.note_name(name));
        is_back || is_renamed
    }

    /// Whether it is a new name after another.
    fn note_name(&mut self, name: &str) -> bool {
        if self.names.len() == MAX_NAMES || self.names.iter().any(|known| known == name) {
            return false;
        }
        self.names.push(name.to_owned());
        self.names.len() > 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Sample, fixture};

    fn report(failure: Option<Failure>, name: &str) -> Report {
        let target = fixture::target("t", &["w"]);
        let fault = failure.map(|failure| failure.because("so"));
        let mut report = fixture::report(&target, Sample::default(), fault);
        report.fingerprint = Some(name.to_owned());
        report
    }

    #[test]
    fn the_first_success_after_failures_is_news() {
        let mut state = State::default();
        let connect = Some(Failure::Connect);
        let news =
            [None, None, connect, connect, None, None].map(|failure| state.note(&report(failure, "a")));
        assert_eq!(news, [false, false, false, false, true, false]);
    }

    #[test]
    fn a_workload_that_always_fails_beside_one_that_never_does_is_no_news() {
        let mut state = State::default();
        let mut other = report(Some(Failure::Rejected), "a");
        other.workload = fixture::workload("too-long");
        for _ in 0..3 {
            assert!(!state.note(&other));
            assert!(!state.note(&report(None, "a")));
        }
    }

    #[test]
    fn a_new_name_is_news_until_there_are_too_many() {
        let mut state = State::default();
        let news = ["a", "a", "b", "a", "b", "c"].map(|name| state.note(&report(None, name)));
        assert_eq!(news, [false, false, true, false, false, true]);
        let more = (0..100).filter(|number| state.note(&report(None, &number.to_string()))).count();
        assert_eq!(more, MAX_NAMES - 3);
    }

    #[test]
    fn a_target_is_shut_out_while_the_newest_probe_was_refused_for_its_key() {
        let standing = Standing::default();
        let shut_out = [None, Some(Failure::Auth), Some(Failure::Connect)].map(|failure| {
            standing.hear(&report(failure, "a"));
            standing.is_shut_out()
        });
        assert_eq!(shut_out, [false, true, false]);
    }
}
