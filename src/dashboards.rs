//! Grafana dashboards, written from the catalogue and nothing else.
//!
//! - They name no target, workload or objective: those come from variables and labels, and what an objective promises is
//!   drawn from `sloprobe_slo_threshold_seconds`. Whoever changes a configuration need not write them anew.
//! - They answer in this order: is anything broken for users now (overview); since when and what changed (overview,
//!   releases); where does the time go (target); can the probe be trusted (health).
//! - Every rate is over `$window`, which grows with the time shown and is never shorter than a step, so nothing is left
//!   out between two points; probes are rare, and over the shortest window that Prometheus can do, a quantile of three
//!   probes would dance.
//! - Sums are over replicas; `region` and `cluster`, which Prometheus adds, keep places apart where there is room for it.
//! - A query that is empty while nothing is wrong gives 0 or says so in words.

mod columns;
mod expr;
mod frame;
mod health;
mod look;
mod overview;
mod panel;
mod releases;
mod target;

use serde_json::Value;

pub use look::PALETTE;

/// One dashboard.
#[derive(Debug, Clone)]
pub struct Dashboard {
    /// What distinguishes it from the others, such as "overview"; `sloprobe-` before it is its uid.
    pub name: &'static str,
    pub title: &'static str,
    /// Classic JSON, as Grafana 10 wrote it and later ones still read it.
    pub json: Value,
}

impl Dashboard {
    /// The file that it goes by.
    pub fn file(&self) -> String {
        format!("{}.json", uid(self.name))
    }

    /// The text of that file.
    pub fn text(&self) -> String {
        format!("{:#}\n", self.json)
    }
}

/// All of them, in the order in which a person reads them.
pub fn all() -> Vec<Dashboard> {
    [overview::BOARD, target::BOARD, releases::BOARD, health::BOARD].map(frame::build).into()
}

/// By which Grafana knows one, and links lead to it; it never changes.
fn uid(name: &str) -> String {
    format!("sloprobe-{name}")
}
