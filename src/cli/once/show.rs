//! What `sloprobe once` prints.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use humantime::format_rfc3339_seconds;
use serde_json::json;

use crate::cli::measured;
use crate::cli::table::{Table, time};
use crate::domain::{Identity, Quantiles, Report, Speculation, TokenSource, Verdict};

/// Certificates that end within this are to be renewed; those who renew by themselves do it earlier.
const RENEW_WITHIN: Duration = Duration::from_secs(14 * 24 * 3600);

pub(super) fn as_table(reports: &[Report]) -> Vec<String> {
    let mut table = Table::new(
        4,
        [
            "TARGET",
            "WORKLOAD",
            "OUTCOME",
            "ANSWER",
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
            "HIDDEN",
            "PER ARRIVAL",
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
            report.verdict.map_or("-", Verdict::label).into(),
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
            tokens(report.tokens.hidden),
            sample.tokens_per_arrival.map_or_else(|| "-".into(), |n| format!("{n:.1}")),
            report.tokens.source.map_or("-", TokenSource::label).into(),
        ]);
    }
    let mut lines = table.lines();
    for report in reports {
        if let Some(fault) = &report.fault {
            let (target, workload) = (&report.target.name, &report.workload.name);
            lines.push(format!("\n{target}, {workload}: {}\n    {}", fault.failure.label(), fault.detail));
        }
        lines.extend(bad_answer(report));
        lines.extend(guesses(report));
    }
    lines
}

/// What came of speculative decoding, if the server tells.
fn guesses(report: &Report) -> Option<String> {
    let Speculation { drafted, accepted } = report.tokens.speculation?;
    let (target, workload) = (&report.target.name, &report.workload.name);
    let percent = 100.0 * accepted as f64 / drafted as f64;
    Some(format!(
        "\n{target}, {workload}: speculative decoding, {accepted} of {drafted} drafted tokens accepted ({percent:.0} %)"
    ))
}

/// What a person should look at, and how to see what was asked.
fn bad_answer(report: &Report) -> Option<String> {
    let verdict = report.verdict.filter(|verdict| verdict.is_bad())?;
    let (target, workload) = (&report.target.name, &report.workload.name);
    let text = [&report.answer.text, &report.answer.thought].into_iter().find(|text| !text.trim().is_empty());
    let text = measured::printable(text.map_or("", String::as_str), "    ");
    Some(format!(
        "\n{target}, {workload}: the answer is {} (sloprobe prompt --workload {workload} --seed {})\n    {text}",
        verdict.label(),
        report.seed
    ))
}

/// What was measured while this machine was busy may be the machine.
pub(super) fn doubt(reports: &[Report], worst: Duration) -> Vec<String> {
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

/// Targets whose certificates end soon or have ended, each once.
pub(super) fn ending(reports: &[Report], now: SystemTime) -> Vec<String> {
    let mut lines = Vec::new();
    for report in reports {
        let Some(expiry) = report.certificate_expiry.filter(|&expiry| expiry < now + RENEW_WITHIN) else {
            continue;
        };
        let ends = if expiry < now { "ended" } else { "ends" };
        let (target, expiry) = (&report.target.name, format_rfc3339_seconds(expiry));
        let line = format!("\n{target}: a certificate that it presents {ends} at {expiry}");
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines
}

pub(super) fn as_sentences(identities: &[(Arc<str>, Identity)]) -> Vec<String> {
    let known = identities.iter().filter(|(_, identity)| identity.is_known());
    let mut lines: Vec<_> = known.map(|(target, identity)| format!("{target} runs {identity}")).collect();
    if !lines.is_empty() {
        lines.insert(0, String::new());
    }
    lines
}

/// The contract of `--json`: absent is null.
pub(super) fn as_json(report: &Report) -> String {
    let sample = &report.sample;
    let mut line = json!({
        "id": report.id.to_string(),
        "trace_id": report.trace.map(|trace| trace.to_string()),
        "target": &*report.target.name,
        "workload": &*report.workload.name,
        "outcome": report.outcome(),
        "certificate_expiry": report.certificate_expiry.map(|at| format_rfc3339_seconds(at).to_string()),
        "verdict": report.verdict.map(Verdict::label),
        "answer": Some(&report.answer.text).filter(|text| !text.is_empty()),
        "seed": report.seed.to_string(),
        "depth": report.depth.map(|depth| depth.0),
        "suspect": report.suspect,
        "error": report.fault.as_ref().map(|fault| &fault.detail),
    });
    measured::add_to(&mut line, sample, Quantiles::of_gaps(sample), &report.tokens);
    line.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Sample, fixture};

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

    #[test]
    fn a_target_whose_certificate_ends_within_two_weeks_is_named_once() {
        let mut reports = ["a", "a", "b"]
            .map(|name| fixture::report(&fixture::target(name, &["w"]), Sample::default(), None));
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_900_000_000);
        assert_eq!(ending(&reports, now), Vec::<String>::new());
        for report in &mut reports {
            report.certificate_expiry = Some(now + RENEW_WITHIN);
        }
        assert_eq!(ending(&reports, now), Vec::<String>::new());
        reports[0].certificate_expiry = Some(now + RENEW_WITHIN - Duration::from_secs(1));
        reports[1].certificate_expiry = reports[0].certificate_expiry;
        reports[2].certificate_expiry = Some(now - Duration::from_secs(1));
        assert_eq!(
            ending(&reports, now),
            [
                "\na: a certificate that it presents ends at 2030-03-31T17:46:39Z",
                "\nb: a certificate that it presents ended at 2030-03-17T17:46:39Z"
            ]
        );
    }

    #[test]
    fn hidden_tokens_arrivals_and_guesses_are_shown() {
        let sample = Sample { tokens_per_arrival: Some(2.54), ..Sample::default() };
        let mut report = fixture::report(&fixture::target("t", &["w"]), sample, None);
        report.tokens.hidden = Some(450);
        report.tokens.speculation = Some(Speculation { drafted: 129, accepted: 10 });
        let lines = as_table(std::slice::from_ref(&report));
        assert!(lines[0].contains("HIDDEN  PER ARRIVAL  COUNTED BY"), "{}", lines[0]);
        assert!(lines[1].contains("   450          2.5"), "{}", lines[1]);
        assert_eq!(lines[2], "\nt, w: speculative decoding, 10 of 129 drafted tokens accepted (8 %)");
        let json: serde_json::Value = serde_json::from_str(&as_json(&report)).unwrap();
        assert_eq!(json["tokens"]["hidden"], 450);
        assert_eq!(json["tokens_per_arrival"], 2.54);
        assert_eq!(json["speculation"], json!({ "drafted": 129, "accepted": 10 }));
    }

    #[test]
    fn a_bad_answer_is_shown_with_its_seed_and_without_tricks() {
        let mut report = fixture::report(&fixture::target("t", &["w"]), Sample::default(), None);
        report.answer.text = "first\nsecond\u{1b}[31m".into();
        report.verdict = Some(Verdict::Right);
        assert_eq!(bad_answer(&report), None);
        report.verdict = Some(Verdict::Wrong);
        assert_eq!(
            bad_answer(&report).unwrap(),
            "\nt, w: the answer is wrong (sloprobe prompt --workload w --seed 0000000000000000-0-0)\n    first\n    second\\u{1b}[31m"
        );
    }
}
