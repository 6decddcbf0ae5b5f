//! What is too old or too much goes, a little at a time.

use std::time::{Duration, SystemTime};

use rusqlite::{Connection, Transaction, TransactionBehavior, params};

use super::Settings;
use super::hours;
use super::units::{micros, micros_of};

/// How often.
pub(super) const EVERY: Duration = Duration::from_secs(60);

/// So many probes go in one round, or twice as many as came since the last, if that is more.
pub(super) const ROUND: usize = 5000;

/// So many go in one transaction.
const CHUNK: usize = 500;

/// The oldest of one target go before those of another that are this much younger.
const SLICE: Duration = Duration::from_secs(3600);

/// The last releases and marks of a target stay, however old they are: what it runs now is one of them.
const LAST: i64 = 2;

/// Pages that go back to the disk in one round, and in one transaction of it.
const PAGES: i64 = 2000;
const PAGES_AT_ONCE: i64 = 500;

/// Free pages are filled again soon: only if one in so many is free, the file shrinks.
const FREE_SHARE: i64 = 20;

/// How long and how much is kept.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    keep: Duration,
    max_bytes: u64,
}

/// The pages of the file.
struct Pages {
    size: i64,
    all: i64,
    free: i64,
}

impl Bounds {
    pub(super) fn of(settings: &Settings) -> Self {
        Self { keep: settings.keep, max_bytes: settings.max_bytes }
    }

    /// One round, of which at most so many probes go; how many went.
    pub(super) fn enforce(
        self,
        connection: &mut Connection,
        now: SystemTime,
        most: usize,
    ) -> rusqlite::Result<usize> {
        let limit = micros_of(now).saturating_sub(micros(self.keep));
        let mut gone = 0;
        loop {
            let too_old = drop_oldest(connection, limit, most - gone)?;
            gone += too_old;
            if too_old == 0 || gone >= most {
                break;
            }
        }
        while gone < most && self.is_exceeded(connection)? {
            match drop_oldest(connection, i64::MAX, most - gone)? {
                0 => break,
                count => gone += count,
            }
        }
        if gone > 0 {
            forget(connection, limit)?;
        }
        give_back(connection)?;
        checkpoint(connection)?;
        Ok(gone)
    }

    fn is_exceeded(self, connection: &Connection) -> rusqlite::Result<bool> {
        let pages = Pages::of(connection)?;
        Ok((pages.all - pages.free) * pages.size > i64::try_from(self.max_bytes).unwrap_or(i64::MAX))
    }
}

impl Pages {
    fn of(connection: &Connection) -> rusqlite::Result<Self> {
        let pragma = |name| connection.pragma_query_value(None, name, |row| row.get(0));
        Ok(Self { size: pragma("page_size")?, all: pragma("page_count")?, free: pragma("freelist_count")? })
    }
}

/// Of the target that has the oldest probe, the oldest before the limit: at most one transaction of them.
fn drop_oldest(connection: &mut Connection, limit: i64, most: usize) -> rusqlite::Result<usize> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let firsts: Vec<(i64, i64)> = transaction
        .prepare_cached(
            "SELECT id, (SELECT min(at) FROM probes p WHERE p.target = t.id) AS first FROM targets t
             WHERE first IS NOT NULL ORDER BY first LIMIT 2",
        )?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<_, _>>()?;
    let Some((target, _)) = firsts.first() else { return Ok(0) };
    let next = firsts.get(1).map_or(i64::MAX, |(_, first)| first.saturating_add(micros(SLICE)));
    let count = drop_probes(&transaction, *target, limit.min(next), most.min(CHUNK))?;
    transaction.commit()?;
    Ok(count)
}

