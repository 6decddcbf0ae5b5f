//! One measured answer beside what the engine really did.

#![allow(dead_code, reason = "each bench uses a part of this")]

use std::time::{Duration, SystemTime, UNIX_EPOCH};

#[derive(Debug, Clone, Copy)]
pub struct Trip {
    pub started: SystemTime,
    /// As the client measured it.
    pub ttft: Duration,
    /// As the engine did it.
    pub truth: Duration,
    pub itl_p50: Duration,
    /// The client says itself that it was late.
    pub suspect: bool,
}

impl Trip {
    /// How far the measured TTFT is from the true one, in ms.
    pub fn ttft_error(&self) -> f64 {
        (self.ttft.as_secs_f64() - self.truth.as_secs_f64()).abs() * 1e3
    }

    /// How far the median gap is from the schedule's, in ms.
    pub fn itl_error(&self, scheduled: Duration) -> f64 {
        self.itl_p50.abs_diff(scheduled).as_secs_f64() * 1e3
    }

    /// As a client prints it: microseconds.
    pub fn line(&self) -> String {
        let started = self.started.duration_since(UNIX_EPOCH).unwrap_or_default();
        let [started, ttft, truth, itl] =
            [started, self.ttft, self.truth, self.itl_p50].map(|time| time.as_micros());
        format!("{started} {ttft} {truth} {itl}")
    }

    pub fn of_line(line: &str) -> Option<Self> {
        let mut micros = line.split(' ').map(|word| word.parse().map(Duration::from_micros).ok());
        Some(Self {
            started: UNIX_EPOCH + micros.next()??,
            ttft: micros.next()??,
            truth: micros.next()??,
            itl_p50: micros.next()??,
            suspect: false,
        })
    }
}
