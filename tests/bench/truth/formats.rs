//! What a scrape of 1000 targets is in each format: bytes, processor time, memory, and how late probes start meanwhile.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use sloprobe::domain::clock;
use tokio::time::Instant;

use crate::daemon::{Daemon, Lag};
use crate::load::Load;
use crate::process::{Engine, pass};
use crate::round::{quantile, sorted};
use crate::verdict::Verdict;

const TEXT: &str = "text/plain;version=0.0.4";
const OPEN_METRICS: &str = "application/openmetrics-text;version=1.0.0";
const PROTOBUF: &str =
    "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited";

/// Of each page. Processor time is counted in hundredths of a second, so one would not do.
const SCRAPES: u32 = 20;

/// The bars: bytes of a page, processor time of a scrape, lateness of probes meanwhile, memory.
const MOST_TEXT_MB: f64 = 15.0;
const MOST_NATIVE_MB: f64 = 5.0;
const MOST_NATIVE_CPU_MS: f64 = 150.0;
const MOST_LAG_MS: f64 = 5.0;
const MOST_MEMORY_MIB: f64 = 100.0;

/// 50 probes a second, each target every 20 s.
const LOAD: Load = Load { streams: 26, targets: 1000, interval: Duration::from_secs(20), ..Load::STEADY };

/// What a scrape of one page came to.
#[derive(Debug, Clone, Copy)]
struct Page {
    /// On the wire.
    bytes: usize,
    cpu: Duration,
    took: Duration,
}

pub fn run(verdict: &mut Verdict) {
    println!(
        "\n/metrics of {} targets with one workload each, {:.0} probes a second, histograms = \"native\", {SCRAPES} scrapes of each page",
        LOAD.targets,
        1.0 / LOAD.step().as_secs_f64()
    );
    let engine = Engine::start(LOAD.script);
    let mut daemon = Daemon::start_with(&engine.address, &LOAD, 1, "histograms = 'native'");
    let address = daemon.address();
    // Every target is probed once, so that every histogram has something in it.
    pass(LOAD.warm_up());
    let start = clock::wall_now();
    let idle = usual_cpu(&daemon);
    let calm = clock::wall_now();
    for (name, accept) in [("text 0.0.4", TEXT), ("OpenMetrics 1.0", OPEN_METRICS), ("protobuf", PROTOBUF)] {
        for packing in ["identity", "gzip", "zstd"] {
            let page = measure(&daemon, &address, [accept, packing], idle);
            let Page { bytes, cpu, took } = page;
            let (mb, cpu) = (bytes as f64 / 1e6, cpu.as_secs_f64() * 1e3);
            println!("  {name:<15}  {packing:<8}  {mb:>7.2} MB  {cpu:>6.1} ms of CPU  {took:>8.1?}");
            match (accept, packing) {
                (TEXT, "identity") => verdict.at_most("MB of a page of text", mb, MOST_TEXT_MB),
                (PROTOBUF, "identity") => {
                    verdict.at_most("MB of a native page", mb, MOST_NATIVE_MB);
                    verdict.at_most("ms of CPU of a native scrape", cpu, MOST_NATIVE_CPU_MS);
                }
                _ => {}
            }
        }
    }
    let end = clock::wall_now();
    let memory = daemon.process.memory() as f64 / f64::from(1 << 20);
    let lags = daemon.end_with_lags();
    let p99 = |from, to| {
        let within = lags.iter().filter(|lag: &&Lag| lag.at >= from && lag.at < to);
        quantile(&sorted(within.map(|lag| lag.late.as_secs_f64() * 1e3)), 0.99)
    };
    println!("  lag p99 {:.2} ms unscraped, {:.2} ms scraped", p99(start, calm), p99(calm, end));
    verdict.at_most("lag p99 during scrapes, in ms", p99(calm, end), MOST_LAG_MS);
    verdict.at_most("resident memory, in MiB", memory, MOST_MEMORY_MIB);
}

/// The share of a processor that the probes take without a scrape.
fn usual_cpu(daemon: &Daemon) -> f64 {
    let before = daemon.process.cpu();
    pass(LOAD.window);
    daemon.process.cpu().saturating_sub(before).as_secs_f64() / LOAD.window.as_secs_f64()
}

fn measure(daemon: &Daemon, address: &str, accepts: [&str; 2], idle: f64) -> Page {
    let (began, before) = (Instant::now(), daemon.process.cpu());
    let mut longest = Duration::ZERO;
    let mut bytes = 0;
    for _ in 0..SCRAPES {
        let start = Instant::now();
        bytes = scrape(address, accepts).expect("the daemon serves its metrics");
        longest = longest.max(Instant::now() - start);
    }
    let probing = (Instant::now() - began).mul_f64(idle);
    let cpu = daemon.process.cpu().saturating_sub(before).saturating_sub(probing) / SCRAPES;
    Page { bytes, cpu, took: longest }
}

/// How long the body is, once all of it has been read.
fn scrape(address: &str, [format, packing]: [&str; 2]) -> std::io::Result<usize> {
    let mut stream = TcpStream::connect(address)?;
    let head = format!(
        "GET /metrics HTTP/1.0\r\nhost: {address}\r\naccept: {format}\r\naccept-encoding: {packing}\r\n\r\n"
    );
    stream.write_all(head.as_bytes())?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n").expect("an answer has a head");
    let head = String::from_utf8_lossy(&answer[..end]).to_ascii_lowercase();
    let wanted = format.split(';').next().unwrap_or_default();
    assert!(head.starts_with("http/1.0 200") || head.starts_with("http/1.1 200"), "{head}");
    assert!(head.contains(&format!("content-type: {wanted}")), "another format came: {head}");
    assert_eq!(head.contains(&format!("content-encoding: {packing}")), packing != "identity", "{head}");
    Ok(answer.len() - end - 4)
}
