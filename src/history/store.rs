//! Where a history is, and connections to it.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags};

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

    /// Whether the file still has its name.
    pub(super) fn is_there(&self) -> bool {
        match self {
            Self::File(path) => path.exists(),
            Self::Memory(_) => true,
        }
    }

    /// How much room it takes, the journal included.
    pub(super) fn bytes(&self, connection: &Connection) -> Option<u64> {
        match self {
            Self::File(path) => {
                let length = |path: &Path| std::fs::metadata(path).map_or(0, |file| file.len());
                Some(length(path) + length(&journal(path)))
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
    let opened = Connection::open_with_flags(path, flags).and_then(|connection| {
        schema::version(&connection)?;
        Ok(connection)
    });
    let opened = match opened {
        // In a folder that we may not write SQLite cannot prepare for others that write; without a journal there are none.
        Err(cause) if cause.sqlite_error_code() == Some(ErrorCode::CannotOpen) && !journal(path).exists() => {
            Connection::open_with_flags(unchanging(path), flags | OpenFlags::SQLITE_OPEN_URI)
        }
        opened => opened,
    };
    let connection = opened.map_err(|cause| Error::opening(path, cause))?;
    check(&connection, path)?;
    let found = schema::version(&connection)?;
    if found < VERSION {
        return Err(Error::Older { path: path.to_owned(), found, known: VERSION });
    }
    Ok(connection)
}

fn journal(path: &Path) -> PathBuf {
    let mut journal = path.to_owned().into_os_string();
    journal.push("-wal");
    journal.into()
}

/// The address of a file that nobody writes.
fn unchanging(path: &Path) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/._-".contains(byte);
    let bytes = path.as_os_str().as_encoded_bytes().iter();
    let name: String = bytes
        .map(|byte| if plain(byte) { char::from(*byte).to_string() } else { format!("%{byte:02x}") })
        .collect();
    format!("file:{name}?immutable=1")
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

#[cfg(test)]
mod tests {
    use super::*;

    fn foreign(path: &Path, sql: &str) {
        Connection::open(path).unwrap().execute_batch(sql).unwrap();
    }

    fn refusals(path: &Path) -> [String; 2] {
        let store = Store::File(path.to_owned());
        [store.write().unwrap_err().to_string(), store.read().unwrap_err().to_string()]
    }

    #[test]
    fn files_that_are_no_history_are_refused_with_their_path_and_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.db");
        for contents in ["not a database at all ".repeat(100), "short".to_owned()] {
            std::fs::write(&path, &contents).unwrap();
            for refusal in refusals(&path) {
                assert!(refusal.starts_with(&format!("{} is not a history", path.display())), "{refusal}");
            }
            assert_eq!(std::fs::read_to_string(&path).unwrap(), contents);
        }
        let path = folder.path().join("y.db");
        foreign(&path, "CREATE TABLE somebodys (x); PRAGMA user_version = 1;");
        for refusal in refusals(&path) {
            assert!(refusal.starts_with(&format!("{} is not a history", path.display())), "{refusal}");
        }
    }

    #[test]
    fn a_newer_schema_is_refused_and_an_older_one_only_for_reading() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.db");
        let store = Store::File(path.clone());
        drop(store.write().unwrap());
        foreign(&path, "PRAGMA user_version = 99;");
        for refusal in refusals(&path) {
            let newer = format!("newer sloprobe (schema 99, this one knows {VERSION})");
            assert!(refusal.contains(&newer), "{refusal}");
        }
        foreign(&path, "PRAGMA user_version = 0;");
        let refusal = store.read().unwrap_err().to_string();
        assert!(refusal.contains("older sloprobe"), "{refusal}");
    }

    #[test]
    fn a_file_that_cannot_be_tells_what_to_do() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("nowhere/x.db");
        let [write, read] = refusals(&path);
        assert!(
            write.contains("nowhere/x.db cannot be opened") && write.contains("folder must exist"),
            "{write}"
        );
        assert!(read.starts_with("there is no history at "), "{read}");
    }

    #[test]
    fn an_empty_file_becomes_a_history_that_is_opened_again_and_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.db");
        std::fs::write(&path, "").unwrap();
        let store = Store::File(path);
        for _ in 0..2 {
            let connection = store.write().unwrap();
            let pragma =
                |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0)).unwrap();
            assert_eq!([pragma("auto_vacuum"), pragma("synchronous")], [2, 1]);
            assert_eq!(pragma("user_version"), i64::from(VERSION));
            let mode: String = connection.pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap();
            assert_eq!(mode, "wal");
        }
        store.read().unwrap();
    }

    #[test]
    fn a_file_that_nobody_writes_is_found_by_its_address() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a b?c#d%41é.db");
        drop(Store::File(path.clone()).write().unwrap());
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
        let connection = Connection::open_with_flags(unchanging(&path), flags).unwrap();
        assert_eq!(schema::version(&connection).unwrap(), VERSION);
    }
}
