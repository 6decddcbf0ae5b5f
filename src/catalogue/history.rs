//! How the keeping of what was measured goes.

use super::Kind::{Counter, Gauge};
use super::Scope::Daemon;
use super::{Family, family};

pub const HISTORY_PROBES: Family =
    family("sloprobe_history_probes_total", Counter, Daemon, "Probes written into the history.");
pub const HISTORY_LOST: Family = family(
    "sloprobe_history_lost_total",
    Counter,
    Daemon,
    "Probes that the history did not take: the disk refused, or could not keep up.",
);
pub const HISTORY_BYTES: Family =
    family("sloprobe_history_bytes", Gauge, Daemon, "How much room the history takes, on disk or in memory.");
pub const HISTORY_FAILING: Family = family(
    "sloprobe_history_failing",
    Gauge,
    Daemon,
    "1 while the history cannot be written. Probing goes on.",
);
