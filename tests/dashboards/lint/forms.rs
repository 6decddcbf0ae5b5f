//! A histogram is a series for each bucket, one for the sum and one for the count; or, where Prometheus scrapes it as a native
//! one or converts it, one series for all. Whoever asks for the one must ask for the other in the same breath.

use super::super::dashboard::{Dashboard, Query};
use super::super::promql::{Expr, Grouping, Selector};
use super::{Finding, House, expressions, family, finding, is_histogram};

pub(super) fn both(_: &House, dashboard: &Dashboard) -> Vec<Finding> {
    let all = expressions(dashboard);
    let mut found = Vec::new();
    for (query, expr) in &all {
        expr.walk(&mut |part, above| {
            let Expr::Selector(Selector { metric, .. }) = part else { return };
            let is_of_histogram = family(metric).is_some_and(is_histogram);
            if is_of_histogram && !is_paired(part, above) && !has_twin(query, expr, &all) {
                found.push(finding(&query.owner, format!("{metric} is asked for in one form only")));
            }
        });
    }
    found
}

/// Whether a selector stands in one side of an `or` whose first side asks the whole histogram for what the second asks its
/// parts.
fn is_paired(selector: &Expr, above: &[&Expr]) -> bool {
    let is_pair = |expr: &&Expr| {
        let Expr::Binary { operator, sides, .. } = *expr else { return false };
        let is_in =
            |side: &Expr| side.selectors().iter().any(|one| Expr::Selector((*one).clone()) == *selector);
        operator == "or" && of_whole(&sides[1]).as_ref() == Some(&sides[0]) && sides.iter().any(is_in)
    };
    above.iter().any(is_pair)
}

/// Whether another query of its panel asks for the other form: heat maps are drawn from either.
fn has_twin(query: &Query, expr: &Expr, all: &[(Query, Expr)]) -> bool {
    let is_twin =
        |other: &Expr| of_whole(other).as_ref() == Some(expr) || of_whole(expr).as_ref() == Some(other);
    all.iter().any(|(other, asked)| other.owner == query.owner && is_twin(asked))
}

/// What the whole histogram is asked for instead of its parts.
fn of_whole(expr: &Expr) -> Option<Expr> {
    match expr {
        Expr::Call { name, args } if name == "histogram_quantile" => {
            let [quantile, of] = args.as_slice() else { return None };
            Some(Expr::Call { name: name.clone(), args: vec![quantile.clone(), summed(of, "_bucket")?] })
        }
        _ => {
            let wrapped = |name: &str, suffix: &str| {
                summed(expr, suffix).map(|of| Expr::Call { name: name.to_owned(), args: vec![of] })
            };
            let whole = wrapped("histogram_sum", "_sum").or_else(|| wrapped("histogram_count", "_count"));
            whole.or_else(|| summed(expr, "_bucket"))
        }
    }
}

/// `sum by (a, le) (rate(x_bucket{…}[…]))` of the whole histogram: `sum by (a) (rate(x{…}[…]))`.
fn summed(expr: &Expr, suffix: &str) -> Option<Expr> {
    let Expr::Aggregate { name, grouping, args } = expr else { return None };
    let [Expr::Call { name: rate, args }] = args.as_slice() else { return None };
    let [Expr::Selector(selector)] = args.as_slice() else { return None };
    let metric = selector.metric.strip_suffix(suffix)?.to_owned();
    let without_le = |grouping: &Grouping| {
        let labels: Vec<_> = grouping.labels.iter().filter(|label| *label != "le").cloned().collect();
        (!labels.is_empty() || grouping.is_without).then_some(Grouping { labels, ..grouping.clone() })
    };
    let selector = Expr::Selector(Selector { metric, ..selector.clone() });
    let rates = Expr::Call { name: rate.clone(), args: vec![selector] };
    Some(Expr::Aggregate {
        name: name.clone(),
        grouping: grouping.as_ref().and_then(without_le),
        args: vec![rates],
    })
}
