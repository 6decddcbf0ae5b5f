//! Objectives: what share of probes must be good, and what good means.

use std::sync::Arc;
use std::time::Duration;

use super::quantiles::p99;
use super::{Failure, Report, Target, Verdict, Workload};

/// One entry of `[[slos]]`.
#[derive(Debug, Clone, PartialEq)]
pub struct Slo {
    pub name: Arc<str>,
    /// The one workload that it is about; all of them without.
    pub workload: Option<Arc<str>>,
    /// The targets that it is about; all of them without.
    pub targets: Option<Vec<Arc<str>>>,
    pub goal: Goal,
    pub objective: Objective,
    /// What the error budget is for.
    pub window: Duration,
    /// A probe that the server turned away for asking too often says nothing about the service.
    pub forgives_rate_limits: bool,
}

/// What makes a probe good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Goal {
    /// It succeeded, and this was no longer than that.
    Below(Measure, Duration),
    /// It succeeded.
    Availability,
    /// It succeeded, and its answer was not bad.
    Quality,
}

/// The durations that an objective can bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    Ttft,
    AnswerTtft,
    Tpot,
    /// Of the gaps of one request.
    ItlP99,
    Stall,
    Latency,
}

/// How many of a hundred events must be good.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Objective {
    percent: f64,
}

/// How an objective counts one probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    Good,
    Bad,
}

impl Slo {
    /// Whether what it counts is what the other counts: then a changed promise about it needs no new counters.
    pub fn asks_the_same_as(&self, other: &Self) -> bool {
        let asked = |slo: &Self| (Arc::clone(&slo.name), slo.goal, slo.forgives_rate_limits);
        asked(self) == asked(other)
    }

    /// Whether probes of this workload at this target count.
    pub fn covers(&self, target: &Target, workload: &Workload) -> bool {
        self.workload.as_ref().is_none_or(|name| *name == workload.name)
            && self.targets.as_ref().is_none_or(|names| names.contains(&target.name))
            && (target.stream || !self.goal.needs_stream())
    }

    /// What a probe counts as; `None` where it says nothing: no value to compare, nothing that could be judged.
    ///
    /// A suspect probe, during which this host itself was late, says nothing about durations. Of a suspect failure
    /// counts what somebody else stated: a status, an error, a refused connection. That the probe waited in vain may
    /// be the host's own doing. For availability every failure counts, so that no outage hides behind a busy host.
    pub fn judge(&self, report: &Report) -> Option<Event> {
        let is_stated = report.fault.as_ref().is_some_and(|fault| !fault.timed_out);
        if report.suspect && self.goal.bound().is_some() && !is_stated {
            return None;
        }
        if let Some(fault) = &report.fault {
            let forgiven = self.forgives_rate_limits && fault.failure == Failure::RateLimited;
            return (!forgiven).then_some(Event::Bad);
        }
        match self.goal {
            Goal::Availability => Some(Event::Good),
            Goal::Quality => match report.verdict? {
                Verdict::Unchecked => None,
                verdict => Some(Event::of(!verdict.is_bad())),
            },
            // The bound itself is good, as it is in the histogram's bucket of that bound.
            Goal::Below(measure, bound) => match measure.of(report) {
                Some(value) => Some(Event::of(value <= bound)),
                // All tokens went into reasoning: the answer did not begin in time.
                None if measure == Measure::AnswerTtft => Some(Event::Bad),
                None => None,
            },
        }
    }
}

impl Goal {
    /// As the configuration names them.
    pub fn name(self) -> &'static str {
        match self {
            Self::Below(measure, _) => measure.name(),
            Self::Availability => "availability",
            Self::Quality => "quality",
        }
    }

    pub fn bound(self) -> Option<Duration> {
        match self {
            Self::Below(_, bound) => Some(bound),
            Self::Availability | Self::Quality => None,
        }
    }

    fn needs_stream(self) -> bool {
        matches!(self, Self::Below(measure, _) if measure != Measure::Latency)
    }
}

