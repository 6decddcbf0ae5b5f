//! Every metric, declared once: what registers it, what documents it and what tests it all read this.

mod buckets;
mod count;
mod history;
mod labels;
mod markdown;
mod objectives;
mod releases;

use crate::compare::Metric;
pub use buckets::{Bounds, MOST_FEW};
pub use count::Form;
pub use history::{HISTORY_BYTES, HISTORY_FAILING, HISTORY_LOST, HISTORY_PROBES};
pub use labels::{ACCEPTED, DRAFTED, Direction, Label, Phase, ServerPhase};
pub use markdown::markdown;
pub use objectives::{SLO_BAD_EVENTS, SLO_BUDGET, SLO_EVENTS, SLO_THRESHOLD, SLO_WINDOW};
pub use releases::{
    COMPARED, SHARE_SHIFT, SHARE_SHIFT_LOWER, SHARE_SHIFT_UPPER, SHIFT, SHIFT_LOWER, SHIFT_UPPER, VERDICT,
};

/// One metric family.
#[derive(Debug, Clone, Copy)]
pub struct Family {
    pub name: &'static str,
    pub kind: Kind,
    pub scope: Scope,
    /// A label beside those of the scope.
    pub label: Option<Label>,
    pub help: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    Counter,
    Gauge,
    Histogram(Bounds),
}

/// What the series of a family stand for, and so their labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// `target`, `workload`
    Workload,
    /// The same, of workloads with planted facts. A series comes with the first answer about such a fact.
    Rag,
    /// `target`, `workload`, `slo`: each objective and what it covers.
    Slo,
    /// The same and `metric`, of objectives that bound a duration.
    Bounded,
    /// `target`, `workload`. A series comes when what it counts is first stated or measured: most servers state little.
    Stated,
    /// `target`
    Target,
    /// `target`, of targets over https whose certificates are not verified: most have none.
    Unverified,
    /// The same, of targets over https. A series comes with the first handshake: no value before it would be
    /// true, and a 0 would be a certificate that ended in 1970.
    Secure,
    /// `target`, `workload`, `metric`: what is compared of two releases. Series come with the first change of a target:
    /// before it there is nothing to compare.
    Compared(&'static [Metric]),
    /// `target`, of targets that changed: series come likewise.
    Changed,
    /// The same, of all targets. A series comes with the first sighting: when a release began is not known before.
    Released,
    /// The daemon itself: no label.
    Daemon,
}

impl Scope {
    /// Whether its series come with the first change of a target, if there is one at all.
    pub fn awaits_a_change(self) -> bool {
        matches!(self, Self::Compared(_) | Self::Changed)
    }

    /// Whether its series are there from the start.
    pub fn is_there_at_once(self) -> bool {
        !matches!(self, Self::Secure | Self::Released | Self::Stated | Self::Rag | Self::Unverified)
            && !self.awaits_a_change()
    }
}

const fn family(name: &'static str, kind: Kind, scope: Scope, help: &'static str) -> Family {
    Family { name, kind, scope, label: None, help }
}

const fn labelled(mut family: Family, label: Label) -> Family {
    family.label = Some(label);
    family
}

use Kind::{Counter, Gauge, Histogram};
use Scope::{Daemon, Workload};

