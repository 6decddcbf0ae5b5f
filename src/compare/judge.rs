//! From kept probes to verdicts: every workload and metric that both sides have.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::baseline::{Baseline, FEWEST};
use super::look::{self, After, Bar};
use super::outcome::{Amount, Change, Metric, Need, Place, Quantile, Shift, Summary, Verdict};
use super::share::{self, Seen, Usual};
use crate::domain::{self, Kept};

/// How sure, and about what.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Settings {
    /// With this probability at least, nothing is ever called wrongly.
    pub confidence: f64,
    /// A change within this counts as none.
    pub margin: f64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { confidence: 0.99, margin: 0.05 }
    }
}

/// The release before, learned once: many looks at the one after need nothing else of it.
#[derive(Debug, Clone)]
pub struct Before {
    workloads: BTreeMap<Arc<str>, Vec<Learned>>,
}

#[derive(Debug, Clone)]
struct Learned {
    metric: Metric,
    summary: Summary,
    usual: Option<Known>,
}

#[derive(Debug, Clone)]
enum Known {
    Duration(Baseline),
    Share(Usual),
}

/// The values of one metric of one workload, in order of time.
#[derive(Debug, Default)]
struct Series {
    at: Vec<f64>,
    values: Vec<f64>,
}

impl Before {
    /// `probes` are in order of time.
    pub fn learn<'a>(probes: impl IntoIterator<Item = &'a Kept>) -> Self {
        let workloads = by_workload(probes).into_iter().map(|(workload, probes)| {
            let learned = Metric::ALL.map(|metric| Learned::new(metric, &Series::of(metric, &probes)));
            (workload, learned.into())
        });
        Self { workloads: workloads.collect() }
    }

    /// What came after, in order of time, held against it.
    pub fn against<'a>(&self, probes: impl IntoIterator<Item = &'a Kept>, settings: Settings) -> Vec<Place> {
        let bar = bar_of(self.workloads.len(), settings);
        let after = by_workload(probes);
        let places = self.workloads.iter().filter_map(|(workload, learned)| {
            let probes = after.get(workload)?;
            let changes = learned.iter().map(|before| before.against(probes, bar));
            Some(Place { workload: Arc::clone(workload), changes: changes.collect() })
        });
        places.collect()
    }
}

/// The number of questions does not depend on what came after: the bar stays where it is while one looks.
pub(super) fn bar_of(workloads: usize, settings: Settings) -> Bar {
    let shares = Metric::ALL.iter().filter(|metric| metric.is_share()).count();
    let lenses = shares + (Metric::ALL.len() - shares) * Quantile::ALL.len();
    let questions = 2 * lenses * workloads.max(1);
    Bar { evidence: (questions as f64 / (1.0 - settings.confidence)).ln(), margin: settings.margin.ln_1p() }
}

impl Learned {
    fn new(metric: Metric, series: &Series) -> Self {
        let usual = (series.at.len() >= FEWEST).then(|| {
            if metric.is_share() {
                let happened: Vec<bool> = series.values.iter().map(|value| *value > 0.0).collect();
                Known::Share(Usual::learn(&series.at, &happened))
            } else {
                Known::Duration(Baseline::learn(&series.at, &series.values))
            }
        });
        Self { metric, summary: series.summary(metric), usual }
    }

    fn against(&self, probes: &[&Kept], bar: Bar) -> Change {
        let series = Series::of(self.metric, probes);
        let mut change = Change {
            metric: self.metric,
            before: self.summary,
            after: series.summary(self.metric),
            shifts: Vec::new(),
            verdict: Verdict::Undecided,
            need: None,
        };
        match &self.usual {
            Some(_) if series.at.is_empty() => {}
            None => {}
            Some(Known::Share(usual)) => {
                let seen = series.share();
                let shift = usual.shift(seen, bar);
                if shift.verdict == Verdict::Undecided {
                    change.need = usual.need(seen, bar);
                }
                change.shifts = vec![shift];
            }
            Some(Known::Duration(baseline)) => {
                let after = After::new(baseline, &series.at, &series.values);
                let shifts = baseline.lenses.iter().map(|(name, lens)| after.shift(lens, *name, bar));
                change.shifts = shifts.collect();
                let undecided = baseline.lenses.iter().zip(&change.shifts);
                let undecided = undecided.filter(|(_, shift)| holds_up(shift, bar));
                let needs =
                    undecided.map(|((_, lens), shift)| after.need(&baseline.values, lens, shift, bar));
                change.need = longest(needs.collect());
            }
        }
        change.verdict = together(&change, bar);
        if change.verdict != Verdict::Undecided {
            change.need = None;
        }
        change
    }
}

