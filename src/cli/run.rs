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

use super::service::Service;
use super::signals::Signals;
use super::{ConfigArgs, MISUSED};
use crate::config::Reading;
use crate::daemon::{Daemon, Files};
use crate::serve::reload::Reloads;

/// How long probes under way may take to end once the daemon is asked to.
const DRAIN: Duration = Duration::from_secs(10);

/// Probe the targets around the clock and serve the metrics
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sloprobe run                                  with ./sloprobe.toml
  sloprobe run -c prod.toml --listen 0.0.0.0:9788
  curl -s http://127.0.0.1:9788/metrics         what Prometheus will see

Whoever reaches the port reads the metrics, can mark a target (see `sloprobe mark`) and can ask for a reload: there are no
passwords.

SIGHUP, or POST /-/reload, reads the configuration again: only what changed begins anew, and a file with a mistake in it
changes nothing. Files of secrets and certificates are read again by themselves when they change; with --watch, so are the
configuration and files of questions.

SIGINT and SIGTERM end it in order: no new probes, 10 s for those under way, exit code 0. A second signal ends it at once.")]
pub(super) struct RunArgs {
    #[command(flatten)]
    config: ConfigArgs,

    /// Where to serve the metrics, instead of the configuration's daemon.listen
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,

    /// Reload when the configuration file, or a file that it names, changes
    #[arg(long)]
    watch: bool,
}

pub(super) async fn run(args: RunArgs) -> Result<ExitCode> {
    let path = args.config.config;
    let loaded = match Reading::of(&path).outcome {
        Ok(loaded) => loaded,
        Err(problems) => {
            eprintln!("{problems}");
            return Ok(ExitCode::from(MISUSED));
        }
    };
    let signals = Signals::catch().context("cannot catch signals")?;
    let hangup = signal(SignalKind::hangup()).context("cannot catch SIGHUP")?;
    let address = args.listen.unwrap_or(loaded.plan.listen);
    let listener = match TcpListener::bind(address).await {
        Ok(listener) => listener,
        Err(error) => {
            eprintln!(
                "sloprobe: cannot listen on {address}: {error}\n    free that port, or choose another with --listen or daemon.listen"
            );
            return Ok(ExitCode::from(MISUSED));
        }
    };
    let targets = loaded.plan.targets.len();
    let mut daemon = Daemon::new(loaded.plan.clone())?;
    daemon.follow(Files::new(path, loaded, args.watch));
    tracing::info!(targets, "metrics at http://{}/metrics", listener.local_addr()?);
    keep_running(daemon, listener, signals, hangup).await
}

/// Until a signal ends it.
async fn keep_running(
    daemon: Daemon,
    listener: TcpListener,
    mut signals: Signals,
    hangup: Signal,
) -> Result<ExitCode> {
    let service = Service::connect();
    let (ask, asked) = oneshot::channel();
    let shutdown = async {
        let _ = asked.await;
    };
    let reloads = daemon.reloads();
    let mut running = pin!(daemon.run(listener, shutdown, DRAIN));
    service.ready();
    tokio::select! {
        ended = &mut running => ended?,
        () = heed_hangups(hangup, &reloads, &service) => {}
        () = signals.next() => {
            service.stopping();
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

/// The outcome is in the log and in the metrics.
async fn heed_hangups(mut hangup: Signal, reloads: &Reloads, service: &Service) {
    while hangup.recv().await.is_some() {
        service.reloading();
        match reloads.ask().await {
            Ok(changes) => service.status(&changes),
            Err(problems) => service.status(&format!("not reloaded: {problems}")),
        }
        service.ready();
    }
    std::future::pending::<()>().await;
}
