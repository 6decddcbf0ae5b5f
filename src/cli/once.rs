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
use crate::domain::{Identity, Prompt, Report, Target, clock};
use crate::probe::{self, Job, Transport, Trust};
use crate::schedule::pulse::Pulse;
use crate::workload::{Posed, Source};
use lengths::Tried;
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
    let mut planned = prepare(&plan, &args)?;
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
    for one in &mut planned {
        one.job.prompt = one.source.next_prompt();
    }
    let pulse = Arc::new(Pulse::new(Instant::now()));
    let tried = probe_all(planned, &pulse).await?;
    let failed = tried.iter().any(|one| !one.succeeded());
    let remarks: Vec<_> = tried.iter().flat_map(Tried::remarks).collect();
    let reports: Vec<_> = tried.into_iter().flat_map(|one| one.reports).collect();
    let lines = if args.json {
        reports.iter().map(as_json).collect()
    } else {
        let doubt = doubt(&reports, pulse.worst(Instant::now()));
        let ending = ending(&reports, clock::wall_now());
        [as_table(&reports), remarks, ending, doubt, as_sentences(&identities)].concat()
    };
    output::print(&(lines.join("\n") + "\n"));
    Ok(if failed { ExitCode::from(FAILED) } else { ExitCode::SUCCESS })
}

/// One probe, and what further prompts for it come from.
#[derive(Debug)]
struct Planned {
    transport: Arc<Transport>,
    source: Source,
    job: Job,
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
                let job = Job {
                    target: Arc::clone(target),
                    workload: Arc::clone(&share.workload),
                    // Written once it is known how long it may be.
                    prompt: Prompt::of_user(String::new(), 1),
                    due: Instant::now(),
                };
                planned.push(Planned { transport: Arc::new(first.sibling()?), source, job });
            }
        }
    }
    Ok(planned)
}

/// What each target runs, as far as it can be found out in a moment.
async fn identify_all(planned: &[Planned]) -> Result<Vec<(Arc<str>, Identity)>> {
    let mut asked = Vec::new();
    for Planned { transport, job, .. } in planned {
        let is_new = asked.last().is_none_or(|(target, _): &(Arc<Target>, _)| target.name != job.target.name);
        if is_new {
            let transport = Arc::clone(transport);
            let asking = tokio::spawn(async move {
                // What was found until then stays.
                let _ = timeout(IDENTIFY_WITHIN, probe::identify(&transport)).await;
                transport.knowledge().identity()
            });
            asked.push((Arc::clone(&job.target), asking));
        }
    }
    let mut identities = Vec::new();
    for (target, asking) in asked {
        identities.push((Arc::clone(&target.name), asking.await?));
    }
    Ok(identities)
}

async fn probe_all(planned: Vec<Planned>, pulse: &Arc<Pulse>) -> Result<Vec<Tried>> {
    let mut watch = JoinSet::new();
    watch.spawn({
        let pulse = Arc::clone(pulse);
        async move { pulse.beat(|_| {}).await }
    });
    let mut due = Instant::now();
    let mut running = Vec::new();
    for mut one in planned {
        one.job.due = due;
        due += SPREAD;
        running.push(tokio::spawn(try_one(one, Arc::clone(pulse))));
    }
    let mut tried = Vec::new();
    for probe in running {
        tried.push(probe.await?);
    }
    Ok(tried)
}

/// Sends a probe; once more, with a shorter prompt, as long as it is refused for its length.
async fn try_one(one: Planned, pulse: Arc<Pulse>) -> Tried {
    let Planned { transport, mut source, mut job } = one;
    let learner = source.learner();
    let mut reports = Vec::new();
    loop {
        sleep_until(job.due).await;
        let (target, workload) = (Arc::clone(&job.target), Arc::clone(&job.workload));
        let report = trip(&transport, job, &pulse).await;
        learner.hear(&report);
        reports.push(report);
        if !Tried::is_unsettled(&reports) {
            return Tried { reports, room: transport.knowledge().room() };
        }
        job = Job { target, workload, prompt: source.instead(), due: Instant::now() };
    }
}

async fn trip(transport: &Transport, job: Job, pulse: &Pulse) -> Report {
    let posed = Posed::of(&job.workload, &job.prompt);
    let mut report = probe::run(transport, job).await;
    report.suspect = pulse.was_late_since(report.timeline.started, Instant::now());
    let forced = transport.knowledge().forces(&report.workload);
    posed.judge(&mut report, forced).await;
    report
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
        let workload = Arc::clone(&target.mix[0].workload);
        let prompt = Prompt::of_user("hello", 200);
        let source = Source::new(&workload, 1, Ruler::default());
        let job = Job { target, workload, prompt, due: Instant::now() };
        let pulse = Arc::new(Pulse::new(Instant::now()));
        let standstill = Duration::from_millis(60);
        // The runtime of a test has one thread: while this task works, nothing else runs.
        tokio::spawn(async move {
            sleep_until(Instant::now() + standstill).await;
            let end = Instant::now() + standstill;
            while Instant::now() < end {
                std::hint::spin_loop();
            }
        });
        let tried = probe_all(vec![Planned { transport, source, job }], &pulse).await.unwrap();
        let reports = &tried[0].reports;
        assert_eq!(reports[0].fault, None);
        assert!(reports[0].suspect, "{reports:?}");
        let json: serde_json::Value = serde_json::from_str(&as_json(&reports[0])).unwrap();
        assert_eq!(json["suspect"], true);
        assert!(pulse.worst(Instant::now()) > standstill / 2);
        engine.stop().await;
    }
}
