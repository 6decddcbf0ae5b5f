//! The name of one probe, by which its traces, exemplars and its row in the history find each other.

use std::fmt;
use std::str::FromStr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Bits for telling probes of one millisecond apart.
const COUNT_BITS: u32 = 20;
const COUNT_MASK: u64 = (1 << COUNT_BITS) - 1;

/// When the probe started, in milliseconds since 1970, and a count: unique in one history, in the order of time, and
/// positive as a signed number until the year 2248. Written as 16 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProbeId(u64);

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not the id of a probe; one has 16 digits, such as 1a0e5f3c2b100007")]
pub struct NotAProbeId;

impl ProbeId {
    /// A new id, for a probe that starts at `wall`.
    pub fn next(wall: SystemTime) -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        Self(milliseconds(wall) << COUNT_BITS | count & COUNT_MASK)
    }

    pub fn from_number(number: u64) -> Self {
        Self(number)
    }

    pub fn number(self) -> u64 {
        self.0
    }

    /// When the probe started, to the millisecond.
    pub fn started(self) -> SystemTime {
        UNIX_EPOCH + Duration::from_millis(self.0 >> COUNT_BITS)
    }
}

fn milliseconds(wall: SystemTime) -> u64 {
    wall.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64
}

impl fmt::Display for ProbeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl FromStr for ProbeId {
    type Err = NotAProbeId;

    fn from_str(text: &str) -> Result<Self, NotAProbeId> {
        let digits = text.trim();
        if digits.len() != 16 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(NotAProbeId);
        }
        u64::from_str_radix(digits, 16).map(Self).map_err(|_| NotAProbeId)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_one_instant_differ_and_tell_when_the_probe_started() {
        let wall = UNIX_EPOCH + Duration::from_micros(1_789_000_000_123_456);
        let [first, second] = [ProbeId::next(wall), ProbeId::next(wall)];
        assert_ne!(first, second);
        assert_eq!(first.started(), UNIX_EPOCH + Duration::from_millis(1_789_000_000_123));
        assert!(i64::try_from(first.number()).is_ok());
    }

    #[test]
    fn an_id_is_read_as_it_is_written() {
        let id = ProbeId::next(UNIX_EPOCH + Duration::from_secs(1_789_000_000));
        assert_eq!(id.to_string().parse(), Ok(id));
        for wrong in ["", "1a0e", "1a0e5f3c2b10000g", "+a0e5f3c2b100007", "1a0e5f3c2b1000071"] {
            assert_eq!(wrong.parse::<ProbeId>(), Err(NotAProbeId), "{wrong}");
        }
    }
}