pub const PROBES: Family = family("sloprobe_probes_total", Counter, Workload, "Probes started.");
pub const FAILURES: Family = labelled(
    family(
        "sloprobe_failures_total",
        Counter,
        Workload,
        "Probes that failed, by the one reason that applies first.",
    ),
    Label::Failure,
);
pub const ANSWERS: Family = labelled(
    family("sloprobe_answers_total", Counter, Workload, "Successful probes, by the verdict on the answer."),
    Label::Verdict,
);
pub const FACTS: Family = labelled(
    family(
        "sloprobe_facts_total",
        Counter,
        Scope::Rag,
        "Answers about a planted fact that could be judged, by the depth of the fact in percent of the prompt.",
    ),
    Label::Depth,
);
pub const FACTS_FOUND: Family = labelled(
    family("sloprobe_facts_found_total", Counter, Scope::Rag, "Those of them that were right."),
    Label::Depth,
);
pub const COLD_CACHED: Family = family(
    "sloprobe_cold_cached_total",
    Counter,
    Workload,
    "Probes whose prompt was new from its first word, and of which the server says that much was in its cache.",
);
pub const SKIPPED: Family = labelled(
    family("sloprobe_skipped_total", Counter, Workload, "Due times that were not served, by reason."),
    Label::Skip,
);
pub const SUSPECT: Family = family(
    "sloprobe_suspect_total",
    Counter,
    Workload,
    "Probes measured while their thread of this daemon was late. Their durations may be this host's doing and enter no histogram and no objective about a duration.",
);
pub const TTFT: Family = family(
    "sloprobe_ttft_seconds",
    Histogram(buckets::FIRST),
    Workload,
    "Time to first token of successful probes: request sent to first generated text, reasoning or tool call. A role-only chunk is no token.",
);
pub const ANSWER_TTFT: Family = family(
    "sloprobe_answer_ttft_seconds",
    Histogram(buckets::FIRST),
    Workload,
    "Like TTFT, to the first token of the answer proper: differs for models that reason first.",
);
pub const TPOT: Family = family(
    "sloprobe_tpot_seconds",
    Histogram(buckets::TOKEN),
    Workload,
    "Time per output token after the first arrival, one value per successful probe.",
);
pub const ITL: Family = family(
    "sloprobe_itl_seconds",
    Histogram(buckets::TOKEN),
    Workload,
    "Inter-token latency of successful probes: each gap between arrivals, divided by the tokens it brought, counted once per token.",
);
pub const STALL: Family = family(
    "sloprobe_stall_seconds",
    Histogram(buckets::STALL),
    Workload,
    "Longest gap between two arrivals after the first token, one value per successful probe.",
);
pub const LATENCY: Family = family(
    "sloprobe_latency_seconds",
    Histogram(buckets::WHOLE),
    Workload,
    "From the start of a successful probe, connection included, to the end of its answer.",
);
pub const CONNECTION: Family = labelled(
    family(
        "sloprobe_connection_seconds",
        Histogram(buckets::CONNECTION),
        Scope::Stated,
        "Phases of the connection: resolve, connect and tls of a new one (none of a reused one), wait from request sent to headers. Failed probes count as far as they came.",
    ),
    Label::Phase,
);
pub const SERVER: Family = labelled(
    family(
        "sloprobe_server_seconds",
        Histogram(buckets::SERVER),
        Scope::Stated,
        "Where the server itself says its time went, for servers that tell; successful probes.",
    ),
    Label::ServerPhase,
);
pub const TOKENS_PER_SECOND: Family = family(
    "sloprobe_output_tokens_per_second",
    Histogram(buckets::SPEED),
    Workload,
    "Output tokens per second after the first arrival, one value per successful probe; over all of its time if it was not streamed.",
);
pub const TOKENS: Family = labelled(
    family(
        "sloprobe_tokens_total",
        Counter,
        Workload,
        "Tokens that the target reported, failed probes included.",
    ),
    Label::Direction,
);
pub const SPECULATIVE_TOKENS: Family = labelled(
    family(
        "sloprobe_speculative_tokens_total",
        Counter,
        Scope::Stated,
        "Speculative decoding, of servers that state it: tokens that a draft proposed, and those of them that the model accepted.",
    ),
    Label::Speculation,
);
pub const IN_FLIGHT: Family = family("sloprobe_in_flight", Gauge, Workload, "Probes under way.");
pub const UP: Family = family(
    "sloprobe_up",
    Gauge,
    Scope::Target,
    "1 if the newest finished probe succeeded, 0 if it failed or none has finished.",
);
pub const LAST_SUCCESS: Family = family(
    "sloprobe_last_success_timestamp_seconds",
    Gauge,
    Workload,
    "When the newest successful probe finished; 0 if there was none.",
);
pub const LAST_PROBE: Family = family(
    "sloprobe_last_probe_timestamp_seconds",
    Gauge,
    Workload,
    "When the newest probe finished, whatever its outcome; 0 if there was none.",
);
pub const INTERVAL: Family = family(
    "sloprobe_probe_interval_seconds",
    Gauge,
    Workload,
    "Configured mean time between two probes: absence alerts compare with it.",
);
pub const TARGET_INFO: Family = labelled(
    family(
        "sloprobe_target_info",
        Gauge,
        Scope::Target,
        "Always 1: what the target is (api, model; served model, engine, version and fingerprint as found), with the labels of the configuration. Several series while several releases answer in turn.",
    ),
    Label::Info,
);
pub const RELEASE_TIME: Family = family(
    "sloprobe_release_timestamp_seconds",
    Gauge,
    Scope::Released,
    "When the target's present release began: another engine, version, served model or fingerprint, other labels, or a mark. No series before the first sighting.",
);
pub const CERTIFICATE_EXPIRY: Family = family(
    "sloprobe_certificate_expiry_timestamp_seconds",
    Gauge,
    Scope::Secure,
    "When the certificates that an https target presented last, trusted or not, end: the earliest of the chain. No series before the first handshake.",
);
pub const CERTIFICATE_UNVERIFIED: Family = family(
    "sloprobe_certificate_unverified",
    Gauge,
    Scope::Unverified,
    "Always 1: the certificate of this target is not verified (insecure_skip_verify), so anybody on the way can answer in its place. No series for other targets.",
);
pub const LAG: Family = family(
    "sloprobe_lag_seconds",
    Histogram(buckets::LAG),
    Daemon,
    "How late probes started after their due time: the daemon's own doing.",
);
pub const LOOP_LAG: Family = family(
    "sloprobe_loop_lag_seconds",
    Histogram(buckets::LAG),
    Daemon,
    "How late the measuring threads ran a timer, observed many times a second.",
);
pub const RELOAD_OK: Family = family(
    "sloprobe_config_last_reload_successful",
    Gauge,
    Daemon,
    "1 if the newest attempt to load the configuration succeeded.",
);
pub const RELOAD_TIME: Family = family(
    "sloprobe_config_last_reload_success_timestamp_seconds",
    Gauge,
    Daemon,
    "When the configuration in use was loaded.",
);
pub const BUILD_INFO: Family = labelled(
    family("sloprobe_build_info", Gauge, Daemon, "Always 1: version and revision of this daemon."),
    Label::Info,
);

