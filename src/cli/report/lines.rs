//! What a report is about: one line for each target and workload, or for all of one of them.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use clap::ValueEnum;

use super::objectives::{self, Judged};
use crate::config::Plan;
use crate::domain::Verdict;
use crate::history::{Figure, Tally};

/// What is added up into one line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum By {
    /// All workloads of a target
    Target,
    /// One workload at all targets
    Workload,
}

/// Not before, and before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Window {
    pub(super) from: SystemTime,
    pub(super) to: SystemTime,
}

#[derive(Debug, Clone)]
pub(super) struct Line {
    /// None is all of them.
    pub(super) target: Option<String>,
    pub(super) workload: Option<String>,
    pub(super) window: Window,
    pub(super) tally: Tally,
    pub(super) objectives: Vec<Judged>,
}

/// What was measured of one target, and when.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) target: String,
    pub(super) workload: String,
    pub(super) window: Window,
    pub(super) tally: Tally,
}

impl Window {
    pub(super) fn length(&self) -> Duration {
        self.to.duration_since(self.from).unwrap_or_default()
    }

    fn reach(self, other: Self) -> Self {
        Self { from: self.from.min(other.from), to: self.to.max(other.to) }
    }
}

impl Line {
    /// So many in each second of the window.
    pub(super) fn per_second(&self, count: u64) -> Option<f64> {
        let seconds = self.window.length().as_secs_f64();
        (seconds > 0.0).then(|| count as f64 / seconds)
    }

    pub(super) fn success_rate(&self) -> f64 {
        self.tally.succeeded() as f64 / self.tally.probes as f64
    }

    /// How fast one answer streams: 1 / mean TPOT.
    pub(super) fn stream_speed(&self) -> Option<f64> {
        self.tally.spread(Figure::Tpot).mean().filter(|tpot| *tpot > 0.0).map(|tpot| 1.0 / tpot)
    }

    /// How much text a token is.
    pub(super) fn characters_per_token(&self) -> Option<f64> {
        let tokens = &self.tally.tokens;
        (tokens.output > 0).then(|| tokens.characters as f64 / tokens.output as f64)
    }

    /// Right answers, and all that could be judged.
    pub(super) fn answers(&self) -> (u64, u64) {
        let checked = Verdict::ALL.into_iter().filter(|verdict| *verdict != Verdict::Unchecked);
        (self.tally.judged(Verdict::Right), checked.map(|verdict| self.tally.judged(verdict)).sum())
    }
}

/// In the order of their names.
pub(super) fn lines(parts: Vec<Part>, by: Option<By>, plan: Option<&Plan>) -> Vec<Line> {
    type Key = (Option<String>, Option<String>);
    let mut groups: BTreeMap<Key, Vec<Part>> = BTreeMap::new();
    for part in parts {
        let target = (by != Some(By::Workload)).then(|| part.target.clone());
        let workload = (by != Some(By::Target)).then(|| part.workload.clone());
        groups.entry((target, workload)).or_default().push(part);
    }
    let line = |((target, workload), parts): (Key, Vec<Part>)| {
        let window = parts.iter().map(|part| part.window).reduce(Window::reach)?;
        let mut tally = Tally::default();
        for part in &parts {
            tally.merge(&part.tally);
        }
        let parts: Vec<_> = parts.into_iter().map(|part| (part.target, part.workload, part.tally)).collect();
        let objectives = plan.map_or_else(Vec::new, |plan| objectives::judge(plan, &parts));
        Some(Line { target, workload, window, tally, objectives })
    };
    groups.into_iter().filter_map(line).collect()
}
