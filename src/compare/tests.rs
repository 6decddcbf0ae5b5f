//! The whole of it on made-up releases; the bars of a thousand pairs are in `tests/bench/releases.rs`.

use std::sync::Arc;

use super::*;
use crate::domain::{Failure, Kept, ReleaseId};

const DAY: f64 = 86_400.0;

/// A service with a day of 30 % up and down, noise that is normal in logarithms, and a clock.
struct Service {
    chance: oorandom::Rand64,
    at: f64,
    wave: f64,
    factor: f64,
    /// One answer in twenty takes five times as long.
    tail: bool,
    /// This share fails.
    failing: f64,
}

impl Service {
    fn new(seed: u128, wave: f64) -> Self {
        let chance = oorandom::Rand64::new(seed);
        Self { chance, at: 40_000.0, wave, factor: 1.0, tail: false, failing: 0.0 }
    }

    fn normal(&mut self) -> f64 {
        let (one, two) = (1.0 - self.chance.rand_float(), self.chance.rand_float());
        (-2.0 * one.ln()).sqrt() * (std::f64::consts::TAU * two).cos()
    }

    /// Six probes a minute for so long.
    fn probes(&mut self, seconds: f64) -> Vec<Kept> {
        let count = (seconds / 10.0) as usize;
        (0..count).map(|_| self.probe()).collect()
    }

    fn probe(&mut self) -> Kept {
        self.at += 10.0;
        let load = 1.0 + self.wave * (std::f64::consts::TAU * self.at / DAY).sin();
        let slow = if self.tail && self.chance.rand_float() < 0.05 { 5.0 } else { 1.0 };
        let ttft = 0.2 * load * slow * self.factor * (0.3 * self.normal()).exp();
        let failed = self.chance.rand_float() < self.failing;
        let ok = |seconds: f64| (!failed).then_some(seconds);
        Kept {
            at: self.at,
            target: "t".into(),
            workload: "chat".into(),
            release: ReleaseId(1),
            mixed: false,
            suspect: false,
            failure: failed.then_some(Failure::ServerError),
            verdict: None,
            ttft: ok(ttft),
            answer_ttft: None,
            tpot: ok(0.02 * (0.05 * self.normal()).exp()),
            itl_p99: None,
            stall: None,
            latency: ok(ttft + 1.0),
        }
    }
}

fn change(places: &[Place], metric: Metric) -> &Change {
    assert_eq!(places.len(), 1);
    places[0].changes.iter().find(|change| change.metric == metric).unwrap()
}

fn ttft(places: &[Place]) -> &Change {
    change(places, Metric::Ttft)
}

fn look(before: &[Kept], after: &[Kept]) -> Vec<Place> {
    Before::learn(before).against(after, Settings::default())
}

#[test]
fn half_as_slow_again_is_called_and_the_bounds_hold_the_truth() {
    let mut service = Service::new(1, 0.3);
    let before = service.probes(5.0 * DAY);
    service.factor = 1.5;
    let places = look(&before, &service.probes(1800.0));
    let change = ttft(&places);
    assert_eq!(change.verdict, Verdict::Regressed);
    assert_eq!(change.need, None);
    for shift in &change.shifts {
        assert!(shift.lower < 1.5 && 1.5 < shift.upper, "{shift:?}");
        assert!((1.3..1.75).contains(&shift.estimate), "{shift:?}");
    }
    assert!(change.shifts[0].lower > 1.25, "{:?}", change.shifts[0]);
    assert_eq!(super::tests::change(&places, Metric::Failures).verdict, Verdict::Undecided);
}

#[test]
fn half_as_slow_is_an_improvement() {
    let mut service = Service::new(2, 0.3);
    let before = service.probes(5.0 * DAY);
    service.factor = 0.5;
    assert_eq!(ttft(&look(&before, &service.probes(3600.0))).verdict, Verdict::Improved);
}

#[test]
fn the_hour_of_the_day_is_not_the_release() {
    // Six hours up the wave: a plain comparison would see more than 30 %.
    let mut service = Service::new(3, 0.3);
    let before = service.probes(5.0 * DAY);
    let places = look(&before, &service.probes(6.0 * 3600.0));
    let change = ttft(&places);
    assert_ne!(change.verdict, Verdict::Regressed, "{change:?}");
    assert!((0.95..1.05).contains(&change.shifts[0].estimate), "{:?}", change.shifts[0]);
}

#[test]
fn without_two_days_only_what_no_hour_explains_is_called() {
    let mut service = Service::new(4, 0.3);
    let before = service.probes(3600.0 * 5.0);
    let same = look(&before, &service.probes(3600.0 * 4.0));
    assert_eq!(ttft(&same).verdict, Verdict::Undecided, "{:?}", ttft(&same));
    let mut service = Service::new(5, 0.3);
    let before = service.probes(3600.0 * 5.0);
    service.factor = 2.0;
    assert_eq!(ttft(&look(&before, &service.probes(900.0))).verdict, Verdict::Regressed);
}

#[test]
fn what_did_not_change_is_the_same_in_the_end_and_says_before_how_long_that_takes() {
    let mut service = Service::new(6, 0.0);
    let before = service.probes(7.0 * DAY);
    let mut after = service.probes(1800.0);
    let places = look(&before, &after);
    let need = ttft(&places).need.unwrap();
    assert_eq!(ttft(&places).verdict, Verdict::Undecided);
    assert!((100..20_000).contains(&need.probes), "{need:?}");
    let probes = need.probes as f64;
    assert!((need.time.as_secs_f64() / (probes * 10.0) - 1.0).abs() < 0.05, "{need:?}");
    after.extend(service.probes(probes * 10.0 * 3.0));
    assert_eq!(ttft(&look(&before, &after)).verdict, Verdict::Same);
    assert_eq!(change(&look(&before, &after), Metric::Tpot).verdict, Verdict::Same);
}

