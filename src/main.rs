//! The binary: parse, run, return the exit code.

use std::process::ExitCode;

use clap::Parser as _;
use sloprobe::cli::Cli;

#[tokio::main]
async fn main() -> ExitCode {
    sloprobe::cli::run(Cli::parse()).await
}
