//! How many series there are of a family, and which bounds its histograms have.

use super::Kind::{Counter, Gauge, Histogram};
use super::{ANSWER_TTFT, Family, ITL, LATENCY, Label, STALL, Scope, TPOT, TTFT};
use crate::domain::{self, Buckets, Goal, Histograms, Measure, Slo, Target};

/// What is stored of a histogram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Form {
    pub histograms: Histograms,
    pub buckets: Buckets,
}

impl Form {
    /// What Prometheus stores if it takes text, or asks for no native histograms.
    pub const CLASSIC: Self = Self { histograms: Histograms::Classic, buckets: Buckets::Few };
}

/// Which histogram shows what an objective may bound.
const MEASURES: [(&Family, Measure); 6] = [
    (&TTFT, Measure::Ttft),
    (&ANSWER_TTFT, Measure::AnswerTtft),
    (&TPOT, Measure::Tpot),
    (&ITL, Measure::ItlP99),
    (&STALL, Measure::Stall),
    (&LATENCY, Measure::Latency),
];

impl Family {
    /// How many series Prometheus will store for it; at most, where they come later.
    pub fn series(&self, targets: &[impl AsRef<Target>], slos: &[impl AsRef<Slo>], form: Form) -> usize {
        let each = match self.kind {
            Histogram(_) => {
                let native = usize::from(form.histograms.has_native());
                // The bounds, +Inf, the sum and the count.
                let classic = self.bounds(form.buckets, slos).len() + 3;
                native + if form.histograms.has_classic() { classic } else { 0 }
            }
            Counter | Gauge => 1,
        };
        self.places(targets, slos) * each * self.label.map_or(1, |label| label.values().len().max(1))
    }

    /// The same before anything was measured.
    pub fn series_at_start(
        &self,
        targets: &[impl AsRef<Target>],
        slos: &[impl AsRef<Slo>],
        form: Form,
    ) -> usize {
        let most = self.series(targets, slos, form);
        match self.label {
            _ if !self.scope.is_there_at_once() => 0,
            Some(Label::Direction) => most / Label::Direction.values().len() * 2,
            _ => most,
        }
    }

    /// How many combinations of the labels of its scope there are.
    fn places(&self, targets: &[impl AsRef<Target>], slos: &[impl AsRef<Slo>]) -> usize {
        let workloads = || -> usize { targets.iter().map(|target| target.as_ref().mix.len()).sum() };
        match self.scope {
            Scope::Workload | Scope::Stated => workloads(),
            Scope::Compared(metrics) => workloads() * metrics.len(),
            Scope::Rag => targets.iter().map(|target| has_facts(target.as_ref())).sum(),
            Scope::Slo => covered(targets, slos, |_| true),
            Scope::Bounded => covered(targets, slos, |slo| slo.goal.bound().is_some()),
            Scope::Target | Scope::Released | Scope::Changed => targets.len(),
            Scope::Secure => targets.iter().filter(|target| target.as_ref().is_secure()).count(),
            Scope::Unverified => targets.iter().filter(|target| target.as_ref().skips_verification()).count(),
            Scope::Daemon => 1,
        }
    }

    /// The upper bounds of a histogram: its own, and what objectives bound its values by.
    pub fn bounds(&self, buckets: Buckets, slos: &[impl AsRef<Slo>]) -> Vec<f64> {
        let Histogram(own) = self.kind else { return Vec::new() };
        let measure =
            MEASURES.iter().find(|(family, _)| family.name == self.name).map(|(_, measure)| *measure);
        let asked = slos.iter().filter_map(|slo| match slo.as_ref().goal {
            Goal::Below(of, bound) if Some(of) == measure => Some(bound.as_secs_f64()),
            _ => None,
        });
        own.with(buckets, asked)
    }
}

