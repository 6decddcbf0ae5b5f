//! What the daemon is to do, in domain types: everything checked, nothing left to guess.

use std::net::{Ipv4Addr, SocketAddr};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::context::Outside;
use super::reader::Table;
use super::workload::Workloads;
use super::{keys, otlp, slo, target, value};
use crate::domain::{Buckets, Collector, Exposure, Histograms, Limits, Slo, Target, Workload};

const DEFAULT_LISTEN: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 9788);
const DEFAULT_IN_FLIGHT: usize = 64;
const MAX_THREADS: usize = 256;

/// More open streams than this ask for a second prober.
pub(super) const MAX_IN_FLIGHT: usize = 10_000;
const SHORTEST_AGE: Duration = Duration::from_secs(3600);
const LONGEST_AGE: Duration = Duration::from_secs(10 * 366 * 24 * 3600);
const AGE: &str = "write a duration from \"1h\" to \"3660d\", such as \"35d\"";

const LEAST_BYTES: u64 = 16 << 20;
const MOST_BYTES: u64 = 1 << 40;
const SIZE: &str = "write a size from \"16MiB\" to \"1TiB\", such as \"2GiB\" or \"500MB\"";

pub(super) const MAX_TOKENS_PER_HOUR: u64 = 1_000_000_000_000;

#[derive(Debug, Clone)]
pub struct Plan {
    pub listen: SocketAddr,
    /// How many threads do nothing but measure; without, as many as the probes under way need.
    pub threads: Option<NonZeroUsize>,
    /// In which form durations are shown to Prometheus.
    pub exposure: Exposure,
    pub limits: Limits,
    pub targets: Vec<Arc<Target>>,
    pub workloads: Vec<Arc<Workload>>,
    pub slos: Vec<Arc<Slo>>,
    /// Where what was learned is kept between two runs.
    pub state: Option<PathBuf>,
    pub history: Keep,
    /// Where traces and metrics are pushed to.
    pub otlp: Option<Collector>,
}

/// What is kept of what was measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keep {
    /// In memory without one, and then for some hours only.
    pub path: Option<PathBuf>,
    pub age: Duration,
    pub bytes: u64,
}

impl Plan {
    /// The most that one probe may cost, in tokens.
    pub fn largest_probe(&self) -> u64 {
        self.workloads.iter().map(|workload| workload.expected_tokens()).max().unwrap_or(0)
    }

    /// About as many probes as are under way at a time, if answers come at an ordinary pace.
    pub fn usually_under_way(&self) -> usize {
        let of_target = |target: &Target| {
            let shares =
                target.mix.iter().map(|share| f64::from(share.weight) * usual_seconds(&share.workload));
            let seconds = shares.sum::<f64>() / f64::from(target.total_weight().max(1));
            (seconds / target.rate.interval.as_secs_f64()).min(target.in_flight as f64)
        };
        let all: f64 = self.targets.iter().map(|target| of_target(target)).sum();
        self.limits.in_flight.min(all.ceil() as usize)
    }
}

/// How long an ordinary engine takes for an answer: a second to the first token, then forty tokens a second.
fn usual_seconds(workload: &Workload) -> f64 {
    1.0 + f64::from(workload.output_tokens.longest()) / 40.0
}

impl Default for Keep {
    fn default() -> Self {
        Self { path: None, age: Duration::from_secs(35 * 24 * 3600), bytes: 2 << 30 }
    }
}

/// `[daemon]`.
struct Daemon {
    listen: SocketAddr,
    threads: Option<NonZeroUsize>,
    exposure: Exposure,
    state: Option<PathBuf>,
    history: Keep,
}

/// Everything is read before the first `?`, so that every problem is found.
pub(super) fn read(root: &Table<'_>, outside: &Outside<'_>) -> Option<Plan> {
    let daemon = Daemon {
        listen: DEFAULT_LISTEN,
        threads: None,
        exposure: Exposure::default(),
        state: None,
        history: Keep::default(),
    };
    let daemon = root.or("daemon", daemon, |node| read_daemon(&node.table(&keys::DAEMON)?));
    let limits = root.or("limits", Limits { in_flight: DEFAULT_IN_FLIGHT, tokens_per_hour: None }, |node| {
        read_limits(&node.table(&keys::LIMITS)?)
    });
    let otlp = root.or("otlp", None, |node| otlp::read(&node.table(&keys::OTLP)?, outside).map(Some));
    let workloads = Workloads::read(root, outside);
    let targets = target::read_all(root, limits, &workloads, outside);
    let slos = slo::read_all(root, &workloads, targets.as_deref());
    let (limits, targets, workloads, slos) = (limits?, targets?, workloads.complete()?, slos?);
    let Daemon { listen, threads, exposure, state, history } = daemon?;
    Some(Plan { listen, threads, exposure, limits, targets, workloads, slos, state, history, otlp: otlp? })
}

fn read_daemon(table: &Table<'_>) -> Option<Daemon> {
    let listen = table.or("listen", DEFAULT_LISTEN, |node| value::listen(&node));
    let state =
        table.or("state", None, |node| value::line(&node, "sloprobe.state").map(PathBuf::from).map(Some));
    let threads = table.or("threads", None, |node| node.whole(1..=MAX_THREADS).map(NonZeroUsize::new));
    let exposure = read_exposure(table);
    let history = read_history(table);
    Some(Daemon { listen: listen?, threads: threads?, exposure: exposure?, state: state?, history: history? })
}

fn read_exposure(table: &Table<'_>) -> Option<Exposure> {
    let usual = Exposure::default();
    let histograms = table.or("histograms", usual.histograms, |node| node.one_of(&Histograms::NAMES));
    let buckets = table.or("buckets", usual.buckets, |node| node.one_of(&Buckets::NAMES));
    let created = table.or("created", usual.created, |node| node.flag());
    Some(Exposure { histograms: histograms?, buckets: buckets?, created: created? })
}

fn read_history(table: &Table<'_>) -> Option<Keep> {
    let usual = Keep::default();
    let path =
        table.or("history", None, |node| value::line(&node, "sloprobe.db").map(PathBuf::from).map(Some));
    let age = table
        .or("history_age", usual.age, |node| value::duration_within(&node, SHORTEST_AGE..=LONGEST_AGE, AGE));
    let bytes = table
        .or("history_size", usual.bytes, |node| value::bytes_within(&node, LEAST_BYTES..=MOST_BYTES, SIZE));
    Some(Keep { path: path?, age: age?, bytes: bytes? })
}

fn read_limits(table: &Table<'_>) -> Option<Limits> {
    let in_flight = table.or("in_flight", DEFAULT_IN_FLIGHT, |node| node.whole(1..=MAX_IN_FLIGHT));
    let tokens_per_hour =
        table.or("tokens_per_hour", None, |node| node.whole(1..=MAX_TOKENS_PER_HOUR).map(Some));
    Some(Limits { in_flight: in_flight?, tokens_per_hour: tokens_per_hour? })
}
