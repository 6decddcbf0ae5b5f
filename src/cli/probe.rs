//! `sloprobe probe ID`: all that the history has of one probe.

mod show;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use clap::Args;

use super::{FAILED, MISUSED, output};
use crate::config;
use crate::domain::ProbeId;
use crate::history::{Pick, Reader};
use crate::page::words;

const USUAL_CONFIG: &str = "sloprobe.toml";

/// Show all that is known of one probe, by its id
#[derive(Debug, Args)]
#[command(after_help = "\
Where ids are:
  exemplars of the metrics: the points over a panel in Grafana, label probe_id
  log lines: probe=1a0e5f3c2b100007
  the history: the column id of the view probe

Examples:
  sloprobe probe 1a0e5f3c2b100007                        from an exemplar in Grafana
  sloprobe probe 1a0e5f3c2b100007 --json                 the same for machines
  sloprobe probe 1a0e5f3c2b100007 --history copy.db      from a copy of the history

Exit codes: 0 it was found, 1 the history has no such probe, 2 a mistake in the command line or no such history.")]
pub(super) struct ProbeArgs {
    /// The id of the probe: 16 digits
    #[arg(value_name = "ID")]
    id: ProbeId,

    /// The file of the history, instead of the configuration's daemon.history; it may be written meanwhile
    #[arg(long, value_name = "FILE")]
    history: Option<PathBuf>,

    /// The configuration that says where the history is [default: sloprobe.toml]
    #[arg(short, long, env = "SLOPROBE_CONFIG", value_name = "FILE")]
    config: Option<PathBuf>,

    /// One JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &ProbeArgs) -> Result<ExitCode> {
    let (path, reader) = match args.open() {
        Ok(opened) => opened,
        Err(error) => {
            eprintln!("sloprobe: {error:#}");
            return Ok(ExitCode::from(MISUSED));
        }
    };
    let Some(probe) = reader.find(args.id)? else {
        eprintln!("sloprobe: {}", unknown(args.id, &path, &reader));
        return Ok(ExitCode::from(FAILED));
    };
    let again = show::prompt_command(&probe, args.config.as_deref());
    output::print(&if args.json { show::as_json(&probe, &again) } else { show::as_text(&probe, &again) });
    Ok(ExitCode::SUCCESS)
}

impl ProbeArgs {
    fn open(&self) -> Result<(PathBuf, Reader)> {
        let path = match &self.history {
            Some(path) => path.clone(),
            None => self.configured()?,
        };
        let reader = Reader::open(&path)?;
        Ok((path, reader))
    }

    fn configured(&self) -> Result<PathBuf> {
        let path = self.config.clone().unwrap_or_else(|| USUAL_CONFIG.into());
        let plan = config::load_without_secrets(&path)
            .map_err(|problems| anyhow::anyhow!("{problems}\nor name a history with --history"))?;
        plan.history.path.with_context(|| {
            format!("{} sets no daemon.history: set it, or name a file with --history", path.display())
        })
    }
}

/// That it is not there, what is, and what may be the reason.
fn unknown(id: ProbeId, path: &std::path::Path, reader: &Reader) -> String {
    let started = id.started();
    let all = Pick { with_mixed: true, ..Pick::default() };
    let why = match reader.span(&all) {
        None => "that history is empty".to_owned(),
        Some((first, last)) => {
            let covers = format!("that history covers {} to {}", words::moment(first), words::moment(last));
            let reason = if started > last {
                "it may still be under way: a probe is written within a second after it ended"
            } else if started < first {
                "it is too old: daemon.history_age and daemon.history_size say how much is kept"
            } else {
                "it may be of another daemon, or of `sloprobe once`, which keeps nothing"
            };
            format!("{covers}; {reason}")
        }
    };
    let (path, started) = (path.display(), words::moment(started));
    format!("{path} has no probe {id}, which would have started at {started}\n    {why}")
}
