//! Tokens to spend. Pure.

use tokio::time::Instant;

/// Tokens flow in steadily, so that a budget that is too small thins the probes out evenly instead of leaving the rest
/// of the hour dark.
#[derive(Debug)]
pub(super) struct Budget {
    flow: Option<Flow>,
}

#[derive(Debug)]
struct Flow {
    per_second: f64,
    capacity: f64,
    level: f64,
    at: Instant,
}

impl Budget {
    pub(super) fn new(per_hour: Option<u64>, largest_probe: u64, now: Instant) -> Self {
        Self { flow: per_hour.map(|per_hour| Flow::new(per_hour, largest_probe, now)) }
    }

    /// Takes another limit: what was spent stays spent, and more flows in at the new pace only.
    pub(super) fn adopt(&mut self, per_hour: Option<u64>, largest_probe: u64, now: Instant) {
        let new = Self::new(per_hour, largest_probe, now).flow;
        self.flow = match (self.flow.take(), new) {
            (Some(mut old), Some(new)) => {
                old.fill(now);
                Some(Flow { level: old.level.min(new.capacity), ..new })
            }
            (_, new) => new,
        };
    }

    pub(super) fn covers(&mut self, tokens: f64, now: Instant) -> bool {
        let Some(flow) = &mut self.flow else { return true };
        flow.fill(now);
        flow.level >= tokens
    }

    pub(super) fn take(&mut self, tokens: f64) {
        if let Some(flow) = &mut self.flow {
            flow.level = (flow.level - tokens).min(flow.capacity);
        }
    }
}

impl Flow {
    /// The level may hold a minute's share and one probe more; what flows in is so much less that no hour
    /// can exceed the limit.
    fn new(per_hour: u64, largest_probe: u64, now: Instant) -> Self {
        let capacity = per_hour as f64 / 60.0 + largest_probe as f64;
        let per_second = ((per_hour as f64 - capacity) / 3600.0).max(0.0);
        let capacity = capacity.min(per_hour as f64);
        Self { per_second, capacity, level: capacity, at: now }
    }

    fn fill(&mut self, now: Instant) {
        let passed = now.saturating_duration_since(self.at).as_secs_f64();
        self.level = (self.level + passed * self.per_second).min(self.capacity);
        self.at = now;
    }
}
