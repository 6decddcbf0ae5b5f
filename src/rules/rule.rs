//! Rules as values: what is recorded, what alerts, in which group.

use std::fmt;
use std::time::Duration;

/// Rules that are evaluated one after the other, in this order: a rule may read what one before it recorded.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    pub name: &'static str,
    pub interval: Duration,
    pub rules: Vec<Rule>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Rule {
    Record { name: String, expr: String },
    Alert(Alert),
}

#[derive(Debug, Clone, PartialEq)]
pub struct Alert {
    pub name: &'static str,
    pub expr: String,
    /// How long the condition must hold before the alert fires.
    pub hold: Duration,
    /// How long it goes on firing when the condition no longer holds: else one good minute would resolve it.
    pub keep: Option<Duration>,
    pub severity: Severity,
    /// Beside the severity.
    pub labels: Vec<(&'static str, String)>,
    pub summary: String,
    pub description: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// Wake somebody.
    Critical,
    /// For the next working day.
    Warning,
}

impl Severity {
    pub fn label(self) -> &'static str {
        match self {
            Self::Critical => "critical",
            Self::Warning => "warning",
        }
    }
}

/// A duration as Prometheus writes it: `1h30m`, `500ms`.
#[derive(Debug, Clone, Copy)]
pub struct Span(pub Duration);

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut left = self.0.as_millis().max(1);
        for (unit, size) in [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1000), ("ms", 1)] {
            if left >= size {
                write!(f, "{}{unit}", left / size)?;
                left %= size;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_written_as_prometheus_reads_them() {
        for (ms, text) in
            [(500, "500ms"), (90_000, "1m30s"), (259_200_000, "3d"), (4_320_000, "1h12m"), (0, "1ms")]
        {
            assert_eq!(Span(Duration::from_millis(ms)).to_string(), text);
        }
    }
}
