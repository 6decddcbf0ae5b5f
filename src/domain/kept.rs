//! One probe as it is kept and compared later: numbers alone, small enough for a million of them.

use std::sync::Arc;

use super::{Failure, ReleaseId, Verdict};

/// Durations in seconds; absent is what a probe did not show, and all durations of a failed one.
#[derive(Debug, Clone, PartialEq)]
pub struct Kept {
    /// When it started, in seconds since 1970.
    pub at: f64,
    pub target: Arc<str>,
    pub workload: Arc<str>,
    pub release: ReleaseId,
    /// It was sent while two releases answered in turn: nobody knows whose it is.
    pub mixed: bool,
    /// The probe's own event loop was late while this was measured.
    pub suspect: bool,
    /// `None` is success.
    pub failure: Option<Failure>,
    pub verdict: Option<Verdict>,
    pub ttft: Option<f64>,
    pub answer_ttft: Option<f64>,
    pub tpot: Option<f64>,
    /// The 99th percentile of the answer's own gaps.
    pub itl_p99: Option<f64>,
    pub stall: Option<f64>,
    pub latency: Option<f64>,
}
