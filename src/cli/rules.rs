//! `sloprobe rules`: alert rules for a configuration.

use std::fmt::Write as _;
use std::process::ExitCode;

use clap::Args;

use super::{ConfigArgs, MISUSED, output};
use crate::config::{self, Plan};
use crate::rules::{self, Options, Resource, Watched};

/// Write alert rules for the configuration: for Prometheus, its operator in Kubernetes, or as OpenSLO
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sloprobe rules > sloprobe.rules.yml                    then list it under rule_files in prometheus.yml
  sloprobe rules --kubernetes --label release=prom | kubectl apply -f -
  sloprobe rules --openslo > slos.yml                    the objectives alone
  sloprobe rules --time-scale 60 > drill.rules.yml       a fire drill: an hour's window is a minute

Secrets that the configuration names are not read. Severity critical is meant to wake somebody, warning is for the next
working day. Rules need a Prometheus of version 2.42 or later; `sloprobe check` says how soon they alert.

A drill works only if all of it is faster: probe, scrape and evaluate (--time-scale) times as often as usual, for
example 6 probes a second and a scrape every 250ms for a scale of 60. Its alerts carry the label drill.")]
pub(super) struct RulesArgs {
    #[command(flatten)]
    config: ConfigArgs,

    /// Write a PrometheusRule object for the Prometheus operator
    #[arg(long, conflicts_with = "openslo")]
    kubernetes: bool,

    /// Write the objectives as OpenSLO documents
    #[arg(long)]
    openslo: bool,

    /// Divide every window and wait by this, for a fire drill
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=3600))]
    time_scale: u32,

    /// A label by which replicas of one probe differ; may be repeated [default: instance, pod]
    #[arg(long = "replica-label", value_name = "LABEL", value_parser = label_name)]
    replica_labels: Vec<String>,

    /// Where the runbooks are; each alert links to ALERT.md there
    #[arg(long, value_name = "URL")]
    runbooks: Option<String>,

    /// The name of the PrometheusRule
    #[arg(long, value_name = "NAME", default_value = "sloprobe", requires = "kubernetes", value_parser = object_name)]
    name: String,

    /// The namespace of the PrometheusRule
    #[arg(long, value_name = "NAME", requires = "kubernetes", value_parser = object_name)]
    namespace: Option<String>,

    /// A label of the PrometheusRule, by which the operator selects it; may be repeated
    #[arg(long = "label", value_name = "NAME=VALUE", requires = "kubernetes", value_parser = label)]
    labels: Vec<(String, String)>,
}

pub(super) fn run(args: RulesArgs) -> ExitCode {
    let plan = match config::load_without_secrets(&args.config.config) {
        Ok(plan) => plan,
        Err(problems) => {
            eprintln!("{problems}");
            return ExitCode::from(MISUSED);
        }
    };
    if args.openslo && plan.slos.is_empty() {
        eprintln!("{} has no [[slos]]: there is nothing to write as OpenSLO", args.config.config.display());
        return ExitCode::from(MISUSED);
    }
    output::print(&text(args, &plan));
    ExitCode::SUCCESS
}

fn text(args: RulesArgs, plan: &Plan) -> String {
    let usual = Options::default();
    let replicas = if args.replica_labels.is_empty() { usual.replicas } else { args.replica_labels };
    let runbooks = args.runbooks.unwrap_or(usual.runbooks);
    let options = Options { time_scale: args.time_scale, replicas, runbooks };
    let watched = Watched { targets: &plan.targets, slos: &plan.slos };
    let file = args.config.config.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut head = format!(
        "Written by `sloprobe rules` from {file}. Do not edit: change {file} and write them anew,\nSloprobeRulesOutdated says when."
    );
    if args.openslo {
        return rules::openslo(watched, &options, &head);
    }
    if args.time_scale != 1 {
        let _ = write!(
            head,
            "\n\nA FIRE DRILL, not for production: every window and wait is divided by {}. The names of recorded series keep\nthe usual windows.",
            args.time_scale
        );
    }
    let groups = rules::groups(watched, &options);
    if args.kubernetes {
        let resource = Resource { name: args.name, namespace: args.namespace, labels: args.labels };
        rules::kubernetes(&groups, &options, &head, &resource)
    } else {
        rules::prometheus(&groups, &options, &head)
    }
}

fn label_name(text: &str) -> Result<String, String> {
    let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let good = text.chars().all(word) && !text.is_empty() && !text.starts_with(|c: char| c.is_ascii_digit());
    if good { Ok(text.to_owned()) } else { Err("write letters, digits and _, with no digit first".into()) }
}

fn object_name(text: &str) -> Result<String, String> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '.';
    let ends = |c: char| c == '-' || c == '.';
    let good = (1..=253).contains(&text.len()) && text.chars().all(plain);
    if good && !text.starts_with(ends) && !text.ends_with(ends) {
        Ok(text.to_owned())
    } else {
        Err("write small letters, digits and -, such as sloprobe".into())
    }
}

fn label(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=VALUE, such as release=prometheus")?;
    Ok((name.to_owned(), value.to_owned()))
}
