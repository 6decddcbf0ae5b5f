//! The pieces of PromQL that dashboards share.

use crate::catalogue::{self as cat, Family, Scope};
use crate::rules;

/// What makes a row of its own: a workload of a target as seen from one place.
pub(super) const ROW: &str = "target, workload, region, cluster";
/// The same of a target.
pub(super) const TARGET_ROW: &str = "target, region, cluster";
/// The same of an objective.
pub(super) const SLO_ROW: &str = "target, workload, slo, region, cluster";

/// The window of a burn rate, as the alerts look at it first.
pub(super) const BURN_WINDOW: &str = "1h";

/// What a selector needs so that the variables apply.
fn matchers(family: &Family) -> Vec<&'static str> {
    match family.scope {
        Scope::Daemon => vec![r#"instance=~"$instance""#],
        Scope::Target | Scope::Secure | Scope::Unverified | Scope::Released | Scope::Changed => {
            vec![r#"target=~"$target""#]
        }
        Scope::Workload | Scope::Stated | Scope::Rag | Scope::Slo | Scope::Bounded | Scope::Compared(_) => {
            vec![r#"target=~"$target""#, r#"workload=~"$workload""#]
        }
    }
}

/// The series of a family that the variables let through.
pub(super) fn of(family: &Family) -> String {
    part(family, "", "")
}

/// The same of a part of a histogram, or with a further matcher.
pub(super) fn part(family: &Family, suffix: &str, matcher: &str) -> String {
    let own = matchers(family);
    let all: Vec<_> = std::iter::once(matcher).filter(|matcher| !matcher.is_empty()).chain(own).collect();
    format!("{}{suffix}{{{}}}", family.name, all.join(","))
}

/// A sum that keeps these labels.
pub(super) fn sum(by: &str, of: &str) -> String {
    if by.is_empty() { format!("sum({of})") } else { format!("sum by ({by}) ({of})") }
}

/// How much per second, summed.
pub(super) fn rate(family: &Family, suffix: &str, matcher: &str, by: &str) -> String {
    sum(by, &format!("rate({}[$window])", part(family, suffix, matcher)))
}

/// How much in all that is shown.
pub(super) fn grown(family: &Family, by: &str) -> String {
    sum(by, &format!("increase({}[$__range])", of(family)))
}

/// What a histogram says in whichever form Prometheus stores it: as one series, which is native or made of classic buckets
/// by Prometheus, or as a series for each bucket. Where both are scraped, the first is finer. Both keep the same labels, so
/// that nothing is shown twice.
fn either(whole: &str, parts: &str) -> String {
    format!("({whole}\nor\n{parts})")
}

/// A quantile of a histogram over `$window`; `by` is what is kept.
pub(super) fn quantile(quantile: &str, family: &Family, by: &str) -> String {
    quantile_over(quantile, family, by, "[$window]")
}

/// The same over all that is shown, `ago` (such as " offset 1w").
pub(super) fn quantile_of_range(quantile: &str, family: &Family, by: &str, ago: &str) -> String {
    quantile_over(quantile, family, by, &format!("[$__range]{ago}"))
}

fn quantile_over(quantile: &str, family: &Family, by: &str, range: &str) -> String {
    let of = |suffix: &str, by: &str| {
        let rates = sum(by, &format!("rate({}{range})", part(family, suffix, "")));
        format!("histogram_quantile({quantile}, {rates})")
    };
    let le = if by.is_empty() { "le".to_owned() } else { format!("{by}, le") };
    either(&of("", by), &of("_bucket", &le))
}

/// How many values a histogram took per second.
pub(super) fn count_rate(family: &Family, matcher: &str, by: &str) -> String {
    either(
        &format!("histogram_count({})", rate(family, "", matcher, by)),
        &rate(family, "_count", matcher, by),
    )
}

/// By how much the values that a histogram took add up per second.
pub(super) fn sum_rate(family: &Family, matcher: &str, by: &str) -> String {
    either(&format!("histogram_sum({})", rate(family, "", matcher, by)), &rate(family, "_sum", matcher, by))
}

/// The mean of a histogram over `$window`.
pub(super) fn mean(family: &Family, matcher: &str, by: &str) -> String {
    format!("{} / {}", sum_rate(family, matcher, by), count_rate(family, matcher, by))
}

/// The share of probes that failed of all that were sent, in what is shown.
pub(super) fn failed_share(by: &str) -> String {
    format!("{} / {}", grown(&cat::FAILURES, by), grown(&cat::PROBES, by))
}

/// 1 where the newest finished probe of a workload succeeded, 0 where it failed or none has finished.
pub(super) fn is_up() -> String {
    let newest = |family| format!("max by ({ROW}) ({})", of(family));
    let [success, probe] = [newest(&cat::LAST_SUCCESS), newest(&cat::LAST_PROBE)];
    format!("({success} >= bool {probe}) * ({probe} > bool 0)")
}

/// The good ones of what an objective counted, in what is shown.
pub(super) fn compliance() -> String {
    format!("1 - {} / {}", grown(&cat::SLO_BAD_EVENTS, SLO_ROW), grown(&cat::SLO_EVENTS, SLO_ROW))
}

/// How fast the budget is spent: 1 is the pace at which it just lasts.
pub(super) fn burn() -> String {
    let grown = |family| format!("sum by ({SLO_ROW}) (increase({}[{BURN_WINDOW}]))", of(family));
    let budget = format!("max by ({SLO_ROW}) ({})", of(&cat::SLO_BUDGET));
    format!("{} / {} / {budget}", grown(&cat::SLO_BAD_EVENTS), grown(&cat::SLO_EVENTS))
}

/// What is left of the budget: as the rules record it; without them, for objectives of 30 days, the bad events of 30 days
/// in proportion to what may be bad in as many.
pub(super) fn budget_left() -> String {
    let recorded = format!(r#"{}{{target=~"$target",workload=~"$workload"}}"#, rules::BUDGET_LEFT);
    let most = |family| format!("max by ({SLO_ROW}) ({})", of(family));
    let bad = format!("sum by ({SLO_ROW}) (increase({}[30d]))", of(&cat::SLO_BAD_EVENTS));
    let rate = format!("sum by ({ROW}) (1 / {})", of(&cat::INTERVAL));
    let window = most(&cat::SLO_WINDOW);
    format!(
        "max by ({SLO_ROW}) ({recorded})\nor\n1 - {bad} / ({} * ({window} == 30 * 86400) * on ({ROW}) group_left () {rate})",
        most(&cat::SLO_BUDGET)
    )
}

/// A value of a target beside each of its workloads.
pub(super) fn for_each_workload(value: &str, labels: &str) -> String {
    let workloads = format!("max by ({ROW}) ({}) * 0", of(&cat::INTERVAL));
    format!("{workloads} + on ({TARGET_ROW}) group_left ({labels}) {value}")
}

/// What a target runs: one of its releases, where several answer in turn.
pub(super) fn running() -> String {
    format!("topk by ({TARGET_ROW}) (1, max by ({TARGET_ROW}, engine, version) ({}))", of(&cat::TARGET_INFO))
}
