//! What a scrape of a fleet costs: 1000 targets with one workload each, in every format and packing, held to its bars.
//!
//! `cargo bench --bench exposition` takes a few seconds; it exits with 1 if a bar is missed. CPU time is that of the thread
//! that writes, the least of several pages: other work on the machine can only add to it.

#[path = "../support/reports.rs"]
mod reports;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use reports::Maker;
use rustix::time::{ClockId, clock_gettime};
use sloprobe::domain::{Exposure, Histograms};
use sloprobe::expose::{self, Format, Packing};
use sloprobe::record::Recorder;

const TARGETS: usize = 1000;
const PROBES_EACH: usize = 50;
const PAGES: usize = 7;
const MB: f64 = 1e6;

/// What may not be exceeded: bytes, and CPU time of a page.
struct Bar {
    format: Format,
    histograms: Histograms,
    megabytes: f64,
    cpu: Duration,
}

const NO_BAR: Duration = Duration::MAX;
const BARS: [Bar; 4] = [
    Bar { format: Format::Text, histograms: Histograms::Both, megabytes: 15.0, cpu: NO_BAR },
    Bar { format: Format::OpenMetrics, histograms: Histograms::Both, megabytes: 15.0, cpu: NO_BAR },
    Bar {
        format: Format::Protobuf,
        histograms: Histograms::Native,
        megabytes: 5.0,
        cpu: Duration::from_millis(150),
    },
    Bar { format: Format::Protobuf, histograms: Histograms::Both, megabytes: 15.0, cpu: NO_BAR },
];

fn main() -> ExitCode {
    let recorder = fleet();
    println!("{TARGETS} targets with one workload each, {PROBES_EACH} probes of each:");
    println!("{:<12} {:<8} {:<6} {:>9} {:>9}   bar", "FORMAT", "HISTOGR.", "PACKED", "BYTES", "CPU");
    let mut missed = 0;
    for bar in &BARS {
        for packing in [Packing::Plain, Packing::Gzip, Packing::Zstd] {
            let exposure = Exposure { histograms: bar.histograms, ..Exposure::default() };
            let pages = (0..PAGES).map(|_| page(&recorder, bar.format, packing, exposure));
            let (cpu, bytes) = pages.min().expect("there is more than one");
            let is_over = bytes as f64 > bar.megabytes * MB || cpu > bar.cpu;
            missed += usize::from(is_over);
            println!(
                "{:<12} {:<8} {:<6} {:>6.2} MB {:>6.1} ms   {} MB{}{}",
                format!("{:?}", bar.format),
                format!("{:?}", bar.histograms).to_lowercase(),
                packing.name().unwrap_or("-"),
                bytes as f64 / MB,
                cpu.as_secs_f64() * 1e3,
                bar.megabytes,
                if bar.cpu == NO_BAR { String::new() } else { format!(", {} ms", bar.cpu.as_millis()) },
                if is_over { "  MISSED" } else { "" },
            );
        }
    }
    if missed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// A recorder that has seen probes of all targets.
fn fleet() -> Arc<Recorder> {
    let mut maker = Maker::new(TARGETS);
    let targets: Vec<_> = (0..TARGETS).map(|n| Arc::clone(&maker.next(n).target)).collect();
    let recorder = Arc::new(Recorder::new(&targets, &[]));
    let places: Vec<_> = recorder.arrange(&targets, &[]).into_iter().flatten().collect();
    for n in 0..TARGETS * PROBES_EACH {
        recorder.record(&places[n % TARGETS], maker.next(n));
    }
    recorder
}

fn page(recorder: &Recorder, format: Format, packing: Packing, exposure: Exposure) -> (Duration, usize) {
    let before = cpu();
    let mut bytes = 0;
    expose::write(format, packing, exposure, |writer| recorder.walk(writer), |piece| bytes += piece.len());
    (cpu().saturating_sub(before), bytes)
}

/// CPU time of this thread.
fn cpu() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}
