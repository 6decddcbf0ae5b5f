//! What `sloprobe probe` prints.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use humantime::{format_rfc3339_micros, format_rfc3339_seconds};
use serde_json::{Value, json};

use crate::cli::measured;
use crate::cli::table::time;
use crate::domain::{Failure, Quantiles, Release, Speculation, TokenSource, Tokens, Verdict};
use crate::history::StoredProbe;
use crate::page::words;

/// The command that makes the prompt again.
pub(super) fn prompt_command(probe: &StoredProbe, config: Option<&Path>) -> String {
    let config = config.map_or_else(String::new, |path| format!(" -c {}", path.display()));
    format!("sloprobe prompt{config} --workload {} --seed {}", probe.workload, probe.seed)
}

pub(super) fn as_text(probe: &StoredProbe, again: &str) -> String {
    let mut text = String::new();
    for (name, value) in about(probe, again) {
        // The lines after the first stand below it.
        let value = measured::printable(&value, &" ".repeat(10));
        let _ = writeln!(text, "{name:<9} {value}");
    }
    text.push('\n');
    for (name, value, meaning) in durations(probe) {
        let line = format!("{name:<12} {:>8}  {meaning}", time(Some(value)));
        let _ = writeln!(text, "{}", line.trim_end());
    }
    if probe.failure.is_some() {
        text.push_str("\nOf a failed probe only these are kept: its other durations were cut off.\n");
    }
    for (name, value) in [("Answer", &probe.text), ("Reasoning", &probe.thought)] {
        if let Some(said) = value {
            let _ = writeln!(
                text,
                "\n{name}, at most the first 2 KiB:\n    {}",
                measured::printable(said, "    ")
            );
        }
    }
    text
}

