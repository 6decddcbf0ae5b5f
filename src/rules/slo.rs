//! Rules about objectives: how many events were bad, whether that is more than chance, and what is left of the budget.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::time::Duration;

use super::rule::{Alert, Group, Rule, Severity, Span};
use super::tier::{BURN, Burn, FLOOR, KEEP, QUICK, QUICK_FACTOR, QUICK_HOLD, Quick, SPREAD, Z};
use super::{Options, RUNNING, Watched, alert, any_of, hours, minutes, quoted, record, seconds};
use crate::catalogue as cat;
use crate::domain::{Goal, Slo};

/// What each objective allows.
pub const BUDGET: &str = "target_workload_slo:sloprobe_slo_error_budget_ratio:max";
/// What is left of each error budget.
pub const LEFT: &str = "target_workload_slo:sloprobe_slo_error_budget_left:ratio";

/// Windows up to this one are looked at every 30 seconds, longer ones less often.
const QUICKLY: Duration = hours(1);

pub(super) fn groups(watched: Watched<'_>, options: &Options) -> Vec<Group> {
    if watched.slos.is_empty() {
        return Vec::new();
    }
    let tiers = Tiers::of(watched);
    let mut groups = Vec::new();
    for (name, interval, is_slow) in
        [("sloprobe-slo", seconds(30), false), ("sloprobe-slo-slow", minutes(2), true)]
    {
        let own = tiers.part(is_slow);
        let mut rules = if is_slow { Vec::new() } else { vec![budget(options)] };
        let windows = tiers.windows().into_iter().filter(|window| (*window > QUICKLY) == is_slow);
        rules.extend(windows.flat_map(|window| counts(options, window)));
        rules.extend(own.longs().into_iter().map(noise));
        rules.extend(own.quick.iter().flat_map(|quick| quick_rules(watched, options, quick)));
        rules.extend(own.burn.iter().map(|burn| burn_rule(watched, options, burn)));
        if rules.len() > usize::from(!is_slow) {
            groups.push(Group { name, interval, rules });
        }
    }
    groups.push(budgets(watched, options));
    groups
}

/// Those tiers that the configuration needs.
struct Tiers {
    quick: Vec<&'static Quick>,
    burn: Vec<&'static Burn>,
}

impl Tiers {
    fn of(watched: Watched<'_>) -> Self {
        let places = watched.targets.iter().flat_map(|t| t.mix.iter().map(move |share| (t, share)));
        let covered = places
            .filter(|(t, share)| watched.slos.iter().any(|slo| slo.covers(t, &share.workload)))
            .map(|(t, share)| t.interval_of(share));
        let rarest = covered.max().unwrap_or_default();
        let is_reachable =
            |burn: &&Burn| watched.slos.iter().any(|slo| burn.is_reachable(slo.objective.budget()));
        Self {
            quick: QUICK.iter().filter(|quick| quick.is_for(rarest)).collect(),
            burn: BURN.iter().filter(is_reachable).collect(),
        }
    }

    fn part(&self, is_slow: bool) -> Self {
        Self {
            quick: self.quick.iter().copied().filter(|quick| (quick.long > QUICKLY) == is_slow).collect(),
            burn: self.burn.iter().copied().filter(|burn| (burn.long > QUICKLY) == is_slow).collect(),
        }
    }

    fn longs(&self) -> BTreeSet<Duration> {
        self.quick.iter().map(|quick| quick.long).chain(self.burn.iter().map(|burn| burn.long)).collect()
    }

    /// Everything that is counted over; the hour in any case, for the budget.
    fn windows(&self) -> BTreeSet<Duration> {
        let shorts =
            self.quick.iter().map(|quick| quick.short).chain(self.burn.iter().map(|burn| burn.short));
        self.longs().into_iter().chain(shorts).chain([hours(1)]).collect()
    }
}

fn events(window: Duration) -> String {
    format!("target_workload_slo:sloprobe_slo_events:increase{}", Span(window))
}

fn bad(window: Duration) -> String {
    format!("target_workload_slo:sloprobe_slo_bad_events:increase{}", Span(window))
}

fn ratio(window: Duration) -> String {
    format!("target_workload_slo:sloprobe_slo_bad_events_per_events:ratio{}", Span(window))
}

fn lower(window: Duration) -> String {
    format!("target_workload_slo:sloprobe_slo_bad_events_per_events:wilson_lower{}", Span(window))
}

fn noise_name(window: Duration) -> String {
    format!("target_workload_slo:sloprobe_slo_bad_events:noise{}", Span(window))
}

fn budget(options: &Options) -> Rule {
    record(BUDGET, options.over_replicas("max", cat::SLO_BUDGET.name))
}

fn counts(options: &Options, window: Duration) -> [Rule; 3] {
    [
        record(events(window), options.grown(cat::SLO_EVENTS.name, window, &[])),
        record(bad(window), options.grown(cat::SLO_BAD_EVENTS.name, window, &[])),
        record(ratio(window), format!("{} / {}", bad(window), events(window))),
    ]
}

/// What chance alone does not exceed.
fn noise(window: Duration) -> Rule {
    let (budget, events) = (BUDGET, events(window));
    let expr = format!("{budget} * {events}\n+ {SPREAD} * sqrt({budget} * {events})\n+ {FLOOR}");
    record(noise_name(window), expr)
}

