//! What was measured of one probe, in words that `sloprobe once` and `sloprobe probe` share.

use std::time::Duration;

use serde_json::{Value, json};

use crate::domain::{Quantiles, Sample, Speculation, TokenSource, Tokens};

/// Adds durations and tokens to a JSON object; absent is null.
pub(super) fn add_to(line: &mut Value, sample: &Sample, gaps: Option<Quantiles>, tokens: &Tokens) {
    let seconds = |duration: Option<Duration>| duration.map(|d| d.as_secs_f64());
    let itl = gaps.map(|q| {
        let [p50, p90, p99, max] = [q.p50, q.p90, q.p99, q.max].map(|d| d.as_secs_f64());
        json!({ "p50": p50, "p90": p90, "p99": p99, "max": max })
    });
    let measured = json!({
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
            "prompt": tokens.prompt,
            "cached": tokens.cached,
            "reasoning": tokens.reasoning,
            "hidden": tokens.hidden,
            "output": tokens.output,
            "source": tokens.source.map(TokenSource::label),
        },
        "tokens_per_arrival": sample.tokens_per_arrival,
        "speculation": tokens.speculation.map(|Speculation { drafted, accepted }| {
            json!({ "drafted": drafted, "accepted": accepted })
        }),
    });
    if let (Value::Object(line), Value::Object(measured)) = (line, measured) {
        line.extend(measured);
    }
}

/// A text from outside, fit for a terminal: line breaks stay, followed by `indent`; what could play tricks does not.
pub(super) fn printable(text: &str, indent: &str) -> String {
    let mut shown = String::new();
    for c in text.trim().chars() {
        match c {
            '\n' => shown.extend(["\n", indent]),
            c if c.is_control() => shown.extend(c.escape_default()),
            c => shown.push(c),
        }
    }
    shown
}
