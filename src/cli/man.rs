//! `sloprobe man`: the help of every command as manual pages.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result};
use clap::{Args, Command, CommandFactory as _};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

use super::{Cli, output};

/// Write the manual: one page about sloprobe, or with --out one about each command as well
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sloprobe man | man -l -                               read it now
  sloprobe man --out pages                              sloprobe.1, sloprobe-run.1 and so on
  sudo sloprobe man --out /usr/local/share/man/man1     install them: `man sloprobe-run` works")]
pub(super) struct ManArgs {
    /// Write all pages into this folder, which is made if it is not there
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
}

pub(super) fn run(args: &ManArgs) -> Result<ExitCode> {
    // `sloprobe help` needs no page beside those of the commands.
    let mut root = Cli::command().disable_help_subcommand(true);
    root.build();
    match &args.out {
        Some(folder) => {
            let with_folder = || format!("cannot write to {}", folder.display());
            fs::create_dir_all(folder).with_context(with_folder)?;
            write_all(&root, folder).with_context(with_folder)?;
        }
        None => output::print(&String::from_utf8_lossy(&page(&root)?)),
    }
    Ok(ExitCode::SUCCESS)
}

/// The page of a command, and those of the commands below it.
fn write_all(command: &Command, folder: &Path) -> io::Result<()> {
    let name = Man::new(command.clone()).get_filename();
    fs::write(folder.join(name), page(command)?)?;
    command.get_subcommands().try_for_each(|below| write_all(below, folder))
}

fn page(command: &Command) -> io::Result<Vec<u8>> {
    let man = Man::new(command.clone())
        .source(concat!("sloprobe ", env!("CARGO_PKG_VERSION")))
        .manual("Manual of sloprobe");
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut page)?;
    }
    if let Some(help) = command.get_after_help() {
        after_help(&help.to_string()).to_writer(&mut page)?;
    }
    see_also(command).to_writer(&mut page)?;
    Ok(page)
}

/// What stands below the options. The generator would run its lines together: examples and tables keep theirs.
fn after_help(help: &str) -> Roff {
    let mut roff = Roff::new();
    let mut is_in_notes = false;
    for block in help.split("\n\n") {
        let heading = block.split_once(":\n").filter(|(_, rest)| rest.starts_with("  "));
        if let Some((heading, rest)) = heading {
            roff.control("SH", [heading.to_uppercase().as_str()]);
            is_in_notes = false;
            verbatim(&mut roff, rest);
            continue;
        }
        if !is_in_notes {
            roff.control("SH", ["NOTES"]);
            is_in_notes = true;
        }
        roff.control("PP", []);
        if block.lines().any(|line| line.trim_start().contains("  ")) {
            verbatim(&mut roff, block);
        } else {
            for line in block.lines() {
                roff.text([roman(line)]);
            }
        }
    }
    roff
}

fn verbatim(roff: &mut Roff, text: &str) {
    roff.control("nf", []);
    for line in text.lines() {
        roff.text([roman(line.strip_prefix("  ").unwrap_or(line))]);
    }
    roff.control("fi", []);
}

/// A page leads to the others: that of sloprobe lists them, those of commands lead back.
fn see_also(command: &Command) -> Roff {
    let mut roff = Roff::new();
    roff.control("SH", ["SEE ALSO"]);
    let home = concat!(env!("CARGO_PKG_REPOSITORY"), " has what a page cannot hold.");
    if command.get_name() == "sloprobe" {
        roff.text([roman(home)]);
    } else {
        roff.text([bold("sloprobe"), roman("(1); "), roman(home)]);
    }
    roff
}
