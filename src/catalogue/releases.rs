//! What a target's release is like beside the one before: nothing is known of that before the first change.

use super::{Family, Kind::Gauge, Label, Scope, family, labelled};
use crate::compare::Metric;

const DURATIONS: Scope =
    Scope::Compared(&[Metric::Ttft, Metric::Tpot, Metric::ItlP99, Metric::Stall, Metric::Latency]);
const SHARES: Scope = Scope::Compared(&[Metric::Failures, Metric::BadAnswers]);

const fn quantiles(name: &'static str, help: &'static str) -> Family {
    labelled(family(name, Gauge, DURATIONS, help), Label::Quantile)
}

pub const SHIFT: Family = quantiles(
    "sloprobe_release_shift_ratio",
    "How durations moved with the present release, the best estimate: after divided by before, 1.2 is 20 % longer. Middle is the whole middle of the distribution. No series before the first change of a target.",
);
pub const SHIFT_LOWER: Family = quantiles(
    "sloprobe_release_shift_ratio_lower",
    "The lower bound of that ratio, valid however often one looks; 0 if it has none yet.",
);
pub const SHIFT_UPPER: Family = quantiles(
    "sloprobe_release_shift_ratio_upper",
    "The upper bound of that ratio; +Inf if it has none yet.",
);
pub const SHARE_SHIFT: Family = family(
    "sloprobe_release_share_shift",
    Gauge,
    SHARES,
    "How a share of probes moved with the present release, the best estimate: after minus before, 0.02 is two percentage points more. No series before the first change of a target.",
);
pub const SHARE_SHIFT_LOWER: Family = family(
    "sloprobe_release_share_shift_lower",
    Gauge,
    SHARES,
    "The lower bound of that difference, valid however often one looks; -1 if it has none yet.",
);
pub const SHARE_SHIFT_UPPER: Family = family(
    "sloprobe_release_share_shift_upper",
    Gauge,
    SHARES,
    "The upper bound of that difference; 1 if it has none yet.",
);
pub const VERDICT: Family = labelled(
    family(
        "sloprobe_release_verdict",
        Gauge,
        Scope::Compared(&Metric::ALL),
        "1 for what is known of the present release beside the one before, 0 for the other verdicts. No series before the first change of a target.",
    ),
    Label::ReleaseVerdict,
);
pub const COMPARED: Family = family(
    "sloprobe_release_compared_timestamp_seconds",
    Gauge,
    Scope::Changed,
    "Since when the present release is compared with the one before. No series before the first change of a target.",
);
