//! What the configuration reaches for outside its own text.

use std::fmt;
use std::io;
use std::path::Path;

/// A key is shorter, and so are all certificate authorities of a system; a whole disk image named by mistake is not
/// read into memory.
const MAX_SECRET_BYTES: u64 = 1024 * 1024;

/// In the place of a secret, and of a file of certificates, that is not to be read.
pub(super) const UNREAD: &str = "unread";

/// All of it is kept in memory.
const MAX_PROMPTS_BYTES: u64 = 64 * 1024 * 1024;

/// The environment and the files that the configuration names, passed in so that tests need neither.
#[derive(Clone, Copy)]
pub struct Outside<'a> {
    pub env: &'a dyn Fn(&str) -> Option<String>,
    /// Files of secrets and of certificates.
    pub file: &'a dyn Fn(&Path) -> io::Result<String>,
    /// Files of prompts, which are no secret and longer.
    pub text: &'a dyn Fn(&Path) -> io::Result<String>,
}

impl fmt::Debug for Outside<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Outside")
    }
}

pub(super) fn read_secret(path: &Path) -> io::Result<String> {
    read(path, MAX_SECRET_BYTES)
}

pub(super) fn read_prompts(path: &Path) -> io::Result<String> {
    read(path, MAX_PROMPTS_BYTES)
}

fn read(path: &Path, limit: u64) -> io::Result<String> {
    let bytes = super::read_at_most(path, limit)?;
    String::from_utf8(bytes).map_err(|_| io::ErrorKind::InvalidData.into())
}

/// The same words on every platform for the usual reasons; none of them quotes the file.
pub(super) fn explain(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no such file".into(),
        io::ErrorKind::PermissionDenied => "this user may not read it".into(),
        io::ErrorKind::IsADirectory => "it is a directory".into(),
        io::ErrorKind::FileTooLarge => "it is too large".into(),
        io::ErrorKind::InvalidData => "it is not UTF-8 text".into(),
        _ => format!("it cannot be read: {error}"),
    }
}
