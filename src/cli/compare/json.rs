//! A comparison for programs: the contract is `deploy/compare.schema.json`.

use serde_json::{Value, json};

use crate::compare::{Amount, Change, Comparison, Place, Shift, Side, Summary};
use crate::page::{sentence, words};

/// Raised when a name changes its meaning or goes; a name that is added does not raise it.
const SCHEMA: u32 = 1;

/// Durations in seconds, changes of durations as ratios, shares and their changes between -1 and 1. Absent is null,
/// and so is a bound that is not finite.
pub(in crate::cli) fn write(comparison: &Comparison) -> Value {
    json!({
        "schema": SCHEMA,
        "target": &*comparison.target,
        "verdict": comparison.verdict().label(),
        "sentence": sentence::overall(comparison),
        "confidence": comparison.confidence,
        "margin": comparison.margin,
        "before": side(&comparison.before),
        "after": side(&comparison.after),
        "workloads": comparison.places.iter().map(workload).collect::<Vec<_>>(),
    })
}

fn side(side: &Side) -> Value {
    json!({
        "name": side.name,
        "from": words::moment(side.from),
        "to": words::moment(side.to),
        "probes": side.probes,
    })
}

fn workload(place: &Place) -> Value {
    json!({
        "workload": &*place.workload,
        "verdict": sentence::verdict(place).label(),
        "metrics": place.changes.iter().map(metric).collect::<Vec<_>>(),
    })
}

fn metric(change: &Change) -> Value {
    json!({
        "metric": change.metric.label(),
        "kind": if change.metric.is_share() { "share" } else { "duration" },
        "verdict": change.verdict.label(),
        "before": summary(&change.before),
        "after": summary(&change.after),
        "changes": change.shifts.iter().map(shift).collect::<Vec<_>>(),
        "need": change.need.map(|need| json!({ "probes": need.probes, "seconds": need.time.as_secs_f64() })),
    })
}

fn summary(summary: &Summary) -> Value {
    let (spread, count) = match summary.amount {
        Amount::Spread { p50, p90, p99, max } => ([p50, p90, p99, max].map(Some), None),
        Amount::Share { count } => ([None; 4], Some(count)),
        Amount::Nothing => ([None; 4], None),
    };
    let share = count.filter(|_| summary.samples > 0).map(|count| count as f64 / summary.samples as f64);
    let [p50, p90, p99, max] = spread;
    json!({
        "samples": summary.samples,
        "p50_seconds": p50,
        "p90_seconds": p90,
        "p99_seconds": p99,
        "max_seconds": max,
        "count": count,
        "share": share,
    })
}

fn shift(shift: &Shift) -> Value {
    json!({
        "quantile": shift.quantile.label(),
        "estimate": shift.estimate,
        "lower": shift.lower,
        "upper": shift.upper,
        "verdict": shift.verdict.label(),
    })
}

#[cfg(test)]
mod tests;
