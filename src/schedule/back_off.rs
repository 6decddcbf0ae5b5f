//! When a target is left alone because it refused a probe, and for how long. Pure.

use std::time::Duration;

use tokio::time::Instant;

use crate::domain::{Failure, Report};

/// A server may ask for less than this, never for more: a wrong header must not end the watch.
const LONGEST_ASKED: Duration = Duration::from_secs(600);

/// The rest after the first refusal by a server that does not say how long it wants to be left alone.
const FIRST: Duration = Duration::from_secs(10);

/// Rests double up to this: a key that is put right is noticed this soon.
const LONGEST: Duration = Duration::from_secs(120);

/// The rest of one target. Servers ban the address of whoever goes on with a bad key, and with it every
/// client behind that address; so a probe that was refused is not repeated at the pace of the schedule.
#[derive(Debug, Default)]
pub(super) struct BackOff {
    until: Option<Instant>,
    /// Refusals in a row.
    refusals: u32,
    /// When the newest of them was heard.
    refused: Option<Instant>,
}

impl BackOff {
    pub(super) fn is_resting(&self, now: Instant) -> bool {
        self.until.is_some_and(|until| now < until)
    }

    pub(super) fn hear(&mut self, report: &Report, now: Instant) {
        let failure = report.fault.as_ref().map(|fault| fault.failure);
        let asked = report.retry_after.filter(|_| failure == Some(Failure::RateLimited));
        if let Some(rest) = asked {
            *self = Self { until: Some(now + rest.min(LONGEST_ASKED)), ..Self::default() };
            return;
        }
        // Several under way at the time of a refusal are refused together: that is one refusal, not a row.
        if self.refused.is_some_and(|refused| report.timeline.started < refused) {
            return;
        }
        if matches!(failure, Some(Failure::Auth | Failure::RateLimited)) {
            let doublings = self.refusals.min(u32::BITS - 1);
            let rest = FIRST.saturating_mul(1 << doublings).min(LONGEST);
            *self = Self {
                until: self.until.max(Some(now + rest)),
                refusals: self.refusals.saturating_add(1),
                refused: Some(now),
            };
        } else {
            (self.refusals, self.refused) = (0, None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Sample, fixture};

    const SECOND: Duration = Duration::from_secs(1);

    /// A probe that started then and failed so, if it did.
    fn report(started: Instant, failure: Option<Failure>) -> Report {
        let target = fixture::target("t", &["w"]);
        let fault = failure.map(|failure| failure.because("so"));
        let mut report = fixture::report(&target, Sample::default(), fault);
        report.timeline.started = started;
        report
    }

    /// How long the rest lasts that follows each of these outcomes, each probe being sent after the last rest.
    fn rests(outcomes: &[Option<Failure>]) -> Vec<u64> {
        let mut back_off = BackOff::default();
        let mut now = Instant::now();
        let rests = outcomes.iter().map(|&failure| {
            back_off.hear(&report(now, failure), now);
            let start = now;
            while back_off.is_resting(now) {
                now += SECOND;
            }
            now += SECOND;
            (now - start).as_secs() - 1
        });
        rests.collect()
    }

    #[test]
    fn rests_double_while_a_target_refuses_and_begin_anew_after_anything_else() {
        let (auth, limited) = (Some(Failure::Auth), Some(Failure::RateLimited));
        assert_eq!(rests(&[auth; 7]), [10, 20, 40, 80, 120, 120, 120]);
        assert_eq!(rests(&[auth, limited, None, limited]), [10, 20, 0, 10]);
        assert_eq!(rests(&[auth, Some(Failure::ServerError), auth]), [10, 0, 10]);
    }

    #[test]
    fn no_other_failure_makes_a_rest() {
        for failure in Failure::ALL {
            let is_refusal = matches!(failure, Failure::Auth | Failure::RateLimited);
            assert_eq!(rests(&[Some(failure)]) != [0], is_refusal, "{failure:?}");
        }
    }

    #[test]
    fn probes_that_are_refused_together_are_one_refusal() {
        let start = Instant::now();
        let mut back_off = BackOff::default();
        for _ in 0..5 {
            back_off.hear(&report(start, Some(Failure::Auth)), start + SECOND);
        }
        // One that was under way as well and succeeded says nothing of the time after.
        back_off.hear(&report(start, None), start + 2 * SECOND);
        assert!(back_off.is_resting(start + 10 * SECOND));
        assert!(!back_off.is_resting(start + 11 * SECOND));
        back_off.hear(&report(start + 11 * SECOND, Some(Failure::Auth)), start + 11 * SECOND);
        assert!(back_off.is_resting(start + 30 * SECOND));
    }

    #[test]
    fn a_server_that_asks_for_rest_gets_what_it_asks_for_within_reason() {
        let now = Instant::now();
        let mut back_off = BackOff::default();
        for (asked, given) in [(30 * SECOND, 30 * SECOND), (3600 * SECOND, LONGEST_ASKED)] {
            let mut limited = report(now, Some(Failure::RateLimited));
            limited.retry_after = Some(asked);
            back_off.hear(&limited, now);
            assert!(back_off.is_resting(now + given - SECOND));
            assert!(!back_off.is_resting(now + given));
        }
    }
}
