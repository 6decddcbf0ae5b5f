//! `cargo bench --bench report`: how long a person waits for the summary of thirty days of ten targets, and what the
//! sums that make it quick cost.

#![allow(clippy::unwrap_used, reason = "a measurement that cannot go on should panic")]

#[path = "../support/reports.rs"]
mod reports;

use std::path::Path;
use std::time::Duration;

use reports::{INTERVAL, Maker, began};
use sloprobe::domain::ReleaseId;
use sloprobe::history::{Figure, History, Pick, Reader, Settings, Tally};
use tokio::time::Instant;

const TARGETS: usize = 10;
const DAYS: u64 = 30;
const PROBES: usize = TARGETS * (DAYS * 24 * 3600 / INTERVAL.as_secs()) as usize;

/// Less than the queue takes.
const AT_ONCE: usize = 4000;

const LONGEST: Duration = Duration::from_secs(2);
/// Of the time in which the probes are measured.
const MOST_SHARE: f64 = 0.001;

fn main() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("history.db");
    let settings = Settings { path: Some(path.clone()), keep: Duration::MAX, max_bytes: u64::MAX };
    let history = History::open(&settings).unwrap();
    let mut maker = Maker::new(TARGETS);
    for n in 0..PROBES {
        history.keep(maker.next(n), ReleaseId(1 + i64::from((n * 8 / PROBES) as u32)), false);
        if n % AT_ONCE == AT_ONCE - 1 {
            history.flush().unwrap();
        }
    }
    history.flush().unwrap();
    assert_eq!((history.state().written, history.state().lost), (PROBES as u64, 0));
    let before = history.state().bytes;

    let start = Instant::now();
    history.sum_up().unwrap();
    let took = Instant::now() - start;
    let share = took.as_secs_f64() / (DAYS * 24 * 3600) as f64;
    println!("{PROBES} probes, {DAYS} days of {TARGETS} targets: added up in {took:.1?}");
    println!(
        "  {:.1} µs a probe, {:.4} % of one core in life",
        took.as_secs_f64() * 1e6 / PROBES as f64,
        share * 100.0
    );
    history.close();
    show_size(&path, before);

    let reader = Reader::open(&path).unwrap();
    let all = Pick { with_mixed: true, ..Pick::default() };
    let longest = time("all of it", &reader, &all);
    let cut = Duration::from_secs(1234);
    let end = began() + Duration::from_secs(DAYS * 24 * 3600);
    time(
        "all but for its ends, which are within hours",
        &reader,
        &Pick { from: Some(began() + cut), to: Some(end - cut), ..all.clone() },
    );
    time("one target", &reader, &Pick { target: Some("target-3".into()), ..all.clone() });
    time("one release", &reader, &Pick { releases: vec![ReleaseId(3)], ..all.clone() });
    time("one day", &reader, &Pick { from: Some(end - Duration::from_secs(24 * 3600)), ..all.clone() });

    let start = Instant::now();
    let count = reader.probes(&Pick { target: Some("target-3".into()), ..all }).unwrap().len();
    println!("for comparison, the {count} probes of one target: read in {:.0?}", Instant::now() - start);
    assert!(longest < LONGEST, "{longest:?}");
    assert!(share < MOST_SHARE, "{share}");
}

/// The quickest of three.
fn time(what: &str, reader: &Reader, pick: &Pick) -> Duration {
    let round = || {
        let start = Instant::now();
        let tallies = reader.tallies(pick).unwrap();
        let mut all = Tally::default();
        for (.., tally) in &tallies {
            all.merge(tally);
        }
        let p99 = all.spread(Figure::Ttft).quantile(0.99).unwrap_or(0.0);
        (Instant::now() - start, all.probes, p99)
    };
    let (took, probes, p99) = [round(), round(), round()].into_iter().min_by_key(|round| round.0).unwrap();
    println!("{what}: {probes} probes, P99 of the TTFT {:.0} ms, in {took:.0?}", p99 * 1e3);
    took
}

fn show_size(path: &Path, before: u64) {
    let file = rusqlite::Connection::open(path).unwrap();
    let (rows, bytes): (i64, i64) = file
        .query_row(
            "SELECT (SELECT count(*) FROM hours), sum(pgsize) FROM dbstat WHERE name LIKE 'hours%'",
            [],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .unwrap();
    let (mib, share) = (bytes as f64 / f64::from(1 << 20), bytes as f64 / before as f64 * 100.0);
    println!("  {rows} sums in {mib:.0} MiB, {share:.1} % of what the probes take");
}
