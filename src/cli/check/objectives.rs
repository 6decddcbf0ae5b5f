//! What `check` says about objectives: how soon each will alert, how often for nothing, and what would make it better.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use super::super::table::Table;
use crate::config::Plan;
use crate::domain::{Slo, Target, Workload};
use crate::forecast::{FalseAlarms, Found, Scene};
use crate::rules::rule::{Severity, Span};
use crate::rules::tier::{self, BURN};

/// What becomes bad, and what the column is called.
const SHARES: [(f64, &str); 4] = [(1.0, "OUTAGE"), (0.5, "50 % BAD"), (0.2, "20 % BAD"), (0.1, "10 % BAD")];

/// A page that comes later than this finds users on the phone already.
const TOO_LATE: Duration = Duration::from_secs(10 * 60);
const IN_TIME: Duration = Duration::from_secs(5 * 60);

/// One false alarm in so many months is what people put up with.
const TOO_OFTEN: f64 = 0.2;

/// With fewer events than these to spend, one bad probe more or less decides.
const SMALL_BUDGET: f64 = 5.0;

/// One objective at one place.
struct Row<'a> {
    slo: &'a Slo,
    target: &'a Target,
    workload: &'a Workload,
    scene: Scene,
}

struct Forecast {
    found: Vec<Option<Found>>,
    false_alarms: FalseAlarms,
}

pub(super) fn describe(plan: &Plan) -> Vec<String> {
    let rows = rows(plan);
    if rows.is_empty() {
        return vec!["There are no [[slos]]: nothing is promised, so only targets that are down, stalled or regressed alert.".into()];
    }
    let forecasts = forecasts(&rows);
    let mut table = Table::new(
        3,
        [
            "OBJECTIVE",
            "TARGET",
            "WORKLOAD",
            "PROBES",
            "MAY BE BAD",
            SHARES[0].1,
            SHARES[1].1,
            SHARES[2].1,
            SHARES[3].1,
            "FALSE/MONTH",
        ],
    );
    for row in &rows {
        table.row(cells(row, &forecasts[&row.key()]));
    }
    let mut lines = vec![
        "Objectives: probes in their window, how many may be bad, when the rules of `sloprobe rules` would alert".to_owned(),
        "after so many become bad (median of 40 simulated runs), and alerts a month at exactly the objective:".to_owned(),
        String::new(),
    ];
    lines.extend(table.lines());
    if lines.iter().any(|line| line.contains('*')) {
        lines.push("* not as a page but as a ticket (severity warning)".into());
    }
    lines.extend(remarks(&rows, &forecasts));
    lines
}

fn rows(plan: &Plan) -> Vec<Row<'_>> {
    let mut rows = Vec::new();
    for slo in &plan.slos {
        for target in &plan.targets {
            for share in target.mix.iter().filter(|share| slo.covers(target, &share.workload)) {
                let scene = Scene { budget: slo.objective.budget(), interval: target.interval_of(share) };
                rows.push(Row { slo, target, workload: &share.workload, scene });
            }
        }
    }
    rows
}

/// Equal scenes are simulated once, on all cores.
fn forecasts(rows: &[Row<'_>]) -> BTreeMap<(u64, Duration), Arc<Forecast>> {
    let scenes: BTreeMap<_, _> = rows.iter().map(|row| (row.key(), row.scene)).collect();
    let scenes: Vec<_> = scenes.into_iter().collect();
    let cores = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        let parts = scenes.chunks(scenes.len().div_ceil(cores).max(1));
        let parts: Vec<_> = parts
            .map(|part| {
                scope.spawn(|| {
                    part.iter().map(|(key, scene)| (*key, Arc::new(forecast(*scene)))).collect::<Vec<_>>()
                })
            })
            .collect();
        parts.into_iter().flat_map(|part| part.join().unwrap_or_default()).collect()
    })
}

fn forecast(scene: Scene) -> Forecast {
    Forecast {
        found: SHARES.iter().map(|(share, _)| scene.found(*share)).collect(),
        false_alarms: scene.false_alarms(),
    }
}

fn cells(row: &Row<'_>, forecast: &Forecast) -> Vec<String> {
    let mut cells =
        vec![row.slo.name.to_string(), row.target.name.to_string(), row.workload.name.to_string()];
    cells.push(format!("{:.0}", row.events(row.slo.window)));
    cells.push(format!("{:.1}", row.allowed()));
    for ((share, _), found) in SHARES.iter().zip(&forecast.found) {
        cells.push(if *share <= row.scene.budget { "allowed".into() } else { time(*found) });
    }
    let FalseAlarms { alarms, months } = forecast.false_alarms;
    cells.push(if alarms == 0 {
        format!("0 in {months}")
    } else {
        format!("{:.2}", forecast.false_alarms.per_month())
    });
    cells
}

