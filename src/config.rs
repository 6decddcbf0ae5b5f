//! `load(path)` gives a [`Plan`], or every problem found in the file.
//!
//! The file is parsed into a tree that knows where each value stands, and the tree is read by hand rather
//! than by serde: a derived reader stops at its first error, and whoever mends a file wants all of them.

mod certificates;
mod context;
mod endpoint;
mod extra;
mod inputs;
mod keys;
mod lengths;
mod loaded;
mod otlp;
pub mod plan;
mod problem;
mod questions;
mod reader;
mod secret;
mod slo;
mod syntax;
mod target;
mod timeouts;
mod value;
mod way;
mod workload;

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use toml::de::DeTable;

pub use context::Outside;
pub use endpoint::Endpoint;
pub use inputs::{Input, Role, Stamp};
pub use keys::{Keys, SECTIONS};
pub use loaded::{Loaded, Reading};
pub use plan::{Keep, Plan};
pub use problem::{Problem, Problems};

use context::UNREAD;
use problem::Notes;
use reader::Table;

/// Far above any file written by hand; what is larger was named by mistake.
const MAX_FILE_BYTES: u64 = 1024 * 1024;

const NO_FILE: &str = "write one after config/example.toml, or try `sloprobe demo`, which needs none";

/// Reads the file, and the secrets and certificates it names from the environment and from their own files.
pub fn load(path: &Path) -> Result<Plan, Problems> {
    Reading::of(path).outcome.map(|loaded| loaded.plan)
}

/// Reads the file, but no secret and no certificate: for whoever sends nothing. The plan holds a word in the place of each
/// secret.
pub fn load_without_secrets(path: &Path) -> Result<Plan, Problems> {
    let (name, text, folder) = open(path)?;
    let prompts = |path: &Path| context::read_prompts(&folder.join(path));
    let (env, file) = (|_: &str| Some(UNREAD.to_owned()), |_: &Path| Ok(UNREAD.to_owned()));
    parse(&name, &text, &Outside { env: &env, file: &file, text: &prompts })
}

/// The name, the text and the folder of a file.
fn open(path: &Path) -> Result<(String, String, &Path), Problems> {
    let name = path.display().to_string();
    let text = read_text(path).map_err(|problem| Problems::one(&name, problem))?;
    Ok((name, text, path.parent().unwrap_or(Path::new(""))))
}

/// Reads a text that is at hand; the files that it names lie in `folder`.
fn load_text(name: &str, text: &str, folder: &Path) -> Result<Plan, Problems> {
    Reading::of_text(name, text, folder).outcome.map(|loaded| loaded.plan)
}

/// Reads the text of a configuration; `name` is what messages call it.
pub fn parse(name: &str, text: &str, outside: &Outside<'_>) -> Result<Plan, Problems> {
    let (tree, errors) = DeTable::parse_recoverable(text);
    let notes = Notes::new(text);
    syntax::note(&errors, &notes, text);
    let root = Table::root(tree.get_ref(), &notes);
    match plan::read(&root, outside) {
        Some(plan) if notes.is_empty() => Ok(plan),
        _ => Err(notes.into_problems(name)),
    }
}

fn read_at_most(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit { Err(io::ErrorKind::FileTooLarge.into()) } else { Ok(bytes) }
}

fn read_text(path: &Path) -> Result<String, Problem> {
    let bytes = read_at_most(path, MAX_FILE_BYTES).map_err(|error| match error.kind() {
        io::ErrorKind::FileTooLarge => unreadable("larger than 1 MiB", "name a configuration of sloprobe"),
        _ => unreadable(&context::explain(&error), NO_FILE),
    })?;
    String::from_utf8(bytes).map_err(|error| {
        let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = good.split(|byte| *byte == b'\n').count();
        let subject = "text".into();
        Problem {
            line: Some(line),
            subject,
            ..unreadable("not UTF-8 from here on", "save the file as UTF-8")
        }
    })
}

fn unreadable(what: &str, remedy: &str) -> Problem {
    Problem { line: None, subject: String::new(), what: what.into(), remedy: remedy.into() }
}
