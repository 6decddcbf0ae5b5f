//! Rules about the probes themselves: whoever trusts their silence must know that they are alive.

use super::rule::{Alert, Group, Rule, Severity};
use super::target::since;
use super::{Options, Watched, alert, any_of, days, minutes, quoted, seconds, share_above};
use crate::catalogue as cat;

pub(super) fn group(watched: Watched<'_>, options: &Options) -> Group {
    let rules = vec![
        absent(options),
        stalled(options),
        host_late(options),
        reload_failed(),
        outdated(watched, options),
    ];
    Group { name: "sloprobe-probe", interval: seconds(30), rules }
}

/// None at all, or one of several that Prometheus cannot reach: a lone one is not told of twice.
fn absent(options: &Options) -> Rule {
    let build = cat::BUILD_INFO.name;
    alert(Alert {
        name: "SloprobeAbsent",
        expr: format!(
            "absent({build})\nor\n(\n  up == 0\n  and ignoring (version, revision)\n  last_over_time({build}[{}]) and on () {build}\n)",
            options.span(days(1))
        ),
        hold: minutes(3),
        keep: None,
        severity: Severity::Critical,
        labels: Vec::new(),
        summary: "sloprobe{{ with $labels.instance }} at {{ . }}{{ end }} is gone.".into(),
        description: "Prometheus gets no metrics from sloprobe{{ with $labels.instance }} at {{ . }}{{ end }}: what it watched is \
                      unwatched, and its other alerts are silent for that reason."
            .into(),
    })
}

/// Per replica: another one that still probes does not make up for it. Probes under way may just be slow.
fn stalled(options: &Options) -> Rule {
    let last = since(cat::LAST_PROBE.name).join(" or ");
    let (interval, under_way) = (cat::INTERVAL.name, cat::IN_FLIGHT.name);
    alert(Alert {
        name: "SloprobeProbeStalled",
        expr: format!(
            "time() - ({last})\n> clamp_min(5 * {interval}, {})\nunless\n{under_way} > 0",
            options.secs(minutes(2))
        ),
        hold: minutes(2),
        keep: None,
        severity: Severity::Warning,
        labels: Vec::new(),
        summary: "{{ $labels.target }} is not being probed.".into(),
        description: "No {{ $labels.workload }} probe of {{ $labels.target }} has ended for {{ $value | humanizeDuration }}, and none is \
                      under way at {{ $labels.instance }}: skipped (sloprobe_skipped_total says why), or stuck."
            .into(),
    })
}

fn host_late(options: &Options) -> Rule {
    let window = minutes(15);
    let grown = |counter: &str, labels: &str| {
        format!("sum without ({labels}) (increase({counter}[{}]))", options.span(window))
    };
    let suspect = grown(cat::SUSPECT.name, "target, workload");
    let missed = grown(&format!("{}{{reason=\"late\"}}", cat::SKIPPED.name), "target, workload, reason");
    let sent = grown(cat::PROBES.name, "target, workload");
    let part = format!("({suspect} + {missed})");
    alert(Alert {
        name: "SloprobeHostLate",
        expr: share_above(0.2, &part, &format!("({sent} + {missed})")),
        hold: minutes(5),
        keep: None,
        severity: Severity::Warning,
        labels: Vec::new(),
        summary: "The host of sloprobe at {{ $labels.instance }} is too busy to measure.".into(),
        description: format!(
            "{{{{ $value | humanizePercentage }}}} of the probes of {{{{ $labels.instance }}}} were measured or missed while its own event loop was \
             late (last {}): a slow target may be a slow probe.",
            options.span(window)
        ),
    })
}

fn reload_failed() -> Rule {
    alert(Alert {
        name: "SloprobeConfigReloadFailed",
        expr: format!("{} == 0", cat::RELOAD_OK.name),
        hold: minutes(5),
        keep: None,
        severity: Severity::Warning,
        labels: Vec::new(),
        summary: "sloprobe at {{ $labels.instance }} runs with an old configuration.".into(),
        description: "The newest configuration of {{ $labels.instance }} could not be loaded; it goes on with the one before. Its log, \
                      and `sloprobe check`, say what is wrong."
            .into(),
    })
}

/// The rules were written for another configuration than the one that runs: something is not alerted on, or is by the
/// wrong number. An objective is wrong wherever it counts: once is enough to hear of it.
fn outdated(watched: Watched<'_>, options: &Options) -> Rule {
    let once = |of: String| options.over("max", &["target", "workload"], &of);
    let names = any_of(watched.slos.iter().map(|slo| &*slo.name));
    let mut clauses = vec![once(format!("{}{{slo!~{names}}}", cat::SLO_BUDGET.name))];
    for slo in watched.slos {
        let (name, budget) = (quoted(&slo.name), slo.objective.budget());
        clauses.push(once(format!("abs({}{{slo={name}}} - {budget}) > 1e-9", cat::SLO_BUDGET.name)));
        clauses.push(once(format!("{}{{slo={name}}} != {}", cat::SLO_WINDOW.name, slo.window.as_secs_f64())));
    }
    for target in watched.targets {
        // Without any probe at all, that they are absent is what there is to say.
        let absent = format!("absent({}{{target={}}})", cat::INTERVAL.name, quoted(&target.name));
        clauses.push(format!("({absent} and on () {})", cat::BUILD_INFO.name));
    }
    alert(Alert {
        name: "SloprobeRulesOutdated",
        expr: clauses.join("\nor\n"),
        hold: minutes(15),
        keep: None,
        severity: Severity::Warning,
        labels: Vec::new(),
        summary: "The alert rules of sloprobe do not fit its configuration.".into(),
        description: "{{ with $labels.slo }}Objective {{ . }} is not the one that the rules were written for.{{ else }}Target \
                      {{ $labels.target }} is in the rules, but no probe watches it.{{ end }} Write them anew with `sloprobe rules`."
            .into(),
    })
}
