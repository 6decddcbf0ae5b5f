//! How soon the alert rules find what is wrong, and how often they find what is not there: simulated months,
//! replayed by the engine of a real Prometheus. `cargo test --test detection -- --nocapture` shows the tables.

#[path = "detection/chance.rs"]
mod chance;
#[path = "detection/foresight.rs"]
mod foresight;
#[path = "detection/latency.rs"]
mod latency;
#[path = "detection/outcomes.rs"]
mod outcomes;
#[path = "detection/quiet.rs"]
mod quiet;
#[path = "detection/regression.rs"]
mod regression;
#[path = "detection/replay.rs"]
mod replay;
#[path = "detection/rules.rs"]
mod rules;
#[path = "detection/slo.rs"]
mod slo;
#[path = "detection/times.rs"]
mod times;
