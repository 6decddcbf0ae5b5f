//! The one place that reads the wall clock.
//!
//! Durations come from [`tokio::time::Instant`] alone; wall time only says *when* something happened, in
//! logs, timestamps and histories.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The time of day, for people and for Prometheus' `*_timestamp_seconds`.
#[expect(clippy::disallowed_methods, reason = "this is the one place")]
pub fn wall_now() -> SystemTime {
    SystemTime::now()
}

/// The other way round.
pub fn from_unix_seconds(seconds: f64) -> SystemTime {
    UNIX_EPOCH + Duration::try_from_secs_f64(seconds).unwrap_or(Duration::ZERO)
}

/// Seconds since 1970, as Prometheus writes timestamps.
pub fn unix_seconds(at: SystemTime) -> f64 {
    at.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs_f64()
}
