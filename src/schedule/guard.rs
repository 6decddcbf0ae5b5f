//! Admits a probe or refuses it: too many under way, the hour's tokens spent, the server wants rest.

mod budget;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::time::Instant;

use super::back_off::BackOff;
use crate::domain::{Limits, Report, Skip, Target, Workload};
use budget::Budget;

/// What all targets share; clones are the same house.
#[derive(Debug, Clone)]
pub struct House {
    in_flight: Arc<Mutex<InFlight>>,
    budget: Arc<Mutex<Budget>>,
}

/// How many are under way, and how many may be.
#[derive(Debug)]
struct InFlight {
    count: usize,
    most: usize,
}

/// The guard of one target. Clones share what they know of it, so that it outlives a change of the configuration.
#[derive(Debug, Clone)]
pub struct Guard {
    house: House,
    own: House,
    back_off: Arc<Mutex<BackOff>>,
    closed: bool,
}

/// Leave to send one probe; its places are free again when this is dropped.
#[derive(Debug)]
pub struct Permit {
    _places: [Seat; 2],
    budgets: [Arc<Mutex<Budget>>; 2],
    back_off: Arc<Mutex<BackOff>>,
    reserved: f64,
}

/// One of those that may be under way.
#[derive(Debug)]
struct Seat(Arc<Mutex<InFlight>>);

impl House {
    /// `largest_probe` is the most that one probe may cost.
    pub fn new(limits: Limits, largest_probe: u64, now: Instant) -> Self {
        Self {
            in_flight: Arc::new(Mutex::new(InFlight { count: 0, most: limits.in_flight })),
            budget: Arc::new(Mutex::new(Budget::new(limits.tokens_per_hour, largest_probe, now))),
        }
    }

    /// Takes other limits at once. What is under way and what was spent still counts.
    pub fn adopt(&self, limits: Limits, largest_probe: u64, now: Instant) {
        lock(&self.in_flight).most = limits.in_flight;
        lock(&self.budget).adopt(limits.tokens_per_hour, largest_probe, now);
    }

    fn seat(&self) -> Result<Seat, Skip> {
        let mut in_flight = lock(&self.in_flight);
        if in_flight.count >= in_flight.most {
            return Err(Skip::InFlight);
        }
        in_flight.count += 1;
        Ok(Seat(Arc::clone(&self.in_flight)))
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        lock(&self.0).count -= 1;
    }
}

impl Guard {
    pub fn new(house: &House, target: &Target, now: Instant) -> Self {
        let (limits, largest) = limits(target);
        Self {
            house: house.clone(),
            own: House::new(limits, largest, now),
            back_off: Arc::default(),
            closed: false,
        }
    }

    /// Takes the limits of the target as it is configured now.
    pub fn adopt(&self, target: &Target, now: Instant) {
        let (limits, largest) = limits(target);
        self.own.adopt(limits, largest, now);
    }

    /// Refuses everything from now on.
    pub fn close(&mut self) {
        self.closed = true;
    }

    pub fn admit(&self, now: Instant, workload: &Workload) -> Result<Permit, Skip> {
        if self.closed {
            return Err(Skip::Shutdown);
        }
        if lock(&self.back_off).is_resting(now) {
            return Err(Skip::BackOff);
        }
        let places = [self.own.seat()?, self.house.seat()?];
        let reserved = workload.expected_tokens() as f64;
        let budgets = [Arc::clone(&self.own.budget), Arc::clone(&self.house.budget)];
        if !budgets.iter().all(|budget| lock(budget).covers(reserved, now)) {
            return Err(Skip::Budget);
        }
        for budget in &budgets {
            lock(budget).take(reserved);
        }
        Ok(Permit { _places: places, budgets, back_off: Arc::clone(&self.back_off), reserved })
    }
}

impl Permit {
    /// Takes what the probe really cost, and hears whether the server refused it.
    pub fn settle(&self, report: &Report, now: Instant) {
        if let (Some(prompt), Some(output)) = (report.tokens.prompt, report.tokens.output) {
            let difference = (prompt + output) as f64 - self.reserved;
            for budget in &self.budgets {
                lock(budget).take(difference);
            }
        }
        lock(&self.back_off).hear(report, now);
    }
}

