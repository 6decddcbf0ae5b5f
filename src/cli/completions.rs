//! `sloprobe completions`: what the Tab key knows.

use std::process::ExitCode;

use clap::{Args, CommandFactory as _};
use clap_complete::Shell;

use super::{Cli, output};

/// Write completions for a shell: commands, options and their values, at the Tab key
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sloprobe completions bash > ~/.local/share/bash-completion/completions/sloprobe
  sloprobe completions bash | sudo tee /usr/share/bash-completion/completions/sloprobe
  sloprobe completions zsh > ~/.zfunc/_sloprobe
  sloprobe completions fish > ~/.config/fish/completions/sloprobe.fish
  source <(sloprobe completions bash)     for this shell alone

They work in shells that are started from then on; make the folder first if it is not there.
Bash needs the package bash-completion. Zsh needs, in ~/.zshrc, fpath+=(~/.zfunc) and after it
autoload -Uz compinit && compinit. Fish needs nothing.")]
pub(super) struct CompletionsArgs {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

pub(super) fn run(args: &CompletionsArgs) -> ExitCode {
    // Written to memory first: the generator panics if its reader goes away.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "sloprobe", &mut script);
    output::print(&String::from_utf8_lossy(&script));
    ExitCode::SUCCESS
}
