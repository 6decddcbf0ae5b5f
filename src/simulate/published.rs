//! Published measurements beside what the model does under the same load.
//!
//! Where a write-up leaves a length or a number of requests open, the load here states the assumption. Of the
//! figures reported, most are met within a tenth; [`nearness_report`] shows each. Not reached: the slowest
//! hundredth of gaps at 256 and 512 tokens per step, longer as published than any step of that size; the slowest
//! hundredth of times per token without chunking, which ten requests decide; some counts of failures.

use std::fmt::Write as _;

use super::load::{Figures, Lengths, Load};
use super::model::EngineSettings;
use super::profiles::Profile;

mod rows;

pub use rows::rows;

/// A figure that a write-up reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Figure {
    /// Mean time to first token.
    TtftMean,
    /// Its 90th percentile.
    TtftP90,
    /// Its 95th percentile.
    TtftP95,
    /// Its 99th percentile.
    TtftP99,
    /// Mean time per token after the first.
    TpotMean,
    /// Its 99th percentile over requests.
    TpotP99,
    /// Mean gap between tokens.
    GapMean,
    /// Median gap.
    GapMedian,
    /// 90th percentile of the gaps.
    GapP90,
    /// 99th percentile of the gaps.
    GapP99,
    /// Mean over requests of their longest gap.
    LongestGapMean,
    /// Mean time of a request.
    RequestMean,
    /// Tokens written per second.
    TokensPerSecond,
    /// Requests without a complete answer.
    Failed,
}

impl Figure {
    /// For tables.
    pub fn label(self) -> &'static str {
        match self {
            Self::TtftMean => "TTFT mean",
            Self::TtftP90 => "TTFT P90",
            Self::TtftP95 => "TTFT P95",
            Self::TtftP99 => "TTFT P99",
            Self::TpotMean => "TPOT mean",
            Self::TpotP99 => "TPOT P99",
            Self::GapMean => "gap mean",
            Self::GapMedian => "gap median",
            Self::GapP90 => "gap P90",
            Self::GapP99 => "gap P99",
            Self::LongestGapMean => "longest gap mean",
            Self::RequestMean => "request mean",
            Self::TokensPerSecond => "tok/s",
            Self::Failed => "failed",
        }
    }

    /// Its value in seconds, tokens per second, or requests.
    pub fn of(self, figures: &Figures) -> f64 {
        match self {
            Self::TtftMean => figures.ttft.mean(),
            Self::TtftP90 => figures.ttft.quantile(0.90),
            Self::TtftP95 => figures.ttft.quantile(0.95),
            Self::TtftP99 => figures.ttft.quantile(0.99),
            Self::TpotMean => figures.tpot.mean(),
            Self::TpotP99 => figures.tpot.quantile(0.99),
            Self::GapMean => figures.gap.mean(),
            Self::GapMedian => figures.gap.quantile(0.5),
            Self::GapP90 => figures.gap.quantile(0.90),
            Self::GapP99 => figures.gap.quantile(0.99),
            Self::LongestGapMean => figures.longest_gap.mean(),
            Self::RequestMean => figures.request.mean(),
            Self::TokensPerSecond => figures.tokens_per_second(),
            Self::Failed => figures.failed as f64,
        }
    }

    fn show(self, value: f64) -> String {
        match self {
            Self::TokensPerSecond | Self::Failed => format!("{value:.0}"),
            _ if value >= 100.0 => format!("{value:.0} s"),
            _ if value >= 1.0 => format!("{value:.1} s"),
            _ if value >= 0.1 => format!("{:.0} ms", value * 1000.0),
            _ => format!("{:.1} ms", value * 1000.0),
        }
    }
}

/// One figure with how near the model must come.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Expected {
    /// Which.
    pub figure: Figure,
    /// As published, in seconds, tokens per second, or requests.
    pub published: f64,
    /// Most relative deviation of the model.
    pub tolerance: f64,
}

/// One published measurement.
#[derive(Debug, Clone)]
pub struct Row {
    /// The profile that stands for it.
    pub profile: Profile,
    /// What distinguishes it from the profile's other rows.
    pub variant: String,
    /// The engine as it was set then.
    pub engine: EngineSettings,
    /// The load as it was then.
    pub load: Load,
    /// What was reported.
    pub expected: Vec<Expected>,
}

/// A figure as published and as simulated.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Nearness {
    /// What was asked for.
    pub expected: Expected,
    /// What the model did.
    pub simulated: f64,
}

impl Nearness {
    /// Relative deviation of the model, with its sign.
    pub fn deviation(&self) -> f64 {
        if self.expected.published == 0.0 {
            self.simulated
        } else {
            self.simulated / self.expected.published - 1.0
        }
    }

    fn cell(&self) -> String {
        let figure = self.expected.figure;
        format!(
            "{} {} → {}",
            figure.label(),
            figure.show(self.expected.published),
            figure.show(self.simulated)
        )
    }

    /// Within the tolerance.
    pub fn holds(&self) -> bool {
        self.deviation().abs() <= self.expected.tolerance
    }
}

impl Row {
    /// Runs the load on virtual time.
    pub fn measure(&self) -> Vec<Nearness> {
        let figures = self.load.run(&self.engine);
        let near =
            |expected: &Expected| Nearness { expected: *expected, simulated: expected.figure.of(&figures) };
        self.expected.iter().map(near).collect()
    }
}

/// Published and simulated figures as a Markdown table, a line for each load.
pub fn nearness_report() -> String {
    let mut text = String::from("| profile | load | published → simulated | worst |\n|---|---|---|---|\n");
    for row in rows() {
        let measured = row.measure();
        let cells: Vec<String> = measured.iter().map(Nearness::cell).collect();
        let worst = measured.iter().map(|near| near.deviation().abs()).fold(0.0, f64::max);
        let _ = writeln!(
            text,
            "| `{}` | {} | {} | {:.0} % |",
            row.profile,
            row.variant,
            cells.join("; "),
            100.0 * worst
        );
    }
    text
}

fn skewed(mean: f64, sigma: f64, from: u32, to: u32) -> Lengths {
    Lengths::Skewed { mean, sigma, from, to }
}