/// How many workloads of all targets these objectives cover.
fn covered(targets: &[impl AsRef<Target>], slos: &[impl AsRef<Slo>], wanted: fn(&Slo) -> bool) -> usize {
    let covers = |slo: &Slo, target: &Target| {
        target.mix.iter().filter(|share| slo.covers(target, &share.workload)).count()
    };
    let slos = slos.iter().map(AsRef::as_ref).filter(|slo| wanted(slo));
    slos.map(|slo| targets.iter().map(|target| covers(slo, target.as_ref())).sum::<usize>()).sum()
}

/// How many workloads of a target plant facts.
fn has_facts(target: &Target) -> usize {
    target.mix.iter().filter(|share| share.workload.kind == domain::Kind::Rag).count()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;
    use crate::catalogue::{ALL, MOST_FEW};
    use crate::domain::{Workload, fixture};

    #[test]
    fn bounds_rise_and_few_are_few() {
        let none: [Arc<Slo>; 0] = [];
        for family in ALL {
            for (_, buckets) in Buckets::NAMES {
                let bounds = family.bounds(buckets, &none);
                assert_eq!(bounds.is_empty(), !matches!(family.kind, Histogram(_)), "{}", family.name);
                assert!(bounds.windows(2).all(|pair| pair[0] < pair[1]), "{}", family.name);
            }
            assert!(family.bounds(Buckets::Few, &none).len() <= MOST_FEW, "{}", family.name);
        }
    }

    #[test]
    fn what_an_objective_bounds_becomes_a_bound_of_its_histogram_alone() {
        let ms = Duration::from_millis;
        let slo = |measure, bound| Arc::new(fixture::slo("s", Goal::Below(measure, bound)));
        // 500 ms is there anyway.
        let slos = [slo(Measure::Ttft, ms(450)), slo(Measure::Ttft, ms(500)), slo(Measure::ItlP99, ms(51))];
        let none: [Arc<Slo>; 0] = [];
        for family in ALL {
            let mut wanted = family.bounds(Buckets::Many, &none);
            match family.name {
                "sloprobe_ttft_seconds" => wanted.push(0.45),
                "sloprobe_itl_seconds" => wanted.push(0.051),
                _ => {}
            }
            wanted.sort_by(f64::total_cmp);
            assert_eq!(family.bounds(Buckets::Many, &slos), wanted, "{}", family.name);
        }
        assert!(TTFT.bounds(Buckets::Few, &slos).contains(&0.45));
    }

    #[test]
    fn a_target_with_the_usual_three_workloads_has_at_most_700_series_or_250_native_ones() {
        let mut target = (*fixture::target("t", &["chat", "rag", "continuation"])).clone();
        target.mix[1].workload = Arc::new(Workload::new("rag", domain::Kind::Rag, 4000, 60));
        target.url = "https://localhost".parse().unwrap();
        let none: [Arc<Slo>; 0] = [];
        for (histograms, most) in [(Histograms::Classic, 700), (Histograms::Native, 250)] {
            let form = Form { histograms, buckets: Buckets::Few };
            let usual = ALL.iter().filter(|family| !family.scope.awaits_a_change());
            let series: usize =
                usual.map(|family| family.series(&[Arc::new(target.clone())], &none, form)).sum();
            // The process itself has about eight.
            assert!(series + 8 <= most, "{histograms:?}: {series}");
        }
    }

    #[test]
    fn a_workload_has_few_series() {
        let targets = [fixture::target("t", &["w"])];
        let none: [Arc<Slo>; 0] = [];
        let of = |histograms| -> usize {
            let form = Form { histograms, buckets: Buckets::Few };
            let of_workload =
                ALL.iter().filter(|family| matches!(family.scope, Scope::Workload | Scope::Stated));
            of_workload.map(|family| family.series(&targets, &none, form)).sum()
        };
        assert!(of(Histograms::Classic) <= 220, "{}", of(Histograms::Classic));
        assert!(of(Histograms::Native) <= 70, "{}", of(Histograms::Native));
    }
}
