//! Servers of others that a test starts for itself, each on a port of its own and in a folder of its own.

use std::fs;
use std::net::TcpListener;
use std::process::Command;
use std::time::Duration;

use tempfile::TempDir;

use super::{Process, eventually, get};

/// A start, or several scrapes, on a busy machine.
pub const BOUND: Duration = Duration::from_secs(60);

/// What to do about a program that is missing.
pub const REMEDY: &str = "run tests/run.sh, which installs what the tests need \
                          (Debian: apt-get install prometheus prometheus-alertmanager)";

/// A running server; the process ends before its folder goes.
#[derive(Debug)]
pub struct Service {
    process: Process,
    /// Where it listens, such as "127.0.0.1:40123".
    pub address: String,
    _folder: TempDir,
}

impl Service {
    /// Starts a program in a folder with these files, and waits until it is ready to serve.
    pub async fn start(program: &str, files: &[(&str, &str)], args: &[&str]) -> Self {
        let start = format!("the start of {program}");
        let mut last_words = String::new();
        // It cannot choose a free port itself, and somebody else may take the one chosen for it.
        for _ in 0..3 {
            let mut service = Self::spawn(program, files, args);
            let ready = eventually(&start, BOUND, async || {
                if service.process.has_ended() {
                    return Ok(false);
                }
                get(&service.address, "/-/ready").await.map(|_| true)
            });
            if ready.await {
                return service;
            }
            last_words = service.process.stderr();
        }
        panic!("{program} ends as soon as it is started: {last_words}");
    }

    fn spawn(program: &str, files: &[(&str, &str)], args: &[&str]) -> Self {
        let folder = TempDir::new().expect("a folder for the data");
        for (name, text) in files {
            fs::write(folder.path().join(name), text).expect("the folder can be written to");
        }
        let address = free_address();
        let listen = format!("--web.listen-address={address}");
        let mut command = Command::new(program);
        command.current_dir(folder.path()).args(args).args([&listen, "--log.level=warn"]);
        let process = Process::spawn(&mut command)
            .unwrap_or_else(|error| panic!("{program} cannot be started: {error}\n    {REMEDY}"));
        Self { process, address, _folder: folder }
    }

    /// What it has logged: warnings and errors.
    pub fn log(&self) -> String {
        self.process.stderr()
    }
}

/// A moment ago nobody listened there.
fn free_address() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    listener.local_addr().expect("it has an address").to_string()
}
