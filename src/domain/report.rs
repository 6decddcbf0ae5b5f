//! What came of one probe: plain data between the probe and everything that shows it.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::{Depth, Fault, Sample, Seed, ServerTimes, Target, Timeline, Tokens, Workload};

/// Every probe ends in exactly one of these, whatever happened.
#[derive(Debug, Clone)]
pub struct Report {
    pub target: Arc<Target>,
    pub workload: Arc<Workload>,
    /// When it started, by the wall clock.
    pub wall: SystemTime,
    pub seed: Seed,
    /// Where the fact lay that answers the question.
    pub depth: Option<Depth>,
    pub timeline: Timeline,
    pub sample: Sample,
    pub tokens: Tokens,
    /// What the server itself says about its time.
    pub times: ServerTimes,
    /// What the server calls its present self in the answer.
    pub fingerprint: Option<String>,
    /// `None` is success.
    pub fault: Option<Fault>,
    /// A judgement of the answer; only a successful probe has one.
    pub verdict: Option<Verdict>,
    /// What a bad answer says, for a person to look at; not kept of a good one.
    pub answer: Option<String>,
    /// The probe's own event loop was late while this was measured.
    pub suspect: bool,
    /// How long the server asked us to stay away.
    pub retry_after: Option<Duration>,
}

/// Whether the answer was any good: apart from whether it came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    Right,
    Wrong,
    Degenerate,
    Short,
    Unchecked,
}

impl Report {
    pub fn succeeded(&self) -> bool {
        self.fault.is_none()
    }

    /// `ok`, or the label of the failure.
    pub fn outcome(&self) -> &'static str {
        self.fault.as_ref().map_or("ok", |fault| fault.failure.label())
    }
}

impl Verdict {
    pub const ALL: [Self; 5] = [Self::Right, Self::Wrong, Self::Degenerate, Self::Short, Self::Unchecked];

    pub fn label(self) -> &'static str {
        match self {
            Self::Right => "right",
            Self::Wrong => "wrong",
            Self::Degenerate => "degenerate",
            Self::Short => "short",
            Self::Unchecked => "unchecked",
        }
    }
}
