//! Rules about targets, whatever was promised of them.

use std::time::Duration;

use super::rule::{Alert, Group, Rule, Severity};
use super::{Options, RUNNING, alert, days, either, hours, minutes, record, seconds, share_above};
use crate::catalogue as cat;

/// A bound of the stall histogram, with few buckets as with many, that every version of Prometheus writes the same way:
/// whole numbers end in ".0" in some.
const STALL_BOUND: &str = "2.2";

pub(super) fn group(options: &Options) -> Group {
    let [streams, smooth] = streams(options);
    let rules = vec![
        down(options),
        streams,
        smooth,
        stalls(options),
        degenerate(options),
        rate_limited(options),
        tokens_spent(options),
        certificate(options, days(14), Severity::Warning),
        certificate(options, days(3), Severity::Critical),
    ];
    Group { name: "sloprobe-target", interval: seconds(30), rules }
}

/// When something last happened; and when the daemon started, where it never did.
pub(super) fn since(timestamp: &str) -> [String; 2] {
    let never =
        format!("({timestamp} == 0) + ignoring (target, workload) group_left () process_start_time_seconds");
    [format!("{timestamp} > 0"), never]
}

/// Every probe fails: at least three of them, for two minutes. Probes that are not sent at all are another matter. A
/// daemon that has just started knows of no success: it neither hides what another replica knows, nor ends the alert.
fn down(options: &Options) -> Rule {
    let [known, never] = since(cat::LAST_SUCCESS.name).map(|of| options.over("max", &["workload"], &of));
    let up = options.over_replicas("max", cat::UP.name);
    let interval =
        format!("1 / sum without (workload) (1 / {})", options.over_replicas("max", cat::INTERVAL.name));
    let least = options.secs(minutes(2));
    let reason = format!(
        r#"{{{{ with printf "topk(1, sum by (reason) (increase({}{{target=%q}}[{}])) > 0)" $labels.target | query }}}}, mostly {{{{ . | first | label "reason" }}}}{{{{ end }}}}"#,
        cat::FAILURES.name,
        options.span(minutes(15))
    );
    alert(Alert {
        name: "SloprobeTargetDown",
        expr: format!(
            "time() - ({known} or {never})\n> clamp_min(3.5 * ({interval}), {least})\nand\n{up} == 0"
        ),
        hold: minutes(1),
        keep: Some(minutes(5)),
        severity: Severity::Critical,
        labels: Vec::new(),
        summary: "{{ $labels.target }} answers no probe.".into(),
        description: format!(
            "No probe of {{{{ $labels.target }}}} has succeeded for {{{{ $value | humanizeDuration }}}}; they are sent and fail{reason}."
        ),
    })
}

/// Streams of half an hour, and those of them that never stood still for long.
const STREAMS: &str = "target_workload:sloprobe_streams:increase30m";
const SMOOTH: &str = "target_workload:sloprobe_smooth_streams:increase30m";
const STALL_WINDOW: Duration = minutes(30);

/// Both counts, in whichever form Prometheus stores the histogram.
fn streams(options: &Options) -> [Rule; 2] {
    let grown = |part: &str, labels: &[&str]| {
        options.grown(&format!("{}{part}", cat::STALL.name), STALL_WINDOW, labels)
    };
    let whole = grown("", &[]);
    let count = format!("histogram_count({whole})");
    // Of no streams at all there is no share, but there are none that stood still.
    let smooth = format!("{count} * histogram_fraction(-Inf, {STALL_BOUND}, {whole}) >= 0\nor\n{count}");
    [
        record(STREAMS, either(&count, &grown("_count", &[]))),
        record(SMOOTH, either(&smooth, &grown(&format!("_bucket{{le=\"{STALL_BOUND}\"}}"), &["le"]))),
    ]
}

/// Streams that begin well and then stand still, which TTFT does not show. One that stood still until the probe gave up
/// is a failure of its own and in no histogram.
fn stalls(options: &Options) -> Rule {
    let given_up = options.grown(
        &format!("{}{{reason=\"timeout_stall\"}}", cat::FAILURES.name),
        STALL_WINDOW,
        &["reason"],
    );
    alert(Alert {
        name: "SloprobeStreamStalls",
        expr: share_above(
            0.1,
            &format!("({STREAMS} - {SMOOTH} + {given_up})"),
            &format!("({STREAMS} + {given_up})"),
        ),
        hold: minutes(2),
        keep: Some(minutes(10)),
        severity: Severity::Warning,
        labels: Vec::new(),
        summary: "Streams of {{ $labels.target }} stand still.".into(),
        description: format!(
            "{{{{ $value | humanizePercentage }}}} of the {{{{ $labels.workload }}}} streams of {{{{ $labels.target }}}} stood still for over \
             {STALL_BOUND} s between two tokens (last {}).{RUNNING}",
            options.span(STALL_WINDOW)
        ),
    })
}

