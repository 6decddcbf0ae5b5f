//! `sloprobe dashboards`: the Grafana dashboards.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use clap::{Args, ValueEnum};

use super::output;
use crate::dashboards::{self, Dashboard};

/// Write the Grafana dashboards: overview, target, releases and the health of the probe
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sloprobe dashboards --out /var/lib/grafana/dashboards   then let Grafana provision that folder
  sloprobe dashboards overview > overview.json            one of them, to import by hand

They need no configuration: targets, workloads, objectives and what those promise come from the metrics. Grafana 10 or
later; the data source is chosen at the top of each. The same files are in the folder grafana/ of the sources.")]
pub(super) struct DashboardsArgs {
    /// Write only this one, to standard output
    #[arg(value_enum, conflicts_with = "out")]
    only: Option<Name>,

    /// The folder to write all of them to; it is made if there is none
    #[arg(long, value_name = "DIR", default_value = "grafana")]
    out: PathBuf,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Name {
    Overview,
    Target,
    Releases,
    Health,
}

pub(super) fn run(args: &DashboardsArgs) -> anyhow::Result<ExitCode> {
    let all = dashboards::all();
    match args.only {
        Some(only) => output::print(&all[only as usize].text()),
        None => write(&all, &args.out)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn write(all: &[Dashboard], folder: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("{} cannot be made", folder.display()))?;
    for dashboard in all {
        let path = folder.join(dashboard.file());
        fs::write(&path, dashboard.text())
            .with_context(|| format!("{} cannot be written", path.display()))?;
        output::print(&format!("{}: {}\n", path.display(), dashboard.title));
    }
    Ok(())
}
