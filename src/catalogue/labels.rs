//! Labels beside target and workload: every value that can occur is known here.

use crate::compare::{self, Quantile};
use crate::domain::{Depth, Failure, Skip, Verdict};

/// A label with a closed set of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Label {
    Failure,
    Verdict,
    Skip,
    Phase,
    ServerPhase,
    Direction,
    Speculation,
    Depth,
    Quantile,
    /// What is known of a release beside the one before.
    ReleaseVerdict,
    /// Free text about the target or the build; only on info metrics.
    Info,
}

/// The parts of making a connection and waiting for an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    Resolve,
    Connect,
    Tls,
    Wait,
}

/// The parts of an answer's time on the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerPhase {
    Queue,
    Prefill,
    Decode,
    Load,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    Prompt,
    CachedPrompt,
    Reasoning,
    Output,
}

/// The values of [`Label::Speculation`].
pub const DRAFTED: &str = "drafted";
pub const ACCEPTED: &str = "accepted";

impl Label {
    /// None for info metrics, whose labels depend on the configuration.
    pub fn name(self) -> Option<&'static str> {
        match self {
            Self::Failure | Self::Skip => Some("reason"),
            Self::Verdict | Self::ReleaseVerdict => Some("verdict"),
            Self::Phase | Self::ServerPhase => Some("phase"),
            Self::Direction => Some("direction"),
            Self::Speculation => Some("kind"),
            Self::Depth => Some("depth"),
            Self::Quantile => Some("quantile"),
            Self::Info => None,
        }
    }

    pub fn values(self) -> Vec<&'static str> {
        match self {
            Self::Failure => Failure::ALL.iter().map(|f| f.label()).collect(),
            Self::Verdict => Verdict::ALL.iter().map(|v| v.label()).collect(),
            Self::Skip => Skip::ALL.iter().map(|s| s.label()).collect(),
            Self::Phase => Phase::ALL.iter().map(|p| p.label()).collect(),
            Self::ServerPhase => ServerPhase::ALL.iter().map(|p| p.label()).collect(),
            Self::Direction => Direction::ALL.iter().map(|d| d.label()).collect(),
            Self::Speculation => vec![DRAFTED, ACCEPTED],
            Self::Depth => Depth::BANDS.to_vec(),
            Self::Quantile => Quantile::ALL.iter().map(|q| q.label()).collect(),
            Self::ReleaseVerdict => compare::Verdict::ALL.iter().map(|v| v.label()).collect(),
            Self::Info => Vec::new(),
        }
    }
}

impl Phase {
    pub const ALL: [Self; 4] = [Self::Resolve, Self::Connect, Self::Tls, Self::Wait];

    pub fn label(self) -> &'static str {
        match self {
            Self::Resolve => "resolve",
            Self::Connect => "connect",
            Self::Tls => "tls",
            Self::Wait => "wait",
        }
    }
}

impl ServerPhase {
    pub const ALL: [Self; 4] = [Self::Queue, Self::Prefill, Self::Decode, Self::Load];

    pub fn label(self) -> &'static str {
        match self {
            Self::Queue => "queue",
            Self::Prefill => "prefill",
            Self::Decode => "decode",
            Self::Load => "load",
        }
    }
}

impl Direction {
    pub const ALL: [Self; 4] = [Self::Prompt, Self::CachedPrompt, Self::Reasoning, Self::Output];

    pub fn label(self) -> &'static str {
        match self {
            Self::Prompt => "prompt",
            Self::CachedPrompt => "cached_prompt",
            Self::Reasoning => "reasoning",
            Self::Output => "output",
        }
    }
}
