//! The history as others meet it: killed at any moment, on a disk that refuses, and asked by people in SQL.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

#[path = "support/reports.rs"]
mod reports;

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use reports::Maker;
use rusqlite::Connection;
use sloprobe::domain::{Makeup, ReleaseId};
use sloprobe::history::{History, Pick, Reader, Settings};
use tokio::time::Instant;

/// Tells this binary, started again by itself, what to do and with which file.
const ROLE: &str = "SLOPROBE_TEST_HISTORY_ROLE";
const FILE: &str = "SLOPROBE_TEST_HISTORY_FILE";

/// Longer than anything here takes, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

const TARGETS: usize = 3;

fn settings(path: &Path) -> Settings {
    Settings { path: Some(path.to_owned()), keep: Duration::MAX, max_bytes: u64::MAX }
}

fn probes(path: &Path) -> usize {
    let all = Pick { with_mixed: true, ..Pick::default() };
    Reader::open(path).unwrap().probes(&all).unwrap().len()
}

fn assert_sound(path: &Path) {
    let file = Connection::open(path).unwrap();
    let found: String = file.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(found, "ok");
    let misplaced = "SELECT count(*) FROM probes WHERE id >> 20 <> at / 1000";
    assert_eq!(file.query_row(misplaced, [], |row| row.get::<_, i64>(0)).unwrap(), 0);
    let orphans = "SELECT count(*) FROM gaps WHERE probe NOT IN (SELECT id FROM probes)";
    assert_eq!(file.query_row(orphans, [], |row| row.get::<_, i64>(0)).unwrap(), 0);
}

/// Takes in so many, which wait for the next transaction.
fn keep(history: &History, maker: &mut Maker, from: usize, count: usize) {
    for n in from..from + count {
        history.keep(maker.next(n), ReleaseId(1), false);
    }
}

/// Takes in so many and waits until they are written.
fn write(history: &History, maker: &mut Maker, from: usize, count: usize) {
    keep(history, maker, from, count);
    history.flush().unwrap();
}

/// What a child of one of the tests does; without a parent, nothing.
#[test]
fn child() {
    let Some(path) = std::env::var_os(FILE).map(PathBuf::from) else { return };
    match std::env::var(ROLE).as_deref() {
        Ok("write one by one") => write_for_ever(&path, 1),
        Ok("write many at once") => write_for_ever(&path, 900),
        Ok("fill the disk") => fill_the_disk(&path),
        role => panic!("{role:?}"),
    }
}

fn start_child(role: &str, path: &Path, mut command: Command) -> Child {
    command.args(["--exact", "child", "--nocapture"]).env(ROLE, role).env(FILE, path);
    command.stdout(Stdio::piped()).spawn().unwrap()
}

/// Says when a transaction is asked for, and after it how many probes are written.
fn write_for_ever(path: &Path, at_once: usize) {
    let history = History::open(&settings(path)).unwrap();
    let mut maker = Maker::new(TARGETS);
    // Those of an earlier child are there already.
    let before = probes(path);
    for round in 1.. {
        keep(&history, &mut maker, before + (round - 1) * at_once, at_once);
        println!("\nbegun");
        history.flush().unwrap();
        println!("\nwritten {}", round * at_once);
    }
}

/// Kills a child so long after it began its n-th transaction; how many probes it says it had written.
fn kill_while_it_writes(role: &str, path: &Path, n: usize, delay: Duration) -> usize {
    let mut child = start_child(role, path, Command::new(std::env::current_exe().unwrap()));
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    let (mut begun, mut written) = (0, 0);
    for line in lines {
        begun += usize::from(line == "begun");
        written = line.strip_prefix("written ").map_or(written, |count| count.parse().unwrap());
        if line == "begun" && begun == n {
            let end = Instant::now() + delay;
            while Instant::now() < end {
                std::hint::spin_loop();
            }
            child.kill().unwrap();
        }
    }
    child.wait().unwrap();
    assert!(begun >= n, "it ended by itself");
    written
}

