//! How long a probe waits, and what it is called when the waiting was in vain.

use std::pin::Pin;
use std::time::Duration;

use tokio::time::{Instant, Sleep, sleep_until};

use super::LINGER;
use super::phases::Phases;
use super::read::{Progress, Reading};
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
    /// How long will have been waited by then.
    wait: Duration,
    progress: Progress,
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
    /// Before the head of an answer has come.
    pub(super) fn before_answer(timeouts: Timeouts, reading: &Reading, phases: &Phases) -> Self {
        Self::of(timeouts, reading, phases.sent_at(), phases.unfinished().unwrap_or(Failure::Connect))
    }

    /// Once it has come. This is asked for with every token, and takes no lock.
    pub(super) fn within_answer(timeouts: Timeouts, reading: &Reading, sent: Option<Instant>) -> Self {
        Self::of(timeouts, reading, sent, Failure::Connect)
    }

    fn of(timeouts: Timeouts, reading: &Reading, sent: Option<Instant>, unfinished: Failure) -> Self {
        let started = reading.started();
        let progress = reading.progress();
        let limit = |since: Instant, wait, failure| Self { at: since + wait, failure, wait, progress };
        let total = limit(started, timeouts.total, Failure::TimeoutTotal);
        let state = match (reading.finished(), reading.last_arrival(), sent) {
            (Some(finished), ..) => limit(finished, LINGER, Failure::TimeoutStall),
            // An answer that comes whole has only the total to keep to.
            (_, _, Some(_)) if !reading.is_stream() => total,
            (_, Some(last), _) => limit(last, timeouts.stall, Failure::TimeoutStall),
            (_, _, Some(sent)) => limit(sent, timeouts.first_token, Failure::TimeoutFirstToken),
            (None, None, None) => limit(started, timeouts.connect, unfinished),
        };
        if total.at <= state.at { total } else { state }
    }

    fn fault(self) -> Fault {
        let Self { progress, .. } = self;
        let wait = plainly(self.wait);
        let detail = match self.failure {
            Failure::Dns => format!("no answer from the name server within {wait}"),
            Failure::Connect => format!("no TCP connection within {wait}"),
            Failure::Tls => format!("no TLS session within {wait}"),
            Failure::TimeoutFirstToken if progress.has_begun() => {
                format!("no token within {wait}, though the answer had begun")
            }
            Failure::TimeoutFirstToken => format!("no token within {wait}"),
            Failure::TimeoutStall => format!("no further token for {wait}, {progress}"),
            _ => format!("not complete within {wait}, {progress}"),
        };
        self.failure.because(detail).after_waiting()
    }
}

/// Such as "15 s" or "400 ms".
fn plainly(wait: Duration) -> String {
    if wait < Duration::from_secs(1) {
        format!("{} ms", wait.as_millis())
    } else {
        format!("{} s", wait.as_millis() as f64 / 1e3)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_told_as_people_write_them() {
        let told = [400, 999, 1000, 1500, 15_000, 205_000].map(|ms| plainly(Duration::from_millis(ms)));
        assert_eq!(told, ["400 ms", "999 ms", "1 s", "1.5 s", "15 s", "205 s"]);
    }
}
