//! A comparison for the terminal.

use crate::cli::table::Table;
use crate::compare::{Amount, Change, Comparison, Metric, Place, Quantile, Side, Summary, Verdict};
use crate::page::{sentence, words};

/// Columns that a narrow terminal goes without: the first to go stands first.
const SPARED: [&str; 2] = ["MAX", "P90"];

/// Everything, ending with the verdict in one line.
pub(in crate::cli) fn write(comparison: &Comparison, width: usize) -> String {
    let mut lines = heading(comparison, width);
    for place in &comparison.places {
        lines.push(String::new());
        lines.push(words::name(&place.workload));
        let (shares, durations): (Vec<_>, Vec<_>) =
            place.changes.iter().partition(|change| change.metric.is_share());
        lines.extend(durations_table(&durations, width));
        if !shares.is_empty() && !durations.is_empty() {
            lines.push(String::new());
        }
        lines.extend(shares_table(&shares));
        lines.extend(notes(place));
    }
    lines.push(String::new());
    lines.push(sentence::overall(comparison));
    lines.join("\n") + "\n"
}

fn heading(comparison: &Comparison, width: usize) -> Vec<String> {
    let mut table = Table::new(4, ["SIDE", "RELEASE", "FROM", "TO", "LENGTH", "PROBES"]);
    let mut row = |word: &str, side: &Side| {
        let long = side.to.duration_since(side.from).unwrap_or_default();
        table.row(vec![
            word.into(),
            words::name(&side.name),
            words::clock_time(side.from),
            words::clock_time(side.to),
            words::stretch(long),
            side.probes.to_string(),
        ]);
    };
    row("before", &comparison.before);
    row("after", &comparison.after);
    let mut lines = vec![words::name(&comparison.target), String::new()];
    lines.extend(table.lines());
    lines.push(String::new());
    lines.extend(wrapped(&sentence::certainty(comparison), width));
    lines
}

/// Two lines for each metric: what was, and what is, with how it moved.
fn durations_table(changes: &[&Change], width: usize) -> Vec<String> {
    if changes.is_empty() {
        return Vec::new();
    }
    let mut lines = Vec::new();
    for spared in 0..=SPARED.len() {
        lines = with_columns(changes, &SPARED[..spared]);
        if lines.iter().all(|line| line.chars().count() <= width) {
            break;
        }
    }
    lines
}

fn with_columns(changes: &[&Change], without: &[&str]) -> Vec<String> {
    let head = ["METRIC", "VERDICT", "SIDE", "SAMPLES", "P50", "P90", "P99", "MAX", "CHANGE OF THE MIDDLE"];
    let keep = |cells: Vec<String>| -> Vec<String> {
        let kept = head.iter().zip(cells).filter(|(name, _)| !without.contains(name));
        kept.map(|(_, cell)| cell).collect()
    };
    let mut table = Table::new::<0>(3, []);
    table.row(keep(head.map(str::to_owned).to_vec()));
    for change in changes {
        let [before, after] = [&change.before, &change.after].map(spread);
        let names = [change.metric.label(), change.verdict.label(), "before"].map(str::to_owned);
        table.row(keep([&names[..], &before[..], &[String::new()]].concat()));
        let names = ["", "", "after"].map(str::to_owned);
        table.row(keep([&names[..], &after[..], &[moved(change, Quantile::Middle)]].concat()));
    }
    // The empty head that the table began with.
    table.lines().split_off(1)
}

fn spread(summary: &Summary) -> [String; 5] {
    let values = match summary.amount {
        Amount::Spread { p50, p90, p99, max } => [p50, p90, p99, max].map(words::seconds),
        Amount::Share { .. } | Amount::Nothing => std::array::from_fn(|_| "-".into()),
    };
    let [p50, p90, p99, max] = values;
    [summary.samples.to_string(), p50, p90, p99, max]
}