impl Measure {
    pub const ALL: [Self; 6] =
        [Self::Ttft, Self::AnswerTtft, Self::Tpot, Self::ItlP99, Self::Stall, Self::Latency];

    pub fn name(self) -> &'static str {
        match self {
            Self::Ttft => "ttft",
            Self::AnswerTtft => "answer_ttft",
            Self::Tpot => "tpot",
            Self::ItlP99 => "itl_p99",
            Self::Stall => "stall",
            Self::Latency => "latency",
        }
    }

    fn of(self, report: &Report) -> Option<Duration> {
        let sample = &report.sample;
        match self {
            Self::Ttft => sample.ttft,
            Self::AnswerTtft => sample.answer_ttft,
            Self::Tpot => sample.tpot,
            Self::ItlP99 => p99(&sample.itl),
            Self::Stall => sample.stall,
            Self::Latency => sample.latency,
        }
    }
}

impl Objective {
    /// From a percentage below 100.
    pub fn percent(percent: f64) -> Self {
        Self { percent }
    }

    pub fn as_percent(self) -> f64 {
        self.percent
    }

    /// The share of events that may be bad.
    pub fn budget(self) -> f64 {
        // 100 − 99.9 is not exactly 0.1; nobody writes more digits than these.
        ((100.0 - self.percent) * 1e7).round() / 1e9
    }
}

impl Event {
    fn of(good: bool) -> Self {
        if good { Self::Good } else { Self::Bad }
    }
}

#[cfg(test)]
mod tests {
    use super::Measure::{AnswerTtft, ItlP99, Latency, Stall, Tpot, Ttft};
    use super::*;
    use crate::domain::sample::Itl;
    use crate::domain::{Fault, Sample, fixture};

    const MS: Duration = Duration::from_millis(1);

    fn judged(goal: Goal, sample: Sample) -> Option<Event> {
        let report = fixture::report(&fixture::target("t", &["w"]), sample, None);
        fixture::slo("s", goal).judge(&report)
    }

    #[test]
    fn the_bound_itself_is_good_and_what_exceeds_it_is_bad() {
        let sample = |ttft| Sample { ttft: Some(ttft), ..Sample::default() };
        let goal = Goal::Below(Measure::Ttft, 500 * MS);
        assert_eq!(judged(goal, sample(500 * MS)), Some(Event::Good));
        assert_eq!(judged(goal, sample(500 * MS + Duration::from_nanos(1))), Some(Event::Bad));
    }

    #[test]
    fn each_measure_is_compared_by_its_own_value() {
        let gap = |ms, tokens| Itl { per_token: ms * MS, tokens };
        let sample = Sample {
            ttft: Some(10 * MS),
            answer_ttft: Some(20 * MS),
            tpot: Some(30 * MS),
            itl: vec![gap(40, 1), gap(1, 99)],
            stall: Some(50 * MS),
            latency: Some(60 * MS),
            ..Sample::default()
        };
        for (measure, ms) in
            [(Ttft, 10), (AnswerTtft, 20), (Tpot, 30), (ItlP99, 1), (Stall, 50), (Latency, 60)]
        {
            assert_eq!(
                judged(Goal::Below(measure, ms * MS), sample.clone()),
                Some(Event::Good),
                "{measure:?}"
            );
            let less = (ms * MS).saturating_sub(Duration::from_nanos(1));
            assert_eq!(judged(Goal::Below(measure, less), sample.clone()), Some(Event::Bad), "{measure:?}");
        }
    }

    #[test]
    fn what_was_not_measured_is_no_event_except_an_answer_that_never_began() {
        for measure in [Tpot, ItlP99, Stall] {
            assert_eq!(judged(Goal::Below(measure, MS), Sample::default()), None, "{measure:?}");
        }
        assert_eq!(judged(Goal::Below(AnswerTtft, MS), Sample::default()), Some(Event::Bad));
    }

