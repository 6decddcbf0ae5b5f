//! Admits a probe or refuses it: too many under way, the hour's tokens spent, the server wants rest.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::Instant;

use super::back_off::BackOff;
use crate::domain::{Limits, Report, Skip, Target, Workload};

/// What all targets share.
#[derive(Debug, Clone)]
pub struct House {
    in_flight: Arc<Semaphore>,
    budget: Arc<Mutex<Budget>>,
}

/// The guard of one target.
#[derive(Debug)]
pub struct Guard {
    house: House,
    own: House,
    back_off: Arc<Mutex<BackOff>>,
    closed: bool,
}

/// Leave to send one probe; its places are free again when this is dropped.
#[derive(Debug)]
pub struct Permit {
    _places: [OwnedSemaphorePermit; 2],
    budgets: [Arc<Mutex<Budget>>; 2],
    back_off: Arc<Mutex<BackOff>>,
    reserved: f64,
}

/// Tokens to spend, flowing in steadily, so that a budget that is too small thins the probes out evenly
/// instead of leaving the rest of the hour dark.
#[derive(Debug)]
struct Budget {
    flow: Option<Flow>,
}

#[derive(Debug)]
struct Flow {
    per_second: f64,
    capacity: f64,
    level: f64,
    at: Instant,
}

impl House {
    /// `largest_probe` is the most that one probe may cost.
    pub fn new(limits: Limits, largest_probe: u64, now: Instant) -> Self {
        Self {
            in_flight: Arc::new(Semaphore::new(limits.in_flight)),
            budget: Arc::new(Mutex::new(Budget::new(limits.tokens_per_hour, largest_probe, now))),
        }
    }
}

impl Guard {
    pub fn new(house: &House, target: &Target, now: Instant) -> Self {
        let limits = Limits { in_flight: target.in_flight, tokens_per_hour: target.tokens_per_hour };
        let largest = target.mix.iter().map(|share| share.workload.expected_tokens()).max().unwrap_or(0);
        Self {
            house: house.clone(),
            own: House::new(limits, largest, now),
            back_off: Arc::default(),
            closed: false,
        }
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
        let place = |of: &House| Arc::clone(&of.in_flight).try_acquire_owned().map_err(|_| Skip::InFlight);
        let places = [place(&self.own)?, place(&self.house)?];
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

impl Budget {
    /// The level may hold a minute's share and one probe more; what flows in is so much less that no hour
    /// can exceed the limit.
    fn new(per_hour: Option<u64>, largest_probe: u64, now: Instant) -> Self {
        let flow = per_hour.map(|per_hour| {
            let capacity = per_hour as f64 / 60.0 + largest_probe as f64;
            let per_second = ((per_hour as f64 - capacity) / 3600.0).max(0.0);
            let capacity = capacity.min(per_hour as f64);
            Flow { per_second, capacity, level: capacity, at: now }
        });
        Self { flow }
    }

    fn covers(&mut self, tokens: f64, now: Instant) -> bool {
        let Some(flow) = &mut self.flow else { return true };
        let passed = now.saturating_duration_since(flow.at).as_secs_f64();
        flow.level = (flow.level + passed * flow.per_second).min(flow.capacity);
        flow.at = now;
        flow.level >= tokens
    }

    fn take(&mut self, tokens: f64) {
        if let Some(flow) = &mut self.flow {
            flow.level = (flow.level - tokens).min(flow.capacity);
        }
    }
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
}