fn drop_probes(
    transaction: &Transaction<'_>,
    target: i64,
    limit: i64,
    most: usize,
) -> rusqlite::Result<usize> {
    let probes: Vec<(i64, i64)> = transaction
        .prepare_cached("SELECT at, id FROM probes WHERE target = ?1 AND at < ?2 ORDER BY at, id LIMIT ?3")?
        .query_map(params![target, limit, most as u32], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<_, _>>()?;
    let Some((at, id)) = probes.last() else { return Ok(0) };
    transaction
        .prepare_cached("DELETE FROM probes WHERE target = ?1 AND at <= ?2 AND (at < ?2 OR id <= ?3)")?
        .execute([target, *at, *id])?;
    hours::forget(transaction, target, *at)?;
    for (_, id) in &probes {
        transaction.prepare_cached("DELETE FROM gaps WHERE probe = ?1")?.execute([id])?;
        transaction.prepare_cached("DELETE FROM texts WHERE probe = ?1")?.execute([id])?;
    }
    Ok(probes.len())
}

/// Releases and marks that lie before all probes of their target, but for its last ones.
fn forget(connection: &mut Connection, limit: i64) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let targets: Vec<(i64, Option<i64>)> = transaction
        .prepare_cached("SELECT id, (SELECT min(at) FROM probes p WHERE p.target = t.id) FROM targets t")?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect::<Result<_, _>>()?;
    for (target, first) in targets {
        let first = first.unwrap_or(limit);
        transaction
            .prepare_cached(
                "DELETE FROM marks WHERE target = ?1 AND at < ?2 AND id NOT IN
                   (SELECT id FROM marks WHERE target = ?1 ORDER BY at DESC, id DESC LIMIT ?3)",
            )?
            .execute([target, first, LAST])?;
        forget_releases(&transaction, target, first)?;
    }
    transaction.commit()
}

