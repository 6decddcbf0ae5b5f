//! `sloprobe config`: what can stand in a configuration.

use std::process::ExitCode;

use clap::{Args, Subcommand};

use super::output;

/// The file itself, so that a binary alone is enough to begin with.
const EXAMPLE: &str = include_str!("../../config/example.toml");

/// Show what can stand in a configuration
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sloprobe config example | less                every key, what it means, what holds without it
  sloprobe config example > sloprobe.toml       to begin with: delete what you do not need
  sloprobe check -c sloprobe.toml --offline     says what is wrong with the result")]
pub(super) struct ConfigCommand {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Print an example that has every key, with what it means and what holds without it
    Example,
}

pub(super) fn run(command: &ConfigCommand) -> ExitCode {
    match command.what {
        What::Example => output::print(EXAMPLE),
    }
    ExitCode::SUCCESS
}
