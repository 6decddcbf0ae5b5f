//! `sloprobe once`: each workload once per target, all at the same time.

mod lengths;
mod show;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};

use super::endpoint::EndpointArgs;
use super::{ConfigArgs, FAILED, MISUSED, output};
use crate::config::Plan;
use crate::daemon::{self, Memory};
use crate::domain::{Identity, clock};
use crate::probe::{self, Transport, Trust};
use crate::schedule::measuring::{MeasuringThread, threads_for};
use crate::schedule::pulse::Pulse;
use crate::schedule::trip::{Errand, Trip};
use crate::workload::Source;
use lengths::{Tried, Tries};
use show::{as_json, as_sentences, as_table, doubt, ending};

/// Starts lie this far apart: a hundred probes that start in the same instant would measure each other's
/// start. They are under way together all the same.
const SPREAD: Duration = Duration::from_millis(2);

/// So long at most it takes to ask the targets what they run, before the probes.
const IDENTIFY_WITHIN: Duration = Duration::from_secs(2);

/// Send each workload once to each target, all at the same time, and show what was measured
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sloprobe once                                 every target and workload of ./sloprobe.toml
  sloprobe once --target chat-prod              one target
  sloprobe once --workload short-chat --json    one JSON object per line and probe
  sloprobe once --url http://127.0.0.1:8000 --model tiny    an endpoint, without a file

Exit codes: 0 all succeeded, 1 a probe failed, 2 a mistake in the command line or the configuration.")]
pub(super) struct OnceArgs {
    #[command(flatten)]
    config: ConfigArgs,

    /// Only this target (may be given more than once)
    #[arg(long, value_name = "NAME")]
    target: Vec<String>,

    /// Only this workload (may be given more than once)
    #[arg(long, value_name = "NAME")]
    workload: Vec<String>,

    /// One JSON object per line and probe, instead of a table
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    endpoint: EndpointArgs,
}

pub(super) async fn run(args: OnceArgs) -> Result<ExitCode> {
    let plan = match args.endpoint.plan().unwrap_or_else(|| args.config.load()) {
        Ok(plan) => plan,
        Err(code) => return Ok(code),
    };
    let planned = prepare(&plan, &args)?;
    if planned.is_empty() {
        let targets: Vec<_> = plan.targets.iter().map(|t| &*t.name).collect();
        let workloads: Vec<_> = plan.workloads.iter().map(|w| &*w.name).collect();
        eprintln!(
            "sloprobe: nothing to probe\n    targets are {}; workloads are {}",
            targets.join(", "),
            workloads.join(", ")
        );
        return Ok(ExitCode::from(MISUSED));
    }
    let identities = identify_all(&planned).await?;
    lengths::learn(planned.iter().map(|one| (Arc::clone(&one.transport), one.source.learner())).collect())
        .await;
    let (tried, lateness) = probe_all(planned).await?;
    let failed = tried.iter().any(|one| !one.succeeded());
    let remarks: Vec<_> = tried.iter().flat_map(Tried::remarks).collect();
    let reports: Vec<_> = tried.into_iter().flat_map(|one| one.reports).collect();
    let lines = if args.json {
        reports.iter().map(as_json).collect()
    } else {
        let doubt = doubt(&reports, lateness);
        let ending = ending(&reports, clock::wall_now());
        [as_table(&reports), remarks, ending, doubt, as_sentences(&identities)].concat()
    };
    output::print(&(lines.join("\n") + "\n"));
    Ok(if failed { ExitCode::from(FAILED) } else { ExitCode::SUCCESS })
}

/// A probe that is to be sent.
#[derive(Debug)]
struct Planned {
    transport: Arc<Transport>,
    source: Source,
}

/// Everything that takes time is done before the first probe starts.
fn prepare(plan: &Plan, args: &OnceArgs) -> Result<Vec<Planned>> {
    let wanted = |names: &[String], name: &str| names.is_empty() || names.iter().any(|n| n == name);
    let trust = Trust::default();
    let memory = Memory::load(plan.state.as_deref());
    let mut planned = Vec::new();
    for target in plan.targets.iter().filter(|t| wanted(&args.target, &t.name)) {
        let first = Transport::new(target, &trust)?;
        for (share, source) in target.mix.iter().zip(daemon::sources(target, &memory)) {
            if wanted(&args.workload, &share.workload.name) {
                planned.push(Planned { transport: Arc::new(first.sibling()?), source });
            }
        }
    }
    Ok(planned)
}