/// All of it is decided when its last part is; never, if a part never is.
fn longest(needs: Vec<Option<Need>>) -> Option<Need> {
    let needs: Option<Vec<Need>> = needs.into_iter().collect();
    needs?.into_iter().max_by_key(|need| need.probes)
}

/// How far it looks moved, in margins.
fn moved(shift: &Shift, bar: Bar) -> f64 {
    match shift.quantile {
        Quantile::Share => shift.estimate / share::MARGIN,
        quantile => shift.estimate.ln() / look::margin(quantile, bar.margin),
    }
}

/// Whether the whole is undecided because of this part.
fn holds_up(shift: &Shift, bar: Bar) -> bool {
    let matters = shift.quantile == Quantile::Middle || moved(shift, bar).abs() > 1.0;
    shift.verdict == Verdict::Undecided && matters
}

/// One part that got worse is a regression. It got better if a part did, and no other looks worse than it was. It is the
/// same if the middle is, for sure, and nothing else looks otherwise: to be sure of a tail takes many times as long, and
/// its own verdict says what is known of it.
fn together(change: &Change, bar: Bar) -> Verdict {
    let has = |verdict| change.shifts.iter().any(|shift| shift.verdict == verdict);
    let Some((middle, tails)) = change.shifts.split_first() else { return Verdict::Undecided };
    let moved = |shift: &Shift| moved(shift, bar);
    if has(Verdict::Regressed) {
        Verdict::Regressed
    } else if has(Verdict::Improved) && change.shifts.iter().all(|shift| moved(shift) <= 1.0) {
        Verdict::Improved
    } else if middle.verdict == Verdict::Same && tails.iter().all(|shift| moved(shift).abs() <= 1.0) {
        Verdict::Same
    } else {
        Verdict::Undecided
    }
}

fn by_workload<'a>(probes: impl IntoIterator<Item = &'a Kept>) -> BTreeMap<Arc<str>, Vec<&'a Kept>> {
    let mut workloads: BTreeMap<Arc<str>, Vec<&Kept>> = BTreeMap::new();
    for probe in probes {
        if let Some(own) = workloads.get_mut(&probe.workload) {
            own.push(probe);
        } else {
            workloads.insert(Arc::clone(&probe.workload), vec![probe]);
        }
    }
    workloads
}

impl Series {
    fn of(metric: Metric, probes: &[&Kept]) -> Self {
        let mut series = Self::default();
        for probe in probes {
            if let Some(value) = value(metric, probe) {
                series.at.push(probe.at);
                series.values.push(value);
            }
        }
        series
    }

    fn summary(&self, metric: Metric) -> Summary {
        let samples = self.values.len();
        let amount = if samples == 0 {
            Amount::Nothing
        } else if metric.is_share() {
            Amount::Share { count: self.values.iter().filter(|value| **value > 0.0).count() }
        } else {
            let mut sorted = self.values.clone();
            sorted.sort_by(f64::total_cmp);
            let at = |q| super::baseline::quantile(&sorted, q).exp();
            Amount::Spread { p50: at(0.5), p90: at(0.9), p99: at(0.99), max: at(1.0) }
        };
        Summary { samples, amount }
    }

    fn share(&self) -> Seen {
        let count = self.values.len() as f64;
        let length = self.at[self.at.len() - 1] - self.at[0];
        Seen { share: self.values.iter().sum::<f64>() / count, count, length }
    }
}

/// The logarithm of a duration, or 1 for what a share counts and 0 for what it does not; none if the probe says nothing
/// about it.
fn value(metric: Metric, probe: &Kept) -> Option<f64> {
    // A clock does not tell less than this apart, and 0 has no logarithm.
    let log = |seconds: Option<f64>| {
        seconds.filter(|_| probe.failure.is_none() && !probe.suspect).map(|seconds| seconds.max(1e-6).ln())
    };
    let counted = |did: bool| f64::from(u8::from(did));
    match metric {
        Metric::Ttft => log(probe.ttft),
        Metric::Tpot => log(probe.tpot),
        Metric::ItlP99 => log(probe.itl_p99),
        Metric::Stall => log(probe.stall),
        Metric::Latency => log(probe.latency),
        Metric::Failures => Some(counted(probe.failure.is_some())),
        Metric::BadAnswers => {
            let judged = probe.verdict.filter(|verdict| *verdict != domain::Verdict::Unchecked);
            judged.map(|verdict| counted(verdict.is_bad()))
        }
    }
}
