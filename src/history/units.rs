//! Times and durations as the file has them: whole microseconds.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Rounded to the nearest.
pub(super) fn micros(duration: Duration) -> i64 {
    i64::try_from((duration.as_nanos() + 500) / 1000).unwrap_or(i64::MAX)
}

/// Since 1970; what was before is 0. Rounded down, as a probe's id rounds the same time: so both are of one millisecond.
pub(super) fn micros_of(at: SystemTime) -> i64 {
    at.duration_since(UNIX_EPOCH).map_or(0, |since| i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}

pub(super) fn time_of(micros: i64) -> SystemTime {
    UNIX_EPOCH + Duration::from_micros(u64::try_from(micros).unwrap_or_default())
}

pub(super) fn seconds(micros: i64) -> f64 {
    micros as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn microseconds_of_durations_are_the_nearest_and_those_of_times_are_begun() {
        assert_eq!(micros(Duration::from_nanos(1499)), 1);
        assert_eq!(micros(Duration::from_nanos(1500)), 2);
        let at = UNIX_EPOCH + Duration::from_micros(1_763_180_000_123_456);
        assert_eq!((micros_of(at), time_of(micros_of(at))), (1_763_180_000_123_456, at));
        assert_eq!(micros_of(at + Duration::from_nanos(999)), 1_763_180_000_123_456);
        assert_eq!(micros_of(UNIX_EPOCH - Duration::from_secs(1)), 0);
    }
}