#[test]
fn a_writer_that_is_killed_at_any_moment_leaves_a_sound_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("history.db");
    let mut kept = 0;
    for n in 1..=8 {
        let one = ("write one by one", 30 * n, Duration::from_micros(137));
        let many = ("write many at once", 1 + n % 2, Duration::from_millis(3));
        for (role, transactions, delay) in [one, many] {
            let written = kill_while_it_writes(role, &path, transactions, delay * n as u32);
            assert_sound(&path);
            let found = probes(&path);
            assert!(found >= kept + written, "{found} of {kept} + {written}");
            kept = found;
        }
    }
    let history = History::open(&settings(&path)).unwrap();
    write(&history, &mut Maker::new(TARGETS), kept, 10);
    history.close();
    assert_eq!(probes(&path), kept + 10);
    assert_sound(&path);
}

/// Goes on until the disk has refused and more has come than may wait; no call may take long meanwhile.
fn fill_the_disk(path: &Path) {
    let history = History::open(&settings(path)).unwrap();
    let mut maker = Maker::new(TARGETS);
    let end = Instant::now() + PATIENCE;
    let mut written = 0;
    while !history.state().failing {
        assert!(Instant::now() < end, "the disk never refused");
        (0..100).for_each(|n| history.keep(maker.next(written + n), ReleaseId(1), false));
        written += 100;
        drop(history.flush());
    }
    let mut slowest = Duration::ZERO;
    for n in 0..12_000 {
        let report = maker.next(written + n);
        let start = Instant::now();
        history.keep(report, ReleaseId(1), false);
        slowest = slowest.max(Instant::now() - start);
    }
    let state = history.state();
    assert!(state.failing && state.lost > 1000, "{state:?}");
    assert!(slowest < Duration::from_secs(1), "{slowest:?}");
    history.begin_release("target-0", &Makeup::default(), reports::began());
    let why = history.flush().unwrap_err().to_string();
    assert!(why.starts_with("the history cannot be written: "), "{why}");
    println!("\nrefused {}", state.written);
    history.close();
}

/// The limit on a file's size makes the kernel refuse to write with a real error, EFBIG, as a full disk does with ENOSPC.
#[test]
fn a_disk_that_refuses_costs_probes_but_neither_time_nor_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("history.db");
    let mut shell = Command::new("sh");
    // In blocks of 512 bytes or of 1 KiB, as the shell likes; ignoring the signal leaves the error.
    shell.args(["-c", "trap '' XFSZ; ulimit -f 1000; exec \"$0\" \"$@\""]);
    shell.arg(std::env::current_exe().unwrap());
    let child = start_child("fill the disk", &path, shell).wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&child.stdout).into_owned();
    assert!(child.status.success(), "{said}");
    let written = said.lines().find_map(|line| line.strip_prefix("refused ")?.parse::<usize>().ok()).unwrap();
    assert_sound(&path);
    assert!(written > 0 && probes(&path) >= written, "{written}");

    let history = History::open(&settings(&path)).unwrap();
    let before = probes(&path);
    write(&history, &mut Maker::new(TARGETS), before, 500);
    assert_eq!(probes(&path), before + 500);
}

#[test]
fn every_query_that_is_shown_to_people_runs() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("history.db");
    let history = History::open(&settings(&path)).unwrap();
    history.begin_release("target-0", &Makeup::default(), reports::began());
    write(&history, &mut Maker::new(TARGETS), 0, 1000);
    let file = Connection::open(&path).unwrap();
    let guide = read("deploy/history.md");
    let source: String = read("src/history/schema.rs")
        .lines()
        .filter_map(|line| line.strip_prefix("//!"))
        .fold(String::new(), |all, line| all + line.trim_start() + "\n");
    let mut count = 0;
    for sql in [guide.as_str(), &source].into_iter().flat_map(sql_blocks).flat_map(|block| block.split(';')) {
        // Without this a target that the text names would hide what the query does with rows.
        let sql = sql.replace("'chat'", "'target-0'");
        if !sql.trim().is_empty() {
            let mut statement = file.prepare(&sql).unwrap_or_else(|error| panic!("{error}: {sql}"));
            let rows = statement.query([]).unwrap().mapped(|_| Ok(())).collect::<Result<Vec<_>, _>>();
            rows.unwrap_or_else(|error| panic!("{error}: {sql}"));
            count += 1;
        }
    }
    assert_eq!(count, 13);
}

fn read(path: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

fn sql_blocks(text: &str) -> impl Iterator<Item = &str> {
    text.split("```sql\n").skip(1).map(|rest| rest.split("```").next().unwrap())
}
