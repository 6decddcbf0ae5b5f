//! The binary: parse, run, return the exit code.

use std::process::ExitCode;

use clap::Parser as _;
use mimalloc::MiMalloc;
use sloprobe::cli::Cli;

/// Reports are made on one thread and dropped on another, which this allocator takes in its stride; and in the container
/// it stands in for that of musl, which is slow.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    sloprobe::cli::start(Cli::parse())
}
