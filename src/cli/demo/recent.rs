//! The probes of the last minutes, for quantiles over any sliding window.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use hdrhistogram::Histogram;
use tokio::time::Instant;

use crate::domain::{Quantiles, Report, Target, Verdict, Workload};
use crate::schedule::desk::Consumer;

/// Longer than any window that is shown.
const KEPT_FOR: Duration = Duration::from_secs(120);

/// Three significant digits: within 0.1 %.
const DIGITS: u8 = 3;

#[derive(Debug, Default)]
pub(super) struct RecentProbes(Mutex<Places>);

/// By the names of target and workload, oldest first.
type Places = HashMap<(Arc<str>, Arc<str>), VecDeque<Probe>>;

/// What the table shows of one probe.
#[derive(Debug)]
struct Probe {
    at: Instant,
    failed: bool,
    verdict: Option<Verdict>,
    ttft: Option<Duration>,
    tpot: Option<Duration>,
    stall: Option<Duration>,
}

/// What one target's workload showed in a window of time.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Window {
    pub(super) probes: usize,
    pub(super) failures: usize,
    /// Answers that could be judged, and those of them that were right.
    pub(super) judged: usize,
    pub(super) right: usize,
    pub(super) ttft: Option<Quantiles>,
    pub(super) tpot: Option<Quantiles>,
    pub(super) stall: Option<Quantiles>,
}

impl Consumer for RecentProbes {
    fn on_report(&self, report: &Report) {
        self.add(report, Instant::now());
    }
}

impl RecentProbes {
    fn add(&self, report: &Report, now: Instant) {
        let whole = |value: Option<Duration>| value.filter(|_| report.succeeded());
        let probe = Probe {
            at: now,
            failed: !report.succeeded(),
            verdict: report.verdict,
            ttft: whole(report.sample.ttft),
            tpot: whole(report.sample.tpot),
            stall: whole(report.sample.stall),
        };
        let mut places = self.places();
        let place = (report.target.name.clone(), report.workload.name.clone());
        let probes = places.entry(place).or_default();
        probes.push_back(probe);
        while probes.front().is_some_and(|old| now - old.at > KEPT_FOR) {
            probes.pop_front();
        }
    }

    /// What a target's workload showed since `since`.
    pub(super) fn window(&self, target: &Target, workload: &Workload, since: Instant) -> Window {
        let places = self.places();
        let place = (target.name.clone(), workload.name.clone());
        let probes = || places.get(&place).into_iter().flatten().filter(|probe| probe.at >= since);
        let of = |field: fn(&Probe) -> Option<Duration>| quantiles(probes().filter_map(field));
        Window {
            probes: probes().count(),
            failures: probes().filter(|probe| probe.failed).count(),
            judged: probes().filter(|probe| probe.verdict.is_some_and(|v| v != Verdict::Unchecked)).count(),
            right: probes().filter(|probe| probe.verdict == Some(Verdict::Right)).count(),
            ttft: of(|probe| probe.ttft),
            tpot: of(|probe| probe.tpot),
            stall: of(|probe| probe.stall),
        }
    }

    fn places(&self) -> MutexGuard<'_, Places> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn quantiles(values: impl Iterator<Item = Duration>) -> Option<Quantiles> {
    let mut histogram =
        Histogram::<u64>::new(DIGITS).expect("three digits are within what HDR histograms offer");
    for value in values {
        histogram.record(value.as_micros() as u64).expect("an auto-resizing histogram takes any value");
    }
    let at = |q: f64| Duration::from_micros(histogram.value_at_quantile(q));
    (!histogram.is_empty()).then(|| Quantiles {
        p50: at(0.5),
        p90: at(0.9),
        p95: at(0.95),
        p99: at(0.99),
        max: at(1.0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Failure, Sample, fixture};

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn quantiles_are_those_of_the_window_and_exact_to_a_thousandth() {
        let target = fixture::target("t", &["w"]);
        let start = Instant::now();
        let recent = RecentProbes::default();
        for second in 1..=100_u32 {
            let sample = Sample { ttft: Some(10 * MS * second), ..Sample::default() };
            recent.add(&fixture::report(&target, sample, None), start + second * 1000 * MS);
        }
        let window = recent.window(&target, &target.mix[0].workload, start + 51 * 1000 * MS);
        assert_eq!((window.probes, window.failures, window.tpot), (50, 0, None));
        let Quantiles { p50, max, .. } = window.ttft.unwrap();
        for (value, expected) in [(p50, 750 * MS), (max, 1000 * MS)] {
            assert!((value.as_secs_f64() / expected.as_secs_f64() - 1.0).abs() < 0.001, "{value:?}");
        }
    }

    #[test]
    fn failures_count_and_leave_the_quantiles_alone() {
        let target = fixture::target("t", &["w"]);
        let now = Instant::now();
        let recent = RecentProbes::default();
        let sample = Sample { ttft: Some(MS), ..Sample::default() };
        recent.add(&fixture::report(&target, sample, Some(Failure::Truncated.because("cut"))), now);
        let window = recent.window(&target, &target.mix[0].workload, now);
        assert_eq!((window.probes, window.failures, window.ttft), (1, 1, None));
    }

    #[test]
    fn what_is_older_than_any_window_is_forgotten() {
        let target = fixture::target("t", &["w"]);
        let start = Instant::now();
        let recent = RecentProbes::default();
        let report = fixture::report(&target, Sample::default(), None);
        recent.add(&report, start);
        recent.add(&report, start + KEPT_FOR + MS);
        assert_eq!(recent.window(&target, &target.mix[0].workload, start).probes, 1);
    }
}
