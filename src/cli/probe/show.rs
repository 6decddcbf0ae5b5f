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
        let _ = writeln!(text, "{name:<12} {:>8}  {meaning}", time(Some(value)));
    }
    if probe.failure.is_some() {
        text.push_str("\nOf a failed probe only these are kept: its other durations were cut off.\n");
    }
    for (name, value) in [("Answer", &probe.text), ("Reasoning", &probe.thought)] {
        if let Some(said) = value {
            let _ = writeln!(text, "\n{name}, at most the first 2 KiB:\n    {}", measured::printable(said, "    "));
        }
    }
    text
}

fn about(probe: &StoredProbe, again: &str) -> Vec<(&'static str, String)> {
    let some = |name, value: Option<String>| value.map(|value| (name, value));
    let is_mixed = probe.mixed.then(|| " (two releases answered in turn: it may be the other's)");
    let release = probe.release.as_ref().map(|release| format!("#{} {}", release.id.0, release.makeup));
    let release = release.map(|name| name + is_mixed.unwrap_or_default());
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
        some("trace", probe.trace.clone()),
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
        ("itl p90", gap(|gaps| gaps.p90), ""),
        ("itl p99", gap(|gaps| gaps.p99), ""),
        ("itl max", gap(|gaps| gaps.max), ""),
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
        "trace_id": probe.trace,
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