fn about(probe: &StoredProbe, again: &str) -> Vec<(&'static str, String)> {
    let some = |name, value: Option<String>| value.map(|value| (name, value));
    let mixed = if probe.mixed { " (two releases answered in turn: it may be the other's)" } else { "" };
    let release = probe.release.as_ref();
    let release = release.map(|release| format!("#{} {}{mixed}", release.id.0, release.makeup));
    let doubt = "measured while the machine of the daemon was busy: times may be too long";
    let outcome = match (&probe.failure, &probe.detail) {
        (Some(failure), Some(detail)) => format!("{}: {detail}", failure.label()),
        (failure, _) => failure.map_or("ok", Failure::label).to_owned(),
    };
    [
        some("probe", Some(probe.id.to_string())),
        some("target", Some(words::name(&probe.target))),
        some("workload", Some(words::name(&probe.workload))),
        some("started", Some(format_rfc3339_micros(probe.at).to_string())),
        some("release", release),
        some("outcome", Some(outcome)),
        some("answer", probe.verdict.map(|verdict| answer(probe, verdict))),
        some("suspect", probe.suspect.then(|| doubt.to_owned())),
        some("tokens", counts(&probe.tokens)),
        some("drafted", probe.tokens.speculation.map(guesses)),
        some("trace", probe.trace.map(|trace| trace.to_string())),
        some("prompt", Some(again.to_owned())),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn answer(probe: &StoredProbe, verdict: Verdict) -> String {
    let cut = if probe.cut { ", cut at its limit" } else { "" };
    let depth = probe.depth.map_or_else(String::new, |depth| {
        format!("; the fact that answers the question lay {} % into the prompt", depth.0)
    });
    format!("{}, {} characters{cut}{depth}", verdict.label(), probe.characters)
}

/// Such as "1523 in (1408 cached), 60 out (4 hidden), counted by final_usage".
fn counts(tokens: &Tokens) -> Option<String> {
    let with = |count: Option<u64>, word: &str| count.map(|count| format!("{count} {word}"));
    let parts = |whole: Option<String>, parts: Vec<String>| match parts.as_slice() {
        [] => whole,
        parts => whole.map(|whole| format!("{whole} ({})", parts.join(", "))),
    };
    let input = parts(with(tokens.prompt, "in"), with(tokens.cached, "cached").into_iter().collect());
    let reasoning = [with(tokens.reasoning, "reasoning"), with(tokens.hidden, "hidden")];
    let output = parts(with(tokens.output, "out"), reasoning.into_iter().flatten().collect());
    let source = tokens.source.map(|source| format!("counted by {}", TokenSource::label(source)));
    let all: Vec<String> = [input, output, source].into_iter().flatten().collect();
    (!all.is_empty()).then(|| all.join(", "))
}

fn guesses(Speculation { drafted, accepted }: Speculation) -> String {
    format!("{drafted} tokens, of which {accepted} were accepted (speculative decoding)")
}

/// In the order in which they happen; what was not measured is left out.
fn durations(probe: &StoredProbe) -> Vec<(&'static str, Duration, &'static str)> {
    let (sample, times) = (&probe.sample, &probe.times);
    let gap = |quantile: fn(&Quantiles) -> Duration| probe.gaps.as_ref().map(quantile);
    [
        ("lag", Some(sample.lag), "from the due time to the start: the daemon's own lateness"),
        ("resolve", sample.resolve, "to find the address"),
        ("connect", sample.connect, "to open the connection"),
        ("tls", sample.tls, "to secure it"),
        ("wait", sample.wait, "from the request to the head of the answer"),
        ("ttft", sample.ttft, "from the request to the first token"),
        ("answer_ttft", sample.answer_ttft, "from the request to the first token that is no reasoning"),
        ("tpot", sample.tpot, "for each token after the first, on average"),
        ("itl p50", gap(|gaps| gaps.p50), "the gap between tokens: half are no longer"),
        ("itl p90", gap(|gaps| gaps.p90), "within 1 %"),
        ("itl p99", gap(|gaps| gaps.p99), ""),
        ("itl max", gap(|gaps| gaps.max), "within 1 %"),
        ("stall", sample.stall, "the longest silence between two arrivals"),
        ("latency", sample.latency, "from the start to the end of the answer"),
        ("queue", times.queue, "as the server says: waiting for a place"),
        ("prefill", times.prefill, "as the server says: reading the prompt"),
        ("decode", times.decode, "as the server says: writing the answer"),
        ("load", times.load, "as the server says: loading the model"),
    ]
    .into_iter()
    .filter_map(|(name, value, meaning)| value.map(|value| (name, value, meaning)))
    .collect()
}

/// The contract of `--json`: absent is null. What `sloprobe once --json` has too is called the same.
pub(super) fn as_json(probe: &StoredProbe, again: &str) -> String {
    let seconds = |duration: Option<Duration>| duration.map(|d| d.as_secs_f64());
    let times = &probe.times;
    let mut line = json!({
        "id": probe.id.to_string(),
        "trace_id": probe.trace.map(|trace| trace.to_string()),
        "target": probe.target,
        "workload": probe.workload,
        "started": format_rfc3339_micros(probe.at).to_string(),
        "release": probe.release.as_ref().map(release),
        "mixed": probe.mixed,
        "suspect": probe.suspect,
        "outcome": probe.failure.map_or("ok", Failure::label),
        "error": probe.detail,
        "verdict": probe.verdict.map(Verdict::label),
        "answer": probe.text,
        "reasoning": probe.thought,
        "characters": probe.characters,
        "cut": probe.cut,
        "server_seconds": {
            "queue": seconds(times.queue),
            "prefill": seconds(times.prefill),
            "decode": seconds(times.decode),
            "load": seconds(times.load),
        },
        "seed": probe.seed.to_string(),
        "depth": probe.depth.map(|depth| depth.0),
        "prompt": again,
    });
    measured::add_to(&mut line, &probe.sample, probe.gaps, &probe.tokens);
    format!("{line}\n")
}

fn release(release: &Release) -> Value {
    let makeup = &release.makeup;
    json!({
        "number": release.id.0,
        "name": makeup.to_string(),
        "engine": Some(&makeup.engine).filter(|engine| !engine.is_empty()),
        "version": makeup.version,
        "model": makeup.model,
        "fingerprint": makeup.fingerprint,
        "mark": makeup.mark,
        "began": format_rfc3339_seconds(release.began).to_string(),
    })
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;
    use crate::domain::{Depth, Makeup, ProbeId, ReleaseId, Sample, Seed, ServerTimes, TraceId};

    const MS: Duration = Duration::from_millis(1);

    fn probe() -> StoredProbe {
        let id: ProbeId = "1a0e5f3c2b100007".parse().unwrap();
        let makeup = Makeup { engine: "vllm".into(), version: Some("0.33.0".into()), ..Makeup::default() };
        let [p50, p90, p95, p99, max] = [20, 22, 23, 25, 80].map(|ms| ms * MS);
        StoredProbe {
            id,
            at: id.started() + Duration::from_micros(456),
            target: "chat-prod".into(),
            workload: "rag".into(),
            release: Some(Release {
                id: ReleaseId(7),
                target: "chat-prod".into(),
                makeup,
                began: SystemTime::UNIX_EPOCH + Duration::from_secs(1_790_000_000),
                settled: None,
            }),
            mixed: false,
            suspect: false,
            failure: None,
            verdict: Some(Verdict::Wrong),
            sample: Sample {
                lag: Duration::from_micros(800),
                connect: Some(3 * MS),
                wait: Some(70 * MS),
                ttft: Some(90 * MS),
                tpot: Some(21 * MS),
                stall: Some(80 * MS),
                latency: Some(1300 * MS),
                ..Sample::default()
            },
            gaps: Some(Quantiles { p50, p90, p95, p99, max }),
            tokens: Tokens {
                prompt: Some(1523),
                cached: Some(1408),
                output: Some(60),
                hidden: Some(4),
                source: Some(TokenSource::FinalUsage),
                speculation: Some(Speculation { drafted: 9, accepted: 5 }),
                ..Tokens::default()
            },
            times: ServerTimes { queue: Some(7 * MS), ..ServerTimes::default() },
            seed: Seed { random: 0x9f3c_0a55_d0e7_b2f1, step: 17, size: 1523 },
            depth: Some(Depth(40)),
            characters: 211,
            cut: true,
            detail: None,
            text: Some("first\nsecond\u{1b}[31m".into()),
            thought: None,
            trace: TraceId::from_bytes([0xab; 16]),
        }
    }

    #[test]
    fn all_that_is_known_is_told_in_the_order_of_a_persons_questions() {
        let probe = probe();
        let again = prompt_command(&probe, Some(Path::new("/etc/sloprobe.toml")));
        let wanted = "\
probe     1a0e5f3c2b100007
target    chat-prod
workload  rag
started   2026-09-28T02:59:12.689456Z
release   #7 vllm 0.33.0
outcome   ok
answer    wrong, 211 characters, cut at its limit; the fact that answers the question lay 40 % into the prompt
tokens    1523 in (1408 cached), 60 out (4 hidden), counted by final_usage
drafted   9 tokens, of which 5 were accepted (speculative decoding)
trace     abababababababababababababababab
prompt    sloprobe prompt -c /etc/sloprobe.toml --workload rag --seed 9f3c0a55d0e7b2f1-17-1523

lag            800 µs  from the due time to the start: the daemon's own lateness
connect       3.00 ms  to open the connection
wait          70.0 ms  from the request to the head of the answer
ttft          90.0 ms  from the request to the first token
tpot          21.0 ms  for each token after the first, on average
itl p50       20.0 ms  the gap between tokens: half are no longer
itl p90       22.0 ms  within 1 %
itl p99       25.0 ms
itl max       80.0 ms  within 1 %
stall         80.0 ms  the longest silence between two arrivals
latency        1.30 s  from the start to the end of the answer
queue         7.00 ms  as the server says: waiting for a place

Answer, at most the first 2 KiB:
    first
    second\\u{1b}[31m
";
        assert_eq!(as_text(&probe, &again), wanted);
    }

    #[test]
    fn a_failure_says_why_and_what_is_doubtful_is_said_too() {
        let mut probe = probe();
        probe.failure = Some(Failure::ServerError);
        probe.detail = Some("HTTP 503: the model\nis loading".into());
        (probe.suspect, probe.mixed, probe.verdict, probe.trace) = (true, true, None, None);
        let text = as_text(&probe, &prompt_command(&probe, None));
        for said in [
            "\noutcome   server_error: HTTP 503: the model\n          is loading\n",
            "\nrelease   #7 vllm 0.33.0 (two releases answered in turn: it may be the other's)\n",
            "\nsuspect   measured while the machine of the daemon was busy",
            "\nprompt    sloprobe prompt --workload rag --seed ",
            "\nOf a failed probe only these are kept",
        ] {
            assert!(text.contains(said), "{said:?} is not in\n{text}");
        }
        assert!(!text.contains("\ntrace ") && !text.contains("\nanswer "), "{text}");
    }
}
