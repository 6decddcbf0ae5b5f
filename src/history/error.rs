//! Why a history cannot be used, and what helps.

use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("there is no history at {}: give the path that the daemon was told to keep it at", .path.display())]
    Missing { path: PathBuf },
    #[error("{} is not a history of sloprobe: give the path of another file, or of one that does not exist yet", .path.display())]
    Foreign { path: PathBuf },
    #[error(
        "{} was written by a newer sloprobe (schema {found}, this one knows {known}): use that one, or another file",
        .path.display()
    )]
    Newer { path: PathBuf, found: u32, known: u32 },
    #[error(
        "{} was written by an older sloprobe (schema {found}, this one reads {known}): let the daemon open it once",
        .path.display()
    )]
    Older { path: PathBuf, found: u32, known: u32 },
    #[error("the history {} cannot be opened: {cause}: {remedy}", .path.display())]
    Open { path: PathBuf, cause: rusqlite::Error, remedy: &'static str },
    #[error("the history cannot be read: {0}")]
    Read(#[from] rusqlite::Error),
    #[error("the history cannot be written: {0}")]
    Write(String),
    #[error("the thread that writes the history cannot be started: {0}")]
    Thread(std::io::Error),
}

impl Error {
    /// It is the disk or somebody else who stands in the way, and not a mistake in the path.
    pub fn may_pass(&self) -> bool {
        use ErrorCode::{DatabaseBusy, DatabaseCorrupt, DatabaseLocked, DiskFull, ReadOnly, SystemIoFailure};
        let Self::Open { cause, .. } = self else { return false };
        let passing = [DatabaseBusy, DatabaseCorrupt, DatabaseLocked, DiskFull, ReadOnly, SystemIoFailure];
        cause.sqlite_error_code().is_some_and(|code| passing.contains(&code))
    }

    /// Without the words around it, for those who say them themselves.
    pub(super) fn cause(&self) -> String {
        match self {
            Self::Read(cause) => cause.to_string(),
            other => other.to_string(),
        }
    }

    pub(super) fn is_of(&self, code: ErrorCode) -> bool {
        matches!(self, Self::Read(cause) if cause.sqlite_error_code() == Some(code))
    }

    /// What stands in the way of opening a file.
    pub(super) fn opening(path: &Path, cause: rusqlite::Error) -> Self {
        let path = path.to_owned();
        let remedy = match cause.sqlite_error_code() {
            Some(ErrorCode::NotADatabase) => return Self::Foreign { path },
            Some(ErrorCode::DiskFull) => "make room on the disk",
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => "end what else holds the file",
            Some(ErrorCode::DatabaseCorrupt) => {
                "move the file away, or repair it with `sqlite3 FILE .recover`"
            }
            _ => "its folder must exist and be writable for sloprobe's user, and so must the file",
        };
        Self::Open { path, cause, remedy }
    }
}
