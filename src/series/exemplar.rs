//! One probe that stands for many: from a point in a graph to what really happened.

use std::time::{Duration, SystemTime};

use crate::domain::{ProbeId, Report, TraceId};

/// One that is older was shown before, to whoever looks at all.
const FRESH: Duration = Duration::from_secs(300);

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Exemplar {
    pub probe: ProbeId,
    pub trace: Option<TraceId>,
    pub value: f64,
    /// When it was counted.
    pub at: SystemTime,
}

impl Exemplar {
    pub fn of(report: &Report, value: f64, at: SystemTime) -> Self {
        Self { probe: report.id, trace: report.trace, value, at }
    }

    /// Whether it is worth showing. A clock that was set back makes none old.
    pub fn is_fresh(&self, now: SystemTime) -> bool {
        now.duration_since(self.at).is_ok_and(|age| age < FRESH) || now < self.at
    }

    /// Names and values of its labels.
    pub fn labels(&self) -> Vec<(&'static str, String)> {
        let trace = self.trace.map(|trace| ("trace_id", trace.to_string()));
        [("probe_id", self.probe.to_string())].into_iter().chain(trace).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_counted_long_ago_is_not_shown_again() {
        let at = SystemTime::UNIX_EPOCH + Duration::from_secs(1_789_000_000);
        let exemplar = Exemplar { probe: ProbeId::next(at), trace: None, value: 1.0, at };
        for (now, is_fresh) in [(at, true), (at + FRESH / 2, true), (at + FRESH, false), (at - FRESH, true)] {
            assert_eq!(exemplar.is_fresh(now), is_fresh, "{now:?}");
        }
    }
}