#[test]
fn a_tail_alone_is_seen_in_the_tail_alone() {
    let mut service = Service::new(7, 0.0);
    let before = service.probes(5.0 * DAY);
    service.tail = true;
    let places = look(&before, &service.probes(3.0 * 3600.0));
    let called = |quantile| ttft(&places).shifts.iter().find(|s| s.quantile == quantile).unwrap().verdict;
    assert_eq!(called(Quantile::P99), Verdict::Regressed);
    assert_ne!(called(Quantile::P50), Verdict::Regressed);
    assert_eq!(ttft(&places).verdict, Verdict::Regressed);
}

#[test]
fn failures_are_compared_as_shares() {
    let mut service = Service::new(8, 0.0);
    let before = service.probes(DAY);
    let healthy = look(&before, &service.probes(7.0 * 3600.0));
    assert_eq!(
        change(&healthy, Metric::Failures).verdict,
        Verdict::Same,
        "{:?}",
        change(&healthy, Metric::Failures)
    );
    service.failing = 0.1;
    let places = look(&before, &service.probes(3600.0));
    let failures = change(&places, Metric::Failures);
    assert_eq!(failures.verdict, Verdict::Regressed);
    let shift = failures.shifts[0];
    assert!(shift.lower > 0.0 && shift.lower < 0.1 && shift.upper > 0.1, "{shift:?}");
    // That a tenth fails leaves the durations of the others alone.
    assert_ne!(change(&places, Metric::Tpot).verdict, Verdict::Regressed);
}

#[test]
fn too_little_is_undecided_and_nothing_is_made_up() {
    let mut service = Service::new(9, 0.0);
    let few = service.probes(200.0);
    let places = look(&few, &service.probes(3600.0));
    assert_eq!(ttft(&places).verdict, Verdict::Undecided);
    assert!(ttft(&places).shifts.is_empty());
    assert_eq!(change(&places, Metric::Stall).after.amount, Amount::Nothing);
    assert!(look(&few, &[]).is_empty());
    let before = service.probes(DAY);
    let one = look(&before, &service.probes(10.0));
    assert_eq!(ttft(&one).verdict, Verdict::Undecided);
    assert!(ttft(&one).shifts.iter().all(|shift| shift.lower < 1.0 && shift.upper > 1.0), "{:?}", ttft(&one));
}

#[test]
fn values_that_are_all_alike_are_no_trouble() {
    let mut service = Service::new(10, 0.0);
    let alike = |mut probes: Vec<Kept>, ttft: f64| {
        for probe in &mut probes {
            probe.ttft = Some(ttft);
        }
        probes
    };
    let before = alike(service.probes(3.0 * DAY), 0.1);
    let after = alike(service.probes(3600.0), 0.1);
    assert_ne!(ttft(&look(&before, &after)).verdict, Verdict::Regressed);
    let slower = alike(after, 0.2);
    assert_eq!(ttft(&look(&before, &slower)).verdict, Verdict::Regressed);
}

#[test]
fn probes_of_a_late_host_measure_nothing() {
    let mut service = Service::new(11, 0.0);
    let before = service.probes(DAY);
    service.factor = 3.0;
    let mut after = service.probes(3600.0);
    for probe in &mut after {
        probe.suspect = true;
    }
    let places = look(&before, &after);
    assert_eq!((ttft(&places).verdict, ttft(&places).after.samples), (Verdict::Undecided, 0));
}

#[test]
fn a_vigil_calls_what_a_full_look_calls() {
    for (seed, days, factor) in [(20, 2.5, 1.3), (21, 2.5, 1.0), (22, 0.2, 2.0), (23, 2.5, 1.2)] {
        let mut service = Service::new(seed, 0.2);
        let before = service.probes(days * DAY);
        let columns = |probes: &[Kept]| -> (Vec<f64>, Vec<f64>) {
            probes.iter().map(|probe| (probe.at, probe.ttft.unwrap())).unzip()
        };
        let (at, values) = columns(&before);
        let mut vigil = Vigil::new(&at, &values, Settings::default());
        let learned = Before::learn(&before);
        service.factor = factor;
        let mut after = Vec::new();
        let mut calls = 0;
        for _ in 0..90 {
            for probe in service.probes(60.0) {
                vigil.add(probe.at, probe.ttft.unwrap());
                after.push(probe);
            }
            let full = learned.against(&after, Settings::default());
            let called = ttft(&full).shifts.iter().find(|shift| shift.verdict == Verdict::Regressed);
            assert_eq!(vigil.regressed(), called.map(|shift| shift.quantile), "seed {seed}, {}", after.len());
            calls += usize::from(called.is_some());
        }
        assert_eq!(calls > 0, factor > 1.1, "seed {seed}");
    }
}

#[test]
fn workloads_are_compared_with_their_like() {
    let mut service = Service::new(30, 0.0);
    let renamed = |mut probes: Vec<Kept>, name: &str| {
        for probe in &mut probes {
            probe.workload = Arc::from(name);
        }
        probes
    };
    let before = [service.probes(DAY), renamed(service.probes(DAY), "rag")].concat();
    let after = [renamed(service.probes(3600.0), "rag"), renamed(service.probes(3600.0), "new")].concat();
    let places = look(&before, &after);
    assert_eq!(places.iter().map(|place| &*place.workload).collect::<Vec<_>>(), ["rag"]);
}
