//! Processes of the bench: the engine, and whatever measures it.

#![allow(dead_code, reason = "each bench uses a part of this")]

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use tokio::time::Instant;

use crate::script::Script;

/// A process that does not outlive whoever started it.
#[derive(Debug)]
pub struct Process(Child);

/// Each line to the standard input of a process is a question, and each line from it an answer.
#[derive(Debug)]
pub struct Dialogue {
    questions: ChildStdin,
    answers: BufReader<ChildStdout>,
}

/// The engine, in a process of its own.
#[derive(Debug)]
pub struct Engine {
    _process: Process,
    dialogue: Dialogue,
    pub address: String,
}

/// What the engine wrote since it was last asked.
#[derive(Debug, Clone, Copy)]
pub struct Written {
    pub tokens: u64,
    /// How late its tokens were.
    pub late_p50: Duration,
    pub late_p99: Duration,
}

/// This bench as another process, with the word that says what it is to do.
pub fn itself(args: &[&str]) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("a process knows its own file"));
    command.args(args);
    command
}

impl Process {
    pub fn start(command: &mut Command) -> Self {
        Self(command.spawn().expect("a child can be started"))
    }

    /// Starts it with pipes at both ends.
    pub fn start_talking(command: &mut Command) -> (Self, Dialogue) {
        let mut process = Self::start(command.stdin(Stdio::piped()).stdout(Stdio::piped()));
        let questions = process.0.stdin.take().expect("it is a pipe");
        let answers = BufReader::new(process.0.stdout.take().expect("it is a pipe"));
        (process, Dialogue { questions, answers })
    }

    /// Processor time that it has used; Linux counts it in hundredths of a second.
    pub fn cpu(&self) -> Duration {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", self.0.id())).expect("the child runs");
        let after_name = stat.rsplit(')').next().unwrap_or_default();
        let of_itself = after_name.split_whitespace().skip(11).take(2);
        let ticks: u64 = of_itself.map(|ticks| ticks.parse::<u64>().expect("ticks are a number")).sum();
        Duration::from_millis(ticks * 10)
    }

    /// Bytes that it holds in memory now.
    pub fn memory(&self) -> u64 {
        let status =
            std::fs::read_to_string(format!("/proc/{}/status", self.0.id())).expect("the child runs");
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib = resident.and_then(|rest| rest.trim().strip_suffix(" kB")?.parse::<u64>().ok());
        kib.expect("Linux tells it in kB") << 10
    }

    pub fn has_ended(&mut self) -> bool {
        self.0.try_wait().expect("a child can be asked").is_some()
    }

    /// Asks it to end in order, and gives what it printed.
    pub fn end(mut self) -> String {
        let id = self.0.id().to_string();
        let asked = Command::new("kill").args(["-TERM", &id]).status().expect("there is a kill");
        assert!(asked.success(), "a process ended before it was asked to");
        let mut printed = String::new();
        if let Some(mut stdout) = self.0.stdout.take() {
            stdout.read_to_string(&mut printed).expect("it prints text");
        }
        let status = self.0.wait().expect("a child can be waited for");
        assert!(status.success(), "a process ended with {status}");
        printed
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // An error means that it has ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Engine {
    pub fn start(script: Script) -> Self {
        let micros = [script.ttft, script.itl].map(|time| time.as_micros().to_string());
        let mut command = itself(&["serve", &micros[0], &micros[1], &script.tokens.to_string()]);
        let (process, mut dialogue) = Process::start_talking(&mut command);
        let address = dialogue.listen();
        Self { _process: process, dialogue, address }
    }

    /// What it wrote since this was last asked.
    pub fn written(&mut self) -> Written {
        let line = self.dialogue.ask();
        let numbers: Vec<u64> = line.split(' ').filter_map(|word| word.parse().ok()).collect();
        let [tokens, late_p50, late_p99] = numbers[..] else { panic!("three numbers, not {line:?}") };
        let micros = Duration::from_micros;
        Written { tokens, late_p50: micros(late_p50), late_p99: micros(late_p99) }
    }
}

impl Dialogue {
    pub fn ask(&mut self) -> String {
        self.questions.write_all(b"\n").expect("the child listens");
        self.listen()
    }

    fn listen(&mut self) -> String {
        let mut line = String::new();
        self.answers.read_line(&mut line).expect("the child answers");
        line.trim_end().to_owned()
    }
}

/// Lets time pass: what is measured is what happens meanwhile.
#[expect(
    clippy::disallowed_methods,
    reason = "the length of the measurement itself, not a wait for something"
)]
pub fn pass(time: Duration) {
    std::thread::sleep(time);
}

/// Looks until it is there.
pub fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + Duration::from_secs(30);
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < end, "{what} did not happen");
        pass(Duration::from_millis(10));
    }
}
