//! `sloprobe health`: is what runs there ready? For containers, which have no shell and no curl.

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use url::Url;

use super::{FAILED, output, peer};

/// Shorter than the time that container engines give a check.
const PATIENCE: Duration = Duration::from_secs(2);

/// Where the daemon says whether it probes, and where the simulated engine says that it serves: the latter has no
/// page of the former's name.
const PAGES: [&str; 2] = ["/-/ready", "/health"];

/// Ask a running daemon or simulated engine whether it is ready, for health checks of containers
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sloprobe health                                 the daemon on this machine
  sloprobe health --url http://127.0.0.1:8200     a simulated engine
  docker exec probe /sloprobe health              in a container without a shell

Prints one line. Exit code 0: ready, probes are being sent. 1: it is starting or ending, or nothing
answers within 2 s.

It says nothing about the targets: a daemon whose targets are all down is ready. Its metrics say the
rest.")]
pub(super) struct HealthArgs {
    /// Where the daemon or the simulated engine listens
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:9788", value_parser = peer::address)]
    url: Url,
}

pub(super) async fn run(args: &HealthArgs) -> ExitCode {
    let place = peer::place(&args.url);
    match ask(&args.url).await {
        Ok(()) => {
            output::print(&format!("{place} is ready\n"));
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("sloprobe: {place} is not ready: {why}");
            ExitCode::from(FAILED)
        }
    }
}

async fn ask(url: &Url) -> Result<(), String> {
    for page in PAGES {
        let answer = peer::get(url, page, PATIENCE).await.map_err(|error| error.to_string())?;
        match answer.map(|answer| answer.status) {
            Some(200) => return Ok(()),
            Some(404) => {}
            Some(503) => return Err("it is starting or ending (status 503)".into()),
            Some(status) => return Err(format!("status {status}")),
            None => return Err("it does not speak HTTP".into()),
        }
    }
    Err("neither a daemon nor a simulated engine of this version answers there (status 404)".into())
}