fn quick_rules(watched: Watched<'_>, options: &Options, quick: &Quick) -> [Rule; 2] {
    let (long, short) = (quick.long, quick.short);
    let (bad, events, square) = (bad(long), events(long), Z * Z);
    let wilson = format!(
        "(\n    {bad} + {:.3}\n  -\n    {Z} * sqrt(clamp_min({bad} * (1 - {bad} / {events}), 0) + {:.3})\n)\n/\n({events} + {:.3})",
        square / 2.0,
        square / 4.0,
        square
    );
    let limit = format!("{QUICK_FACTOR} * {BUDGET}");
    let expr = format!(
        "{} > {limit}\nand\n{} > {limit}\nand\n{bad} > {}",
        lower(long),
        ratio(short),
        noise_name(long)
    );
    let description = format!(
        "At least {{{{ $value | humanizePercentage }}}} of the {{{{ $labels.workload }}}} probes to {{{{ $labels.target }}}} miss \
         objective {{{{ $labels.slo }}}} (99.7 % confidence, last {}).{}{RUNNING}",
        options.span(long),
        promises(watched.slos)
    );
    let alerts = Alert {
        name: "SloprobeFastDegradation",
        expr,
        hold: QUICK_HOLD,
        keep: Some(KEEP),
        severity: Severity::Critical,
        labels: vec![("window", Span(long).to_string())],
        summary: "{{ $labels.target }} misses objective {{ $labels.slo }} by far.".into(),
        description,
    };
    [record(lower(long), wilson), alert(alerts)]
}

fn burn_rule(watched: Watched<'_>, options: &Options, burn: &Burn) -> Rule {
    let limit = format!("{} * {BUDGET}", burn.factor);
    let (long, short) = (burn.long, burn.short);
    let expr = format!(
        "{} > {limit}\nand\n{} > {limit}\nand\n{} > {}",
        ratio(long),
        ratio(short),
        bad(long),
        noise_name(long)
    );
    let (pace, more) = if burn.factor > 1.0 {
        (
            format!("at over {} times the pace that", burn.factor),
            format!("more than {} times what it allows", burn.factor),
        )
    } else {
        ("faster than".to_owned(), "more than it allows".to_owned())
    };
    let description = format!(
        "{{{{ $value | humanizePercentage }}}} of the {{{{ $labels.workload }}}} probes to {{{{ $labels.target }}}} missed objective \
         {{{{ $labels.slo }}}} over the last {}, {more}, and so of those of the last {}.{}{RUNNING}",
        options.span(long),
        options.span(short),
        promises(watched.slos)
    );
    alert(Alert {
        name: "SloprobeErrorBudgetBurn",
        expr,
        hold: burn.hold,
        keep: Some(KEEP),
        severity: burn.severity,
        labels: vec![("long", Span(long).to_string()), ("short", Span(short).to_string())],
        summary: format!(
            "{{{{ $labels.target }}}} spends the error budget of {{{{ $labels.slo }}}} {pace} it lasts."
        ),
        description,
    })
}

/// What each objective promises, as sentences of an annotation: the file knows them, the metrics do not.
fn promises(slos: &[std::sync::Arc<Slo>]) -> String {
    let mut text = String::new();
    for (index, slo) in slos.iter().enumerate() {
        let otherwise = if index == 0 { "" } else { "else " };
        let promise = match slo.goal {
            Goal::Below(measure, bound) => format!("{} of at most {}", measure.name(), Span(bound)),
            goal => goal.name().to_owned(),
        };
        let percent = slo.objective.as_percent();
        let _ = write!(
            text,
            "{{{{ {otherwise}if eq $labels.slo {} }}}} Promised: {promise} for {percent} % of probes.",
            quoted(&slo.name)
        );
    }
    text + "{{ end }}"
}

/// What is left of each budget. It is counted by the hour, which any counter survives, and the part of the window from
/// which nothing is known counts as good: a probe of yesterday has not spent a month's budget.
fn budgets(watched: Watched<'_>, options: &Options) -> Group {
    let windows: BTreeSet<_> = watched.slos.iter().map(|slo| slo.window).collect();
    let step = hours(1);
    let left = windows.into_iter().map(|window| {
        let names = any_of(watched.slos.iter().filter(|slo| slo.window == window).map(|slo| &*slo.name));
        let hourly =
            |of: String| format!("{of}{{slo=~{names}}}[{}:{}]", options.span(window), options.span(step));
        let steps = window.as_secs() / step.as_secs();
        format!(
            "1\n-\n    sum_over_time({bad})\n  / (sum_over_time({events}) > 0)\n  / {BUDGET}\n  * count_over_time({events}) / {steps}",
            bad = hourly(bad(step)),
            events = hourly(events(step)),
        )
    });
    // One rule, whatever the windows: promtool takes two of the same name for a mistake.
    let left = record(LEFT, left.collect::<Vec<_>>().join("\nor\n"));
    let low = alert(Alert {
        name: "SloprobeErrorBudgetLow",
        expr: format!("{LEFT} < 0.1"),
        hold: minutes(30),
        keep: None,
        severity: Severity::Warning,
        labels: Vec::new(),
        summary: "The error budget of {{ $labels.slo }} on {{ $labels.target }} is nearly spent.".into(),
        description: format!(
            "{{{{ $value | humanizePercentage }}}} of the error budget of {{{{ $labels.slo }}}} is left for {{{{ $labels.workload }}}} on \
             {{{{ $labels.target }}}}: below 0 the promise is broken for this window.{}",
            promises(watched.slos)
        ),
    });
    Group { name: "sloprobe-budget", interval: minutes(5), rules: vec![left, low] }
}
