//! A report for people: tables for the terminal, or in Markdown.

use std::fmt::Write as _;
use std::time::Duration;

use humantime::format_duration;

use super::lines::{Line, Window};
use super::objectives::Judged;
use crate::cli::table::{Table, time};
use crate::domain::{Failure, Goal};
use crate::history::{Figure, Spread};
use crate::page::words;

/// Cells of text, of which the first columns are words; the first row is the head.
struct Grid<const N: usize> {
    words: usize,
    head: [&'static str; N],
    rows: Vec<[String; N]>,
}

/// How a grid becomes text.
type Draw<'a> = &'a dyn Fn(usize, &[&str], Vec<Vec<String>>) -> String;

pub(super) fn table(lines: &[Line], window: Window, with_objectives: bool) -> String {
    let draw = |words: usize, head: &[&str], rows: Vec<Vec<String>>| {
        let mut table = Table::of(words, head);
        for row in rows {
            table.row(row);
        }
        table.lines().join("\n") + "\n"
    };
    write(lines, window, with_objectives, &draw)
}

pub(super) fn markdown(lines: &[Line], window: Window, with_objectives: bool) -> String {
    let draw = |words: usize, head: &[&str], rows: Vec<Vec<String>>| {
        let rule = (0..head.len()).map(|column| if column < words { "---" } else { "---:" }.to_owned());
        let head = head.iter().map(|cell| (*cell).to_owned()).collect();
        let all = [head, rule.collect()].into_iter().chain(rows);
        all.fold(String::new(), |text, row| {
            let cells: Vec<String> =
                row.iter().map(|cell| cell.replace('\\', "\\\\").replace('|', "\\|")).collect();
            text + "| " + &cells.join(" | ") + " |\n"
        })
    };
    write(lines, window, with_objectives, &draw)
}

fn write(lines: &[Line], window: Window, with_objectives: bool, draw: Draw<'_>) -> String {
    let (from, to) = (words::moment(window.from), words::moment(window.to));
    let mut text = format!("From {from} to {to}\n\n");
    text += &requests(lines).draw(draw);
    let _ = write!(text, "\n{}", times(lines).draw(draw));
    let failures = failures(lines);
    if !failures.rows.is_empty() {
        let _ = write!(text, "\n{}", failures.draw(draw));
    }
    let objectives = objectives(lines);
    if !objectives.rows.is_empty() {
        let _ = write!(text, "\n{}", objectives.draw(draw));
    } else if with_objectives {
        text += "\nNo objective of the configuration covers any of this.\n";
    }
    text
}

impl<const N: usize> Grid<N> {
    fn draw(self, draw: Draw<'_>) -> String {
        let rows = self.rows.into_iter().map(|row| row.map(|cell| clean(&cell)).to_vec());
        draw(self.words, &self.head, rows.collect())
    }
}

fn requests(lines: &[Line]) -> Grid<12> {
    let row = |line: &Line| {
        let [target, workload] = names(line);
        let tally = &line.tally;
        let (right, judged) = line.answers();
        let whole = Duration::from_secs(line.window.length().as_secs_f64().round() as u64);
        [
            target,
            workload,
            tally.probes.to_string(),
            tally.failed().to_string(),
            share(line.success_rate()),
            number(line.per_second(tally.probes)),
            number(line.per_second(tally.tokens.input)),
            number(line.per_second(tally.tokens.output)),
            number(line.stream_speed()),
            number(line.characters_per_token()),
            if judged == 0 { "-".into() } else { format!("{right} of {judged}") },
            format_duration(whole).to_string(),
        ]
    };
    let head = [
        "TARGET",
        "WORKLOAD",
        "REQUESTS",
        "FAILED",
        "SUCCESS",
        "QPS",
        "TOKENS IN/S",
        "TOKENS OUT/S",
        "TOKENS/S PER STREAM",
        "CHARS/TOKEN",
        "RIGHT ANSWERS",
        "OVER",
    ];
    Grid { words: 2, head, rows: lines.iter().map(row).collect() }
}

fn times(lines: &[Line]) -> Grid<10> {
    let mut rows = Vec::new();
    for line in lines {
        let [target, workload] = names(line);
        let ttft = line.tally.spread(Figure::Ttft);
        for (figure, name) in [
            (Figure::Ttft, "TTFT"),
            (Figure::AnswerTtft, "answer TTFT"),
            (Figure::Tpot, "TPOT"),
            (Figure::Itl, "ITL"),
            (Figure::Stall, "stall"),
            (Figure::Latency, "latency"),
        ] {
            let spread = line.tally.spread(figure);
            // Where nothing is thought before the answer, they are the same.
            if figure == Figure::AnswerTtft && (spread == ttft || spread.count() == 0) {
                continue;
            }
            let [mean, p50, p75, p90, p95, p99, max] =
                figures(spread).map(|seconds| time(seconds.map(Duration::from_secs_f64)));
            rows.push([
                target.clone(),
                workload.clone(),
                name.to_owned(),
                mean,
                p50,
                p75,
                p90,
                p95,
                p99,
                max,
            ]);
        }
    }
    let head = ["TARGET", "WORKLOAD", "TIME", "MEAN", "P50", "P75", "P90", "P95", "P99", "MAX"];
    Grid { words: 3, head, rows }
}

fn failures(lines: &[Line]) -> Grid<5> {
    let mut rows = Vec::new();
    for line in lines {
        let [target, workload] = names(line);
        let counts = Failure::ALL.map(|failure| (failure, line.tally.failed_by(failure)));
        for (failure, count) in counts.into_iter().filter(|(_, count)| *count > 0) {
            let of_all = format!("{:.2} %", count as f64 * 100.0 / line.tally.probes as f64);
            let name = failure.label().to_owned();
            rows.push([target.clone(), workload.clone(), name, count.to_string(), of_all]);
        }
    }
    Grid { words: 3, head: ["TARGET", "WORKLOAD", "FAILURE", "COUNT", "OF ALL"], rows }
}

fn objectives(lines: &[Line]) -> Grid<10> {
    let mut rows = Vec::new();
    for line in lines {
        let [target, workload] = names(line);
        for judged in &line.objectives {
            let left = judged.budget_left().map(|left| format!("{:.1} %", left * 100.0));
            rows.push([
                target.clone(),
                workload.clone(),
                judged.slo.name.to_string(),
                goal(judged),
                judged.is_met().map_or("-", |met| if met { "yes" } else { "NO" }).to_owned(),
                judged.events.to_string(),
                judged.bad.to_string(),
                judged.compliance().map_or_else(|| "-".into(), |percent| share(percent / 100.0)),
                format!("{} %", judged.slo.objective.as_percent()),
                left.unwrap_or_else(|| "-".into()),
            ]);
        }
    }
    let head = [
        "TARGET",
        "WORKLOAD",
        "OBJECTIVE",
        "GOAL",
        "MET",
        "EVENTS",
        "BAD",
        "GOOD",
        "REQUIRED",
        "BUDGET LEFT",
    ];
    Grid { words: 5, head, rows }
}

fn goal(judged: &Judged) -> String {
    match judged.slo.goal {
        Goal::Below(measure, bound) => format!("{} up to {}", measure.name(), format_duration(bound)),
        goal => goal.name().to_owned(),
    }
}

/// Mean, the usual quantiles, and the longest, in seconds.
pub(super) fn figures(spread: &Spread) -> [Option<f64>; 7] {
    let quantile = |percent: f64| spread.quantile(percent / 100.0);
    let [p50, p75, p90, p95, p99] = [50.0, 75.0, 90.0, 95.0, 99.0].map(quantile);
    [spread.mean(), p50, p75, p90, p95, p99, spread.max()]
}

fn names(line: &Line) -> [String; 2] {
    [&line.target, &line.workload].map(|name| name.clone().unwrap_or_else(|| "all".to_owned()))
}

/// In percent, never rounded up: only what is all good is 100 %.
fn share(share: f64) -> String {
    if share >= 1.0 { "100 %".to_owned() } else { format!("{:.2} %", (share * 1e4 + 1e-6).floor() / 100.0) }
}

/// Three significant digits.
fn number(number: Option<f64>) -> String {
    let Some(number) = number else { return "-".into() };
    let decimals = match number {
        0.0 => 0,
        _ => (2 - number.log10().floor() as i32).clamp(0, 6),
    };
    format!("{number:.*}", decimals.unsigned_abs() as usize)
}

/// A name may come from a file that somebody else wrote; a terminal must not obey it.
fn clean(text: &str) -> String {
    text.chars().flat_map(|c| if c.is_control() { c.escape_default().collect() } else { vec![c] }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_not_rounded_up_and_numbers_have_three_digits() {
        assert_eq!([1.0, 0.99999, 0.995, 0.0].map(share), ["100 %", "99.99 %", "99.50 %", "0.00 %"]);
        let shown = [0.0, 0.016_666, 1.2, 12.34, 123.4, 12_345.0].map(|n| number(Some(n)));
        assert_eq!(shown, ["0", "0.0167", "1.20", "12.3", "123", "12345"]);
        assert_eq!(number(None), "-");
    }

    #[test]
    fn names_cannot_command_a_terminal() {
        assert_eq!(clean("a\u{1b}[31mé|"), "a\\u{1b}[31mé|");
    }
}
