//! What the newest comparison of each target found, as series: none before a target has changed, and none that the newest
//! comparison does not have.

use super::Recorder;
use crate::catalogue::{self as cat, Family};
use crate::compare::{Change, Comparison, Quantile, Shift, Verdict};
use crate::domain::clock::unix_seconds;
use crate::series::{Labels, Value, Writer};

pub(super) const FAMILIES: [&Family; 8] = [
    &cat::VERDICT,
    &cat::SHIFT,
    &cat::SHIFT_LOWER,
    &cat::SHIFT_UPPER,
    &cat::SHARE_SHIFT,
    &cat::SHARE_SHIFT_LOWER,
    &cat::SHARE_SHIFT_UPPER,
    &cat::COMPARED,
];

#[derive(Debug, Clone)]
pub(super) struct Series {
    pub(super) family: &'static str,
    labels: Labels,
    value: f64,
}

impl Recorder {
    /// What became of a target with its present release: all that was shown of it before goes.
    pub fn compared(&self, comparison: &Comparison) {
        if let Some(target) = self.shown().target(&comparison.target) {
            target.compared(series(comparison));
        }
    }

    /// There is nothing to compare a target with.
    pub fn uncompared(&self, target: &str) {
        if let Some(target) = self.shown().target(target) {
            target.compared(Vec::new());
        }
    }
}

impl Series {
    pub(super) fn show(&self, writer: &mut dyn Writer) {
        writer.series(&[], &self.labels, Value::Gauge(self.value));
    }
}

/// Every series of one target.
fn series(comparison: &Comparison) -> Vec<Series> {
    let target = &*comparison.target;
    let since = one(&cat::COMPARED, &[("target", target)], unix_seconds(comparison.after.from));
    let changes = comparison.places.iter().flat_map(|place| {
        place.changes.iter().flat_map(|change| of_change([target, &*place.workload], change))
    });
    std::iter::once(since).chain(changes).collect()
}

fn of_change([target, workload]: [&str; 2], change: &Change) -> Vec<Series> {
    let place = [("metric", change.metric.label()), ("target", target), ("workload", workload)];
    let verdicts = Verdict::ALL.map(|verdict| {
        let is_present = f64::from(u8::from(verdict == change.verdict));
        let [metric, target, workload] = place;
        one(&cat::VERDICT, &[metric, target, ("verdict", verdict.label()), workload], is_present)
    });
    let shifts = change.shifts.iter().filter(|shift| {
        let is_share = shift.quantile == Quantile::Share;
        // No number is no estimate, and bounds of nothing tell nothing.
        is_share == change.metric.is_share() && shift.estimate.is_finite()
    });
    let shifts = shifts.flat_map(|shift| of_shift(place, shift));
    verdicts.into_iter().chain(shifts).collect()
}

