//! The daemon as its users run it: a configuration, history on, and what it measured read from that history.

#![allow(dead_code, reason = "each bench uses a part of this")]

use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rusqlite::{Connection, OpenFlags};
use tempfile::TempDir;

use crate::load::Load;
use crate::process::{Dialogue, Process, wait_for};
use crate::trip::Trip;

#[derive(Debug)]
pub struct Daemon {
    pub process: Process,
    folder: TempDir,
}

/// What stands in its history.
#[derive(Debug, Default)]
pub struct Found {
    pub trips: Vec<Trip>,
    /// How probes failed.
    pub failed: Vec<String>,
}

impl Daemon {
    /// Starts the binary that users run, with so many workloads of one kind.
    pub fn start(address: &str, load: &Load, workloads: usize) -> Self {
        Self::start_with(address, load, workloads, "")
    }

    /// The same, with these lines in `[daemon]`.
    pub fn start_with(address: &str, load: &Load, workloads: usize, settings: &str) -> Self {
        let mut program = Command::new(env!("CARGO_BIN_EXE_sloprobe"));
        let folder = prepare(&mut program, address, load, workloads, settings);
        Self { process: Process::start(&mut program), folder }
    }

    /// Starts a program that takes the arguments of `sloprobe` and answers questions beside.
    pub fn start_talking(mut program: Command, address: &str, load: &Load) -> (Self, Dialogue) {
        let folder = prepare(&mut program, address, load, 1, "");
        let (process, dialogue) = Process::start_talking(&mut program);
        (Self { process, folder }, dialogue)
    }

    /// Where it serves its metrics, once it does.
    pub fn address(&mut self) -> String {
        wait_for("a daemon that serves its metrics", || {
            let log = fs::read_to_string(self.folder.path().join("log")).expect("the log is text");
            assert!(!self.process.has_ended(), "the daemon ended: {log}");
            let (_, after) = log.split_once("metrics at http://")?;
            after.split_once("/metrics").map(|(address, _)| address.to_owned())
        })
    }

    /// Ends it in order, and reads what it measured.
    pub fn end(self) -> Found {
        self.process.end();
        Found::read(&self.folder.path().join("history.db")).expect("the history can be read")
    }

    /// Ends it in order, and reads how late its probes started.
    pub fn end_with_lags(self) -> Vec<Lag> {
        self.process.end();
        Lag::read(&self.folder.path().join("history.db")).expect("the history can be read")
    }
}

/// How late one probe started.
#[derive(Debug, Clone, Copy)]
pub struct Lag {
    pub at: SystemTime,
    pub late: Duration,
}

impl Lag {
    fn read(history: &Path) -> rusqlite::Result<Vec<Self>> {
        let file = Connection::open_with_flags(history, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        let mut query = file.prepare("SELECT at, lag FROM probes")?;
        let micros = Duration::from_micros;
        let lags = query.query_map([], |row| {
            Ok(Self { at: UNIX_EPOCH + micros(row.get(0)?), late: micros(row.get(1)?) })
        })?;
        lags.collect()
    }
}

impl Found {
    fn read(history: &Path) -> rusqlite::Result<Self> {
        let file = Connection::open_with_flags(history, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        let query =
            "SELECT at_us, outcome, suspect, ttft, prefill, itl_p50, detail FROM probe ORDER BY at_us";
        let mut query = file.prepare(query)?;
        let mut rows = query.query([])?;
        let mut found = Self::default();
        while let Some(row) = rows.next()? {
            let outcome: String = row.get(1)?;
            if outcome != "ok" {
                found
                    .failed
                    .push(format!("{outcome}: {}", row.get::<_, Option<String>>(6)?.unwrap_or_default()));
                continue;
            }
            let seconds = |column| row.get(column).map(Duration::from_secs_f64);
            found.trips.push(Trip {
                started: UNIX_EPOCH + Duration::from_micros(row.get(0)?),
                ttft: seconds(3)?,
                truth: seconds(4)?,
                itl_p50: seconds(5)?,
                suspect: row.get(2)?,
            });
        }
        Ok(found)
    }
}

/// Gives the program its arguments, and the folder in which it works.
fn prepare(program: &mut Command, address: &str, load: &Load, workloads: usize, settings: &str) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder for the daemon");
    let config = folder.path().join("sloprobe.toml");
    fs::write(&config, configuration(address, load, workloads, settings))
        .expect("the folder can be written to");
    let log = File::create(folder.path().join("log")).expect("the folder can be written to");
    program.args(["run", "--listen", "127.0.0.1:0", "-c"]).arg(&config);
    program.env_remove("SLOPROBE_LOG").current_dir(&folder).stderr(log);
    folder
}

fn configuration(address: &str, load: &Load, workloads: usize, settings: &str) -> String {
    let mut text = format!("[daemon]\nhistory = 'history.db'\n{settings}\n[limits]\nin_flight = 2000\n");
    for number in 0..workloads {
        let tokens = load.script.tokens;
        let _ = writeln!(text, "[[workloads]]\nname = 'w{number}'\nkind = 'chat'\noutput_tokens = {tokens}");
    }
    for number in 0..load.targets {
        let interval = humantime::format_duration(load.interval);
        let _ = writeln!(
            text,
            "[[targets]]\nname = 't{number}'\nurl = 'http://{address}'\nmodel = 'm'\nengine = 'other'\nrate = '1/{interval}'"
        );
    }
    text
}
