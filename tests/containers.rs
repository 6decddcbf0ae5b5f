//! The containers of `deploy/`, as far as they can be had without a container engine: the files are checked by the programs
//! that read them, and the same processes are started from those very files on this machine.

mod common;

#[path = "containers/compose.rs"]
mod compose;
#[path = "containers/health.rs"]
mod health;
#[path = "containers/notify.rs"]
mod notify;
#[path = "containers/settings.rs"]
mod settings;
#[path = "containers/stack.rs"]
mod stack;

use std::fs;
use std::process::Command;

use common::{PATIENCE, Process, root};

/// What to do about a program that is missing.
const REMEDY: &str = "run tests/run.sh, which installs what the tests need (Debian: apt-get install prometheus \
                      prometheus-alertmanager docker-compose)";

/// A file of `deploy/`.
fn deployed(path: &str) -> String {
    let path = root().join("deploy").join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Puts something in the place of something that must be there.
fn replaced(text: &str, pairs: &[(&str, &str)]) -> String {
    pairs.iter().fold(text.to_owned(), |text, (old, new)| {
        assert!(text.contains(old), "{old:?} is not in {text}");
        text.replace(old, new)
    })
}

/// What a program that must succeed says.
async fn said(command: &mut Command) -> String {
    let process = Process::spawn(command)
        .unwrap_or_else(|error| panic!("{command:?} cannot be started: {error}\n    {REMEDY}"));
    let ended = process.ended(PATIENCE).await;
    assert_eq!(ended.code, Some(0), "{command:?}\n{}{}", ended.stdout, ended.stderr);
    ended.stdout
}
