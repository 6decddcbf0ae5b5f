//! TTFT against its own past: the same hour of the past seven days, by the standard of how much it varies anyway.

use super::rule::{Alert, Group, Severity};
use super::{Options, RUNNING, alert, days, hours, minutes, record};
use crate::catalogue as cat;

const LEVEL: &str = "target_workload:sloprobe_ttft_seconds:ln_p50_1h";
const SHIFT: &str = "target_workload:sloprobe_ttft_seconds:ln_p50_1h_vs_7d";
const SPREAD: &str = "target_workload:sloprobe_ttft_seconds:ln_p50_1h_vs_7d_stddev";

/// ln 1.2: less is not worth waking for.
const LEAST: f64 = 0.182;
const DEVIATIONS: u32 = 4;

pub(super) fn group(options: &Options) -> Group {
    let interval = minutes(5);
    let median =
        options.over_replicas("sum", &format!("rate({}_bucket[{}])", cat::TTFT.name, options.span(hours(1))));
    let lags: Vec<_> = (1..=7)
        .map(|day| {
            let offset = options.span(days(day));
            format!("label_replace({LEVEL} offset {offset}, \"lag\", \"{day}\", \"\", \"\")")
        })
        .collect();
    let past = format!("{SHIFT}[{}] offset {}", options.span(days(7)), options.span(hours(6)));
    // A spread seen over a few hours says nothing about a week.
    let known = days(5).as_secs() / interval.as_secs();
    let alerts = Alert {
        name: "SloprobeTtftRegression",
        expr: format!(
            "{SHIFT} > {LEAST}\nand\n{SHIFT} > {DEVIATIONS} * {SPREAD}\nand\ncount_over_time({past}) >= {known}"
        ),
        hold: minutes(10),
        keep: Some(hours(1)),
        severity: Severity::Warning,
        labels: Vec::new(),
        summary: "TTFT of {{ $labels.target }} has regressed.".into(),
        description: format!(
            "The median TTFT of {{{{ $labels.workload }}}} on {{{{ $labels.target }}}} over the last {} is {{{{ printf \"%.2f\" $value }}}} above \
             the same time of the past seven days in logarithms (0.18 is 20 %, 0.26 is 30 %, 0.69 is twice), and more than {DEVIATIONS} \
             times what it varies by.{RUNNING}",
            options.span(hours(1))
        ),
    };
    let rules = vec![
        record(LEVEL, format!("ln(histogram_quantile(0.5, {median}))")),
        record(SHIFT, format!("{LEVEL}\n-\navg without (lag) (\n    {}\n)", lags.join("\n  or\n    "))),
        record(SPREAD, format!("stddev_over_time({past})")),
        alert(alerts),
    ];
    Group { name: "sloprobe-regression", interval, rules }
}
