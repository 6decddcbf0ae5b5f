//! `sloprobe run`: the daemon.

use std::net::SocketAddr;
use std::pin::pin;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, Result};
use clap::Args;
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;

use super::signals::Signals;
use super::{ConfigArgs, MISUSED};
use crate::daemon::Daemon;

/// How long probes under way may take to end once the daemon is asked to.
const DRAIN: Duration = Duration::from_secs(10);

/// Probe the targets around the clock and serve the metrics
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sloprobe run                                  with ./sloprobe.toml
  sloprobe run -c prod.toml --listen 0.0.0.0:9788
  curl -s http://127.0.0.1:9788/metrics         what Prometheus will see

Whoever reaches the port reads the metrics and can mark a target (see `sloprobe mark`): there are no passwords.

SIGINT and SIGTERM end it in order: no new probes, 10 s for those under way, exit code 0. A second signal ends it at once.")]
pub(super) struct RunArgs {
    #[command(flatten)]
    config: ConfigArgs,

    /// Where to serve the metrics, instead of the configuration's daemon.listen
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,
}

pub(super) async fn run(args: RunArgs) -> Result<ExitCode> {
    let plan = match args.config.load() {
        Ok(plan) => plan,
        Err(code) => return Ok(code),
    };
    let mut signals = Signals::catch().context("cannot catch signals")?;
    let hangup = signal(SignalKind::hangup()).context("cannot catch SIGHUP")?;
    let address = args.listen.unwrap_or(plan.listen);
    let listener = match TcpListener::bind(address).await {
        Ok(listener) => listener,
        Err(error) => {
            eprintln!(
                "sloprobe: cannot listen on {address}: {error}\n    free that port, or choose another with --listen or daemon.listen"
            );
            return Ok(ExitCode::from(MISUSED));
        }
    };
    let targets = plan.targets.len();
    let daemon = Daemon::new(plan)?;
    tracing::info!(targets, "metrics at http://{}/metrics", listener.local_addr()?);

    let (ask, asked) = oneshot::channel();
    let shutdown = async {
        let _ = asked.await;
    };
    let mut running = pin!(daemon.run(listener, shutdown, DRAIN));
    tokio::select! {
        ended = &mut running => ended?,
        () = explain_hangups(hangup) => {}
        () = signals.next() => {
            tracing::info!("ending: no new probes, at most {DRAIN:?} for those under way");
            let _ = ask.send(());
            tokio::select! {
                ended = &mut running => ended?,
                () = signals.next() => tracing::warn!("asked again: ending at once"),
            }
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Many daemons load their configuration anew on SIGHUP; this one must not die of the habit.
async fn explain_hangups(mut hangup: Signal) {
    while hangup.recv().await.is_some() {
        tracing::warn!("SIGHUP: this version cannot load its configuration anew; restart it for that");
    }
    std::future::pending::<()>().await;
}
