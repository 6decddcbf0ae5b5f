//! The files that a plan was read from, and how each looked at that time.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// One file that a plan was read from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Input {
    pub path: PathBuf,
    pub role: Role,
    /// How it looked just before it was read; `None` if it was not there.
    pub stamp: Option<Stamp>,
}

/// What a file is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The configuration itself.
    Configuration,
    /// The questions of a workload.
    Prompts,
    /// A secret, a certificate or its key: what somebody renews now and then.
    Credential,
}

/// How a file looks from outside. In Kubernetes a path leads through links to a folder that is replaced as a whole, so
/// the place where the path ends is part of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stamp {
    end: PathBuf,
    device: u64,
    inode: u64,
    modified: (i64, i64),
    bytes: u64,
}

impl Input {
    /// How the file looks now.
    pub(super) fn at(path: PathBuf, role: Role) -> Self {
        Self { stamp: Stamp::of(&path), path, role }
    }

    /// The same file as it looks now.
    #[must_use]
    pub fn again(&self) -> Self {
        Self::at(self.path.clone(), self.role)
    }
}

impl Stamp {
    fn of(path: &Path) -> Option<Self> {
        let end = fs::canonicalize(path).ok()?;
        let found = fs::metadata(&end).ok()?;
        Some(Self {
            end,
            device: found.dev(),
            inode: found.ino(),
            modified: (found.mtime(), found.mtime_nsec()),
            bytes: found.len(),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_file_that_is_written_replaced_or_removed_looks_different() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        let look = || Input::at(path.clone(), Role::Credential);
        let absent = look();
        assert_eq!(absent.stamp, None);
        fs::write(&path, "one").unwrap();
        let written = look();
        assert_ne!(written, absent);
        assert_eq!(written, written.again());
        let other = folder.path().join("other");
        fs::write(&other, "two").unwrap();
        fs::rename(&other, &path).unwrap();
        assert_ne!(written, written.again(), "of the same length, but another file");
        fs::remove_file(&path).unwrap();
        assert_eq!(look(), absent);
    }

    #[test]
    fn a_link_that_leads_elsewhere_looks_different() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for version in ["v1", "v2"] {
            fs::create_dir(at(version)).unwrap();
            fs::write(at(version).join("key"), "same").unwrap();
        }
        symlink("v1", at("..data")).unwrap();
        symlink("..data/key", at("key")).unwrap();
        let before = Input::at(at("key"), Role::Credential);
        symlink("v2", at("..next")).unwrap();
        fs::rename(at("..next"), at("..data")).unwrap();
        assert_ne!(before, before.again());
    }
}