/// The oldest first, up to one that a probe refers to: that one is found at once, as its probes are the oldest, too.
fn forget_releases(transaction: &Transaction<'_>, target: i64, first: i64) -> rusqlite::Result<()> {
    let old: Vec<i64> = transaction
        .prepare_cached(
            "SELECT id FROM releases WHERE target = ?1 AND began < ?2 AND id NOT IN
               (SELECT id FROM releases WHERE target = ?1 ORDER BY began DESC LIMIT ?3) ORDER BY began",
        )?
        .query_map([target, first, LAST], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    for release in old {
        let is_needed: bool = transaction
            .prepare_cached("SELECT EXISTS (SELECT 1 FROM probes WHERE target = ?1 AND release = ?2)")?
            .query_row([target, release], |row| row.get(0))?;
        if is_needed {
            break;
        }
        transaction.prepare_cached("DELETE FROM releases WHERE id = ?1")?.execute([release])?;
    }
    Ok(())
}

/// Shortens the file if much of it is free.
fn give_back(connection: &Connection) -> rusqlite::Result<()> {
    for _ in 0..PAGES / PAGES_AT_ONCE {
        let pages = Pages::of(connection)?;
        if pages.free * FREE_SHARE < pages.all {
            break;
        }
        // It gives back one page for each row that is asked for.
        let mut vacuum = connection.prepare_cached(&format!("PRAGMA incremental_vacuum({PAGES_AT_ONCE})"))?;
        let mut rows = vacuum.query([])?;
        while rows.next()?.is_some() {}
    }
    Ok(())
}

/// Brings what it can of the journal into the file, without waiting for readers.
pub(super) fn checkpoint(connection: &Connection) -> rusqlite::Result<()> {
    connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Failure, Makeup, ReleaseId};
    use crate::history::insert::Inserter;
    use crate::history::queue::Entry;
    use crate::history::row::Row;
    use crate::history::store::Store;
    use crate::history::tests::{at, report};

    const EVERYTHING: Duration = Duration::from_secs(1 << 30);

    fn open(folder: &tempfile::TempDir) -> Inserter {
        Inserter::new(Store::File(folder.path().join("history.db")).write().unwrap())
    }

    /// Probes of two targets, one a second each, from one second to another; each fifth one failed.
    fn write(inserter: &mut Inserter, seconds: std::ops::Range<u64>, release: i64) {
        let probe = |(n, target): (u64, &str)| {
            let report = report(target, n, (n % 5 == 0).then_some(Failure::Dns));
            Entry::Probe(Box::new(Row::of(&report, ReleaseId(release), false)))
        };
        let mut entries: Vec<_> = seconds.flat_map(|n| [(n, "a"), (n, "b")]).map(probe).collect();
        inserter.write(&mut entries).unwrap();
    }

    fn count(connection: &Connection, sql: &str) -> i64 {
        connection.query_row(sql, [], |row| row.get(0)).unwrap()
    }

    /// Of the probes of each target: how many, and the second of the oldest.
    fn left(connection: &Connection) -> Vec<(i64, i64)> {
        let sql = "SELECT count(*), min(at) FROM probes GROUP BY target ORDER BY target";
        let start = micros_of(at(0));
        let mut select = connection.prepare(sql).unwrap();
        let rows = select.query_map([], |row| Ok((row.get(0)?, (row.get::<_, i64>(1)? - start) / 1_000_000)));
        rows.unwrap().map(Result::unwrap).collect()
    }

    #[test]
    fn what_is_too_old_goes_a_part_each_round_with_all_that_belongs_to_it() {
        let folder = tempfile::tempdir().unwrap();
        let mut inserter = open(&folder);
        write(&mut inserter, 0..2000, 1);
        let connection = &mut inserter.connection;
        let bounds = Bounds { keep: Duration::from_secs(500), max_bytes: u64::MAX };
        let now = at(2000);
        assert_eq!(bounds.enforce(connection, now, 1200).unwrap(), 1200);
        assert_eq!(left(connection).iter().map(|(count, _)| count).sum::<i64>(), 2800);
        assert_eq!(bounds.enforce(connection, now, 5000).unwrap(), 1800);
        assert_eq!(left(connection), [(500, 1500), (500, 1500)]);
        assert_eq!(bounds.enforce(connection, now, 5000).unwrap(), 0);
        assert_eq!(count(connection, "SELECT count(*) FROM gaps"), 800);
        assert_eq!(count(connection, "SELECT count(*) FROM texts"), 200);
        let strangers = "SELECT count(*) FROM gaps WHERE probe NOT IN (SELECT id FROM probes)";
        assert_eq!(count(connection, strangers), 0);
    }

    #[test]
    fn what_is_too_much_goes_oldest_first_and_the_file_shrinks() {
        let folder = tempfile::tempdir().unwrap();
        let mut inserter = open(&folder);
        for hour in 0..20 {
            write(&mut inserter, hour * 3600..hour * 3600 + 500, 1);
        }
        let connection = &mut inserter.connection;
        let full = Pages::of(connection).unwrap();
        let half = (full.all * full.size / 2).cast_unsigned();
        let bounds = Bounds { keep: EVERYTHING, max_bytes: half };
        let mut rounds = 0;
        while bounds.enforce(connection, at(0), 2000).unwrap() > 0 {
            rounds += 1;
        }
        assert!((4..9).contains(&rounds), "{rounds}");
        let Pages { size, all, free } = Pages::of(connection).unwrap();
        let (used, length) = ((all - free) * size, all * size);
        let bound = half.cast_signed();
        assert!(used <= bound && used > bound * 8 / 10, "{used} of {bound}");
        assert!(length < bound * 11 / 10, "{length} of {bound}");
        let left = left(connection);
        let (first, second) = (left[0].1, left[1].1);
        assert!(first.abs_diff(second) <= 2 * SLICE.as_secs(), "{left:?}");
        assert_eq!(count(connection, "SELECT max(at) FROM probes"), micros_of(at(19 * 3600 + 499)));
        assert_eq!(
            count(connection, "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'"),
            1
        );
    }

    #[test]
    fn releases_and_marks_stay_while_they_are_needed_and_the_last_two_for_ever() {
        let folder = tempfile::tempdir().unwrap();
        let mut inserter = open(&folder);
        for n in 0..5_u64 {
            let (id, target, makeup) = (ReleaseId(n.cast_signed() + 1), "a".to_owned(), Makeup::default());
            let begin = Entry::Begin { id, target, makeup, began: at(n * 100) };
            let mark = Entry::Mark { target: "a".into(), text: "x".into(), at: at(n * 100) };
            inserter.write(&mut [begin, mark]).unwrap();
            write(&mut inserter, n * 100..n * 100 + 100, id.0);
        }
        let connection = &mut inserter.connection;
        let ids = |connection: &Connection, table| {
            let sql = format!("SELECT group_concat(id) FROM (SELECT id FROM {table} ORDER BY id)");
            connection.query_row(&sql, [], |row| row.get::<_, String>(0)).unwrap()
        };
        let mut keep = |seconds| {
            let bounds = Bounds { keep: Duration::from_secs(seconds), max_bytes: u64::MAX };
            bounds.enforce(connection, at(500), 5000).unwrap();
            [ids(connection, "releases"), ids(connection, "marks")]
        };
        assert_eq!(keep(500), ["1,2,3,4,5", "1,2,3,4,5"]);
        // Of the second release there is still the younger half.
        assert_eq!(keep(350), ["2,3,4,5", "3,4,5"]);
        assert_eq!(keep(0), ["4,5", "4,5"]);
    }
}
