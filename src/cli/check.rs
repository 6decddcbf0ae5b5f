//! `sloprobe check`: is the configuration sound, and what will it send?

mod objectives;
mod reasoning;

use std::process::ExitCode;

use clap::Args;

use super::table::Table;
use super::{ConfigArgs, context, output};
use crate::catalogue;
use crate::config::Plan;
use crate::domain::{Share, Target};
use crate::protocol::Dialect;

/// Check the configuration and show what it will do: addresses, probes, cost, series, and how soon objectives alert
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sloprobe check                        ./sloprobe.toml
  sloprobe check -c config/example.toml
  sloprobe check --offline              without asking the targets anything

Every problem of the file is reported at once, with its line and what to write instead; exit code 2. The targets are
asked how long their context is (by GET requests that change nothing), and prompts that do not fit and will be sent
shorter are named. No probe is sent. Objectives are judged by simulation: when alerts would come, and how many for nothing.")]
pub(super) struct CheckArgs {
    #[command(flatten)]
    config: ConfigArgs,

    /// Ask the targets nothing
    #[arg(long)]
    offline: bool,
}

pub(super) async fn run(args: &CheckArgs) -> ExitCode {
    let plan = match args.config.load() {
        Ok(plan) => plan,
        Err(code) => return code,
    };
    let identities = if args.offline { Vec::new() } else { context::ask(&plan.targets).await };
    let misfits = context::misfits(&identities);
    let misfits: Vec<_> = misfits.iter().map(|misfit| format!("\nWarning: {misfit}\n")).collect();
    output::print(&(describe(&plan) + &misfits.concat() + &context::remarks(&identities)));
    ExitCode::SUCCESS
}

fn describe(plan: &Plan) -> String {
    let mut lines = vec!["The configuration is sound. It will call:".to_owned()];
    for target in &plan.targets {
        let url = Dialect::of(target.api).url(target);
        lines.push(format!("  {}  POST {url}  ({}, model {})", target.name, target.api.name(), target.model));
    }
    lines.push(String::new());
    lines.extend(load_table(plan).lines());
    lines.push(String::new());
    lines.extend(cost_table(plan).lines());
    lines.push(String::new());
    lines.extend(objectives::describe(plan));
    lines.push(String::new());
    let series = |awaits_a_change: bool| -> usize {
        let families =
            catalogue::ALL.iter().filter(|family| family.scope.awaits_a_change() == awaits_a_change);
        families.map(|family| family.series(&plan.targets, &plan.slos, catalogue::Form::CLASSIC)).sum()
    };
    lines.push(format!(
        "Prometheus will store {} series from http://{}/metrics, and up to {} more about changes of targets.",
        series(false),
        plan.listen,
        series(true)
    ));
    lines.extend(warnings(plan).iter().map(|warning| format!("\nWarning: {warning}")));
    lines.join("\n") + "\n"
}

fn load_table(plan: &Plan) -> Table {
    let mut table =
        Table::new(2, ["TARGET", "WORKLOAD", "PROBES/H", "TOKENS IN/H", "TOKENS OUT/H (AT MOST)", "EVERY"]);
    let mut total = [0.0; 3];
    for target in &plan.targets {
        for share in &target.mix {
            let load = hourly(target, share);
            total.iter_mut().zip(load).for_each(|(sum, part)| *sum += part);
            let every = std::time::Duration::from_millis(target.interval_of(share).as_millis() as u64);
            let mut row = vec![target.name.to_string(), share.workload.name.to_string()];
            row.extend(load.map(|n| format!("{n:.0}")));
            row.push(humantime::format_duration(every).to_string());
            table.row(row);
        }
    }
    let mut row = vec!["all".to_owned(), String::new()];
    row.extend(total.map(|n| format!("{n:.0}")));
    table.row(row);
    table
}

/// What each target gets in an hour, a day and a month, and what that costs.
fn cost_table(plan: &Plan) -> Table {
    let mut table =
        Table::new(2, ["TARGET", "PER", "PROBES", "TOKENS IN", "TOKENS OUT (AT MOST)", "COST (AT MOST)"]);
    for target in &plan.targets {
        let mut hour = [0.0; 3];
        for share in &target.mix {
            hour.iter_mut().zip(hourly(target, share)).for_each(|(sum, part)| *sum += part);
        }
        for (per, hours) in [("hour", 1.0), ("day", 24.0), ("month", 24.0 * 30.0)] {
            let [probes, input, output] = hour.map(|amount| amount * hours);
            let cost = target.price.map(|price| (input * price.input + output * price.output) / 1e6);
            let mut row = vec![target.name.to_string(), per.to_owned()];
            row.extend([probes, input, output].map(|n| format!("{n:.0}")));
            row.push(cost.map_or_else(|| "-".into(), |cost| format!("{cost:.2}")));
            table.row(row);
        }
    }
    table
}

/// Probes, tokens in and tokens out in an hour.
fn hourly(target: &Target, share: &Share) -> [f64; 3] {
    let probes = 3600.0 / target.interval_of(share).as_secs_f64();
    let workload = &share.workload;
    [probes, probes * workload.input_tokens.mean(), probes * workload.output_tokens.mean()]
}

/// What is allowed but will not do what its author hopes.
fn warnings(plan: &Plan) -> Vec<String> {
    let mut warnings = Vec::new();
    let spent = |target: &Target| -> f64 {
        target.mix.iter().map(|s| hourly(target, s)).map(|[_, i, o]| i + o).sum()
    };
    let mut over = |who: String, spent: f64, limit: Option<u64>| {
        if let Some(limit) = limit.map(|limit| limit as f64).filter(|&limit| spent > limit) {
            warnings.push(format!(
                "{who} may spend {spent:.0} tokens an hour, but tokens_per_hour is {limit:.0}: up to {:.0} % of the probes would be skipped. Lower the rate or raise the limit.",
                100.0 * (1.0 - limit / spent)
            ));
        }
    };
    for target in &plan.targets {
        over(format!("target {}", target.name), spent(target), target.tokens_per_hour);
    }
    over(
        "all targets together".into(),
        plan.targets.iter().map(|t| spent(t)).sum(),
        plan.limits.tokens_per_hour,
    );
    for target in &plan.targets {
        let longest = target.mix.iter().map(|share| share.workload.timeouts.total).max().unwrap_or_default();
        let pile = longest.as_secs_f64() / target.rate.interval.as_secs_f64();
        if pile > target.in_flight as f64 {
            warnings.push(format!(
                "if every answer of target {} hung until its total timeout, {pile:.0} probes would be under way, but in_flight is {}: some due times would be skipped (and counted). Lower the rate or the timeouts, or raise in_flight.",
                target.name, target.in_flight
            ));
        }
    }
    for target in plan.targets.iter().filter(|target| target.skips_verification()) {
        warnings.push(format!(
            "the certificate of target {} is not verified: anybody on the way can answer in its place. Set ca, and remove insecure_skip_verify.",
            target.name
        ));
    }
    warnings.extend(reasoning::warnings(plan));
    warnings
}
