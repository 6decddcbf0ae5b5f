//! What Prometheus would do, without Prometheus: the arithmetic that the forecasts of `sloprobe check` rest on.

use std::time::Duration;

use sloprobe::forecast::watch::Watch;

use super::outcomes::{Probes, SCRAPE, Slo};
use super::rules::QUICK;

/// When the first alert of this group fires, in seconds, at the scrapes and evaluations of life.
pub fn first(slo: Slo, group: &str, probes: &Probes) -> f64 {
    let mut watch = Watch::new(slo.budget, Duration::from_secs(slo.seconds_between_probes.into()));
    let is_quick = |window: Duration| window <= Duration::from_secs(3600);
    let fires = |[all, bad]: [u32; 2]| {
        watch.step(all, bad);
        watch.firing().any(|tier| is_quick(tier.kind.windows()[0]) == (group == QUICK))
    };
    let step = probes.news().map(fires).position(|fires| fires);
    step.map_or(f64::INFINITY, |step| f64::from(SCRAPE) * (step + 1) as f64)
}