/// What each target runs, as far as it can be found out in a moment.
async fn identify_all(planned: &[Planned]) -> Result<Vec<(Arc<str>, Identity)>> {
    let mut asked: Vec<(Arc<str>, _)> = Vec::new();
    for Planned { transport, .. } in planned {
        let name = &transport.target().name;
        if asked.last().is_none_or(|(last, _)| last != name) {
            let transport = Arc::clone(transport);
            let asking = tokio::spawn(async move {
                // What was found until then stays.
                let _ = timeout(IDENTIFY_WITHIN, probe::identify(&transport)).await;
                transport.knowledge().identity()
            });
            asked.push((Arc::clone(name), asking));
        }
    }
    let mut identities = Vec::new();
    for (name, asking) in asked {
        identities.push((name, asking.await?));
    }
    Ok(identities)
}

/// Sends all probes from measuring threads, as the daemon does. Gives what came of them in the order of `planned`, and
/// how late the threads were at worst.
async fn probe_all(planned: Vec<Planned>) -> Result<(Vec<Tried>, Duration)> {
    let threads = threads_for(planned.len()).get();
    let mut shares: Vec<Vec<_>> = (0..threads).map(|_| Vec::new()).collect();
    let mut due = Instant::now();
    for (place, one) in planned.into_iter().enumerate() {
        shares[place % threads].push((place, one, due));
        due += SPREAD;
    }
    let spawn = |(number, share)| MeasuringThread::spawn(&format!("measure-{number}"), || measure(share));
    let running: Vec<_> = shares.into_iter().enumerate().map(spawn).collect::<std::io::Result<_>>()?;
    let mut tried = Vec::new();
    let mut worst = Duration::ZERO;
    for thread in running {
        let (own, late) = thread.ended().await?;
        tried.extend(own);
        worst = worst.max(late);
    }
    tried.sort_by_key(|(place, _)| *place);
    Ok((tried.into_iter().map(|(_, tries)| tries.finish()).collect(), worst))
}

/// Sends the probes of one thread at their due times.
async fn measure(planned: Vec<(usize, Planned, Instant)>) -> (Vec<(usize, Tries)>, Duration) {
    let pulse = Arc::new(Pulse::new(Instant::now()));
    let probes = planned.into_iter().map(|(place, Planned { transport, source }, due)| {
        let trip = Trip { transport, pulse: Arc::clone(&pulse) };
        async move { (place, try_one(&trip, source, due).await) }
    });
    let running: JoinSet<_> = probes.collect();
    tokio::select! {
        tried = running.join_all() => (tried, pulse.worst(Instant::now())),
        () = pulse.beat(|_| {}) => unreachable!("a pulse beats for ever"),
    }
}

/// Sends a probe; once more, with a shorter prompt, as long as it is refused for its length.
async fn try_one(trip: &Trip, mut source: Source, mut due: Instant) -> Tries {
    let (workload, learner) = (Arc::clone(source.workload()), source.learner());
    let was_known = !learner.is_new();
    let mut refused = Vec::new();
    let mut draft = source.next_draft();
    loop {
        sleep_until(due).await;
        let (workload, learner) = (Arc::clone(&workload), learner.clone());
        let measured = trip.measure(Errand { workload, draft, learner, due }).await;
        if !lengths::is_worth_another_try(measured.report(), refused.len()) {
            let room = trip.transport.knowledge().room();
            return Tries { refused, last: measured, room, was_known };
        }
        // A refusal has no answer to judge, so that this takes no time here.
        refused.push(measured.finish());
        (draft, due) = (source.draft_instead(), Instant::now());
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use tokio::net::TcpListener;

    use super::*;
    use crate::domain::fixture;
    use crate::simulate::{self, Profile, Settings};
    use crate::workload::Ruler;

    #[tokio::test]
    async fn a_probe_beside_a_loop_that_stood_still_is_suspect() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let engine =
            simulate::start(listener, Settings { model: "tiny".into(), ..Settings::of(Profile::Fast) })
                .unwrap();
        let mut target = (*fixture::target("t", &["w"])).clone();
        target.url = engine.base_url().parse().unwrap();
        let target = Arc::new(target);
        let transport = Arc::new(Transport::new(&target, &Trust::default()).unwrap());
        let source = Source::new(&target.mix[0].workload, 1, Ruler::default());
        let standstill = Duration::from_millis(60);
        // The runtime of a test has one thread: while this task works, nothing else runs.
        tokio::spawn(async move {
            sleep_until(Instant::now() + standstill).await;
            let end = Instant::now() + standstill;
            while Instant::now() < end {
                std::hint::spin_loop();
            }
        });
        let planned = vec![(0, Planned { transport, source }, Instant::now())];
        let (mut tried, worst) = measure(planned).await;
        let report = tried.pop().unwrap().1.finish().reports.pop().unwrap();
        assert_eq!(report.fault, None);
        assert!(report.suspect, "{report:?}");
        let json: serde_json::Value = serde_json::from_str(&as_json(&report)).unwrap();
        assert_eq!(json["suspect"], true);
        assert!(worst > standstill / 2);
        engine.stop().await;
    }
}
