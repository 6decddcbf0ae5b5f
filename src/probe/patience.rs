//! How long a probe waits, and what it is called when the waiting was in vain.

use std::pin::Pin;

use tokio::time::{Instant, Sleep, sleep_until};

use super::LINGER;
use super::phases::Phases;
use super::read::Reading;
use crate::domain::{Failure, Fault, Timeouts};

/// One timer for a whole probe. It is set again only when it goes off early, so that a token costs no
/// timer of its own.
#[derive(Debug)]
pub(super) struct Patience {
    timer: Pin<Box<Sleep>>,
}

/// The instant at which patience ends in the present state of a probe, and as what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Limit {
    at: Instant,
    failure: Failure,
}

impl Patience {
    pub(super) fn new(started: Instant, timeouts: Timeouts) -> Self {
        // No limit of any state can lie before this.
        let earliest = timeouts.connect.min(timeouts.first_token).min(timeouts.total);
        Self { timer: Box::pin(sleep_until(started + earliest)) }
    }

    /// Waits for `work` until the limit of the moment has passed.
    pub(super) async fn wait<T>(
        &mut self,
        work: impl Future<Output = T>,
        limit: impl Fn() -> Limit,
    ) -> Result<T, Fault> {
        let mut work = std::pin::pin!(work);
        let now = limit();
        if now.at < self.timer.deadline() {
            self.timer.as_mut().reset(now.at);
        }
        loop {
            tokio::select! {
                biased;
                done = &mut work => return Ok(done),
                () = &mut self.timer => {
                    let limit = limit();
                    if limit.at <= Instant::now() {
                        return Err(limit.fault());
                    }
                    self.timer.as_mut().reset(limit.at);
                }
            }
        }
    }
}

impl Limit {
    pub(super) fn of(timeouts: Timeouts, reading: &Reading, phases: &Phases) -> Self {
        let started = reading.started();
        let total = Self { at: started + timeouts.total, failure: Failure::TimeoutTotal };
        let state = match (reading.finished(), reading.last_arrival(), phases.sent_at()) {
            (Some(finished), ..) => Self { at: finished + LINGER, failure: Failure::TimeoutStall },
            // An answer that comes whole has only the total to keep to.
            (_, _, Some(_)) if !reading.is_stream() => total,
            (_, Some(last), _) => Self { at: last + timeouts.stall, failure: Failure::TimeoutStall },
            (_, _, Some(sent)) => {
                Self { at: sent + timeouts.first_token, failure: Failure::TimeoutFirstToken }
            }
            (None, None, None) => Self {
                at: started + timeouts.connect,
                failure: phases.unfinished().unwrap_or(Failure::Connect),
            },
        };
        if total.at <= state.at { total } else { state }
    }

    fn fault(self) -> Fault {
        self.failure.because(match self.failure {
            Failure::Dns => "no answer from the name server in time",
            Failure::Connect => "no TCP connection in time",
            Failure::Tls => "no TLS session in time",
            Failure::TimeoutFirstToken => "no token in time",
            Failure::TimeoutStall => "the tokens stopped coming",
            _ => "the answer was not complete in time",
        })
    }
}
