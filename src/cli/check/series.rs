//! How many series Prometheus will store, for each choice of histograms and buckets.

use crate::catalogue::{ALL, Form, Kind};
use crate::cli::table::Table;
use crate::config::Plan;
use crate::domain::{Buckets, Histograms};

/// An exporter with more than this makes scrapes slow and Prometheus large.
const MOST: usize = 100_000;

/// What Prometheus can be told to store. Native histograms have no bounds to choose.
const CHOICES: [Form; 5] = [
    Form { histograms: Histograms::Native, buckets: Buckets::Few },
    Form { histograms: Histograms::Classic, buckets: Buckets::Few },
    Form { histograms: Histograms::Classic, buckets: Buckets::Many },
    Form { histograms: Histograms::Both, buckets: Buckets::Few },
    Form { histograms: Histograms::Both, buckets: Buckets::Many },
];

/// The lines of a table with the choice in use marked, and what a person should know about it.
pub(super) fn describe(plan: &Plan) -> Vec<String> {
    let mut table = Table::new(2, ["HISTOGRAMS", "BUCKETS", "AT THE START", "AT MOST", ""]);
    for form in CHOICES {
        let mark = if form == used(plan) { "<- in use" } else { "" };
        table.row(vec![
            name(&Histograms::NAMES, &form.histograms).to_owned(),
            if form.histograms.has_classic() { name(&Buckets::NAMES, &form.buckets) } else { "-" }.to_owned(),
            at_start(plan, form).to_string(),
            at_most(plan, form).to_string(),
            mark.to_owned(),
        ]);
    }
    let mut lines = vec![
        format!("Series that Prometheus will store from http://{}/metrics, by what it takes:", plan.listen),
        String::new(),
    ];
    lines.extend(table.lines());
    lines.extend([
        String::new(),
        format!("Up to {} more come with changes of targets.", about_changes(plan)),
        "Text has classic histograms always; Prometheus stores native ones if it is told to (scrape_native_histograms)."
            .to_owned(),
    ]);
    if plan.exposure.created {
        lines.push(format!(
            "created = true adds up to {} more where Prometheus scrapes OpenMetrics text.",
            created(plan)
        ));
    }
    lines
}

/// Said if the choice in use makes too many.
pub(super) fn warning(plan: &Plan) -> Option<String> {
    let used = used(plan);
    let most = at_most(plan, used);
    let fewer = |form: Form| at_most(plan, form) < most;
    let [native, classic, ..] = CHOICES;
    let remedy = [
        (used.histograms.has_classic() && fewer(native)).then(|| {
            let count = at_most(plan, native);
            format!("histograms = \"native\" in [daemon], and let Prometheus take them ({count} series)")
        }),
        (used.buckets == Buckets::Many && used.histograms.has_classic()).then(|| {
            let form = Form { buckets: Buckets::Few, ..used };
            format!("buckets = \"few\" in [daemon] ({} series)", at_most(plan, form))
        }),
        (used.histograms == Histograms::Both && fewer(classic)).then(|| {
            let form = Form { histograms: Histograms::Classic, ..used };
            format!("histograms = \"classic\" in [daemon] ({} series)", at_most(plan, form))
        }),
        Some("spread the targets over several daemons".to_owned()),
    ];
    let remedy: Vec<String> = remedy.into_iter().flatten().collect();
    (most > MOST).then(|| {
        format!(
            "Prometheus may store {most} series of this daemon, more than {MOST}: scrapes get slow, and memory is needed for each. Remedies: {}.",
            remedy.join("; or ")
        )
    })
}

fn used(plan: &Plan) -> Form {
    let (histograms, buckets) = (plan.exposure.histograms, plan.exposure.buckets);
    let buckets = if histograms.has_classic() { buckets } else { Buckets::Few };
    Form { histograms, buckets }
}

fn at_start(plan: &Plan, form: Form) -> usize {
    ALL.iter().map(|family| family.series_at_start(&plan.targets, &plan.slos, form)).sum()
}

/// With all that servers may state.
fn at_most(plan: &Plan, form: Form) -> usize {
    let usual = ALL.iter().filter(|family| !family.scope.awaits_a_change());
    usual.map(|family| family.series(&plan.targets, &plan.slos, form)).sum()
}

