//! How long to wait after a push that failed: as long as the collector asks, or twice as long each time. Pure.

use std::time::Duration;

use oorandom::Rand32;

const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(60);

/// A wrong header must not end the pushing.
const LONGEST_ASKED: Duration = Duration::from_secs(600);

#[derive(Debug)]
pub(super) struct BackOff {
    failures: u32,
    random: Rand32,
}

impl BackOff {
    pub(super) fn new(seed: u64) -> Self {
        Self { failures: 0, random: Rand32::new(seed) }
    }

    pub(super) fn succeeded(&mut self) {
        self.failures = 0;
    }

    /// Jitter keeps many daemons from coming back at the same instant.
    pub(super) fn failed(&mut self, asked: Option<Duration>) -> Duration {
        let doublings = self.failures.min(16);
        self.failures = self.failures.saturating_add(1);
        if let Some(asked) = asked {
            return asked.min(LONGEST_ASKED);
        }
        let wait = FIRST.saturating_mul(1 << doublings).min(LONGEST);
        wait.mul_f32(0.5 + self.random.rand_float() / 2.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_a_minute_and_begin_anew_after_a_success() {
        let mut back_off = BackOff::new(1);
        for most in [1, 2, 4, 8, 16, 32, 60, 60] {
            let most = Duration::from_secs(most);
            let wait = back_off.failed(None);
            assert!(wait <= most && wait >= most / 2, "{wait:?}, not about {most:?}");
        }
        back_off.succeeded();
        assert!(back_off.failed(None) <= FIRST);
    }

    #[test]
    fn what_the_collector_asks_is_obeyed_within_reason() {
        let mut back_off = BackOff::new(1);
        assert_eq!(back_off.failed(Some(Duration::from_secs(7))), Duration::from_secs(7));
        assert_eq!(back_off.failed(Some(Duration::from_secs(86_400))), LONGEST_ASKED);
    }
}
