//! Where a history is, and connections to it.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use super::Error;
use super::schema::{self, APPLICATION_ID, VERSION};

/// How long one connection waits for another: a write takes milliseconds.
const PATIENCE: Duration = Duration::from_secs(5);

/// The journal shrinks to this after it was larger.
const JOURNAL_BYTES: i64 = 8 << 20;

#[derive(Debug, Clone)]
pub(super) enum Store {
    File(PathBuf),
    /// By a name that this process alone has; it is gone with its last connection.
    Memory(String),
}

impl Store {
    pub(super) fn new(path: Option<&Path>) -> Self {
        static MEMORIES: AtomicU64 = AtomicU64::new(0);
        path.map_or_else(
            || {
                let number = MEMORIES.fetch_add(1, Ordering::Relaxed);
                Self::Memory(format!("file:sloprobe-history-{number}?mode=memory&cache=shared"))
            },
            |path| Self::File(path.to_owned()),
        )
    }

    /// As messages name it.
    pub(super) fn path(&self) -> &Path {
        match self {
            Self::File(path) => path,
            Self::Memory(_) => Path::new("in memory"),
        }
    }

    /// A connection that writes; the file is created or brought up to date.
    pub(super) fn write(&self) -> Result<Connection, Error> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let opened = match self {
            Self::File(path) => Connection::open_with_flags(path, flags),
            Self::Memory(name) => Connection::open_with_flags(name, flags | OpenFlags::SQLITE_OPEN_URI),
        };
        let why = |cause| Error::opening(self.path(), cause);
        let mut connection = opened.map_err(why)?;
        connection.busy_timeout(PATIENCE).map_err(why)?;
        if is_empty(&connection).map_err(why)? {
            schema::prepare(&connection).map_err(why)?;
        } else {
            check(&connection, self.path())?;
        }
        settle_down(&connection).map_err(why)?;
        schema::migrate(&mut connection, schema::STEPS).map_err(why)?;
        Ok(connection)
    }

    /// How much room it takes, the journal included.
    pub(super) fn bytes(&self, connection: &Connection) -> Option<u64> {
        match self {
            Self::File(path) => {
                let mut journal = path.clone().into_os_string();
                journal.push("-wal");
                let length = |path: &Path| std::fs::metadata(path).map_or(0, |file| file.len());
                Some(length(path) + length(Path::new(&journal)))
            }
            Self::Memory(_) => {
                let pragma =
                    |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).ok();
                u64::try_from(pragma("page_count")? * pragma("page_size")?).ok()
            }
        }
    }

    /// A connection that only reads.
    pub(super) fn read(&self) -> Result<Connection, Error> {
        let connection = match self {
            Self::File(path) => open_to_read(path)?,
            Self::Memory(name) => {
                let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
                    | OpenFlags::SQLITE_OPEN_URI
                    | OpenFlags::SQLITE_OPEN_NO_MUTEX;
                let connection = Connection::open_with_flags(name, flags)?;
                // Otherwise the one that reads would lock out the one that writes: memory has no journal between them.
                connection.pragma_update(None, "read_uncommitted", true)?;
                connection.pragma_update(None, "query_only", true)?;
                connection
            }
        };
        connection.busy_timeout(PATIENCE)?;
        Ok(connection)
    }
}

fn open_to_read(path: &Path) -> Result<Connection, Error> {
    if !path.exists() {
        return Err(Error::Missing { path: path.to_owned() });
    }
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(|cause| Error::opening(path, cause))?;
    check(&connection, path)?;
    let found = schema::version(&connection)?;
    if found < VERSION {
        return Err(Error::Older { path: path.to_owned(), found, known: VERSION });
    }
    Ok(connection)
}

/// Whether nobody has written anything yet.
fn is_empty(connection: &Connection) -> rusqlite::Result<bool> {
    let objects: i64 = connection.query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get(0))?;
    let id: i32 = connection.pragma_query_value(None, "application_id", |row| row.get(0))?;
    Ok(objects == 0 && (id == 0 || id == APPLICATION_ID))
}

/// Whether it is a history of ours, and one that this version understands.
fn check(connection: &Connection, path: &Path) -> Result<(), Error> {
    let why = |cause| Error::opening(path, cause);
    let id: i32 = connection.pragma_query_value(None, "application_id", |row| row.get(0)).map_err(why)?;
    if id != APPLICATION_ID {
        return Err(Error::Foreign { path: path.to_owned() });
    }
    let found = schema::version(connection).map_err(why)?;
    if found > VERSION {
        return Err(Error::Newer { path: path.to_owned(), found, known: VERSION });
    }
    Ok(())
}

/// The journal lets others read meanwhile and outlives a kill at any moment; what a power cut takes is the last
/// seconds, never the file.
fn settle_down(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(()))?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    connection.pragma_update_and_check(None, "journal_size_limit", JOURNAL_BYTES, |_| Ok(()))
}
