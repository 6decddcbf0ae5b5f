//! The probe watches itself: a timer that tells how late this process' own event loop runs.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, sleep_until};

/// How often the loop is looked at.
const BEAT: Duration = Duration::from_millis(20);

/// Timers are exact to a millisecond or two; beyond this, what is measured may be the host.
const LATE: Duration = Duration::from_millis(10);

#[derive(Debug)]
pub struct Pulse(Mutex<State>);

#[derive(Debug)]
struct State {
    next: Instant,
    last_late: Option<Instant>,
    worst: Duration,
}

impl Pulse {
    pub fn new(now: Instant) -> Self {
        Self(Mutex::new(State { next: now + BEAT, last_late: None, worst: Duration::ZERO }))
    }

    /// Beats for ever, and tells how late each beat was.
    pub async fn beat(&self, tell: impl Fn(Duration)) {
        loop {
            let due = self.state().next;
            sleep_until(due).await;
            tell(self.note(Instant::now()));
        }
    }

    /// Whether the loop was late at any time since `start`.
    pub fn was_late_since(&self, start: Instant, now: Instant) -> bool {
        let state = self.state();
        // A beat that is overdue now has not been noted yet.
        let overdue = now.saturating_duration_since(state.next) > LATE;
        overdue || state.last_late.is_some_and(|late| late >= start)
    }

    /// How late the loop was at its worst.
    pub fn worst(&self, now: Instant) -> Duration {
        let state = self.state();
        state.worst.max(now.saturating_duration_since(state.next))
    }

    /// Notes a beat at `now`, and how late it was.
    fn note(&self, now: Instant) -> Duration {
        let mut state = self.state();
        let lag = now.saturating_duration_since(state.next);
        if lag > LATE {
            state.last_late = Some(now);
        }
        state.worst = state.worst.max(lag);
        state.next = now.max(state.next) + BEAT;
        lag
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_probes_that_lived_through_a_late_beat_are_suspect() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let pulse = Pulse::new(start);
        assert_eq!(pulse.note(at(21)), Duration::from_millis(1));
        assert!(!pulse.was_late_since(start, at(30)));
        assert_eq!(pulse.note(at(71)), Duration::from_millis(30));
        assert!(pulse.was_late_since(start, at(75)));
        assert!(pulse.was_late_since(at(70), at(75)));
        assert!(!pulse.was_late_since(at(72), at(75)));
        assert_eq!(pulse.worst(at(75)), Duration::from_millis(30));
        assert_eq!(pulse.worst(at(191)), Duration::from_millis(100));
    }

    #[test]
    fn a_beat_that_is_overdue_makes_suspect_before_it_is_noted() {
        let start = Instant::now();
        let pulse = Pulse::new(start);
        assert!(!pulse.was_late_since(start, start + BEAT + LATE));
        assert!(pulse.was_late_since(start, start + BEAT + LATE * 2));
    }
}
