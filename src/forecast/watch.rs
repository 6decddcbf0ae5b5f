//! The alert rules on objectives as arithmetic: what Prometheus would do with one target, workload and objective that is
//! scraped every 15 seconds. A test holds it against the real one.

use std::time::Duration;

use crate::rules::rule::Severity;
use crate::rules::tier::{self, BURN, Burn, KEEP, QUICK, QUICK_FACTOR, QUICK_HOLD, Quick};

/// One scrape.
pub const STEP: Duration = Duration::from_secs(15);

/// Follows one objective, scrape by scrape.
#[derive(Debug, Clone)]
pub struct Watch {
    budget: f64,
    counts: Counts,
    tiers: Vec<Tier>,
    steps: u64,
}

/// Events and bad events since the beginning, as of each recent scrape.
#[derive(Debug, Clone)]
struct Counts {
    ring: Vec<[u64; 2]>,
    /// Where the newest stands.
    at: usize,
}

/// One alert.
#[derive(Debug, Clone)]
pub struct Tier {
    pub kind: Kind,
    factor: f64,
    /// Steps between two evaluations of its group.
    every: u64,
    hold: u64,
    keep: u64,
    pending_since: Option<u64>,
    /// When the condition last held, while the alert fires.
    fired_at: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    Quick(&'static Quick),
    Burn(&'static Burn),
}

impl Kind {
    pub fn severity(self) -> Severity {
        match self {
            Self::Quick(_) => Severity::Critical,
            Self::Burn(burn) => burn.severity,
        }
    }

    /// The long and the short window.
    pub fn windows(self) -> [Duration; 2] {
        match self {
            Self::Quick(quick) => [quick.long, quick.short],
            Self::Burn(burn) => [burn.long, burn.short],
        }
    }
}

impl Watch {
    /// For an objective that leaves this share of events to be bad, of a workload that is probed this often.
    pub fn new(budget: f64, interval: Duration) -> Self {
        let burn = BURN.iter().filter(|burn| burn.is_reachable(budget)).map(Kind::Burn);
        let quick = QUICK.iter().filter(|quick| quick.is_for(interval)).map(Kind::Quick);
        let kinds = quick.chain(burn);
        let tiers: Vec<_> = kinds.map(Tier::new).collect();
        let longest = tiers.iter().map(|tier| steps(tier.kind.windows()[0])).max().unwrap_or(1);
        Self { budget, counts: Counts { ring: vec![[0; 2]; longest as usize], at: 0 }, tiers, steps: 0 }
    }

    /// What one scrape finds new.
    pub fn step(&mut self, events: u32, bad: u32) {
        self.counts.add([events, bad]);
        self.steps += 1;
        for tier in &mut self.tiers {
            if self.steps.is_multiple_of(tier.every) {
                let holds = tier.holds(&self.counts, self.budget);
                tier.update(holds, self.steps);
            }
        }
    }

    /// Alerts that fire now.
    pub fn firing(&self) -> impl Iterator<Item = &Tier> {
        self.tiers.iter().filter(|tier| tier.is_firing())
    }
}

impl Counts {
    fn add(&mut self, new: [u32; 2]) {
        let newest = self.ring[self.at];
        self.at = if self.at + 1 == self.ring.len() { 0 } else { self.at + 1 };
        self.ring[self.at] = [newest[0] + u64::from(new[0]), newest[1] + u64::from(new[1])];
    }

    /// As Prometheus' `increase()` sees it: the growth between the first and the last scrape in the window, which are
    /// one step less apart than the window is long, stretched to the whole.
    fn increase(&self, window: Duration) -> [f64; 2] {
        let back = steps(window) as usize - 1;
        let first =
            self.ring[if self.at >= back { self.at - back } else { self.at + self.ring.len() - back }];
        let newest = self.ring[self.at];
        let stretch = (back + 1) as f64 / back as f64;
        [0, 1].map(|part| (newest[part] - first[part]) as f64 * stretch)
    }
}

impl Tier {
    fn new(kind: Kind) -> Self {
        let (factor, hold) = match kind {
            Kind::Quick(_) => (QUICK_FACTOR, QUICK_HOLD),
            Kind::Burn(burn) => (burn.factor, burn.hold),
        };
        let every = if kind.windows()[0] > Duration::from_secs(3600) { 8 } else { 2 };
        let (hold, keep) = (steps(hold), steps(KEEP));
        Self { kind, factor, every, hold, keep, pending_since: None, fired_at: None }
    }

    pub fn is_firing(&self) -> bool {
        self.fired_at.is_some()
    }

    fn holds(&self, counts: &Counts, budget: f64) -> bool {
        let [long, short] = self.kind.windows();
        let limit = self.factor * budget;
        // Without events there is no share, as in Prometheus.
        let [events, bad] = counts.increase(short);
        if events <= 0.0 || bad / events <= limit {
            return false;
        }
        let [events, bad] = counts.increase(long);
        let share = match self.kind {
            Kind::Quick(_) => tier::least_share(bad, events),
            Kind::Burn(_) => bad / events,
        };
        share > limit && bad > tier::noise(budget * events)
    }

    fn update(&mut self, holds: bool, now: u64) {
        if holds {
            let since = *self.pending_since.get_or_insert(now);
            if now - since >= self.hold {
                self.fired_at = Some(now);
            }
        } else {
            self.pending_since = None;
            self.fired_at = self.fired_at.filter(|at| now - at < self.keep);
        }
    }
}

fn steps(duration: Duration) -> u64 {
    duration.as_secs() / STEP.as_secs()
}
