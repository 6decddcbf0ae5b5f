//! `cargo bench --bench history`: what thirty days of ten targets take on the disk, what writing them costs, and how
//! long a person waits for one target of them.

#![allow(clippy::unwrap_used, reason = "a measurement that cannot go on should panic")]

#[path = "../support/reports.rs"]
mod reports;

use std::path::Path;
use std::time::Duration;

use reports::{INTERVAL, Maker, began};
use sloprobe::domain::ReleaseId;
use sloprobe::history::{History, Pick, Reader, Settings};
use tokio::time::Instant;

const TARGETS: usize = 10;
const DAYS: u64 = 30;
const PROBES: usize = TARGETS * (DAYS * 24 * 3600 / INTERVAL.as_secs()) as usize;

/// Two a second, each second in a transaction of its own: as a daemon writes.
const PER_SECOND: usize = 2;
const SECONDS: usize = 10_000;

/// Less than the queue takes.
const AT_ONCE: usize = 4000;

const MOST_BYTES: u64 = 2 << 30;
const MOST_SHARE: f64 = 0.01;
const LONGEST_READ: Duration = Duration::from_secs(1);

fn main() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("history.db");
    let settings = Settings { path: Some(path.clone()), keep: Duration::MAX, max_bytes: u64::MAX };
    let mut maker = Maker::new(TARGETS);

    let history = History::open(&settings).unwrap();
    let (start, cpu) = (Instant::now(), writer_cpu());
    for n in 0..PROBES {
        history.keep(maker.next(n), ReleaseId(1 + i64::from((n * 8 / PROBES) as u32)), false);
        if n % AT_ONCE == AT_ONCE - 1 {
            history.flush().unwrap();
        }
    }
    history.flush().unwrap();
    let (took, cpu) = (Instant::now() - start, writer_cpu().saturating_sub(cpu));
    assert_eq!((history.state().written, history.state().lost), (PROBES as u64, 0));
    println!("{PROBES} probes, {DAYS} days of {TARGETS} targets, in transactions of 1000:");
    println!("  {:.0} probes/s, {:.1} µs of the writer's CPU each", per(took), micros(cpu, PROBES));
    let bytes = show_size(&history, &path);

    let cpu = writer_cpu();
    for n in 0..PER_SECOND * SECONDS {
        history.keep(maker.next(PROBES + n), ReleaseId(9), false);
        if n % PER_SECOND == PER_SECOND - 1 {
            history.flush().unwrap();
        }
    }
    let cpu = writer_cpu().saturating_sub(cpu);
    let share = cpu.as_secs_f64() / SECONDS as f64;
    println!("as a daemon writes, {PER_SECOND} probes a second in a transaction of their own:");
    println!(
        "  {:.0} µs of CPU a probe, {:.3} % of one core",
        micros(cpu, PER_SECOND * SECONDS),
        share * 100.0
    );
    history.close();

    let read = read(&path);
    assert!(bytes < MOST_BYTES, "{bytes} bytes");
    assert!(share < MOST_SHARE, "{share} of one core");
    assert!(read < LONGEST_READ, "{read:?} to read one target");
}

fn per(took: Duration) -> f64 {
    PROBES as f64 / took.as_secs_f64()
}

fn micros(cpu: Duration, probes: usize) -> f64 {
    cpu.as_secs_f64() * 1e6 / probes as f64
}

/// What the file takes, and each of its tables.
fn show_size(history: &History, path: &Path) -> u64 {
    let bytes = history.state().bytes;
    println!(
        "  {:.0} MiB, {:.0} bytes a probe",
        bytes as f64 / f64::from(1 << 20),
        bytes as f64 / PROBES as f64
    );
    let file = rusqlite::Connection::open(path).unwrap();
    let sql = "SELECT name, sum(pgsize), sum(payload) FROM dbstat GROUP BY name ORDER BY 2 DESC LIMIT 3";
    let mut tables = file.prepare(sql).unwrap();
    let mut rows = tables.query([]).unwrap();
    while let Some(row) = rows.next().unwrap() {
        let (name, size, payload): (String, f64, f64) =
            (row.get(0).unwrap(), row.get(1).unwrap(), row.get(2).unwrap());
        let each = size / PROBES as f64;
        println!("  {name}: {each:.0} bytes a probe, {:.0} % of them payload", payload / size * 100.0);
    }
    bytes
}

/// One target over all of its time; the quickest of three.
fn read(path: &Path) -> Duration {
    let reader = Reader::open(path).unwrap();
    let pick = Pick { target: Some("target-3".into()), ..Pick::default() };
    let round = || {
        let start = Instant::now();
        let probes = reader.probes(&pick).unwrap();
        (Instant::now() - start, probes.len())
    };
    let rounds = [round(), round(), round()];
    let quickest = rounds.iter().map(|round| round.0).min().unwrap();
    println!("one target over {DAYS} days, {} probes: read in {quickest:.0?}", rounds[0].1);
    let start = Instant::now();
    let to = began() + Duration::from_secs(86_400);
    let day = reader.probes(&Pick { to: Some(to), ..pick }).unwrap().len();
    println!("one day of it, {day} probes: {:.0?}", Instant::now() - start);
    quickest
}

/// Of the thread that writes, as the kernel tells it in hundredths of a second.
fn writer_cpu() -> Duration {
    let ticks = std::fs::read_dir("/proc/self/task").unwrap().filter_map(|task| {
        let stat = std::fs::read_to_string(task.ok()?.path().join("stat")).ok()?;
        let (name, rest) = stat.rsplit_once(") ")?;
        let fields: Vec<&str> = rest.split(' ').collect();
        let [user, system] = [11, 12].map(|field: usize| fields[field].parse::<u64>().unwrap());
        name.ends_with("(history").then_some(user + system)
    });
    Duration::from_millis(10 * ticks.sum::<u64>())
}