/// The estimate and its bounds. What is not known is as wide as it can be: a ratio has no upper end, a share of probes
/// cannot change by more than all of them.
fn of_shift([metric, target, workload]: [(&'static str, &str); 3], shift: &Shift) -> [Series; 3] {
    let known = |bound: f64, otherwise: f64| if bound.is_finite() { bound } else { otherwise };
    let Shift { quantile, estimate, lower, upper, .. } = *shift;
    let (families, bounds, label) = match quantile {
        Quantile::Share => (
            [&cat::SHARE_SHIFT, &cat::SHARE_SHIFT_LOWER, &cat::SHARE_SHIFT_UPPER],
            [known(lower, -1.0), known(upper, 1.0)],
            None,
        ),
        Quantile::Middle | Quantile::P50 | Quantile::P90 | Quantile::P99 => (
            [&cat::SHIFT, &cat::SHIFT_LOWER, &cat::SHIFT_UPPER],
            [known(lower, 0.0), known(upper, f64::INFINITY)],
            Some(("quantile", quantile.label())),
        ),
    };
    let labels: Vec<_> = [Some(metric), label, Some(target), Some(workload)].into_iter().flatten().collect();
    let [of_estimate, of_lower, of_upper] = families;
    [(of_estimate, estimate), (of_lower, bounds[0]), (of_upper, bounds[1])]
        .map(|(family, value)| one(family, &labels, value))
}

fn one(family: &Family, labels: &[(&str, &str)], value: f64) -> Series {
    Series { family: family.name, labels: Labels::new(labels.iter().copied()), value }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
    use std::time::{Duration, SystemTime};

    use super::*;
    use crate::compare::{Amount, Metric, Place, Side, Summary};
    use crate::domain::{Slo, fixture};

    fn recorder() -> Recorder {
        Recorder::new(&[fixture::target("t", &["w"]), fixture::target("u", &["w"])], &[])
    }

    /// What Prometheus would read about releases: each series without the common part of its name, and its value.
    fn exposed(recorder: &Recorder) -> BTreeMap<String, f64> {
        let text = recorder.text();
        let is_ours = |line: &&str| FAMILIES.iter().any(|family| line.split('{').next() == Some(family.name));
        let ours = text.lines().filter(is_ours).map(|line| line.rsplit_once(' ').unwrap());
        ours.map(|(series, value)| (series["sloprobe_release_".len()..].to_owned(), value.parse().unwrap()))
            .collect()
    }

    fn shift(quantile: Quantile, estimate: f64, lower: f64, upper: f64) -> Shift {
        Shift { quantile, estimate, lower, upper, verdict: Verdict::Undecided }
    }

    fn change(metric: Metric, verdict: Verdict, shifts: Vec<Shift>) -> Change {
        let nothing = Summary { samples: 0, amount: Amount::Nothing };
        Change { metric, before: nothing, after: nothing, shifts, verdict, need: None }
    }

    fn comparison(target: &str, workload: &str, changes: Vec<Change>) -> Comparison {
        let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        let side = |name: &str, from| Side { name: name.into(), from: at(from), to: at(from + 1), probes: 9 };
        Comparison {
            target: target.into(),
            before: side("vllm 0.32.0", 1_800_000_000),
            after: side("vllm 0.33.0", 1_900_000_000),
            confidence: 0.99,
            margin: 0.05,
            places: vec![Place { workload: workload.into(), changes }],
        }
    }

    fn close(value: Option<&f64>, expected: f64) -> bool {
        value.is_some_and(|value| (value - expected).abs() < 1e-9)
    }

    #[test]
    fn before_the_first_change_there_is_nothing() {
        assert_eq!(exposed(&recorder()), BTreeMap::new());
    }

    #[test]
    fn a_comparison_becomes_a_verdict_a_shift_and_a_time() {
        let recorder = recorder();
        let middle = shift(Quantile::Middle, 1.2, 1.1, 1.3);
        let share = shift(Quantile::Share, 0.02, -0.01, 0.05);
        let changes = vec![
            change(Metric::Ttft, Verdict::Regressed, vec![middle, shift(Quantile::P99, 1.5, 0.9, 2.5)]),
            change(Metric::Failures, Verdict::Undecided, vec![share]),
        ];
        recorder.compared(&comparison("t", "w", changes));
        let shown = exposed(&recorder);
        let ttft = r#"metric="ttft",quantile="middle",target="t",workload="w""#;
        let tail = r#"metric="ttft",quantile="0.99",target="t",workload="w""#;
        let failures = r#"metric="failures",target="t",workload="w""#;
        for (series, expected) in [
            (r#"compared_timestamp_seconds{target="t"}"#.to_owned(), 1.9e9),
            (format!("shift_ratio{{{ttft}}}"), 1.2),
            (format!("shift_ratio_lower{{{ttft}}}"), 1.1),
            (format!("shift_ratio_upper{{{ttft}}}"), 1.3),
            (format!("shift_ratio{{{tail}}}"), 1.5),
            (format!("share_shift{{{failures}}}"), 0.02),
            (format!("share_shift_lower{{{failures}}}"), -0.01),
            (format!("share_shift_upper{{{failures}}}"), 0.05),
        ] {
            assert!(close(shown.get(&series), expected), "{series}: {shown:#?}");
        }
        for (metric, present) in [("ttft", "regressed"), ("failures", "undecided")] {
            for verdict in Verdict::ALL.map(Verdict::label) {
                let series =
                    format!(r#"verdict{{metric="{metric}",target="t",verdict="{verdict}",workload="w"}}"#);
                let expected = if verdict == present { 1.0 } else { 0.0 };
                assert!(close(shown.get(&series), expected), "{series}: {shown:#?}");
            }
        }
        assert_eq!(shown.len(), 1 + 2 * 4 + 2 * 3 + 3, "{shown:#?}");
    }

    #[test]
    fn what_is_not_known_is_as_wide_as_it_can_be() {
        let recorder = recorder();
        let (none, all) = (f64::NAN, f64::INFINITY);
        let changes = vec![
            change(Metric::Tpot, Verdict::Undecided, vec![shift(Quantile::Middle, 1.0, none, none)]),
            change(Metric::Stall, Verdict::Undecided, vec![shift(Quantile::Middle, 1.0, -all, all)]),
            change(Metric::Latency, Verdict::Undecided, vec![shift(Quantile::Middle, none, 0.5, 2.0)]),
            change(Metric::Failures, Verdict::Undecided, vec![shift(Quantile::Share, 0.0, none, all)]),
        ];
        recorder.compared(&comparison("t", "w", changes));
        let shown = exposed(&recorder);
        for metric in ["tpot", "stall"] {
            let place = format!(r#"{{metric="{metric}",quantile="middle",target="t",workload="w"}}"#);
            assert!(close(shown.get(&format!("shift_ratio_lower{place}")), 0.0), "{shown:#?}");
            assert_eq!(shown.get(&format!("shift_ratio_upper{place}")), Some(&f64::INFINITY), "{shown:#?}");
        }
        assert!(!shown.keys().any(|series| series.contains("shift") && series.contains("latency")));
        let place = r#"{metric="failures",target="t",workload="w"}"#;
        assert!(close(shown.get(&format!("share_shift_lower{place}")), -1.0), "{shown:#?}");
        assert!(close(shown.get(&format!("share_shift_upper{place}")), 1.0), "{shown:#?}");
    }

    #[test]
    fn the_next_comparison_takes_the_place_of_the_one_before_and_leaves_other_targets_alone() {
        let recorder = recorder();
        let regressed = || vec![change(Metric::Ttft, Verdict::Regressed, Vec::new())];
        recorder.compared(&comparison("t", "w", regressed()));
        recorder.compared(&comparison("u", "w", regressed()));
        let of = |target: &str| {
            let shown = exposed(&recorder).into_iter();
            let of = format!(r#"target="{target}""#);
            shown.filter(|(series, _)| series.contains(&of)).collect::<BTreeMap<_, _>>()
        };
        let other = of("u");
        assert_eq!(other.len(), 5, "{other:#?}");

        recorder.compared(&comparison("t", "v", vec![change(Metric::Tpot, Verdict::Same, Vec::new())]));
        let shown = of("t");
        assert_eq!(shown.len(), 5, "{shown:#?}");
        let same = r#"verdict{metric="tpot",target="t",verdict="same",workload="v"}"#;
        assert!(close(shown.get(same), 1.0), "{shown:#?}");
        assert_eq!(of("u"), other);

        recorder.uncompared("t");
        recorder.uncompared("t");
        assert_eq!((of("t"), of("u")), (BTreeMap::new(), other));
    }

    #[test]
    fn every_reading_is_of_one_comparison_and_not_of_two() {
        let recorder = recorder();
        let of = |workload, verdict| {
            comparison("t", workload, Metric::ALL.map(|metric| change(metric, verdict, Vec::new())).into())
        };
        let turns = [of("w", Verdict::Same), of("v", Verdict::Improved)];
        recorder.compared(&turns[0]);
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Relaxed) {
                    for turn in &turns {
                        recorder.compared(turn);
                    }
                }
            });
            let readings: Vec<_> = (0..300).map(|_| exposed(&recorder)).collect();
            is_over.store(true, Relaxed);
            for shown in readings {
                let verdicts: Vec<_> =
                    shown.iter().filter(|(series, _)| series.starts_with("verdict{")).collect();
                assert_eq!(verdicts.len(), Metric::ALL.len() * Verdict::ALL.len());
                let present = verdicts.iter().filter(|(_, value)| **value > 0.5);
                assert_eq!(present.count(), Metric::ALL.len());
            }
        });
    }

    #[test]
    fn a_whole_comparison_has_as_many_series_as_the_catalogue_says_at_most() {
        let targets = [fixture::target("t", &["w"])];
        let recorder = Recorder::new(&targets, &[]);
        let shifts = |metric: Metric| -> Vec<_> {
            let quantiles = if metric.is_share() { vec![Quantile::Share] } else { Quantile::ALL.to_vec() };
            quantiles.into_iter().map(|quantile| shift(quantile, 1.0, 0.9, 1.1)).collect()
        };
        let changes = Metric::ALL.map(|metric| change(metric, Verdict::Undecided, shifts(metric)));
        recorder.compared(&comparison("t", "w", changes.into()));
        let none: [Arc<Slo>; 0] = [];
        let announced: usize =
            FAMILIES.iter().map(|family| family.series(&targets, &none, cat::Form::CLASSIC)).sum();
        assert_eq!(exposed(&recorder).len(), announced);
    }
}
