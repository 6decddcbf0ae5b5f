//! The live table of the demo: in place on a terminal, plain lines elsewhere.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::recent::{RecentProbes, Window};
use crate::cli::output;
use crate::cli::table::{Table, time};
use crate::config::Plan;
use crate::domain::{Quantiles, Target, Workload};

/// The target whose engine is upgraded.
pub(super) const UPGRADED: &str = "steady";

/// What the numbers of the table look back on.
const WINDOW: Duration = Duration::from_secs(20);
/// One bar of the trend.
const BAR: Duration = Duration::from_secs(4);
const BARS: usize = 20;
/// As many as a small terminal has room for.
const NOTES: usize = 12;

#[derive(Debug)]
pub(super) struct Board {
    recent: Arc<RecentProbes>,
    rows: Vec<Row>,
    start: Instant,
    live: bool,
    /// Lines of the table that stands on the terminal.
    standing: usize,
    /// What has happened, oldest first.
    notes: VecDeque<String>,
}

#[derive(Debug)]
struct Row {
    target: Arc<Target>,
    workload: Arc<Workload>,
    /// Median TTFT of the past, oldest first.
    trend: VecDeque<Option<Duration>>,
    next_bar: Instant,
    /// Median TTFT before the upgrade.
    before: Option<Duration>,
}

impl Board {
    pub(super) fn new(plan: &Plan, recent: Arc<RecentProbes>, live: bool) -> Self {
        let start = Instant::now();
        let places = plan
            .targets
            .iter()
            .flat_map(|target| target.mix.iter().map(move |share| (target, &share.workload)));
        let rows = places
            .map(|(target, workload)| Row {
                target: Arc::clone(target),
                workload: Arc::clone(workload),
                trend: VecDeque::new(),
                next_bar: start + BAR,
                before: None,
            })
            .collect();
        Self { recent, rows, start, live, standing: 0, notes: VecDeque::new() }
    }

    /// How often to show it.
    pub(super) fn period(&self) -> Duration {
        if self.live { Duration::from_millis(500) } else { Duration::from_secs(3) }
    }

    pub(super) fn show(&mut self, now: Instant) {
        for row in &mut self.rows {
            row.update(&self.recent, now);
        }
        let lines = self.lines(now);
        let text = if self.live { self.repaint(&lines) } else { lines.join("\n") + "\n\n" };
        output::print(&text);
    }

    /// From now on the table compares with what it shows at this moment.
    pub(super) fn upgraded(&mut self, now: Instant, target: &str, version: &str) {
        for row in &mut self.rows {
            row.before = row.window(&self.recent, now).ttft.map(|q| q.p50);
        }
        self.tell(now, &format!("{target} was upgraded to {version}: watch its TTFT"));
    }

    /// Keeps a note below the table.
    pub(super) fn tell(&mut self, now: Instant, what: &str) {
        let at = humantime::format_duration(Duration::from_secs((now - self.start).as_secs()));
        self.notes.push_back(format!("at {at}: {what}"));
        if self.notes.len() > NOTES {
            self.notes.pop_front();
        }
    }

    fn lines(&self, now: Instant) -> Vec<String> {
        let mut table = Table::new(
            2,
            [
                "TARGET",
                "WORKLOAD",
                "PROBES",
                "FAILED",
                "RIGHT",
                "TTFT P50",
                "P95",
                "CHANGE",
                "TPOT P50",
                "STALL MAX",
                "TTFT TREND",
            ],
        );
        for row in &self.rows {
            table.row(row.cells(&self.recent, now));
        }
        let ran = humantime::format_duration(Duration::from_secs((now - self.start).as_secs()));
        let mut lines = vec![format!("{ran}; the last {} s:", WINDOW.as_secs())];
        lines.extend(table.lines());
        lines.extend(self.notes.iter().cloned());
        lines
    }

    /// Moves up over the old table and writes the new one in its place.
    fn repaint(&mut self, lines: &[String]) -> String {
        let width = terminal_size::terminal_size().map_or(120, |(width, _)| usize::from(width.0));
        let mut text = String::new();
        if self.standing > 0 {
            let _ = write!(text, "\x1b[{}A", self.standing);
        }
        for line in lines {
            // A line that wraps would take two, and the way back up would be too short.
            let line: String = line.chars().take(width.saturating_sub(1)).collect();
            let _ = writeln!(text, "\r{line}\x1b[K");
        }
        self.standing = lines.len();
        text
    }
}

impl Row {
    fn window(&self, recent: &RecentProbes, now: Instant) -> Window {
        recent.window(&self.target, &self.workload, now.checked_sub(WINDOW).unwrap_or(now))
    }

    fn update(&mut self, recent: &RecentProbes, now: Instant) {
        if now >= self.next_bar {
            let bar = recent.window(&self.target, &self.workload, now.checked_sub(BAR).unwrap_or(now));
            self.trend.push_back(bar.ttft.map(|q| q.p50));
            if self.trend.len() > BARS {
                self.trend.pop_front();
            }
            self.next_bar += BAR;
        }
    }

    fn cells(&self, recent: &RecentProbes, now: Instant) -> Vec<String> {
        let window = self.window(recent, now);
        let of = |quantiles: Option<Quantiles>, pick: fn(Quantiles) -> Duration| time(quantiles.map(pick));
        let median = window.ttft.map(|q| q.p50);
        let change = self.before.zip(median).map_or_else(
            || "-".into(),
            |(before, now)| format!("{:+.0} %", 100.0 * (now.as_secs_f64() / before.as_secs_f64() - 1.0)),
        );
        vec![
            self.target.name.to_string(),
            self.workload.name.to_string(),
            window.probes.to_string(),
            window.failures.to_string(),
            if window.judged == 0 { "-".into() } else { format!("{}/{}", window.right, window.judged) },
            time(median),
            of(window.ttft, |q| q.p95),
            change,
            of(window.tpot, |q| q.p50),
            of(window.stall, |q| q.max),
            sparkline(&self.trend),
        ]
    }
}

/// Bars of equal width, scaled from nothing to the highest.
fn sparkline(values: &VecDeque<Option<Duration>>) -> String {
    const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let highest = values.iter().flatten().max().copied().unwrap_or_default().as_secs_f64();
    let bar = |value: &Option<Duration>| {
        let share = value.map_or(0.0, |v| v.as_secs_f64()) / highest.max(f64::MIN_POSITIVE);
        if value.is_none() { ' ' } else { BLOCKS[((share * 8.0).ceil() as usize).clamp(1, 8) - 1] }
    };
    let line: String = values.iter().map(bar).collect();
    format!("{line:>BARS$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_rise_with_their_values() {
        let values = [Some(1), Some(4), None, Some(8)].map(|v| v.map(Duration::from_secs));
        assert_eq!(sparkline(&values.into()).trim_start(), "▁▄ █");
    }
}