/// Two units are as exact as a simulation deserves.
fn time(found: Option<Found>) -> String {
    let Some(Found { after, severity }) = found else { return "never".into() };
    let seconds = after.as_secs();
    let (large, small, units) = match seconds {
        0..3600 => (seconds / 60, seconds % 60, ["m", "s"]),
        3600..86_400 => (seconds / 3600, seconds % 3600 / 60, ["h", "m"]),
        _ => (seconds / 86_400, seconds % 86_400 / 3600, ["d", "h"]),
    };
    let mark = if severity == Severity::Warning { "*" } else { "" };
    if small == 0 {
        format!("{large}{}{mark}", units[0])
    } else {
        format!("{large}{} {small:02}{}{mark}", units[0], units[1])
    }
}

fn remarks(rows: &[Row<'_>], forecasts: &BTreeMap<(u64, Duration), Arc<Forecast>>) -> Vec<String> {
    let mut remarks = unreachable(rows);
    for row in rows {
        let forecast = &forecasts[&row.key()];
        remarks.extend(row.single_probe());
        remarks.extend(row.small_budget());
        remarks.extend(row.too_late(forecast));
        remarks.extend(row.too_often(forecast));
    }
    remarks.into_iter().map(|remark| format!("\n{remark}")).collect()
}

/// Tiers that no outage can reach, said once per objective.
fn unreachable(rows: &[Row<'_>]) -> Vec<String> {
    let slos: BTreeMap<_, _> = rows.iter().map(|row| (&row.slo.name, row.slo)).collect();
    let told = slos.values().filter_map(|slo| {
        let budget = slo.objective.budget();
        let missing: Vec<_> = BURN.iter().filter(|burn| !burn.is_reachable(budget)).collect();
        let names: Vec<_> = missing.iter().map(|burn| format!("{}x ({})", burn.factor, Span(burn.long))).collect();
        (!missing.is_empty()).then(|| {
            format!(
                "Note: at {} % an outage is only {:.1} times what {} allows, so its burn tier {} cannot fire and the quick tier stands in for it.",
                slo.objective.as_percent(),
                1.0 / budget,
                slo.name,
                names.join(", "),
            )
        })
    });
    told.collect()
}

impl Row<'_> {
    /// What tells equal scenes: numbers that come from the same texts are the same to the last bit.
    fn key(&self) -> (u64, Duration) {
        (self.scene.budget.to_bits(), self.scene.interval)
    }

    fn events(&self, window: Duration) -> f64 {
        window.as_secs_f64() / self.scene.interval.as_secs_f64()
    }

    fn allowed(&self) -> f64 {
        self.events(self.slo.window) * self.scene.budget
    }

    fn place(&self) -> String {
        format!("{} of {} on {}", self.slo.name, self.workload.name, self.target.name)
    }

    /// Tiers whose limit a single bad probe exceeds; the rules ask for more than one all the same.
    fn single_probe(&self) -> Option<String> {
        let budget = self.scene.budget;
        let is_hasty = |long: Duration, factor: f64| self.events(long) * factor * budget < 1.0;
        let burn = BURN.iter().rfind(|burn| burn.is_reachable(budget) && is_hasty(burn.long, burn.factor))?;
        let least = tier::noise(self.events(burn.long) * budget).floor() + 1.0;
        Some(format!(
            "Note: {}: one bad probe of the {:.0} in {} is over the limit of the {}x tier. No tier alerts on that: this one waits for {least:.0} bad ones.",
            self.place(),
            self.events(burn.long),
            Span(burn.long),
            burn.factor,
        ))
    }

    fn small_budget(&self) -> Option<String> {
        (self.allowed() < SMALL_BUDGET).then(|| {
            format!(
                "Warning: {}: only {:.1} bad probes are allowed in {}. That cannot be told from chance: lower the objective, or probe more often.",
                self.place(),
                self.allowed(),
                Span(self.slo.window),
            )
        })
    }

    fn too_late(&self, forecast: &Forecast) -> Option<String> {
        let outage = forecast.found[0];
        if outage.is_some_and(|found| found.after <= TOO_LATE) {
            return None;
        }
        let intervals = [60, 30, 20, 10, 5].map(Duration::from_secs).into_iter();
        let quicker = intervals.filter(|interval| *interval < self.scene.interval).find_map(|interval| {
            let found = Scene { interval, ..self.scene }.found(1.0)?;
            (found.after <= IN_TIME).then_some((interval, found))
        });
        let remedy = quicker.map_or_else(String::new, |(interval, found)| {
            format!(
                " Every {}, it would be {}: raise the rate, or the workload's weight in the mix.",
                Span(interval),
                time(Some(found))
            )
        });
        Some(format!(
            "Warning: {}: with a probe every {}, an outage is found after {}.{remedy}",
            self.place(),
            Span(Duration::from_secs(self.scene.interval.as_secs())),
            time(outage),
        ))
    }

    fn too_often(&self, forecast: &Forecast) -> Option<String> {
        let rate = forecast.false_alarms.per_month();
        (rate > TOO_OFTEN).then(|| {
            format!(
                "Warning: {}: {rate:.1} false alarms a month are to be expected where it is just met. Promise less, or probe more often.",
                self.place(),
            )
        })
    }
}
