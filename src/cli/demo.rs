//! `sloprobe demo`: the product at work, with nothing but this binary.

mod board;

use std::io::IsTerminal as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, Result};
use clap::Args;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep_until};

use super::output;
use super::signals::Signals;
use crate::config::{self, Outside, Plan};
use crate::daemon::Daemon;
use crate::simulate::faults::Fault;
use crate::simulate::{self, Handle, Profile, Settings};
use board::Board;

/// Probes under way at the end are of no interest here.
const DRAIN: Duration = Duration::from_millis(200);

/// Which release the first engine is given, and so what the fault is called.
const UPGRADE: &str = "upgrade=0.33.0";

/// See sloprobe at work: two simulated engines, a daemon and a live table; no key, GPU or configuration
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sloprobe demo                            watch until Ctrl-C
  sloprobe demo --upgrade-after 20s        for the impatient
  sloprobe demo --listen 0.0.0.0:9788      let a Prometheus elsewhere scrape it
  sloprobe demo --for 2m | tee demo.log    plain lines, ends by itself")]
pub(super) struct DemoArgs {
    /// Where to serve the metrics; if it is taken, a free port of this machine is used
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:9788")]
    listen: SocketAddr,

    /// When one engine is upgraded and its TTFT grows by 40 %
    #[arg(long, value_name = "DURATION", default_value = "1m", value_parser = humantime::parse_duration)]
    upgrade_after: Duration,

    /// End by itself after this long
    #[arg(long = "for", value_name = "DURATION", value_parser = humantime::parse_duration)]
    end_after: Option<Duration>,
}

pub(super) async fn run(args: DemoArgs) -> Result<ExitCode> {
    let mut signals = Signals::catch().context("cannot catch signals")?;
    let engines = [engine(Profile::Default).await?, engine(Profile::Fast).await?];
    let plan = plan(&engines)?;
    let listener = match TcpListener::bind(args.listen).await {
        Ok(listener) => listener,
        Err(_) => {
            TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.context("no port of this machine is free")?
        }
    };
    let address = listener.local_addr()?;
    print_welcome(address, &engines, args.upgrade_after);

    let daemon = Daemon::new(plan.clone())?;
    let board = Board::new(&plan, daemon.recorder(), std::io::stdout().is_terminal());
    let (ask, asked) = oneshot::channel::<()>();
    let shutdown = async {
        let _ = asked.await;
    };
    let daemon = tokio::spawn(daemon.run(listener, shutdown, DRAIN));
    tokio::select! {
        () = signals.next() => {}
        () = show(&args, board, &engines[0]) => {}
    }
    let _ = ask.send(());
    let [first, second] = engines;
    let (ended, ..) = tokio::join!(daemon, first.stop(), second.stop());
    ended??;
    output::print(
        "\nThat was a demo. For an endpoint of your own: config/example.toml, then `sloprobe run`.\n",
    );
    Ok(ExitCode::SUCCESS)
}

/// Keeps the board up to date until the demo's time is over; upgrades the engine on the way.
async fn show(args: &DemoArgs, mut board: Board, engine: &Handle) {
    let start = Instant::now();
    let end = args.end_after.map(|after| start + after);
    let upgrade = start + args.upgrade_after;
    let mut upgraded = false;
    let mut tick = interval_at(start + board.period(), board.period());
    tick.set_missed_tick_behavior(MissedTickBehavior::Skip);
    loop {
        tokio::select! {
            _ = tick.tick() => board.show(Instant::now()),
            () = sleep_until(upgrade), if !upgraded => {
                upgraded = true;
                let fault: Fault = UPGRADE.parse().expect("a fault that the simulated engine knows");
                engine.control().set_faults(vec![fault]);
                board.upgraded(Instant::now(), board::UPGRADED, &engine.control().version());
            }
            () = sleep_until(end.unwrap_or(start)), if end.is_some() => return,
        }
    }
}

async fn engine(profile: Profile) -> Result<Handle> {
    let listener =
        TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.context("no port of this machine is free")?;
    Ok(simulate::start(listener, Settings::of(profile))?)
}

/// The default mix at a pace that a person can watch, through the same door as any configuration.
fn plan(engines: &[Handle; 2]) -> Result<Plan> {
    let [steady, fast] = engines.each_ref().map(Handle::base_url);
    let text = include_str!("demo/demo.toml").replace("{steady}", &steady).replace("{fast}", &fast);
    let outside = Outside {
        env: &|_| None,
        file: &|_| Err(std::io::ErrorKind::NotFound.into()),
        text: &|_| Err(std::io::ErrorKind::NotFound.into()),
    };
    Ok(config::parse("demo.toml", &text, &outside)?)
}

fn print_welcome(address: SocketAddr, engines: &[Handle; 2], upgrade_after: Duration) {
    let [steady, fast] = engines.each_ref().map(Handle::base_url);
    let upgrade = humantime::format_duration(upgrade_after);
    output::print(&format!(
        "\
sloprobe demo: two simulated engines, probed for real. Ctrl-C ends it.

  metrics   http://{address}/metrics
  page      http://{address}/
  engines   steady {steady}   fast {fast}
  upgrade   after {upgrade}, engine \"steady\" gets a release whose TTFT is 40 % longer

For Prometheus:

  scrape_configs:
    - job_name: sloprobe
      static_configs:
        - targets: [\"{address}\"]

"
    ));
}
