//! `sloprobe once`: each workload once per target, all at the same time.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};

use super::endpoint::EndpointArgs;
use super::table::{Table, time};
use super::{ConfigArgs, FAILED, MISUSED, output};
use crate::config::Plan;
use crate::daemon::{self, Memory};
use crate::domain::{Identity, Report, Target, TokenSource, Verdict};
use crate::probe::{self, Job, Transport, Trust};
use crate::record::recent::Quantiles;
use crate::schedule::pulse::Pulse;

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
    let jobs = prepare(&plan, &args)?;
    if jobs.is_empty() {
        let targets: Vec<_> = plan.targets.iter().map(|t| &*t.name).collect();
        let workloads: Vec<_> = plan.workloads.iter().map(|w| &*w.name).collect();
        eprintln!(
            "sloprobe: nothing to probe\n    targets are {}; workloads are {}",
            targets.join(", "),
            workloads.join(", ")
        );
        return Ok(ExitCode::from(MISUSED));
    }
    let identities = identify_all(&jobs).await?;
    let pulse = Arc::new(Pulse::new(Instant::now()));
    let reports = probe_all(jobs, &pulse).await?;
    let lines = if args.json {
        reports.iter().map(as_json).collect()
    } else {
        let doubt = doubt(&reports, pulse.worst(Instant::now()));
        [as_table(&reports), doubt, as_sentences(&identities)].concat()
    };
    output::print(&(lines.join("\n") + "\n"));
    let failed = reports.iter().any(|report| !report.succeeded());
    Ok(if failed { ExitCode::from(FAILED) } else { ExitCode::SUCCESS })
}

/// Everything that takes time is done before the first probe starts.
fn prepare(plan: &Plan, args: &OnceArgs) -> Result<Vec<(Arc<Transport>, Job)>> {
    let wanted = |names: &[String], name: &str| names.is_empty() || names.iter().any(|n| n == name);
    let trust = Trust::default();
    let memory = Memory::load(plan.state.as_deref());
    let mut jobs: Vec<(Arc<Transport>, Job)> = Vec::new();
    for target in plan.targets.iter().filter(|t| wanted(&args.target, &t.name)) {
        let first = Transport::new(target, &trust)?;
        for (share, mut source) in target.mix.iter().zip(daemon::sources(target, &memory)) {
            if wanted(&args.workload, &share.workload.name) {
                let job = Job {
                    target: Arc::clone(target),
                    workload: Arc::clone(&share.workload),
                    prompt: source.next_prompt(),
                    due: Instant::now(),
                };
                jobs.push((Arc::new(first.sibling()?), job));
            }
        }
    }
    Ok(jobs)
}

