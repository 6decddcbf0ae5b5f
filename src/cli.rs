//! The command line: one file per command.

mod check;
mod compare;
mod completions;
mod config;
mod context;
mod dashboards;
mod demo;
mod endpoint;
mod health;
mod man;
mod mark;
mod moment;
mod once;
mod output;
mod peer;
mod prompt;
mod report;
mod rules;
mod run;
mod service;
mod signals;
mod simulate;
mod table;
mod which;

use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand, ValueEnum};
use tokio::runtime::Builder;
use tracing_appender::non_blocking::WorkerGuard;
use tracing_subscriber::EnvFilter;

use crate::config::Plan;

/// Exit code for a probe that failed, or a daemon that had to give up.
const FAILED: u8 = 1;
/// Exit code for a mistake in the command line or the configuration.
const MISUSED: u8 = 2;

/// Watches LLM inference endpoints around the clock.
#[derive(Debug, Parser)]
#[command(name = "sloprobe", version, after_help = EXAMPLES, max_term_width = 100)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,

    /// How much to log: a level, or directives such as "warn,sloprobe::schedule=debug"
    /// [default: info; error in the demo]
    #[arg(
        long,
        global = true,
        help_heading = "Logging",
        env = "SLOPROBE_LOG",
        value_name = "FILTER",
        verbatim_doc_comment
    )]
    log: Option<String>,

    /// How to write log lines
    #[arg(long, global = true, help_heading = "Logging", value_enum, default_value_t = LogFormat::Text)]
    log_format: LogFormat,
}

const EXAMPLES: &str = "\
Examples:
  sloprobe demo                       see it at work: no key, no GPU, no configuration
  sloprobe config example             every key of the configuration, explained
  sloprobe check -c sloprobe.toml     what would be sent, how often, at what cost
  sloprobe once  -c sloprobe.toml     one probe of each workload, now, as a table
  sloprobe run   -c sloprobe.toml     the daemon; metrics at http://127.0.0.1:9788/metrics
  sloprobe compare -c sloprobe.toml   what the last upgrade did to each workload
  sloprobe report -c sloprobe.toml    what was measured, as benchmark tools tell it
  sloprobe rules -c sloprobe.toml     alert rules for Prometheus, from the objectives in the file
  sloprobe dashboards                 the dashboards for Grafana

Exit codes: 0 fine, 1 a probe failed, nothing was found or the daemon gave up, 2 a mistake in the command line or the configuration.";

#[derive(Debug, Subcommand)]
enum Command {
    Run(run::RunArgs),
    Once(once::OnceArgs),
    Check(check::CheckArgs),
    Compare(compare::CompareArgs),
    Report(report::ReportArgs),
    Rules(rules::RulesArgs),
    Dashboards(dashboards::DashboardsArgs),
    Mark(mark::MarkArgs),
    Health(health::HealthArgs),
    Prompt(prompt::PromptArgs),
    Simulate(simulate::SimulateArgs),
    Demo(demo::DemoArgs),
    Config(config::ConfigCommand),
    Completions(completions::CompletionsArgs),
    Man(man::ManArgs),
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum LogFormat {
    Text,
    Json,
}

/// Where the configuration is.
#[derive(Debug, Args)]
struct ConfigArgs {
    /// The configuration file
    #[arg(short, long, env = "SLOPROBE_CONFIG", default_value = "sloprobe.toml", value_name = "FILE")]
    config: PathBuf,
}

impl ConfigArgs {
    /// The plan; otherwise every problem is printed and the exit code given.
    fn load(&self) -> Result<Plan, ExitCode> {
        crate::config::load(&self.config).map_err(|problems| {
            eprintln!("{problems}");
            ExitCode::from(MISUSED)
        })
    }
}

/// Runs a command from its first log line to its last.
pub fn start(cli: Cli) -> ExitCode {
    // Log lines would tear the demo's table apart.
    let quiet = if matches!(cli.command, Command::Demo(_)) { "error" } else { "info" };
    let filter = cli.log.as_deref().unwrap_or(quiet);
    let _flushed_at_the_end = match start_logging(filter, cli.log_format) {
        Ok(guard) => guard,
        Err(error) => {
            eprintln!(
                "--log {filter:?}: {error}\n    write a level (error, warn, info, debug, trace) or directives"
            );
            return ExitCode::from(MISUSED);
        }
    };
    let runtime = match Builder::new_multi_thread().enable_all().on_thread_start(give_way).build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("sloprobe: cannot start its threads: {error}");
            return ExitCode::from(FAILED);
        }
    };
    let code = runtime.block_on(run(cli));
    // A name server that hangs would hold up the end: its threads are left behind.
    runtime.shutdown_background();
    code
}

/// Lets threads that measure go first: this one serves, asks or looks things up, and may do so a little later.
fn give_way() {
    // It is a courtesy: where it is refused, nothing is lost.
    let _ = rustix::process::nice(GIVE_WAY);
}

async fn run(cli: Cli) -> ExitCode {
    let outcome = match cli.command {
        Command::Run(args) => run::run(args).await,
        Command::Once(args) => once::run(args).await,
        Command::Check(args) => Ok(check::run(&args).await),
        Command::Compare(args) => compare::run(&args),
        Command::Report(args) => report::run(&args),
        Command::Rules(args) => Ok(rules::run(args)),
        Command::Dashboards(args) => dashboards::run(&args),
        Command::Mark(args) => mark::run(&args).await,
        Command::Health(args) => Ok(health::run(&args).await),
        Command::Prompt(args) => Ok(prompt::run(&args)),
        Command::Simulate(args) => simulate::run(args).await,
        Command::Demo(args) => demo::run(args).await,
        Command::Config(args) => Ok(config::run(&args)),
        Command::Completions(args) => Ok(completions::run(&args)),
        Command::Man(args) => man::run(&args),
    };
    outcome.unwrap_or_else(|error| {
        eprintln!("sloprobe: {error:#}");
        ExitCode::from(FAILED)
    })
}

/// How much later, as `nice` counts: a busy thread beside one that measures gets a tenth of its time.
const GIVE_WAY: i32 = 10;

/// What is never logged in more detail than this: at their lower levels, libraries that carry requests may
/// show what is in them, and keys are in them.
const DISCREET: &str = "h2=info,hyper=info,hyper_util=info,reqwest=info,rustls=info";

/// Logs go to standard error: standard output is for results. Lines are written by a thread of their own, because a
/// slow terminal or a full pipe must not hold up what is measured; dropping the guard writes what waits.
fn start_logging(filter: &str, format: LogFormat) -> Result<WorkerGuard, String> {
    let filter = EnvFilter::try_new(format!("{filter},{DISCREET}")).map_err(|e| e.to_string())?;
    let (writer, guard) = tracing_appender::non_blocking(std::io::stderr());
    let builder = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_target(false)
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(writer);
    match format {
        LogFormat::Text => builder.try_init(),
        LogFormat::Json => builder.json().flatten_event(true).try_init(),
    }
    .map_err(|e| e.to_string())?;
    Ok(guard)
}
