//! `sloprobe report`: what was measured in a while, in the figures that people know from benchmarks.

mod data;
mod lines;
mod objectives;
mod releases;
mod show;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result};
use clap::{Args, ValueEnum};

use super::which::Known;
use super::{FAILED, MISUSED, moment, output};
use crate::config::{self, Plan};
use crate::domain::clock;
use crate::history::{Pick, Reader};
use crate::page::words;
use lines::{By, Line, Part, Window};

/// What is asked about if nothing is said.
const USUAL: Duration = Duration::from_secs(24 * 3600);
const USUAL_CONFIG: &str = "sloprobe.toml";

/// Summarize what was measured: requests, failures, TTFT, TPOT, ITL, latency, tokens per second, objectives
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sloprobe report                                      the last 24 hours, each target and workload
  sloprobe report --since 7d --by target
  sloprobe report --target chat --from \"2026-11-14 08:00\" --to 3h
  sloprobe report --history other.db --format markdown >> minutes.md
  sloprobe report --since 30d --release latest --format json -o latest.json

TTFT      the time to the first token
TPOT      the mean time per token after the first; 1 / mean TPOT is \"tokens/s per stream\"
ITL       the gaps between tokens, of all answers together
stall     the longest gap of each answer
latency   the time to the end of the answer
QPS       requests per second of the window, which begins with the first probe that the history has
          of the target; tokens in/s and tokens out/s are the same of tokens

Times are of requests that succeeded. Quantiles are by nearest rank, exact to 0.1 % (those of ITL
to 1 %), and so are the bounds of objectives. The budget of an objective is that of the window.
Of a release counts what `sloprobe compare` takes of it. Secrets are not read.

Exit codes: 0 fine, 1 no probe is in the window, 2 a mistake in the command line or a file.")]
pub(super) struct ReportArgs {
    /// The file of the history, instead of the configuration's daemon.history; it may be written meanwhile
    #[arg(long, value_name = "FILE")]
    history: Option<PathBuf>,

    /// The configuration: it says where the history is, and has the objectives
    /// [default: sloprobe.toml; with --history, none]
    #[arg(short, long, verbatim_doc_comment, env = "SLOPROBE_CONFIG", value_name = "FILE")]
    config: Option<PathBuf>,

    /// Only this target
    #[arg(long, value_name = "NAME")]
    target: Option<String>,

    /// Only this workload
    #[arg(long, value_name = "NAME")]
    workload: Option<String>,

    /// From so long ago until now [default: 24h]
    #[arg(long, value_name = "DURATION", conflicts_with_all = ["from", "to"])]
    since: Option<String>,

    /// From then on: a time (UTC without an offset), or how long ago it was
    #[arg(long, value_name = "TIME")]
    from: Option<String>,

    /// Until then [default: now]
    #[arg(long, value_name = "TIME")]
    to: Option<String>,

    /// Only this release of each target: latest, previous, or its name, version, mark or #number
    #[arg(long, value_name = "NAME")]
    release: Option<String>,

    /// Add up by this alone [default: each workload of each target]
    #[arg(long, value_enum)]
    by: Option<By>,

    /// How to write it
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,

    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Table,
    Json,
    Csv,
    Markdown,
}

/// What a person can put right, and the exit code.
struct Refusal(String, u8);

pub(super) fn run(args: &ReportArgs) -> Result<ExitCode> {
    let (plan, window, lines) = match collect(args)? {
        Ok(found) => found,
        Err(Refusal(why, code)) => {
            eprintln!("{why}");
            return Ok(ExitCode::from(code));
        }
    };
    let text = match args.format {
        Format::Table => show::table(&lines, window, plan.is_some()),
        Format::Markdown => show::markdown(&lines, window, plan.is_some()),
        Format::Json => data::json(&lines, window, args.by),
        Format::Csv => data::csv(&lines),
    };
    match &args.output {
        Some(path) => {
            std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
        }
        None => output::print(&text),
    }
    Ok(ExitCode::SUCCESS)
}

impl Refusal {
    fn misuse(why: impl std::fmt::Display) -> Self {
        Self(format!("sloprobe: {why}"), MISUSED)
    }
}

impl ReportArgs {
    fn window(&self, now: SystemTime) -> Result<Window, Refusal> {
        let at = |text: &String| moment::moment(text, now).map_err(Refusal::misuse);
        let to = self.to.as_ref().map_or(Ok(now), at)?;
        let from = self.since.as_ref().or(self.from.as_ref());
        let from = from.map_or_else(|| Ok(to.checked_sub(USUAL).unwrap_or(to)), at)?;
        if from >= to {
            let (from, to) = (words::moment(from), words::moment(to));
            return Err(Refusal::misuse(format!("the window ends ({to}) before it begins ({from})")));
        }
        // Nothing was measured before 1970, nor can such times be shown.
        Ok(Window { from: from.max(UNIX_EPOCH), to: to.max(UNIX_EPOCH) })
    }