/// What each target runs, as far as it can be found out in a moment.
async fn identify_all(jobs: &[(Arc<Transport>, Job)]) -> Result<Vec<(Arc<str>, Identity)>> {
    let mut asked = Vec::new();
    for (transport, job) in jobs {
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

async fn probe_all(jobs: Vec<(Arc<Transport>, Job)>, pulse: &Arc<Pulse>) -> Result<Vec<Report>> {
    let mut watch = JoinSet::new();
    watch.spawn({
        let pulse = Arc::clone(pulse);
        async move { pulse.beat(|_| {}).await }
    });
    let mut due = Instant::now();
    let mut running = Vec::new();
    for (transport, mut job) in jobs {
        job.due = due;
        due += SPREAD;
        let pulse = Arc::clone(pulse);
        running.push(tokio::spawn(async move {
            sleep_until(job.due).await;
            let mut report = probe::run(&transport, job).await;
            report.suspect = pulse.was_late_since(report.timeline.started, Instant::now());
            report
        }));
    }
    let mut reports = Vec::new();
    for probe in running {
        reports.push(probe.await?);
    }
    Ok(reports)
}

fn as_table(reports: &[Report]) -> Vec<String> {
    let mut table = Table::new(
        3,
        [
            "TARGET",
            "WORKLOAD",
            "OUTCOME",
            "TTFT",
            "TPOT",
            "ITL P50",
            "ITL P99",
            "STALL",
            "LATENCY",
            "CONNECT",
            "IN",
            "CACHED",
            "OUT",
            "COUNTED BY",
        ],
    );
    for report in reports {
        let sample = &report.sample;
        let gaps = Quantiles::of_gaps(sample);
        let tokens = |count: Option<u64>| count.map_or_else(|| "-".into(), |n| n.to_string());
        let connect = [sample.resolve, sample.connect, sample.tls].into_iter().flatten().reduce(|a, b| a + b);
        table.row(vec![
            report.target.name.to_string(),
            report.workload.name.to_string(),
            report.outcome().into(),
            time(sample.ttft),
            time(sample.tpot),
            time(gaps.map(|q| q.p50)),
            time(gaps.map(|q| q.p99)),
            time(sample.stall),
            time(sample.latency),
            time(connect),
            tokens(report.tokens.prompt),
            tokens(report.tokens.cached),
            tokens(report.tokens.output),
            report.tokens.source.map_or("-", TokenSource::label).into(),
        ]);
    }
    let mut lines = table.lines();
    for report in reports {
        if let Some(fault) = &report.fault {
            let (target, workload) = (&report.target.name, &report.workload.name);
            lines.push(format!("\n{target}, {workload}: {}\n    {}", fault.failure.label(), fault.detail));
        }
    }
    lines
}

/// What was measured while this machine was busy may be the machine.
fn doubt(reports: &[Report], worst: Duration) -> Vec<String> {
    let suspect = reports.iter().filter(|report| report.suspect);
    let names: Vec<_> =
        suspect.map(|report| format!("{}, {}", report.target.name, report.workload.name)).collect();
    let names = match names.len() {
        0 => return Vec::new(),
        count if count > 1 && count == reports.len() => "all probes".to_owned(),
        _ => names.join("; "),
    };
    let late = time(Some(worst));
    vec![format!(
        "\n{names}: measured while this machine was busy (event loop up to {late} late): times may be too long"
    )]
}

fn as_sentences(identities: &[(Arc<str>, Identity)]) -> Vec<String> {
    let known = identities.iter().filter(|(_, identity)| identity.is_known());
    let mut lines: Vec<_> = known.map(|(target, identity)| format!("{target} runs {identity}")).collect();
    if !lines.is_empty() {
        lines.insert(0, String::new());
    }
    lines
}

/// The contract of `--json`: absent is null.
fn as_json(report: &Report) -> String {
    let sample = &report.sample;
    let seconds = |duration: Option<Duration>| duration.map(|d| d.as_secs_f64());
    let itl = Quantiles::of_gaps(sample).map(|q| {
        let [p50, p90, p99, max] = [q.p50, q.p90, q.p99, q.max].map(|d| d.as_secs_f64());
        json!({ "p50": p50, "p90": p90, "p99": p99, "max": max })
    });
    json!({
        "target": &*report.target.name,
        "workload": &*report.workload.name,
        "outcome": report.outcome(),
        "ttft_seconds": seconds(sample.ttft),
        "answer_ttft_seconds": seconds(sample.answer_ttft),
        "tpot_seconds": seconds(sample.tpot),
        "itl_seconds": itl,
        "stall_seconds": seconds(sample.stall),
        "latency_seconds": seconds(sample.latency),
        "lag_seconds": sample.lag.as_secs_f64(),
        "connection": {
            "resolve": seconds(sample.resolve),
            "connect": seconds(sample.connect),
            "tls": seconds(sample.tls),
            "wait": seconds(sample.wait),
        },
        "tokens": {
            "prompt": report.tokens.prompt,
            "cached": report.tokens.cached,
            "reasoning": report.tokens.reasoning,
            "output": report.tokens.output,
            "source": report.tokens.source.map(TokenSource::label),
        },
        "verdict": report.verdict.map(Verdict::label),
        "suspect": report.suspect,
        "error": report.fault.as_ref().map(|fault| &fault.detail),
    })
    .to_string()
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use tokio::net::TcpListener;

    use super::*;
    use crate::domain::{Prompt, Sample, fixture};
    use crate::simulate::{self, Profile, Settings};

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
        let reports = probe_all(vec![(transport, job)], &pulse).await.unwrap();
        assert_eq!(reports[0].fault, None);
        assert!(reports[0].suspect, "{reports:?}");
        let json: serde_json::Value = serde_json::from_str(&as_json(&reports[0])).unwrap();
        assert_eq!(json["suspect"], true);
        assert!(pulse.worst(Instant::now()) > standstill / 2);
        engine.stop().await;
    }

    #[test]
    fn suspect_reports_are_named_below_the_table() {
        let mut reports = ["a", "b", "c"]
            .map(|name| fixture::report(&fixture::target(name, &["w"]), Sample::default(), None));
        let late = Duration::from_millis(113);
        assert_eq!(doubt(&reports, late), Vec::<String>::new());
        reports[0].suspect = true;
        reports[2].suspect = true;
        assert_eq!(
            doubt(&reports, late),
            [
                "\na, w; c, w: measured while this machine was busy (event loop up to 113 ms late): times may be too long"
            ]
        );
        reports[1].suspect = true;
        assert!(doubt(&reports, late)[0].starts_with("\nall probes: measured"));
    }
}
