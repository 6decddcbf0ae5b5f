//! What each objective promises, and what it counts.

use super::Kind::{Counter, Gauge};
use super::{Family, Scope, family};

pub const SLO_EVENTS: Family = family(
    "sloprobe_slo_events_total",
    Counter,
    Scope::Slo,
    "Probes that an objective counts, failed ones included. A skipped due time is none, nor is a probe that lacks what the objective is about.",
);
pub const SLO_BAD_EVENTS: Family = family(
    "sloprobe_slo_bad_events_total",
    Counter,
    Scope::Slo,
    "Those of them that were bad: failed, over the bound, or badly answered.",
);
pub const SLO_BUDGET: Family = family(
    "sloprobe_slo_error_budget_ratio",
    Gauge,
    Scope::Slo,
    "The share of events that may be bad: 1 minus the objective.",
);
pub const SLO_WINDOW: Family =
    family("sloprobe_slo_window_seconds", Gauge, Scope::Slo, "The time that the error budget is for.");
pub const SLO_THRESHOLD: Family = family(
    "sloprobe_slo_threshold_seconds",
    Gauge,
    Scope::Bounded,
    "The most that the metric of a good probe may be, of objectives about a duration: for drawing it beside what was measured.",
);
