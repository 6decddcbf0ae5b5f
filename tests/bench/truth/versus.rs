//! The daemon beside bare clients: what it costs, and how true its TTFT is.

use crate::load::Load;
use crate::process::Engine;
use crate::round::{Client, MOST_LOST, Round, median};
use crate::verdict::Verdict;

/// Times the processor time of bare reqwest, and of a raw socket.
const MOST_CPU_OF_REQWEST: f64 = 1.3;
const MOST_CPU_OF_RAW: f64 = 1.8;
/// The error of the TTFT: times that of bare reqwest, or so many ms more.
const MOST_ERROR_TIMES: f64 = 1.5;
const MOST_ERROR_MORE: f64 = 0.3;

/// All rounds of one client under one load.
struct Series {
    client: Client,
    rounds: Vec<Round>,
}

/// Rounds are interleaved, so that whatever else the machine does falls on all clients alike.
pub fn run(loads: &[Load], rounds: usize, verdict: &mut Verdict) {
    let series = || Client::ALL.map(|client| Series { client, rounds: Vec::new() });
    let mut found: Vec<_> = loads.iter().map(|load| (load, series())).collect();
    for round in 1..=rounds {
        for (load, series) in &mut found {
            println!("\nround {round} of {rounds}, {} streams", load.streams);
            for series in series {
                let mut engine = Engine::start(load.script);
                let measured = series.client.round(&mut engine, load);
                println!("  {}", line(series.client, &measured));
                series.rounds.push(measured);
            }
        }
    }
    for (load, series) in &found {
        judge(load, series, verdict);
    }
}

fn line(client: Client, round: &Round) -> String {
    let Round { cpu, error_p50, error_p99, itl_error, probes, suspect, written, .. } = round;
    let late = [written.late_p50, written.late_p99].map(|late| late.as_secs_f64() * 1e3);
    format!(
        "{:<26}  CPU {cpu:>5.1} ms per 1000 tokens  TTFT error p50 {error_p50:.3} p99 {error_p99:.3} ms  ITL error {itl_error:.3} ms  \
         {probes} probes, {suspect} suspect  (engine late by {:.2}, p99 {:.2} ms)",
        client.name(),
        late[0],
        late[1],
    )
}

/// Holds the medians of all rounds against the bars.
fn judge(load: &Load, series: &[Series], verdict: &mut Verdict) {
    println!("\n{} streams, median of rounds", load.streams);
    for Series { client, rounds } in series {
        let of = |figure: fn(&Round) -> f64| median(rounds, figure);
        let [cpu, p50, p99] = [of(|r| r.cpu), of(|r| r.error_p50), of(|r| r.error_p99)];
        let itl = of(|r| r.itl_error);
        println!(
            "  {:<26}  CPU {cpu:>5.1} ms per 1000 tokens  TTFT error p50 {p50:.3} p99 {p99:.3} ms  ITL error {itl:.3} ms",
            client.name()
        );
    }
    let of = |client: Client, figure: fn(&Round) -> f64| {
        let own = series.iter().find(|series| series.client == client).expect("all clients ran");
        median(&own.rounds, figure)
    };
    // The better of the two ways to run reqwest is the one to beat.
    let reqwest = |figure| of(Client::BareOne, figure).min(of(Client::BareMany, figure));
    if load.streams == Load::STEADY.streams {
        let (own, bare, raw) =
            (of(Client::Daemon, |r| r.cpu), reqwest(|r| r.cpu), of(Client::Raw, |r| r.cpu));
        verdict.at_most("CPU of the daemon / bare reqwest", own / bare, MOST_CPU_OF_REQWEST);
        verdict.at_most("CPU of the daemon / raw socket", own / raw, MOST_CPU_OF_RAW);
    }
    let (own, bare) = (of(Client::Daemon, |r| r.error_p99), reqwest(|r| r.error_p99));
    let bound = (bare * MOST_ERROR_TIMES).max(bare + MOST_ERROR_MORE);
    let what = format!("TTFT error p99 in ms with {} under way (reqwest {bare:.3})", load.streams);
    verdict.at_most(&what, own, bound);
    let lost = of(Client::Daemon, |round| round.lost);
    verdict.at_most(&format!("share of probes lost with {} under way", load.streams), lost, MOST_LOST);
}
