//! `sloprobe compare`: two releases held against each other.

mod json;
mod sides;
mod table;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use clap::Args;

use super::{FAILED, MISUSED, output};
use crate::compare::{Before, Comparison, Settings, Verdict};
use crate::config;
use crate::domain::clock;
use crate::page::{self, Compared};
use sides::{Chosen, Side};

/// Compare two releases of a target: what got worse, what got better, and how sure that is
#[derive(Debug, Args)]
#[command(after_help = "\
BEFORE and AFTER are each one of
  latest, previous                the present release of the target, and the one before
  vllm 0.33.0, 0.33.0, driver 580 a release by its name, its version or its mark; the newest that fits
  #12                             a release by its number, as --list shows it
  48h..24h, 2026-11-13..2026-11-14, 2h..
                                  a stretch of time: from and to, as times in UTC or as how long ago; it may end now

Examples:
  sloprobe compare                                         the present release with the one before
  sloprobe compare --target chat-prod 0.32.0 0.33.0        two releases by their versions
  sloprobe compare --target chat-prod 48h..24h 24h..       yesterday and today
  sloprobe compare --history a.db --history b.db           the same target, watched from two machines
  sloprobe compare --html report.html                      one page with plots, to look at or to print
  sloprobe compare --json && ./continue-rollout            a gate: a regression ends with exit code 1

The method, and what it assumes: a verdict holds at every moment, however often one looks. What is not sure yet is
undecided, with the number of probes that would decide it. The hour of the day is taken off once two days were seen.

Exit codes: 0 no regression, 1 something regressed, 2 a mistake in the command line or no such history.")]
pub(super) struct CompareArgs {
    /// What was before [default: previous; latest of the first with two histories]
    before: Option<String>,

    /// What came after [default: latest]
    after: Option<String>,

    /// The target; needed if the history has several. Twice: one name in each of two histories
    #[arg(long, value_name = "NAME")]
    target: Vec<String>,

    /// The file of the history, instead of the configuration's daemon.history. Twice: before and after
    #[arg(long, value_name = "FILE")]
    history: Vec<PathBuf>,

    /// The configuration that says where the history is
    #[arg(short, long, env = "SLOPROBE_CONFIG", default_value = "sloprobe.toml", value_name = "FILE")]
    config: PathBuf,

    /// Only this workload
    #[arg(long, value_name = "NAME")]
    workload: Option<String>,

    /// A change within this many percent counts as none; twice as much for p90, four times for p99
    #[arg(long, value_name = "PERCENT", default_value_t = 5.0, value_parser = percent)]
    margin: f64,

    /// How sure all verdicts together shall be, in percent
    #[arg(long, value_name = "PERCENT", default_value_t = 99.0, value_parser = sureness)]
    confidence: f64,

    /// Write what was found as JSON (deploy/compare.schema.json says its shape)
    #[arg(long)]
    json: bool,

    /// Write one page with plots into this file
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,

    /// Show the releases of the target, and compare nothing
    #[arg(long)]
    list: bool,
}

fn percent(text: &str) -> Result<f64, String> {
    let within = text.parse().ok().filter(|percent| (0.1..=100.0).contains(percent));
    within.ok_or_else(|| "write a number from 0.1 to 100".to_owned())
}

fn sureness(text: &str) -> Result<f64, String> {
    let within = text.parse().ok().filter(|percent| (50.0..=99.999).contains(percent));
    within.ok_or_else(|| "write a number from 50 to 99.999".to_owned())
}

pub(super) fn run(args: &CompareArgs) -> Result<ExitCode> {
    match choose(args) {
        Ok(Some(chosen)) => show(args, &chosen),
        Ok(None) => Ok(ExitCode::SUCCESS),
        Err(error) => {
            eprintln!("sloprobe: {error:#}");
            Ok(ExitCode::from(MISUSED))
        }
    }
}

/// What is to be compared; none if only a list was wanted.
fn choose(args: &CompareArgs) -> Result<Option<Chosen>> {
    let files = match args.history.as_slice() {
        [] => vec![from_config(&args.config)?],
        given => given.to_vec(),
    };
    anyhow::ensure!(files.len() <= 2, "at most two histories can be compared");
    anyhow::ensure!(args.target.len() <= files.len(), "each history has one target to compare");
    if args.list {
        for (index, file) in files.iter().enumerate() {
            output::print(&sides::list(file, sides::own(&args.target, index))?);
        }
        return Ok(None);
    }
    let defaults = if files.len() == 2 { ["latest", "latest"] } else { ["previous", "latest"] };
    let now = clock::wall_now();
    let side = |index: usize, named: Option<&String>| {
        let file = &files[index.min(files.len() - 1)];
        let name = named.map_or(defaults[index], String::as_str);
        Side::choose(file, sides::own(&args.target, index), name, args.workload.as_deref(), now)
    };
    let (before, after) = (side(0, args.before.as_ref())?, side(1, args.after.as_ref())?);
    Ok(Some(Chosen { before, after }))
}

fn from_config(path: &std::path::Path) -> Result<PathBuf> {
    let plan = config::load_without_secrets(path)
        .map_err(|problems| anyhow::anyhow!("{problems}\nor name a history with --history"))?;
    plan.history.path.with_context(|| {
        format!("{} sets no daemon.history: set it, or name a file with --history", path.display())
    })
}

fn show(args: &CompareArgs, chosen: &Chosen) -> Result<ExitCode> {
    let settings = Settings { confidence: args.confidence / 100.0, margin: args.margin / 100.0 };
    let places = Before::learn(&chosen.before.probes).against(&chosen.after.probes, settings);
    let comparison = Comparison {
        target: chosen.after.target.clone(),
        before: chosen.before.side(),
        after: chosen.after.side(),
        confidence: settings.confidence,
        margin: settings.margin,
        places,
    };
    if comparison.places.is_empty() {
        eprintln!("sloprobe: {}", chosen.nothing_in_common());
        return Ok(ExitCode::from(MISUSED));
    }
    if let Some(path) = &args.html {
        let page = page::compare(&Compared {
            comparison: &comparison,
            before: &chosen.before.sound(),
            after: &chosen.after.sound(),
            releases: &chosen.releases(),
            produced_at: clock::wall_now(),
        });
        std::fs::write(path, page).with_context(|| format!("cannot write {}", path.display()))?;
    }
    if args.json {
        output::print(&format!("{:#}\n", json::write(&comparison)));
    } else {
        output::print(&table::write(&comparison, super::table::width()));
        if let Some(path) = &args.html {
            output::print(&format!("\nThe page is {}\n", path.display()));
        }
    }
    let regressed = comparison.verdict() == Verdict::Regressed;
    Ok(if regressed { ExitCode::from(FAILED) } else { ExitCode::SUCCESS })
}
