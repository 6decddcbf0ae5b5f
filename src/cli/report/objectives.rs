//! Objectives, judged by sums: as [`Slo::judge`] counts probes, but for bounds, which are exact to 0.1 %.

use std::sync::Arc;

use crate::config::Plan;
use crate::domain::{Failure, Goal, Measure, Slo, Verdict};
use crate::history::Tally;

/// What an objective makes of some probes.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Judged {
    pub(super) slo: Arc<Slo>,
    pub(super) events: u64,
    pub(super) bad: u64,
}

impl Judged {
    /// How many of a hundred events were good; none without events.
    pub(super) fn compliance(&self) -> Option<f64> {
        (self.events > 0).then(|| (self.events - self.bad) as f64 * 100.0 / self.events as f64)
    }

    pub(super) fn is_met(&self) -> Option<bool> {
        // What is allowed is not exact to the last bit, and it is counted in whole probes.
        (self.events > 0).then(|| self.bad as f64 <= self.allowed() + 1e-6)
    }

    /// The share of what may be bad in this window that is left; less than nothing if more was bad.
    pub(super) fn budget_left(&self) -> Option<f64> {
        (self.events > 0).then(|| 1.0 - self.bad as f64 / self.allowed())
    }

    fn allowed(&self) -> f64 {
        self.events as f64 * self.slo.objective.budget()
    }
}

/// The objectives that cover any of these, each with what it makes of those that it covers.
pub(super) fn judge(plan: &Plan, parts: &[(String, String, Tally)]) -> Vec<Judged> {
    let judged = plan.slos.iter().map(|slo| {
        let covered: Vec<_> = parts.iter().filter(|part| is_covered(plan, slo, &part.0, &part.1)).collect();
        let counts = covered.iter().map(|part| count(slo, &part.2));
        let (events, bad) = counts.fold((0, 0), |sum, part| (sum.0 + part.0, sum.1 + part.1));
        (!covered.is_empty()).then(|| Judged { slo: Arc::clone(slo), events, bad })
    });
    judged.flatten().collect()
}

/// What the configuration does not know any more has no objective.
fn is_covered(plan: &Plan, slo: &Slo, target: &str, workload: &str) -> bool {
    let target = plan.targets.iter().find(|known| *known.name == *target);
    let workload = plan.workloads.iter().find(|known| *known.name == *workload);
    target.zip(workload).is_some_and(|(target, workload)| slo.covers(target, workload))
}

/// All events, and the bad ones.
fn count(slo: &Slo, tally: &Tally) -> (u64, u64) {
    let forgiven = if slo.forgives_rate_limits { tally.failed_by(Failure::RateLimited) } else { 0 };
    let failed = tally.failed() - forgiven;
    let (events, bad) = match slo.goal {
        Goal::Availability => (tally.succeeded(), 0),
        Goal::Quality => {
            let bad = Verdict::ALL.into_iter().filter(|verdict| verdict.is_bad());
            let bad = bad.map(|verdict| tally.judged(verdict)).sum();
            (tally.judged(Verdict::Right) + bad, bad)
        }
        Goal::Below(measure, bound) => {
            let spread = tally.spread(measure.into());
            let (known, above) = (spread.count(), spread.above(bound));
            if measure == Measure::AnswerTtft {
                // An answer that never began did not begin in time.
                (tally.succeeded(), above + tally.succeeded() - known)
            } else {
                (known, above)
            }
        }
    };
    (events + failed, bad + failed)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Measure::{AnswerTtft, ItlP99, Latency, Stall, Tpot, Ttft};
    use super::*;
    use crate::domain::sample::Itl;
    use crate::domain::slo::Event;
    use crate::domain::{Objective, ReleaseId, Report, Sample, fixture};
    use crate::history::{History, Pick, Settings};

    const MS: Duration = Duration::from_millis(1);

    fn reports() -> Vec<Report> {
        let target = fixture::target("t", &["w"]);
        let report = |n: u32| {
            let sample = Sample {
                ttft: Some((40 + n) * MS),
                answer_ttft: (!n.is_multiple_of(3)).then_some((60 + n) * MS),
                tpot: (!n.is_multiple_of(4)).then_some((n % 90) * MS),
                itl: (0..n % 5).map(|gap| Itl { per_token: (n + gap) * MS, tokens: 1 + gap }).collect(),
                stall: (n % 5 > 1).then_some((n % 97) * MS),
                latency: Some((500 + n) * MS),
                ..Sample::default()
            };
            let failure = n.is_multiple_of(7).then(|| Failure::ALL[n as usize / 7 % 14].because("x"));
            let verdict = failure.is_none().then(|| Verdict::ALL[n as usize % 5]);
            Report { verdict, ..fixture::report(&target, sample, failure) }
        };
        (0..300).map(report).collect()
    }

    #[test]
    fn sums_give_what_judging_each_probe_gives() {
        let history = History::open(&Settings::default()).unwrap();
        let reports = reports();
        for report in &reports {
            history.keep(report, ReleaseId(1), false);
        }
        history.flush().unwrap();
        let tallies = history.reader().unwrap().tallies(&Pick::default()).unwrap();
        assert_eq!(tallies.len(), 1);
        let mut goals = vec![Goal::Availability, Goal::Quality];
        goals.extend([Ttft, AnswerTtft, Tpot, ItlP99, Stall].map(|measure| Goal::Below(measure, 77 * MS)));
        goals.push(Goal::Below(Latency, 600 * MS));
        for goal in goals {
            let strict = fixture::slo("s", goal);
            for slo in [Slo { forgives_rate_limits: true, ..strict.clone() }, strict] {
                let events: Vec<Event> = reports.iter().filter_map(|report| slo.judge(report)).collect();
                let bad = events.iter().filter(|event| **event == Event::Bad).count();
                assert_eq!(count(&slo, &tallies[0].2), (events.len() as u64, bad as u64), "{slo:?}");
            }
        }
    }

    #[test]
    fn an_objective_is_met_up_to_its_last_allowed_probe() {
        let slo = Slo { objective: Objective::percent(99.9), ..fixture::slo("s", Goal::Availability) };
        let judged = |events, bad| Judged { slo: Arc::new(slo.clone()), events, bad };
        assert_eq!(
            [judged(1000, 1), judged(1000, 2), judged(0, 0)].map(|j| j.is_met()),
            [Some(true), Some(false), None]
        );
        let left = judged(4000, 1).budget_left().unwrap();
        assert!((left - 0.75).abs() < 1e-9, "{left}");
        assert!((judged(1000, 3).budget_left().unwrap() + 2.0).abs() < 1e-9);
        assert_eq!(judged(1000, 5).compliance(), Some(99.5));
    }
}
