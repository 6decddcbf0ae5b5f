//! The binary: parse, run, return the exit code.

use std::process::ExitCode;

use clap::Parser as _;
use sloprobe::cli::Cli;

fn main() -> ExitCode {
    sloprobe::cli::start(Cli::parse())
}
