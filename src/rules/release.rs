//! Rules about releases: what the probe itself found when it held a target's present release against the one before.
//!
//! The verdicts are valid at all times, however often one looks, so nothing is judged again here: no windows, no
//! thresholds, and no longer wait than a scrape or two that went wrong may take.

use super::rule::{Alert, Group, Rule, Severity};
use super::{Options, RUNNING, alert, days, hours, minutes, seconds};
use crate::catalogue::{self as cat, Family};

pub(super) fn group(options: &Options) -> Group {
    Group {
        name: "sloprobe-release",
        interval: seconds(30),
        rules: vec![regressed(options), undecided(options)],
    }
}

fn verdict(verdict: &str) -> String {
    format!("{}{{verdict=\"{verdict}\"}}", cat::VERDICT.name)
}

/// One replica that is sure is enough: the others may have seen less. It ends with another verdict, with the next release,
/// which begins undecided, and with its target; a restart of the probe, which has to compare anew, does not end it.
fn regressed(options: &Options) -> Rule {
    let sure = options.over("max", &["verdict"], &verdict("regressed"));
    let middle = shift(&cat::SHIFT, ",quantile=\"middle\"", ": the middle moved by a factor of", "%.2f");
    let tail = shift(&cat::SHIFT, ",quantile=\"0.99\"", ", the slowest hundredth by", "%.2f");
    let share = shift(&cat::SHARE_SHIFT, "", ": the share moved by", "%.3f");
    alert(Alert {
        name: "SloprobeReleaseRegressed",
        expr: format!("{sure} == 1"),
        hold: minutes(2),
        keep: Some(minutes(10)),
        severity: Severity::Warning,
        labels: Vec::new(),
        summary: "{{ $labels.metric }} of {{ $labels.target }} got worse with a release.".into(),
        description: format!(
            "{{{{ $labels.metric }}}} of {{{{ $labels.workload }}}} on {{{{ $labels.target }}}} is worse than with the release \
             before{middle}{tail}{share}.{RUNNING} `sloprobe compare --target {{{{ $labels.target }}}} --html report.html` shows both."
        ),
    })
}

/// How the metric of an alert moved, with its bounds, as part of a sentence; nothing where that is not known. The names of
/// the three families sort as estimate, lower and upper bound. Of several replicas only those count that are sure: the
/// average of their bounds bounds the average of what they saw.
fn shift(family: &Family, quantile: &str, words: &str, form: &str) -> String {
    let selector = format!(
        r#"{{__name__=~\"{}(|_lower|_upper)\",target=%q,workload=%q,metric=%q{}}}"#,
        family.name,
        quantile.replace('"', "\\\"")
    );
    let sure = verdict("regressed").replace('"', "\\\"");
    let query = format!("avg by (__name__) ({selector} and ignoring (quantile, verdict) {sure} == 1)");
    let value = |at: usize| format!("{{{{ (index . {at}).Value | printf \"{form}\" }}}}");
    let [estimate, lower, upper] = [value(0), value(1), value(2)];
    format!(
        r#"{{{{ with printf "{query}" $labels.target $labels.workload $labels.metric | query | sortByLabel "__name__" }}}}{{{{ if eq (len .) 3 }}}}{words} {estimate} ({lower} to {upper}){{{{ end }}}}{{{{ end }}}}"#
    )
}

/// Somebody waits for an answer that does not come at this rate. An answer of one replica is one; without probes, that
/// they are not sent is what there is to say.
fn undecided(options: &Options) -> Rule {
    let since = options.over_replicas("max", cat::COMPARED.name);
    let open = options.over("min", &["verdict"], &verdict("undecided"));
    let sent = options.grown(cat::PROBES.name, hours(6), &["workload"]);
    // The same of this target, wherever it is open.
    let here = open.replace('{', "{target=%q,").replace('"', "\\\"");
    let which = format!(
        r#"{{{{ with printf "label_join(max by (metric, workload) ({here}) == 1, \"of\", \" of \", \"metric\", \"workload\")" $labels.target | query | sortByLabel "of" }}}}:{{{{ range $at, $found := . }}}}{{{{ if $at }}}},{{{{ end }}}} {{{{ .Labels.of }}}}{{{{ end }}}}{{{{ end }}}}"#
    );
    alert(Alert {
        name: "SloprobeReleaseUndecided",
        expr: format!(
            "time() - {since} > {}\nand\nmax without (workload, metric) ({open}) == 1\nand\n{sent} > 0",
            options.secs(days(1))
        ),
        hold: minutes(15),
        keep: Some(minutes(15)),
        severity: Severity::Warning,
        labels: Vec::new(),
        summary: "Whether {{ $labels.target }} got worse with its release is still not known.".into(),
        description: format!(
            "{{{{ $labels.target }}}} has had its present release for {{{{ $value | humanizeDuration }}}}, and its probes still do not say \
             whether it got worse{which}.{RUNNING} `sloprobe compare --target {{{{ $labels.target }}}}` says how many more it would take."
        ),
    })
}