fn degenerate(options: &Options) -> Rule {
    let window = minutes(30);
    let part =
        options.grown(&format!("{}{{verdict=\"degenerate\"}}", cat::ANSWERS.name), window, &["verdict"]);
    let whole = options.grown(cat::ANSWERS.name, window, &["verdict"]);
    alert(Alert {
        name: "SloprobeAnswersDegenerate",
        expr: share_above(0.05, &part, &whole),
        hold: minutes(2),
        keep: Some(minutes(10)),
        severity: Severity::Warning,
        labels: Vec::new(),
        summary: "{{ $labels.target }} answers nonsense.".into(),
        description: format!(
            "{{{{ $value | humanizePercentage }}}} of the {{{{ $labels.workload }}}} answers of {{{{ $labels.target }}}} repeat one token or phrase \
             over and over, or are unreadable (last {}). The texts are in the log of sloprobe.{RUNNING}",
            options.span(window)
        ),
    })
}

fn rate_limited(options: &Options) -> Rule {
    let window = minutes(15);
    let part = options.grown(
        &format!("{}{{reason=\"rate_limited\"}}", cat::FAILURES.name),
        window,
        &["reason", "workload"],
    );
    let whole = options.grown(cat::PROBES.name, window, &["workload"]);
    alert(Alert {
        name: "SloprobeRateLimited",
        expr: share_above(0.1, &part, &whole),
        hold: minutes(5),
        keep: None,
        severity: Severity::Warning,
        labels: Vec::new(),
        summary: "{{ $labels.target }} turns probes away.".into(),
        description: format!(
            "{{{{ $value | humanizePercentage }}}} of the probes of {{{{ $labels.target }}}} are refused as too many (last {}). Either its \
             users are refused, too, or the probe's own quota is too small.",
            options.span(window)
        ),
    })
}

/// The limit on tokens holds probes back: what is not sent is not watched.
fn tokens_spent(options: &Options) -> Rule {
    let window = hours(1);
    let part = options.grown(
        &format!("{}{{reason=\"budget\"}}", cat::SKIPPED.name),
        window,
        &["reason", "workload"],
    );
    let sent = options.grown(cat::PROBES.name, window, &["workload"]);
    alert(Alert {
        name: "SloprobeTokenBudgetSpent",
        expr: share_above(0.1, &part, &format!("({sent} + {part})")),
        hold: minutes(15),
        keep: None,
        severity: Severity::Warning,
        labels: Vec::new(),
        summary: "The token limit holds back probes of {{ $labels.target }}.".into(),
        description: format!(
            "{{{{ $value | humanizePercentage }}}} of the probes of {{{{ $labels.target }}}} are not sent because tokens_per_hour is spent (last \
             {}): problems will be seen later than `sloprobe check` says.",
            options.span(window)
        ),
    })
}

fn certificate(options: &Options, left: Duration, severity: Severity) -> Rule {
    let earliest = options.over_replicas("min", cat::CERTIFICATE_EXPIRY.name);
    alert(Alert {
        name: "SloprobeCertificateExpires",
        expr: format!("{earliest} - time() < {}", options.secs(left)),
        hold: minutes(15),
        keep: None,
        severity,
        labels: Vec::new(),
        summary: "The certificate of {{ $labels.target }} {{ if gt $value 0.0 }}is about to expire{{ else }}has expired{{ end }}."
            .into(),
        description: "A certificate in the chain of {{ $labels.target }} {{ if gt $value 0.0 }}ends in {{ $value | humanizeDuration }}; \
                      after that{{ else }}has ended:{{ end }} every client is refused by its own TLS library."
            .into(),
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::domain::{Buckets, Slo};

    #[test]
    fn the_bound_of_a_stall_is_one_of_its_histogram() {
        let none: [Arc<Slo>; 0] = [];
        for buckets in [Buckets::Few, Buckets::Many] {
            let bounds: Vec<_> =
                cat::STALL.bounds(buckets, &none).into_iter().map(|bound| bound.to_string()).collect();
            assert!(bounds.iter().any(|bound| bound == STALL_BOUND), "{buckets:?}: {bounds:?}");
        }
    }
}
