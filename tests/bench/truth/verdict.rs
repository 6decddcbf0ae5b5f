//! Bars, and whether they are met.

use std::process::ExitCode;

#[derive(Debug, Default)]
pub struct Verdict {
    judged: usize,
    missed: Vec<String>,
}

impl Verdict {
    pub fn at_most(&mut self, what: &str, measured: f64, most: f64) {
        self.judged += 1;
        let is_met = measured <= most;
        let word = if is_met { "met   " } else { "MISSED" };
        let line = format!("{what}: {measured:.3}, at most {most:.3}");
        println!("  {word} {line}");
        if !is_met {
            self.missed.push(line);
        }
    }

    /// Tells all that was missed once more.
    pub fn exit_code(&self) -> ExitCode {
        if self.missed.is_empty() {
            println!("\n{} bars, none missed", self.judged);
            return ExitCode::SUCCESS;
        }
        println!("\n{} bars, {} missed:", self.judged, self.missed.len());
        for line in &self.missed {
            println!("  {line}");
        }
        ExitCode::FAILURE
    }
}

/// Whether something else runs on this machine: its load average over the last minute.
pub fn machine() -> String {
    let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    let load: f64 = load.split(' ').next().and_then(|load| load.parse().ok()).unwrap_or(f64::NAN);
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let quiet = if load < 0.5 { "quiet" } else { "not quiet: judged all the same, but look twice" };
    format!("{cores} cores, load average {load} ({quiet})")
}
