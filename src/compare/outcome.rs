//! What a comparison found, as plain data: what the table, the JSON, the page and the metrics all show.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// Two sides of one target.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparison {
    pub target: Arc<str>,
    pub before: Side,
    pub after: Side,
    /// With at least this probability none of the verdicts is wrong, however often one looks: such as 0.99.
    pub confidence: f64,
    /// The margin of practical importance: a change within it counts as none. 0.05 is 5 %.
    pub margin: f64,
    /// One entry for each workload that both sides have.
    pub places: Vec<Place>,
}

/// One of the two.
#[derive(Debug, Clone, PartialEq)]
pub struct Side {
    /// Such as "vllm 0.33.0", or a range of time.
    pub name: String,
    pub from: SystemTime,
    pub to: SystemTime,
    pub probes: usize,
}

/// What one workload shows.
#[derive(Debug, Clone, PartialEq)]
pub struct Place {
    pub workload: Arc<str>,
    pub changes: Vec<Change>,
}

/// What one metric of a workload shows.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    pub metric: Metric,
    pub before: Summary,
    pub after: Summary,
    /// The middle first, then the quantiles; for a share of probes, that share alone.
    pub shifts: Vec<Shift>,
    /// Regressed if one of the shifts is; improved if one is and none looks worse; the same if the middle is, for sure, and
    /// no other looks otherwise.
    pub verdict: Verdict,
    /// What would decide it, while it is undecided and an end is in sight.
    pub need: Option<Need>,
}

/// What is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Metric {
    Ttft,
    Tpot,
    /// The 99th percentile of an answer's own gaps.
    ItlP99,
    Stall,
    Latency,
    /// The share of probes that failed.
    Failures,
    /// The share of judged answers that were bad.
    BadAnswers,
}

/// Durations in seconds, shares between 0 and 1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Summary {
    pub samples: usize,
    pub amount: Amount,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Amount {
    /// Durations in seconds.
    Spread { p50: f64, p90: f64, p99: f64, max: f64 },
    /// How many of the samples did it.
    Share { count: usize },
    /// There were no samples.
    Nothing,
}

/// How one quantile moved. For a duration a ratio: 1.2 is 20 % longer. For a share a difference: 0.02 is two percentage
/// points more.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shift {
    pub quantile: Quantile,
    pub estimate: f64,
    pub lower: f64,
    pub upper: f64,
    pub verdict: Verdict,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Quantile {
    /// The shift of the whole middle of the distribution: what moves all answers alike is seen here soonest.
    Middle,
    P50,
    P90,
    P99,
    /// Of a share of probes there are no quantiles.
    Share,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verdict {
    Regressed,
    Improved,
    /// Within the margin of practical importance.
    Same,
    Undecided,
}

/// What would decide it, if things go on as they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Need {
    pub probes: usize,
    pub time: Duration,
}

impl Metric {
    pub const ALL: [Self; 7] =
        [Self::Ttft, Self::Tpot, Self::ItlP99, Self::Stall, Self::Latency, Self::Failures, Self::BadAnswers];

    pub fn label(self) -> &'static str {
        match self {
            Self::Ttft => "ttft",
            Self::Tpot => "tpot",
            Self::ItlP99 => "itl_p99",
            Self::Stall => "stall",
            Self::Latency => "latency",
            Self::Failures => "failures",
            Self::BadAnswers => "bad_answers",
        }
    }

    /// A share of probes, not a duration.
    pub fn is_share(self) -> bool {
        matches!(self, Self::Failures | Self::BadAnswers)
    }
}

impl Quantile {
    /// Of durations.
    pub const ALL: [Self; 4] = [Self::Middle, Self::P50, Self::P90, Self::P99];

    pub fn label(self) -> &'static str {
        match self {
            Self::Middle => "middle",
            Self::P50 => "0.5",
            Self::P90 => "0.9",
            Self::P99 => "0.99",
            Self::Share => "share",
        }
    }
}

impl Verdict {
    pub const ALL: [Self; 4] = [Self::Regressed, Self::Improved, Self::Same, Self::Undecided];

    pub fn label(self) -> &'static str {
        match self {
            Self::Regressed => "regressed",
            Self::Improved => "improved",
            Self::Same => "same",
            Self::Undecided => "undecided",
        }
    }

    /// The worst of several: one regression is a regression, whatever else got better.
    pub fn overall(parts: impl IntoIterator<Item = Self>) -> Self {
        let parts: Vec<Self> = parts.into_iter().collect();
        [Self::Regressed, Self::Undecided, Self::Improved]
            .into_iter()
            .find(|verdict| parts.contains(verdict))
            .unwrap_or(if parts.is_empty() { Self::Undecided } else { Self::Same })
    }
}

impl Comparison {
    pub fn verdict(&self) -> Verdict {
        let changes = self.places.iter().flat_map(|place| &place.changes);
        Verdict::overall(changes.map(|change| change.verdict))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_regression_outweighs_everything() {
        use Verdict::{Improved, Regressed, Same, Undecided};
        assert_eq!(Verdict::overall([Improved, Regressed, Undecided]), Regressed);
        assert_eq!(Verdict::overall([Improved, Undecided, Same]), Undecided);
        assert_eq!(Verdict::overall([Improved, Same]), Improved);
        assert_eq!(Verdict::overall([Same, Same]), Same);
        assert_eq!(Verdict::overall([]), Undecided);
    }
}