fn shares_table(changes: &[&Change]) -> Vec<String> {
    if changes.is_empty() {
        return Vec::new();
    }
    let mut table = Table::new(2, ["METRIC", "VERDICT", "BEFORE", "AFTER", "CHANGE"]);
    for change in changes {
        let noun = if change.metric == Metric::Failures { "failed" } else { "bad" };
        let told = |summary: &Summary| match summary.amount {
            Amount::Share { count } => {
                format!("{} ({count} of {} {noun})", words::share(count, summary.samples), summary.samples)
            }
            Amount::Spread { .. } | Amount::Nothing => "-".into(),
        };
        table.row(vec![
            change.metric.label().into(),
            change.verdict.label().into(),
            told(&change.before),
            told(&change.after),
            moved(change, Quantile::Share),
        ]);
    }
    table.lines()
}

fn moved(change: &Change, quantile: Quantile) -> String {
    let found = change.shifts.iter().find(|shift| shift.quantile == quantile);
    found.map_or_else(|| "-".into(), words::shift)
}

/// The quantiles that do not say what the middle says, and what is needed to decide the rest.
fn notes(place: &Place) -> Vec<String> {
    let mut lines = Vec::new();
    for change in &place.changes {
        let middle = change.shifts.first().map(|shift| shift.verdict);
        for shift in change.shifts.iter().filter(|shift| Some(shift.verdict) != middle) {
            let (metric, quantile) = (change.metric.label(), words::quantile(shift.quantile));
            lines.push(format!("  {metric} {quantile} {}: {}", shift.verdict.label(), words::shift(shift)));
        }
        if change.verdict == Verdict::Undecided {
            lines.push(format!("  {} {}", change.metric.label(), words::need(change.need)));
        }
    }
    if !lines.is_empty() {
        lines.insert(0, String::new());
    }
    lines
}

/// Lines that are no wider, broken between words.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::fixture;

    #[test]
    fn it_fits_a_hundred_columns_and_ends_with_the_verdict() {
        let text = write(&fixture::comparison(), 100);
        for line in text.lines() {
            assert!(line.chars().count() <= 100, "{line}\n{text}");
        }
        let last = text.lines().last().unwrap();
        assert!(last.starts_with("REGRESSED: rag ttft p99 +310 % (+220 … +450)"), "{text}");
    }

    #[test]
    fn rows_have_both_sides_and_the_change_of_the_middle() {
        let text = write(&fixture::comparison(), 100);
        let rows: Vec<String> =
            text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect();
        for row in [
            "ttft improved before 1200 310 ms 465 ms 775 ms 1.24 s",
            "after 1180 273 ms 410 ms 683 ms 1.09 s −12 % (−14 … −10)",
            "latency undecided before 0 - - - -",
            "failures regressed 1.00 % (6 of 600 failed) 3.10 % (18 of 580 failed) +2.1 points (+1.1 … +3.0)",
            "ttft p99 regressed: +310 % (+220 … +450)",
            "tpot needs about 240 more probes (40 min)",
            "latency stays undecided: the release before was watched too briefly, or is too restless",
        ] {
            assert!(rows.iter().any(|found| found == row), "{row}\n{text}");
        }
        assert!(!rows.iter().any(|row| row.starts_with("ttft p50")), "it says what the middle says:\n{text}");
    }

    #[test]
    fn a_narrow_terminal_goes_without_the_columns_that_matter_least() {
        let text = write(&fixture::comparison(), 84);
        assert!(!text.contains("MAX") && text.contains("P90"), "{text}");
        let text = write(&fixture::comparison(), 40);
        assert!(!text.contains("MAX") && !text.contains("P90") && text.contains("P99"), "{text}");
    }

    #[test]
    fn names_cannot_play_tricks_with_the_terminal() {
        let mut comparison = fixture::comparison();
        comparison.after.name = "vllm\u{1b}[2J 0.33".into();
        assert!(!write(&comparison, 100).contains('\u{1b}'));
    }
}
