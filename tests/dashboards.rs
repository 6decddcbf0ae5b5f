//! The dashboards are sound, and alive: rules that every one of them keeps, and a real Prometheus that answers every
//! query in them.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

mod common;

#[path = "dashboards/ask.rs"]
mod ask;
#[path = "dashboards/broken.rs"]
mod broken;
#[path = "dashboards/dashboard.rs"]
mod dashboard;
#[path = "dashboards/fixture.rs"]
mod fixture;
#[path = "dashboards/lint/mod.rs"]
mod lint;
#[path = "dashboards/live.rs"]
mod live;
#[path = "dashboards/promql/mod.rs"]
mod promql;
#[path = "dashboards/shipped.rs"]
mod shipped;
#[path = "dashboards/stage.rs"]
mod stage;