/// What a target may do by itself, and the most that one of its probes may cost.
fn limits(target: &Target) -> (Limits, u64) {
    let limits = Limits { in_flight: target.in_flight, tokens_per_hour: target.tokens_per_hour };
    let largest = target.mix.iter().map(|share| share.workload.expected_tokens()).max().unwrap_or(0);
    (limits, largest)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::domain::fixture::{report, target, workload};
    use crate::domain::{Failure, Sample};

    const HOUR: Duration = Duration::from_secs(3600);

    fn guard(house: &House, in_flight: usize, tokens_per_hour: Option<u64>, now: Instant) -> Guard {
        let own = House::new(Limits { in_flight, tokens_per_hour }, 100, now);
        Guard { house: house.clone(), own, back_off: Arc::default(), closed: false }
    }

    fn wide_open(now: Instant) -> House {
        House::new(Limits { in_flight: 1000, tokens_per_hour: None }, 100, now)
    }

    #[test]
    fn a_target_never_has_more_under_way_than_it_may() {
        let now = Instant::now();
        let guard = guard(&wide_open(now), 2, None, now);
        let first = guard.admit(now, &workload("w")).unwrap();
        let _second = guard.admit(now, &workload("w")).unwrap();
        assert_eq!(guard.admit(now, &workload("w")).unwrap_err(), Skip::InFlight);
        drop(first);
        assert!(guard.admit(now, &workload("w")).is_ok());
    }

    #[test]
    fn all_targets_together_keep_to_the_common_cap() {
        let now = Instant::now();
        let house = House::new(Limits { in_flight: 1, tokens_per_hour: None }, 100, now);
        let (one, other) = (guard(&house, 5, None, now), guard(&house, 5, None, now));
        let _held = one.admit(now, &workload("w")).unwrap();
        assert_eq!(other.admit(now, &workload("w")).unwrap_err(), Skip::InFlight);
    }

    #[test]
    fn no_hour_exceeds_its_tokens_and_what_is_left_is_spread_evenly() {
        let start = Instant::now();
        let guard = guard(&wide_open(start), 5, Some(6000), start);
        let admitted: Vec<u64> = (0..7200)
            .filter(|&s| guard.admit(start + Duration::from_secs(s), &workload("w")).is_ok())
            .collect();
        for from in 0..3600 {
            let in_hour = admitted.iter().filter(|&&s| s >= from && s < from + 3600).count();
            assert!(in_hour * 100 <= 6000, "{in_hour} probes in the hour from second {from}");
        }
        assert!(admitted.len() >= 115, "{}", admitted.len());
        let widest = admitted.windows(2).map(|pair| pair[1] - pair[0]).max();
        // 5800 tokens flow in per hour: one probe of 100 every 62.07 seconds.
        assert!(widest <= Some(63), "{widest:?}");
    }

    #[test]
    fn a_probe_that_the_budget_of_an_hour_cannot_cover_is_never_sent() {
        let start = Instant::now();
        let guard = guard(&wide_open(start), 5, Some(60), start);
        for hour in 0..5 {
            assert_eq!(guard.admit(start + HOUR * hour, &workload("w")).unwrap_err(), Skip::Budget);
        }
    }

    #[test]
    fn a_closed_guard_refuses_for_shutdown() {
        let now = Instant::now();
        let mut guard = guard(&wide_open(now), 5, None, now);
        guard.close();
        assert_eq!(guard.admit(now, &workload("w")).unwrap_err(), Skip::Shutdown);
    }

    #[test]
    fn a_target_that_refuses_the_key_is_left_alone_for_a_while() {
        let now = Instant::now();
        let guard = guard(&wide_open(now), 5, None, now);
        let permit = guard.admit(now, &workload("w")).unwrap();
        let fault = Failure::Auth.because("HTTP 401: Unauthorized");
        permit.settle(&report(&target("t", &["w"]), Sample::default(), Some(fault)), now);
        let after = |s| guard.admit(now + Duration::from_secs(s), &workload("w")).map(|_| ());
        assert_eq!(after(9), Err(Skip::BackOff));
        assert_eq!(after(10), Ok(()));
    }

    #[test]
    fn a_lower_cap_holds_at_once_and_counts_what_is_under_way() {
        let now = Instant::now();
        let mut target = (*target("t", &["w"])).clone();
        let guard = Guard::new(&wide_open(now), &target, now);
        let first = guard.admit(now, &workload("w")).unwrap();
        let second = guard.admit(now, &workload("w")).unwrap();
        target.in_flight = 1;
        guard.adopt(&target, now);
        drop(first);
        assert_eq!(guard.admit(now, &workload("w")).unwrap_err(), Skip::InFlight, "one is still under way");
        drop(second);
        assert!(guard.admit(now, &workload("w")).is_ok());
    }

    #[test]
    fn a_thousand_changes_neither_refill_a_budget_nor_end_a_rest() {
        let now = Instant::now();
        let mut target = (*target("t", &["w"])).clone();
        target.tokens_per_hour = Some(6000);
        let house = wide_open(now);
        let guard = Guard::new(&house, &target, now);
        while guard.admit(now, &workload("w")).is_ok() {}
        for change in 0..1000 {
            target.tokens_per_hour = Some(6000 + change % 2 * 6000);
            guard.adopt(&target, now);
            house.adopt(Limits { in_flight: 1000, tokens_per_hour: Some(12_000) }, 100, now);
            assert_eq!(guard.admit(now, &workload("w")).unwrap_err(), Skip::Budget);
        }
        let later = now + HOUR;
        let permit = guard.admit(later, &workload("w")).unwrap();
        let mut refused =
            report(&Arc::new(target.clone()), Sample::default(), Some(Failure::RateLimited.because("so")));
        refused.retry_after = Some(Duration::from_secs(60));
        permit.settle(&refused, later);
        for _ in 0..1000 {
            guard.adopt(&target, later);
        }
        let after =
            |seconds| guard.clone().admit(later + Duration::from_secs(seconds), &workload("w")).map(|_| ());
        assert_eq!(after(59), Err(Skip::BackOff));
        assert_eq!(after(60), Ok(()));
    }
}
