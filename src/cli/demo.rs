//! `sloprobe demo`: the product at work, with nothing but this binary.

mod board;
mod drill;
mod recent;

use std::io::IsTerminal as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};
use clap::Args;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at, sleep_until};

use super::output;
use super::signals::Signals;
use crate::compare::Verdict;
use crate::config::{self, Outside, Plan};
use crate::daemon::{Daemon, Found};
use crate::page::sentence;
use crate::schedule::desk::Consumer;
use crate::simulate::faults::Fault;
use crate::simulate::{self, Handle, Profile, Settings};
use board::Board;
use drill::Drill;
use recent::RecentProbes;

/// Probes under way at the end are of no interest here.
const DRAIN: Duration = Duration::from_millis(200);

/// What the first engine is given: another release, whose first tokens come three times as late. Such upgrades have been
/// reported.
const UPGRADE: [&str; 2] = ["version=0.33.0", "slow-first-token=3"];

/// See sloprobe at work: two simulated engines, a live table, an alert that fires and resolves; no key, GPU or configuration
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sloprobe demo                            watch until Ctrl-C
  sloprobe demo --upgrade-after 20s        for the impatient
  sloprobe demo --listen 0.0.0.0:9788      let a Prometheus elsewhere scrape it
  sloprobe demo --for 2m | tee demo.log    plain lines, ends by itself
  sloprobe demo --files drill              then: cd drill && prometheus --config.file=prometheus.yml

One engine is upgraded to a release whose TTFT is three times as long, and rolled back a while later. The alerts on the
demo's objective are judged at sixty times their usual speed: what takes 5 minutes in life takes 5 seconds here.")]
pub(super) struct DemoArgs {
    /// Where to serve the metrics; if it is taken, a free port of this machine is used
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:9788")]
    listen: SocketAddr,

    /// When one engine is upgraded and its TTFT triples
    #[arg(long, value_name = "DURATION", default_value = "1m", value_parser = humantime::parse_duration)]
    upgrade_after: Duration,

    /// When it is rolled back, after the upgrade
    #[arg(long, value_name = "DURATION", default_value = "45s", value_parser = humantime::parse_duration)]
    rollback_after: Duration,

    /// Write a configuration and these rules for a real Prometheus into this folder
    #[arg(long, value_name = "FOLDER")]
    files: Option<PathBuf>,

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
    if let Some(folder) = &args.files {
        drill::write_files(folder, &plan, &address.to_string())?;
    }
    print_welcome(address, &engines, &args);

    let mut daemon = Daemon::new(plan.clone())?;
    daemon.look_every = Duration::from_secs(1);
    let verdict = Told::new(daemon.found());
    let drill = Drill::new(&plan, daemon.recorder());
    let recent = Arc::new(RecentProbes::default());
    daemon.tell(Arc::clone(&recent) as Arc<dyn Consumer>);
    let board = Board::new(&plan, recent, std::io::stdout().is_terminal());
    let (ask, asked) = oneshot::channel::<()>();
    let shutdown = async {
        let _ = asked.await;
    };
    let daemon = tokio::spawn(daemon.run(listener, shutdown, DRAIN));
    tokio::select! {
        () = signals.next() => {}
        () = show(&args, board, drill, verdict, &engines[0]) => {}
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

/// Keeps the board up to date until the demo's time is over; upgrades the engine on the way, and rolls it back.
async fn show(args: &DemoArgs, mut board: Board, mut drill: Drill, mut verdict: Told, engine: &Handle) {
    let start = Instant::now();
    let end = args.end_after.map(|after| start + after);
    let upgrade = start + args.upgrade_after;
    let rollback = upgrade + args.rollback_after;
    let (mut upgraded, mut rolled_back) = (false, false);
    let mut tick = ticker(start, board.period(), MissedTickBehavior::Skip);
    // A look that came late is made up for: the drill's time goes on by looks.
    let mut look = ticker(start, drill::PERIOD, MissedTickBehavior::Burst);
    loop {
        let now = Instant::now;
        tokio::select! {
            _ = look.tick() => {
                for change in drill.look().into_iter().chain(verdict.news()) {
                    board.tell(now(), &change);
                }
            }
            _ = tick.tick() => board.show(now()),
            () = sleep_until(upgrade), if !upgraded => {
                upgraded = true;
                let faults = UPGRADE.map(|fault| fault.parse::<Fault>().expect("the simulated engine knows this fault"));
                engine.control().set_faults(faults.into());
                board.upgraded(now(), board::UPGRADED, &engine.control().version());
            }
            () = sleep_until(rollback), if !rolled_back => {
                rolled_back = true;
                engine.control().clear_faults();
                let version = engine.control().version();
                board.tell(now(), &format!("{} was rolled back to {version}", board::UPGRADED));
            }
            () = sleep_until(end.unwrap_or(start)), if end.is_some() => return,
        }
    }
}

/// The verdict on the upgrade, told once when it is there.
#[derive(Debug)]
struct Told {
    found: Found,
    verdict: Verdict,
}

impl Told {
    fn new(found: Found) -> Self {
        Self { found, verdict: Verdict::Undecided }
    }

    fn news(&mut self) -> Option<String> {
        let comparison = self.found.of(board::UPGRADED)?;
        let (was, verdict) = (self.verdict, comparison.verdict());
        self.verdict = verdict;
        let is_news = verdict != was && verdict != Verdict::Undecided;
        let (before, after) = (&comparison.before.name, &comparison.after.name);
        is_news.then(|| format!("COMPARED {before} with {after}: {}", sentence::overall(&comparison)))
    }
}

fn ticker(start: Instant, period: Duration, missed: MissedTickBehavior) -> Interval {
    let mut ticker = interval_at(start + period, period);
    ticker.set_missed_tick_behavior(missed);
    ticker
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

fn print_welcome(address: SocketAddr, engines: &[Handle; 2], args: &DemoArgs) {
    let [steady, fast] = engines.each_ref().map(Handle::base_url);
    let upgrade = humantime::format_duration(args.upgrade_after);
    let rollback = humantime::format_duration(args.rollback_after);
    output::print(&format!(
        "\
sloprobe demo: two simulated engines, probed for real. Ctrl-C ends it.

  metrics   http://{address}/metrics
  page      http://{address}/
  engines   steady {steady}   fast {fast}
  promise   95 % of short chats have their first token within 180 ms
  upgrade   after {upgrade}, engine \"steady\" gets a release whose TTFT is three times as long; {rollback} later it is rolled
            back. Alerts are judged at sixty times their usual speed.

For Prometheus:

  scrape_configs:
    - job_name: sloprobe
      static_configs:
        - targets: [\"{address}\"]

"
    ));
}
