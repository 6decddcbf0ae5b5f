//! Invented times to first token, as a Prometheus would have scraped their histogram.

use std::f64::consts::TAU;
use std::fmt::Write as _;
use std::sync::Arc;

use sloprobe::catalogue;
use sloprobe::domain::{Buckets, Slo};

use super::chance::Chance;
use super::replay::Replay;

/// Rules that look back weeks are evaluated this rarely, and need no denser samples.
pub const SCRAPE: u32 = 300;

pub const DAY: u32 = 86_400;

const SECONDS_BETWEEN_PROBES: u32 = 10;
const MEDIAN: f64 = 0.45;
/// Of the logarithm, from probe to probe.
const SPREAD: f64 = 0.3;
/// The load of the day adds and takes so much.
const LOAD: f64 = 0.3;
/// Of the logarithm of what makes one hour unlike another for no reason, and how long it lasts.
const DRIFT: f64 = 0.06;
const DRIFT_SECONDS: f64 = 3.0 * 3600.0;

/// Only between these bounds can a median lie before it grows. What the buckets beyond hold does not change
/// it, and promtool takes its time for each of them.
const LEAST: f64 = 0.22;
const MOST: f64 = 0.7;

/// From this second on, everything takes so many times as long.
#[derive(Debug, Clone, Copy)]
pub struct Growth {
    pub second: u32,
    pub factor: f64,
}

/// Adds the histogram of one target, whose days begin at a random hour.
pub fn add(replay: &mut Replay, chance: &mut Chance, target: &str, seconds: u32, growth: Growth) {
    let bounds = bounds(growth.factor);
    let mut counts = vec![0_u32; bounds.len()];
    let mut values = vec![String::new(); bounds.len()];
    let mut drift = DRIFT * chance.normal();
    let keep = (-f64::from(SCRAPE) / DRIFT_SECONDS).exp();
    let morning = chance.share();
    for scrape in (0..=seconds).step_by(SCRAPE as usize) {
        let hour = TAU * (f64::from(scrape) / f64::from(DAY) + morning);
        drift = keep * drift + (1.0 - keep * keep).sqrt() * DRIFT * chance.normal();
        let median = MEDIAN * (1.0 + LOAD * hour.sin()) * drift.exp();
        for probe in (scrape.saturating_sub(SCRAPE)..scrape).step_by(SECONDS_BETWEEN_PROBES as usize) {
            let factor = if probe < growth.second { 1.0 } else { growth.factor };
            let ttft = factor * median * (SPREAD * chance.normal()).exp();
            counts[bounds.partition_point(|bound| *bound < ttft)] += 1;
        }
        let mut below = 0;
        for (count, values) in counts.iter().zip(&mut values) {
            below += count;
            write!(values, "{below} ").expect("text grows");
        }
    }
    let place = format!(r#"target="{target}",workload="chat",instance="i:1""#);
    for (bound, values) in bounds.iter().zip(&values) {
        let le = if bound.is_finite() { bound.to_string() } else { "+Inf".to_owned() };
        replay.series(&format!(r#"{}_bucket{{{place},le="{le}"}}"#, catalogue::TTFT.name), values);
    }
}

/// The bounds of the real histogram that a median can lie between, and the last one.
fn bounds(factor: f64) -> Vec<f64> {
    let none: [Arc<Slo>; 0] = [];
    let bounds = catalogue::TTFT.bounds(Buckets::Few, &none);
    // A bound below the least median is where its bucket begins.
    let least = bounds.partition_point(|bound| *bound <= LEAST).saturating_sub(1);
    let most = bounds.partition_point(|bound| *bound < MOST * factor);
    [&bounds[least..=most], &[f64::INFINITY]].concat()
}
