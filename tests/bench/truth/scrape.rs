//! Prometheus reads `/metrics` of 300 targets twenty times a second: does that disturb what is measured?

use std::io::{self, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use tokio::time::Instant;

use crate::daemon::Daemon;
use crate::load::Load;
use crate::process::{Engine, pass};
use crate::round::{MOST_LOST, Round, Window, median};
use crate::verdict::Verdict;

const EVERY: Duration = Duration::from_millis(50);
/// A scrape starts on time even if others are still under way; but no more than this.
const MOST_AT_ONCE: usize = 40;
/// Of each target. With three, one page has 42 MB, and twenty of them a second are more than two cores can write and read.
const WORKLOADS: usize = 1;
/// By how much the 99th percentile of the TTFT's error may change, in ms.
const MOST_CHANGE: f64 = 1.0;

/// Each target is probed every 3 s, so its connection stays open: 100 probes a second.
const LOAD: Load = Load {
    streams: 50,
    targets: 300,
    interval: Duration::from_secs(3),
    window: Duration::from_secs(8),
    ..Load::STEADY
};

/// What reading the metrics came to.
#[derive(Debug, Default)]
struct Scrapes {
    done: AtomicUsize,
    refused: AtomicUsize,
    under_way: AtomicUsize,
    bytes: AtomicUsize,
    micros: AtomicU64,
    over: AtomicBool,
}

pub fn run(rounds: usize, verdict: &mut Verdict) {
    println!(
        "\n/metrics of {} targets with {WORKLOADS} workload each, {:.0} probes a second",
        LOAD.targets,
        1.0 / LOAD.step().as_secs_f64()
    );
    let (mut alone, mut scraped) = (Vec::new(), Vec::new());
    for round in 1..=rounds {
        println!("round {round} of {rounds}");
        alone.push(measure(false));
        scraped.push(measure(true));
    }
    let p99 = |rounds: &[Round]| median(rounds, |round| round.error_p99);
    let (without, with) = (p99(&alone), p99(&scraped));
    println!("  TTFT error p99, median of rounds: {without:.3} ms unscraped, {with:.3} ms scraped");
    verdict.at_most("change of TTFT error p99 by scraping, in ms", (with - without).abs(), MOST_CHANGE);
    let lost = median(&scraped, |round| round.lost);
    verdict.at_most("share of probes lost while scraped", lost, MOST_LOST);
}

fn measure(is_scraped: bool) -> Round {
    let mut engine = Engine::start(LOAD.script);
    let mut daemon = Daemon::start(&engine.address, &LOAD, WORKLOADS);
    let address = daemon.address();
    let scrapes = Scrapes::default();
    let window = thread::scope(|scope| {
        if is_scraped {
            scope.spawn(|| scrapes.keep_scraping(&address));
        }
        let window = Window::watch(&daemon.process, &mut engine, &LOAD);
        scrapes.over.store(true, Ordering::Relaxed);
        window
    });
    let found = daemon.end();
    let round = Round::of_daemon(&found, &LOAD, &window);
    let Round { cpu, error_p50, error_p99, suspect, probes, .. } = round;
    println!(
        "  {:<9}  TTFT error p50 {error_p50:.3} p99 {error_p99:.3} ms  CPU {cpu:.1} ms per 1000 tokens  {probes} probes, {suspect} suspect{}",
        if is_scraped { "scraped" } else { "unscraped" },
        scrapes.summary(),
    );
    round
}

impl Scrapes {
    /// Whoever scrapes reads on another machine, as a rule. Here the reader gives way to the daemon and the engine, so that
    /// only what the daemon does for it is measured.
    fn keep_scraping(&self, address: &str) {
        rustix::process::nice(19).expect("every thread may give way");
        thread::scope(|scope| {
            let mut due = Instant::now();
            while !self.over.load(Ordering::Relaxed) {
                if self.under_way.load(Ordering::Relaxed) < MOST_AT_ONCE {
                    self.under_way.fetch_add(1, Ordering::Relaxed);
                    scope.spawn(|| self.scrape(address));
                } else {
                    self.refused.fetch_add(1, Ordering::Relaxed);
                }
                due += EVERY;
                pass(due.saturating_duration_since(Instant::now()));
            }
        });
    }

    fn scrape(&self, address: &str) {
        let began = Instant::now();
        let bytes = read_all(address).expect("the daemon serves its metrics");
        self.done.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.micros.fetch_add((Instant::now() - began).as_micros() as u64, Ordering::Relaxed);
        self.under_way.fetch_sub(1, Ordering::Relaxed);
    }

    fn summary(&self) -> String {
        let done = self.done.load(Ordering::Relaxed);
        if done == 0 {
            return String::new();
        }
        format!(
            "  {done} scrapes of {:.1} MB in {:.0} ms, {} left out",
            self.bytes.load(Ordering::Relaxed) as f64 / done as f64 / 1e6,
            self.micros.load(Ordering::Relaxed) as f64 / done as f64 / 1e3,
            self.refused.load(Ordering::Relaxed),
        )
    }
}

/// How long the page is, once all of it has been read.
fn read_all(address: &str) -> io::Result<usize> {
    let mut stream = TcpStream::connect(address)?;
    stream.write_all(format!("GET /metrics HTTP/1.0\r\nhost: {address}\r\n\r\n").as_bytes())?;
    let (mut buffer, mut sum) = (vec![0; 64 << 10], 0);
    loop {
        match stream.read(&mut buffer)? {
            0 => return Ok(sum),
            read => sum += read,
        }
    }
}
