//! One round: one client under one load, watched for a while.

use std::process::Stdio;
use std::time::{Duration, SystemTime};

use sloprobe::domain::clock;

use crate::daemon::{Daemon, Found};
use crate::load::Load;
use crate::process::{Engine, Process, Written, itself, pass};
use crate::trip::Trip;

/// Who measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Client {
    Daemon,
    /// reqwest on a runtime with one thread.
    BareOne,
    /// reqwest on a runtime with a thread for each core.
    BareMany,
    Raw,
}

/// What one round found.
#[derive(Debug, Clone, Copy)]
pub struct Round {
    /// Milliseconds of processor time for 1000 tokens.
    pub cpu: f64,
    /// Of the TTFT, in ms.
    pub error_p50: f64,
    pub error_p99: f64,
    /// Median over the answers of what the median gap is off, in ms.
    pub itl_error: f64,
    pub probes: usize,
    /// The share of the probes due that failed or were not sent.
    pub lost: f64,
    pub suspect: usize,
    pub written: Written,
}

/// The time that is looked at.
#[derive(Debug, Clone, Copy)]
pub struct Window {
    pub from: SystemTime,
    pub to: SystemTime,
    pub cpu: Duration,
    pub written: Written,
}

impl Client {
    pub const ALL: [Self; 4] = [Self::Daemon, Self::BareOne, Self::BareMany, Self::Raw];

    pub fn name(self) -> &'static str {
        match self {
            Self::Daemon => "daemon",
            Self::BareOne => "reqwest, one thread",
            Self::BareMany => "reqwest, a thread per core",
            Self::Raw => "raw socket",
        }
    }

    /// Runs it against the engine, and gives what it found.
    pub fn round(self, engine: &mut Engine, load: &Load) -> Round {
        if self == Self::Daemon {
            let daemon = Daemon::start(&engine.address, load, 1);
            let window = Window::watch(&daemon.process, engine, load);
            let found = daemon.end();
            return Round::of_daemon(&found, load, &window);
        }
        let micros = load.step().as_micros().to_string();
        let tokens = load.script.tokens.to_string();
        let word = match self {
            Self::Raw => ["raw", "one"],
            Self::BareOne => ["bare", "one"],
            _ => ["bare", "many"],
        };
        let targets = load.targets.to_string();
        let mut command = itself(&[word[0], word[1], &engine.address, &micros, &tokens, &targets]);
        let process = Process::start(command.stdout(Stdio::piped()));
        let window = Window::watch(&process, engine, load);
        let printed = process.end();
        let trips: Vec<_> = printed.lines().filter_map(Trip::of_line).collect();
        Round::new(&trips, load, &window)
    }
}

impl Window {
    /// Waits until the load is steady, then watches for as long as the load says.
    pub fn watch(process: &Process, engine: &mut Engine, load: &Load) -> Self {
        pass(load.warm_up());
        engine.written();
        let (from, before) = (clock::wall_now(), process.cpu());
        pass(load.window);
        let cpu = process.cpu().saturating_sub(before);
        Self { from, to: clock::wall_now(), cpu, written: engine.written() }
    }
}

impl Round {
    pub fn of_daemon(found: &Found, load: &Load, window: &Window) -> Self {
        if let Some(first) = found.failed.first() {
            println!("  {} probes failed, the first: {first}", found.failed.len());
        }
        Self::new(&found.trips, load, window)
    }

    fn new(trips: &[Trip], load: &Load, window: &Window) -> Self {
        let started = |trip: &&Trip| trip.started >= window.from && trip.started < window.to;
        let trips: Vec<_> = trips.iter().filter(started).collect();
        let probes = trips.len();
        assert!(probes > 0, "no probe came back");
        let errors = sorted(trips.iter().map(|trip| trip.ttft_error()));
        let itl = sorted(trips.iter().map(|trip| trip.itl_error(load.script.itl)));
        Self {
            cpu: window.cpu.as_secs_f64() * 1e6 / window.written.tokens as f64,
            error_p50: quantile(&errors, 0.5),
            error_p99: quantile(&errors, 0.99),
            itl_error: quantile(&itl, 0.5),
            probes,
            lost: (1.0 - probes as f64 / load.probes() as f64).max(0.0),
            suspect: trips.iter().filter(|trip| trip.suspect).count(),
            written: window.written,
        }
    }
}

/// At the edges of a window a probe or two are in or out by chance.
pub const MOST_LOST: f64 = 0.03;

pub fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<_> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}

/// By nearest rank.
pub fn quantile(sorted: &[f64], q: f64) -> f64 {
    let rank = (sorted.len() as f64 * q).ceil() as usize;
    sorted[rank.clamp(1, sorted.len()) - 1]
}

/// Of one figure over all rounds.
pub fn median(rounds: &[Round], figure: impl Fn(&Round) -> f64) -> f64 {
    quantile(&sorted(rounds.iter().map(figure)), 0.5)
}
