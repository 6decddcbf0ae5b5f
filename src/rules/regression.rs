//! TTFT against its own past: the same time of the past seven days, and by the standard of how much it varies anyway.
//!
//! The *shift* is how far the median of the last half hour lies above the median of the same half hour of the past seven
//! days, on average and in logarithms: the shape of the day cancels out. What is left wanders with the load, slowly. So
//! what alerts is the *jump*: the shift less most of what it was an hour ago. A release, a lost replica or a throttled GPU
//! comes at once; its jump stands far out of the jumps of the past week, where the shift itself may not. Simulations are
//! in `tests/detection.rs`.
//!
//! The median is as fine as the buckets. Where TTFT spreads over several of them, few do as well as many; where it hardly
//! varies, few hide a rise within one bucket and exaggerate a step over a bound. Native histograms have neither fault.

use super::rule::{Alert, Group, Rule, Severity};
use super::{Options, RUNNING, alert, days, either, hours, minutes, record};
use crate::catalogue as cat;

const NAME: &str = "SloprobeTtftRegression";

/// The median of half an hour, in logarithms; recorded whatever was promised.
pub const LEVEL: &str = "target_workload:sloprobe_ttft_seconds:ln_p50_30m";
const SHIFT: &str = "target_workload:sloprobe_ttft_seconds:ln_p50_30m_vs_7d";
const JUMP: &str = "target_workload:sloprobe_ttft_seconds:ln_p50_30m_vs_7d_jump";
const SPREAD: &str = "target_workload:sloprobe_ttft_seconds:ln_p50_30m_vs_7d_jump_stddev";

/// ln 1.2: less is not worth an alert.
const LEAST: f64 = 0.182;
/// ln 1.1: what was found stays until it is down to this, as its jump is soon the past.
const OVER: f64 = 0.095;
/// How much of the last hour's shift is expected to go on.
const MEMORY: f64 = 0.7;
const DEVIATIONS: f64 = 4.25;

pub(super) fn group(options: &Options) -> Group {
    let interval = minutes(5);
    let past = format!("{JUMP}[{}] offset {}", options.span(days(7)), options.span(hours(6)));
    let mut rules = records(options);
    rules.push(record(SPREAD, format!("stddev_over_time({past})")));
    // A spread seen over a few hours says nothing about a week.
    let known = days(5).as_secs() / interval.as_secs();
    let found = format!(
        "{SHIFT} > {LEAST}\nand\n{JUMP} > {DEVIATIONS} * {SPREAD}\nand\ncount_over_time({past}) >= {known}"
    );
    // The labels that the alert has beyond those of its series.
    let firing = format!(
        "ignoring (alertname, alertstate, severity, drill)\nlast_over_time(ALERTS{{alertname=\"{NAME}\",alertstate=\"firing\"}}[{}])",
        options.span(2 * interval + minutes(1))
    );
    // Templates know no powers, but PromQL does.
    let percent = r#"{{ with printf "100 * (exp(vector(%f)) - 1)" $value | query }}{{ . | first | value | printf "%.0f" }} %{{ end }}"#;
    rules.push(alert(Alert {
        name: NAME,
        expr: format!("{found}\nor\n{SHIFT} > {OVER}\nand {firing}"),
        hold: minutes(10),
        keep: None,
        severity: Severity::Warning,
        labels: Vec::new(),
        summary: "TTFT of {{ $labels.target }} has regressed.".into(),
        description: format!(
            "The median TTFT of {{{{ $labels.workload }}}} on {{{{ $labels.target }}}} over the last {} is {percent} above \
             the same time of the past seven days, and it rose by far more than it usually does.{RUNNING}",
            options.span(minutes(30))
        ),
    }));
    Group { name: "sloprobe-regression", interval, rules }
}

fn records(options: &Options) -> Vec<Rule> {
    // Without successful probes the quantile is no number, and one such in a week would make the spread none, too.
    let level = |part: &str| {
        let rate = format!("rate({}{part}[{}])", cat::TTFT.name, options.span(minutes(30)));
        format!("ln(histogram_quantile(0.5, {}) > 0)", options.over_replicas("sum", &rate))
    };
    let lags: Vec<_> = (1..=7)
        .map(|day| {
            let offset = options.span(days(day));
            format!("label_replace({LEVEL} offset {offset}, \"lag\", \"{day}\", \"\", \"\")")
        })
        .collect();
    let before = format!("{SHIFT}[{}] offset {}", options.span(hours(1)), options.span(minutes(35)));
    vec![
        record(LEVEL, either(&level(""), &level("_bucket"))),
        record(SHIFT, format!("{LEVEL}\n-\navg without (lag) (\n    {}\n)", lags.join("\n  or\n    "))),
        record(JUMP, format!("{SHIFT}\n-\n{MEMORY} * avg_over_time({before})")),
    ]
}
