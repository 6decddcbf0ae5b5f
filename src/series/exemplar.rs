//! One probe that stands for many: from a point in a graph to what really happened.

use std::time::SystemTime;

use crate::domain::{ProbeId, Report};

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Exemplar {
    pub probe: ProbeId,
    pub value: f64,
    /// When it was counted.
    pub at: SystemTime,
}

impl Exemplar {
    pub fn of(report: &Report, value: f64, at: SystemTime) -> Self {
        Self { probe: report.id, value, at }
    }

    /// Names and values of its labels.
    pub fn labels(&self) -> Vec<(&'static str, String)> {
        vec![("probe_id", self.probe.to_string())]
    }
}