    #[test]
    fn a_failed_probe_is_bad_for_every_goal_and_a_rate_limit_can_be_forgiven() {
        let target = fixture::target("t", &["w"]);
        let failed = |failure: Failure| {
            let sample = Sample { ttft: Some(MS), ..Sample::default() };
            fixture::report(&target, sample, Some(failure.because("x")))
        };
        for goal in [Goal::Below(Measure::Ttft, 2 * MS), Goal::Availability, Goal::Quality] {
            let strict = fixture::slo("s", goal);
            let lenient = Slo { forgives_rate_limits: true, ..strict.clone() };
            for failure in Failure::ALL {
                let report = failed(failure);
                assert_eq!(strict.judge(&report), Some(Event::Bad), "{failure:?}");
                let wanted = (failure != Failure::RateLimited).then_some(Event::Bad);
                assert_eq!(lenient.judge(&report), wanted, "{failure:?}");
            }
        }
    }

    #[test]
    fn a_suspect_probe_says_nothing_of_durations_but_what_was_stated_counts() {
        let target = fixture::target("t", &["w"]);
        let slow = Sample { ttft: Some(9 * MS), ..Sample::default() };
        let judged = |goal, fault: Option<Fault>, suspect| {
            let mut report = fixture::report(&target, slow.clone(), fault);
            report.suspect = suspect;
            fixture::slo("s", goal).judge(&report)
        };
        let (ttft, stated) = (Goal::Below(Ttft, MS), || Some(Failure::ServerError.because("HTTP 500")));
        let in_vain = || Some(Failure::TimeoutFirstToken.because("no token").after_waiting());
        assert_eq!([judged(ttft, None, true), judged(ttft, in_vain(), true)], [None; 2]);
        for (goal, fault, suspect) in [
            (ttft, None, false),
            (ttft, in_vain(), false),
            (ttft, stated(), true),
            (Goal::Availability, stated(), true),
            (Goal::Availability, in_vain(), true),
        ] {
            assert_eq!(judged(goal, fault, suspect), Some(Event::Bad), "{goal:?}");
        }
        assert_eq!(judged(Goal::Availability, None, true), Some(Event::Good));
    }

    #[test]
    fn quality_takes_the_verdict_and_ignores_what_could_not_be_checked() {
        let target = fixture::target("t", &["w"]);
        let of = |verdict| {
            let mut report = fixture::report(&target, Sample::default(), None);
            report.verdict = Some(verdict);
            fixture::slo("s", Goal::Quality).judge(&report)
        };
        assert_eq!((of(Verdict::Right), of(Verdict::Unchecked)), (Some(Event::Good), None));
        for verdict in [Verdict::Wrong, Verdict::Degenerate, Verdict::Short] {
            assert_eq!(of(verdict), Some(Event::Bad), "{verdict:?}");
        }
    }

    #[test]
    fn an_objective_covers_what_it_names_and_what_can_be_measured() {
        let target = fixture::target("t", &["w", "v"]);
        let [w, v] = [0, 1].map(|i| &*target.mix[i].workload);
        let all = fixture::slo("s", Goal::Below(Measure::Ttft, MS));
        assert!(all.covers(&target, w) && all.covers(&target, v));
        let one = Slo { workload: Some("v".into()), ..all.clone() };
        assert!(!one.covers(&target, w) && one.covers(&target, v));
        let elsewhere = Slo { targets: Some(vec!["u".into()]), ..all.clone() };
        assert!(!elsewhere.covers(&target, w));
        let whole = Target { stream: false, ..(*target).clone() };
        assert!(!all.covers(&whole, w));
        let latency = fixture::slo("s", Goal::Below(Measure::Latency, MS));
        assert!(latency.covers(&whole, w) && fixture::slo("s", Goal::Availability).covers(&whole, w));
    }

    #[test]
    fn the_budget_has_no_more_digits_than_the_objective() {
        for (percent, budget) in [(99.9, 0.001), (95.0, 0.05), (99.999, 0.00001), (99.5, 0.005)] {
            assert_eq!(Objective::percent(percent).budget().to_string(), f64::to_string(&budget));
        }
    }
}
