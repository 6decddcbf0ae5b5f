//! Whether the numbers are true: windows, rates and quantiles.

use sloprobe::catalogue::Kind;

use super::super::dashboard::Dashboard;
use super::super::promql::{Expr, Grouping, Selector};
use super::{Finding, House, expressions, family, finding, is_histogram};

/// What the window of a function over time may be: each of these follows what the person looks at.
const FOLLOWING: [&str; 3] = ["window", "__range", "__rate_interval"];

pub(super) fn ranges(_: &House, dashboard: &Dashboard) -> Vec<Finding> {
    let mut found = Vec::new();
    for (query, expr) in expressions(dashboard) {
        expr.walk(&mut |part, _| {
            let (Expr::Selector(Selector { range: Some(range), .. }) | Expr::Subquery { range, .. }) = part
            else {
                return;
            };
            let name = range.trim_start_matches('$').trim_start_matches('{').trim_end_matches('}');
            if !range.starts_with('$') || !FOLLOWING.contains(&name) {
                found.push(finding(&query.owner, format!("[{range}] does not follow what is looked at")));
            }
        });
        expr.walk(&mut |part, _| {
            if let Expr::Call { name, .. } = part {
                // The last two points alone: whatever happened between them and the next step is not shown.
                if name == "irate" || name == "idelta" {
                    found.push(finding(&query.owner, format!("{name} sees two points of many")));
                }
            }
        });
    }
    found
}

/// What makes of a counter how fast it grows.
const RATES: [&str; 3] = ["rate", "increase", "irate"];

/// What asks only whether a series is there, or began anew.
const OF_ANY: [&str; 6] = ["absent", "absent_over_time", "present_over_time", "resets", "count", "group"];

fn is_counter(metric: &str) -> bool {
    match family(metric) {
        Some(family) => family.kind != Kind::Gauge,
        None => ["_total", "_bucket", "_sum", "_count"].iter().any(|suffix| metric.ends_with(suffix)),
    }
}

pub(super) fn counters(_: &House, dashboard: &Dashboard) -> Vec<Finding> {
    let mut found = Vec::new();
    for (query, expr) in expressions(dashboard) {
        if query.owner.starts_with("variable ") {
            continue;
        }
        expr.walk(&mut |part, above| {
            let Expr::Selector(Selector { metric, .. }) = part else { return };
            let around = match above.last() {
                Some(Expr::Call { name, .. } | Expr::Aggregate { name, .. }) => name.as_str(),
                _ => "",
            };
            let is_rated = RATES.contains(&around);
            if is_counter(metric) && !is_rated && !OF_ANY.contains(&around) {
                found.push(finding(&query.owner, format!("{metric} only grows: what counts is how fast")));
            }
            if !is_counter(metric) && is_rated {
                found.push(finding(&query.owner, format!("{around} of {metric}, which is no counter")));
            }
        });
    }
    found
}

pub(super) fn quantiles(_: &House, dashboard: &Dashboard) -> Vec<Finding> {
    let mut found = Vec::new();
    for (query, expr) in expressions(dashboard) {
        expr.walk(&mut |part, _| {
            if let Expr::Call { name, args } = part
                && name == "histogram_quantile"
                && !args.get(1).is_some_and(is_rate_by_le)
            {
                found.push(finding(&query.owner, "a quantile of what is not the sum of rates by le"));
            }
        });
    }
    found
}

/// `sum by (le, …) (rate(x_bucket[…]))`, or `sum by (…) (rate(x[…]))` of a histogram that is one series.
fn is_rate_by_le(expr: &Expr) -> bool {
    let Expr::Aggregate { name, grouping, args } = expr else { return false };
    let [Expr::Call { name: rate, args }] = args.as_slice() else { return false };
    let [Expr::Selector(of)] = args.as_slice() else { return false };
    let keeps_le =
        |grouping: &Grouping| grouping.labels.iter().any(|label| label == "le") != grouping.is_without;
    let is_whole = family(&of.metric).is_some_and(|family| family.name == of.metric && is_histogram(family));
    let is_by_le = of.metric.ends_with("_bucket") && grouping.as_ref().is_some_and(keeps_le);
    name == "sum" && ["rate", "increase"].contains(&rate.as_str()) && (is_whole || is_by_le)
}