/// What each target has once it runs another release; there are no histograms among it.
fn about_changes(plan: &Plan) -> usize {
    let compared = ALL.iter().filter(|family| family.scope.awaits_a_change());
    compared.map(|family| family.series(&plan.targets, &plan.slos, Form::CLASSIC)).sum()
}

/// One for each counter and each histogram: as many as if histograms were native.
fn created(plan: &Plan) -> usize {
    let [native, ..] = CHOICES;
    let counting = ALL.iter().filter(|family| !matches!(family.kind, Kind::Gauge));
    counting.map(|family| family.series(&plan.targets, &plan.slos, native)).sum()
}

fn name<T: PartialEq>(names: &[(&'static str, T)], wanted: &T) -> &'static str {
    names.iter().find(|(_, value)| value == wanted).map_or("", |(name, _)| name)
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;
    use std::path::Path;

    use super::*;
    use crate::config::{self, Outside};

    /// So many targets with one workload each.
    fn plan(daemon: &str, targets: usize) -> Plan {
        let mut file = format!(
            "[daemon]\n{daemon}\n[[workloads]]\nname = 'w'\nkind = 'chat'\ninput_tokens = 50\noutput_tokens = 50\n"
        );
        for n in 0..targets {
            let _ = write!(file, "[[targets]]\nname = 't{n}'\nurl = 'http://127.0.0.1:1'\nmodel = 'm'\n");
        }
        let nothing = |_: &Path| Err(std::io::ErrorKind::NotFound.into());
        let outside = Outside { env: &|_| None, file: &nothing, text: &nothing };
        config::parse("test.toml", &file, &outside).unwrap()
    }

    /// The choice that is marked, and its number of series at most.
    fn marked(plan: &Plan) -> Vec<(String, usize)> {
        let lines = describe(plan);
        let rows = lines.iter().filter(|line| line.ends_with("<- in use"));
        rows.map(|row| {
            let cells: Vec<&str> = row.split_whitespace().collect();
            (cells[..2].join(" "), cells[3].parse().unwrap())
        })
        .collect()
    }

    #[test]
    fn each_choice_has_a_row_and_the_one_in_use_is_marked() {
        for (daemon, choice, form) in [
            ("", "both few", CHOICES[3]),
            ("histograms = 'native'\nbuckets = 'many'", "native -", CHOICES[0]),
            ("histograms = 'classic'", "classic few", CHOICES[1]),
            ("buckets = 'many'", "both many", CHOICES[4]),
        ] {
            let plan = plan(daemon, 2);
            assert_eq!(marked(&plan), [(choice.to_owned(), at_most(&plan, form))], "{daemon}");
        }
        let plan = plan("", 2);
        let counts = CHOICES.map(|form| at_most(&plan, form));
        assert!(counts[0] < counts[1] && counts[1] < counts[3] && counts[2] < counts[4], "{counts:?}");
        assert!(counts[3] < counts[2], "few and native are fewer than many: {counts:?}");
    }

    #[test]
    fn too_many_are_warned_of_with_what_helps() {
        assert_eq!(warning(&plan("buckets = 'many'", 10)), None);
        let many = plan("buckets = 'many'", 1000);
        let said = warning(&many).unwrap();
        for (part, form) in [
            ("histograms = \"native\" in [daemon], and let Prometheus take them", CHOICES[0]),
            ("buckets = \"few\" in [daemon]", CHOICES[3]),
            ("histograms = \"classic\" in [daemon]", CHOICES[2]),
        ] {
            let wanted = format!("{part} ({} series)", at_most(&many, form));
            assert!(said.contains(&wanted), "{wanted:?} is not in {said}");
        }
        let native = plan("histograms = 'native'", 1000);
        let said = warning(&native);
        assert_eq!(said.is_some(), at_most(&native, CHOICES[0]) > MOST, "{said:?}");
        assert!(said.is_none_or(|said| said.ends_with("Remedies: spread the targets over several daemons.")));
    }

    #[test]
    fn created_series_are_told_where_they_are_wanted() {
        let said = |daemon| describe(&plan(daemon, 1)).into_iter().find(|line| line.starts_with("created"));
        assert_eq!(said(""), None);
        let plan = plan("created = true", 1);
        let counters = ALL.iter().filter(|family| !matches!(family.kind, Kind::Gauge));
        assert!(created(&plan) >= counters.count() / 2);
        assert!(said("created = true").unwrap().contains(&format!("up to {} more", created(&plan))));
    }
}
