//! A report for programs: JSON and CSV. Names stay as they are, and absent is null or not there; `schema` counts up when
//! that cannot be held.

use humantime::format_rfc3339_millis;
use serde_json::{Map, Value, json};

use super::lines::{By, Line, Window};
use super::objectives::Judged;
use super::show::figures;
use crate::domain::{Failure, Verdict};
use crate::history::Figure;

const SCHEMA: u32 = 1;

/// Mean, quantiles and maximum, as both formats name them.
const STATISTICS: [&str; 7] = ["mean", "p50", "p75", "p90", "p95", "p99", "max"];

pub(super) fn json(lines: &[Line], window: Window, by: Option<By>) -> String {
    let by = match by {
        None => json!(["target", "workload"]),
        Some(By::Target) => json!(["target"]),
        Some(By::Workload) => json!(["workload"]),
    };
    let report = json!({
        "schema": SCHEMA,
        "from": format_rfc3339_millis(window.from).to_string(),
        "to": format_rfc3339_millis(window.to).to_string(),
        "by": by,
        "rows": lines.iter().map(row).collect::<Vec<_>>(),
    });
    format!("{report:#}\n")
}

fn row(line: &Line) -> Value {
    let tally = &line.tally;
    let (right, judged) = line.answers();
    let at = |at: std::time::SystemTime| format_rfc3339_millis(at).to_string();
    let mut row = json!({
        "target": line.target,
        "workload": line.workload,
        "window": {
            "from": at(line.window.from),
            "to": at(line.window.to),
            "seconds": line.window.length().as_secs_f64(),
        },
        "first": tally.span().map(|span| at(span.0)),
        "last": tally.span().map(|span| at(span.1)),
        "requests": tally.probes,
        "suspect": tally.suspects,
        "failures": {
            "total": tally.failed(),
            "share": tally.failed() as f64 / tally.probes as f64,
            "by_reason": counts(Failure::ALL.map(|failure| (failure.label(), tally.failed_by(failure)))),
        },
        "success_rate": line.success_rate(),
        "requests_per_second": line.per_second(tally.probes),
        "tokens": {
            "input": tally.tokens.input,
            "cached": tally.tokens.cached,
            "output": tally.tokens.output,
        },
        "input_tokens_per_second": line.per_second(tally.tokens.input),
        "output_tokens_per_second": line.per_second(tally.tokens.output),
        "stream_tokens_per_second": line.stream_speed(),
        "characters_per_token": line.characters_per_token(),
        "answers": {
            "right": right,
            "judged": judged,
            "by_verdict": counts(Verdict::ALL.map(|verdict| (verdict.label(), tally.judged(verdict)))),
        },
        "objectives": line.objectives.iter().map(objective).collect::<Vec<_>>(),
    });
    for figure in Figure::ALL {
        let spread = tally.spread(figure);
        let mut all = Map::from_iter([("count".to_owned(), json!(spread.count()))]);
        all.extend(
            STATISTICS
                .into_iter()
                .zip(figures(spread))
                .map(|(name, seconds)| (name.to_owned(), json!(seconds))),
        );
        row[format!("{}_seconds", figure.name())] = Value::Object(all);
    }
    row
}

fn objective(judged: &Judged) -> Value {
    let slo = &judged.slo;
    json!({
        "name": &*slo.name,
        "metric": slo.goal.name(),
        "below_seconds": slo.goal.bound().map(|bound| bound.as_secs_f64()),
        "required_percent": slo.objective.as_percent(),
        "events": judged.events,
        "bad": judged.bad,
        "compliance_percent": judged.compliance(),
        "met": judged.is_met(),
        "budget_left": judged.budget_left(),
    })
}

/// Those that are not 0.
fn counts<const N: usize>(all: [(&str, u64); N]) -> Value {
    let some = all.into_iter().filter(|(_, count)| *count > 0);
    Value::Object(some.map(|(name, count)| (name.to_owned(), json!(count))).collect())
}

/// One record for each number of the JSON: the names on the way to it are the metric, the last one is the statistic.
pub(super) fn csv(lines: &[Line]) -> String {
    let mut text = record(["target", "workload", "metric", "statistic", "value"]);
    for line in lines {
        let names = [&line.target, &line.workload].map(|name| name.as_deref().unwrap_or("all"));
        let Value::Object(mut row) = row(line) else { continue };
        let objectives = row.remove("objectives");
        for (name, value) in &row {
            flatten(&mut text, names, name, value);
        }
        for objective in objectives.as_ref().and_then(Value::as_array).into_iter().flatten() {
            let name = objective["name"].as_str().unwrap_or_default();
            flatten(&mut text, names, &format!("objective {name}"), objective);
        }
    }
    text
}

fn flatten(text: &mut String, names: [&str; 2], metric: &str, value: &Value) {
    let [target, workload] = names;
    let mut put = |statistic: &str, value: &Value| {
        let value = match value {
            Value::Number(number) => number.to_string(),
            Value::Bool(yes) => u8::from(*yes).to_string(),
            _ => return,
        };
        *text += &record([target, workload, metric, statistic, &value]);
    };
    let Value::Object(parts) = value else { return put("value", value) };
    for (name, part) in parts {
        match part {
            // How it failed, what the answer was: the words are statistics of their own.
            Value::Object(counts) => counts.iter().for_each(|(name, count)| put(name, count)),
            part => put(name, part),
        }
    }
}

/// RFC 4180.
fn record(fields: [&str; 5]) -> String {
    let quoted = fields.map(|field| {
        if field.contains([',', '"', '\r', '\n']) {
            format!("\"{}\"", field.replace('"', "\"\""))
        } else {
            field.to_owned()
        }
    });
    quoted.join(",") + "\r\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_where_they_must_be() {
        let line = record(["plain", "a,b", "say \"x\"", "two\nlines", ""]);
        assert_eq!(line, "plain,\"a,b\",\"say \"\"x\"\"\",\"two\nlines\",\r\n");
    }
}