    /// The usual one is only read if it has to say where the history is.
    fn plan(&self) -> Result<Option<Plan>, Refusal> {
        let usual = self.history.is_none().then_some(Path::new(USUAL_CONFIG));
        let plan = self.config.as_deref().or(usual).map(config::load_without_secrets).transpose();
        plan.map_err(|problems| Refusal(problems.to_string(), MISUSED))
    }

    fn reader(&self, plan: Option<&Plan>) -> Result<Reader, Refusal> {
        let kept = plan.and_then(|plan| plan.history.path.as_deref());
        let path = self.history.as_deref().or(kept);
        let path = path.ok_or_else(|| {
            Refusal::misuse("the configuration sets no daemon.history: set it, or name a file with --history")
        })?;
        Reader::open(path).map_err(Refusal::misuse)
    }
}

type Found = (Option<Plan>, Window, Vec<Line>);

/// All that is to be told.
fn collect(args: &ReportArgs) -> Result<Result<Found, Refusal>> {
    let asked = args.window(clock::wall_now()).and_then(|window| {
        let plan = args.plan()?;
        Ok((args.reader(plan.as_ref())?, plan, window))
    });
    let (reader, plan, window) = match asked {
        Ok(asked) => asked,
        Err(refusal) => return Ok(Err(refusal)),
    };
    let (targets, workloads) = (reader.targets()?, reader.workloads()?);
    let targets = match known(args.target.as_deref(), targets, "target")
        .and_then(|targets| known(args.workload.as_deref(), workloads, "workload").map(|_| targets))
    {
        Ok(targets) => targets,
        Err(refusal) => return Ok(Err(refusal)),
    };
    let mut parts = Vec::new();
    let mut has_release = false;
    for target in &targets {
        let Some(pick) = pick(args, &reader, target, window)? else { continue };
        has_release = true;
        parts.extend(measure(&reader, &pick, window)?);
    }
    if parts.is_empty() {
        let name = args.release.as_ref().filter(|_| !has_release && !targets.is_empty());
        return Ok(Err(match name {
            Some(name) => Refusal::misuse(releases::none(&reader, &targets, name)?),
            None => nothing(args, &reader, window),
        }));
    }
    let lines = lines::lines(parts, args.by, plan.as_ref());
    Ok(Ok((plan, window, lines)))
}

/// What is wanted of one target; none if it has no such release.
fn pick(args: &ReportArgs, reader: &Reader, target: &str, window: Window) -> Result<Option<Pick>> {
    let pick = match &args.release {
        None => Pick { target: Some(target.to_owned()), with_mixed: true, ..Pick::default() },
        Some(name) => match found(reader, target, name)? {
            Some(pick) => pick,
            None => return Ok(None),
        },
    };
    let from = pick.from.map_or(window.from, |from| from.max(window.from));
    let to = pick.to.map_or(window.to, |to| to.min(window.to));
    Ok(Some(Pick { from: Some(from), to: Some(to), workload: args.workload.clone(), ..pick }))
}

/// What was measured of the release of this name, as a comparison takes it.
fn found(reader: &Reader, target: &str, name: &str) -> Result<Option<Pick>> {
    let known = Known::read(reader, target)?;
    Ok(known.find(name).map(|at| known.pick(at)))
}

/// One name, if the history knows it, or all.
fn known(wanted: Option<&str>, known: Vec<String>, what: &str) -> Result<Vec<String>, Refusal> {
    match wanted {
        None => Ok(known),
        Some(name) if known.iter().any(|other| other == name) => Ok(vec![name.to_owned()]),
        Some(name) => {
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            Err(Refusal::misuse(format!("the history has no {what} {name:?}\n    {what}s are {known}")))
        }
    }
}

/// The workloads of one target. The time that its probes are divided by begins no sooner than the first that is kept
/// of it; that of a release ends with its last probe, too.
fn measure(reader: &Reader, pick: &Pick, window: Window) -> Result<Vec<Part>> {
    let tallies = reader.tallies(pick)?;
    let ends = tallies.iter().filter_map(|(.., tally)| tally.span());
    let Some((first, last)) = ends.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1))) else {
        return Ok(Vec::new());
    };
    let window = if pick.releases.is_empty() {
        let all = Pick { target: pick.target.clone(), with_mixed: true, ..Pick::default() };
        let begin = reader.span(&all).map_or(first, |span| span.0);
        Window { from: window.from.max(begin), ..window }
    } else {
        Window { from: first, to: last }
    };
    let part = |(target, workload, tally)| Part { target, workload, window, tally };
    Ok(tallies.into_iter().map(part).collect())
}

fn nothing(args: &ReportArgs, reader: &Reader, window: Window) -> Refusal {
    let all = Pick { target: args.target.clone(), with_mixed: true, ..Pick::default() };
    let covers = reader.span(&all).map_or_else(
        || "the history is empty".to_owned(),
        |(first, last)| format!("the history covers {} to {}", words::moment(first), words::moment(last)),
    );
    let (from, to) = (words::moment(window.from), words::moment(window.to));
    Refusal(format!("sloprobe: no such probe from {from} to {to}\n    {covers}"), FAILED)
}