/// In the order of the documentation.
pub const ALL: [&Family; 50] = [
    &PROBES,
    &FAILURES,
    &ANSWERS,
    &FACTS,
    &FACTS_FOUND,
    &COLD_CACHED,
    &SKIPPED,
    &SUSPECT,
    &TTFT,
    &ANSWER_TTFT,
    &TPOT,
    &ITL,
    &STALL,
    &LATENCY,
    &CONNECTION,
    &SERVER,
    &TOKENS_PER_SECOND,
    &TOKENS,
    &SPECULATIVE_TOKENS,
    &IN_FLIGHT,
    &UP,
    &LAST_SUCCESS,
    &LAST_PROBE,
    &INTERVAL,
    &SLO_EVENTS,
    &SLO_BAD_EVENTS,
    &SLO_BUDGET,
    &SLO_WINDOW,
    &SLO_THRESHOLD,
    &TARGET_INFO,
    &RELEASE_TIME,
    &CERTIFICATE_EXPIRY,
    &CERTIFICATE_UNVERIFIED,
    &VERDICT,
    &SHIFT,
    &SHIFT_LOWER,
    &SHIFT_UPPER,
    &SHARE_SHIFT,
    &SHARE_SHIFT_LOWER,
    &SHARE_SHIFT_UPPER,
    &COMPARED,
    &LAG,
    &LOOP_LAG,
    &HISTORY_PROBES,
    &HISTORY_LOST,
    &HISTORY_BYTES,
    &HISTORY_FAILING,
    &RELOAD_OK,
    &RELOAD_TIME,
    &BUILD_INFO,
];

impl Family {
    /// Names of the labels with a closed set of values, scope first.
    pub fn labels(&self) -> Vec<&'static str> {
        let scope: &[&str] = match self.scope {
            Scope::Workload | Scope::Rag | Scope::Stated => &["target", "workload"],
            Scope::Slo => &["target", "workload", "slo"],
            Scope::Bounded => &["target", "workload", "slo", "metric"],
            Scope::Target | Scope::Secure | Scope::Unverified | Scope::Released | Scope::Changed => {
                &["target"]
            }
            Scope::Compared(_) => &["target", "workload", "metric"],
            Scope::Daemon => &[],
        };
        scope.iter().copied().chain(self.label.and_then(Label::name)).collect()
    }
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Counter => "counter",
            Gauge => "gauge",
            Histogram(_) => "histogram",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_the_conventions_of_prometheus() {
        for family in ALL {
            assert!(family.name.starts_with("sloprobe_"), "{}", family.name);
            assert_eq!(family.name.ends_with("_total"), family.kind == Counter, "{}", family.name);
            assert!(family.help.ends_with('.'), "{}", family.name);
        }
    }
}
