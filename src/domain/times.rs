//! Where a server says its time went: what some send along with their answers.

use std::time::Duration;

/// Absent is what the server does not tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ServerTimes {
    /// Waiting for a place in a batch.
    pub queue: Option<Duration>,
    /// Computing the prompt.
    pub prefill: Option<Duration>,
    /// Writing the answer.
    pub decode: Option<Duration>,
    /// Loading the model.
    pub load: Option<Duration>,
}

/// Longer than any answer may take.
const LONGEST: f64 = 7200.0;

impl ServerTimes {
    /// A number of some unit, as a duration; what cannot be one is absent.
    pub fn read(value: Option<f64>, unit: Duration) -> Option<Duration> {
        let seconds = value? * unit.as_secs_f64();
        (0.0..=LONGEST).contains(&seconds).then(|| Duration::from_secs_f64(seconds))
    }

    /// What `newer` tells, and otherwise what was told before.
    #[must_use]
    pub fn merged(self, newer: Self) -> Self {
        Self {
            queue: newer.queue.or(self.queue),
            prefill: newer.prefill.or(self.prefill),
            decode: newer.decode.or(self.decode),
            load: newer.load.or(self.load),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_that_cannot_be_are_absent() {
        let ms = |value| ServerTimes::read(Some(value), Duration::from_millis(1));
        assert_eq!(ms(1500.0), Some(Duration::from_millis(1500)));
        assert_eq!([ms(-1.0), ms(f64::NAN), ms(f64::INFINITY), ms(1e30)], [None; 4]);
        assert_eq!(ServerTimes::read(None, Duration::from_millis(1)), None);
    }
}
