//! The one thread that writes: seldom, in few transactions, and undaunted by a disk that refuses.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rusqlite::ErrorCode;
use tokio::time::Instant;

use super::Error;
use super::hours;
use super::insert::Inserter;
use super::queue::{Call, Entry, Order, Queue};
use super::store::Store;
use super::upkeep::{self, Bounds};
use crate::domain::clock;

/// Between two transactions, unless there is enough for a whole one before.
const PERIOD: Duration = Duration::from_secs(1);

/// Between two attempts while the disk refuses.
const RETRY: Duration = Duration::from_secs(10);

pub(super) struct Writer {
    queue: Arc<Queue>,
    store: Store,
    bounds: Bounds,
    /// None while the file must be opened anew.
    inserter: Option<Inserter>,
    /// Taken from the queue, not yet in the file.
    batch: Vec<Entry>,
    failure: Option<Failure>,
    /// When old probes go next, and how many had been written when they went last.
    upkeep: Instant,
    written_at_upkeep: u64,
}

/// Why nothing can be written, and when to try again.
struct Failure {
    cause: String,
    retry: Instant,
}

impl Writer {
    pub(super) fn new(queue: Arc<Queue>, store: Store, inserter: Inserter, bounds: Bounds) -> Self {
        let mut writer = Self {
            queue,
            store,
            bounds,
            inserter: Some(inserter),
            batch: Vec::new(),
            failure: None,
            upkeep: Instant::now() + upkeep::EVERY,
            written_at_upkeep: 0,
        };
        writer.measure();
        writer
    }

    /// Until somebody closes the queue.
    pub(super) fn run(mut self) {
        let mut due = Instant::now() + PERIOD;
        loop {
            let until = self.failure.as_ref().map_or(due, |failure| failure.retry);
            match self.queue.wait(until, self.failure.is_none()) {
                Call::Order(order) => self.follow(order),
                Call::Time => {
                    self.write_some();
                    due = Instant::now() + PERIOD;
                    if self.failure.is_none() && Instant::now() >= self.upkeep {
                        self.keep_up();
                    }
                }
                Call::Close => {
                    self.write_all();
                    return;
                }
            }
        }
    }

    /// The one who asked may have gone meanwhile.
    fn follow(&mut self, order: Order) {
        match order {
            Order::Flush(reply) => {
                if self.wait_for_retry().is_none() {
                    self.write_all();
                }
                let refused = self.failure.as_ref().map(|failure| failure.cause.clone());
                drop(reply.send(refused.map_or(Ok(()), Err)));
            }
            Order::Sum(reply) => {
                let done = match self.wait_for_retry() {
                    Some(cause) => Err(cause),
                    None => self
                        .inserter()
                        .and_then(|inserter| Ok(inserter.sum(clock::wall_now(), usize::MAX)?))
                        .map_err(|error| self.note_failure(&error)),
                };
                drop(reply.send(done.map(drop)));
            }
        }
    }

    /// A disk that refused is left alone for a while, whoever asks.
    fn wait_for_retry(&self) -> Option<String> {
        let failure = self.failure.as_ref().filter(|failure| Instant::now() < failure.retry)?;
        Some(failure.cause.clone())
    }

    /// Everything that waits, as long as it goes well.
    fn write_all(&mut self) {
        while self.write_some() > 0 {}
    }

    /// One transaction; how many entries it had.
    fn write_some(&mut self) -> usize {
        self.queue.fill(&mut self.batch);
        if self.batch.is_empty() && self.failure.is_none() {
            return 0;
        }
        let mut batch = std::mem::take(&mut self.batch);
        let written = self.inserter().and_then(|inserter| Ok(inserter.write(&mut batch)?));
        match written {
            Ok(()) => {
                let probes = batch.iter().filter(|entry| matches!(entry, Entry::Probe(_))).count();
                self.queue.counts.written.fetch_add(probes as u64, Ordering::Relaxed);
                self.measure();
                self.note_success();
                batch.len()
            }
            Err(error) => {
                // Tried again, such a batch would fail again, and all others behind it.
                if error.is_of(ErrorCode::ConstraintViolation) {
                    self.queue.counts.lost.fetch_add(batch.len() as u64, Ordering::Relaxed);
                } else {
                    self.batch = batch;
                }
                self.note_failure(&error);
                0
            }
        }
    }

    /// A file that somebody moved away or deleted is written no longer, though the system would let us: nobody would
    /// ever read it. The connection to it ends before the next one begins, as both have a journal of one name.
    fn inserter(&mut self) -> Result<&mut Inserter, Error> {
        if !self.store.is_there()
            && let Some(old) = self.inserter.take()
        {
            // The journal does not move with the file. If this fails, its last minutes stay behind.
            drop(upkeep::checkpoint(&old.connection));
        }
        if self.inserter.is_none() {
            let inserter = Inserter::new(self.store.write()?);
            let path = self.store.path().display();
            tracing::warn!(%path, "the file of the history had gone; a new one is begun");
            return Ok(self.inserter.insert(inserter));
        }
        self.inserter.as_mut().ok_or_else(|| Error::Write("it is not open".to_owned()))
    }

    /// Takes out what is too old or too much, and adds up the hours that have ended.
    fn keep_up(&mut self) {
        self.upkeep = Instant::now() + upkeep::EVERY;
        let written = self.queue.counts.written.load(Ordering::Relaxed);
        let came = usize::try_from(written - self.written_at_upkeep).unwrap_or(upkeep::ROUND);
        self.written_at_upkeep = written;
        let (bounds, most) = (self.bounds, upkeep::ROUND.max(2 * came));
        let now = clock::wall_now();
        let kept = self.inserter().and_then(|inserter| {
            let gone = bounds.enforce(&mut inserter.connection, now, most)?;
            Ok((gone, inserter.sum(now, hours::ROUND)?))
        });
        match kept {
            Ok((gone, summed)) => tracing::debug!(gone, summed, "old probes went from the history"),
            Err(error) => drop(self.note_failure(&error)),
        }
        self.measure();
    }

    fn note_failure(&mut self, error: &Error) -> String {
        let cause = error.cause();
        if self.failure.is_none() {
            let path = self.store.path().display();
            tracing::warn!(%path, %cause, "the history cannot be written; probing goes on, and it is tried again");
        }
        self.queue.counts.failing.store(true, Ordering::Relaxed);
        self.failure = Some(Failure { cause: cause.clone(), retry: Instant::now() + RETRY });
        cause
    }

    fn note_success(&mut self) {
        if self.failure.take().is_some() {
            let lost = self.queue.counts.lost.load(Ordering::Relaxed);
            let path = self.store.path().display();
            tracing::info!(%path, lost, "the history can be written again");
        }
        self.queue.counts.failing.store(false, Ordering::Relaxed);
    }

    fn measure(&mut self) {
        let bytes = self.inserter.as_ref().and_then(|inserter| self.store.bytes(&inserter.connection));
        if let Some(bytes) = bytes {
            self.queue.counts.bytes.store(bytes, Ordering::Relaxed);
        }
    }
}

/// However the thread ends, nobody goes on as if it were there.
impl Drop for Writer {
    fn drop(&mut self) {
        self.queue.counts.lost.fetch_add(self.batch.len() as u64, Ordering::Relaxed);
        self.queue.shut();
        if std::thread::panicking() {
            self.queue.counts.failing.store(true, Ordering::Relaxed);
            tracing::error!("the thread that writes the history ended by a defect; nothing is kept any more");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::domain::{Makeup, ReleaseId};
    use crate::history::row::Row;
    use crate::history::tests::{at, in_folder, report};
    use crate::history::{Pick, Reader, Settings};

    fn writer(folder: &tempfile::TempDir) -> Writer {
        let settings = in_folder(folder.path());
        let store = Store::new(settings.path.as_deref());
        let inserter = Inserter::new(store.write().unwrap());
        Writer::new(Arc::default(), store, inserter, Bounds::of(&settings))
    }

    fn put(writer: &Writer, count: u64) {
        for n in 0..count {
            writer.queue.put(Entry::Probe(Box::new(Row::of(&report("a", n, None), ReleaseId(1), false))));
        }
    }

    fn counts(writer: &Writer) -> (u64, u64, bool) {
        let counts = &writer.queue.counts;
        let [written, lost] = [&counts.written, &counts.lost].map(|count| count.load(Ordering::Relaxed));
        (written, lost, counts.failing.load(Ordering::Relaxed))
    }

    fn limit_pages(writer: &Writer, pages: u32) {
        let connection = &writer.inserter.as_ref().unwrap().connection;
        connection.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(())).unwrap();
    }

    /// The limit on pages makes SQLite fail as it does when the system says that the disk is full.
    #[test]
    fn while_the_disk_is_full_probes_wait_then_are_lost_and_afterwards_all_goes_on() {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = writer(&folder);
        limit_pages(&writer, 60);
        put(&writer, 1000);
        assert_eq!(writer.write_some(), 0);
        assert_eq!(counts(&writer), (0, 0, true));
        assert!(writer.failure.as_ref().unwrap().cause.contains("full"));
        let (id, target, makeup) = (ReleaseId(7), "a".to_owned(), Makeup::default());
        writer.queue.put(Entry::Begin { id, target, makeup, began: at(0) });
        put(&writer, 10_000);
        assert_eq!((writer.write_some(), counts(&writer)), (0, (0, 10_000 - 8192, true)));
        writer.queue.put(Entry::Mark { target: "a".into(), text: "driver 580".into(), at: at(0) });

        limit_pages(&writer, 1 << 20);
        // It gets the number that the target of the probes would have had.
        let begin =
            Entry::Begin { id: ReleaseId(8), target: "b".into(), makeup: Makeup::default(), began: at(0) };
        writer.inserter().unwrap().write(&mut [begin]).unwrap();
        writer.write_all();
        assert_eq!(counts(&writer), (9192, 1808, false));
        assert!(writer.failure.is_none() && writer.batch.is_empty());
        let reader = Reader::of(&writer.store).unwrap();
        let of = |target: &str| Pick { target: Some(target.to_owned()), ..Pick::default() };
        assert_eq!(["a", "b"].map(|target| reader.probes(&of(target)).unwrap().len()), [9192, 0]);
        assert_eq!(
            (reader.marks("a").unwrap().len(), reader.releases("a").unwrap()[0].id),
            (1, ReleaseId(7))
        );
    }

    #[test]
    fn what_still_waits_when_the_disk_refuses_to_the_end_is_counted() {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = writer(&folder);
        limit_pages(&writer, 60);
        put(&writer, 3000);
        writer.queue.close();
        let queue = Arc::clone(&writer.queue);
        writer.write_some();
        writer.run();
        assert_eq!(queue.counts.lost.load(Ordering::Relaxed), 3000);
    }

    #[test]
    fn a_file_that_was_moved_away_is_followed_by_a_new_one() {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = writer(&folder);
        put(&writer, 10);
        writer.write_all();
        let path = writer.store.path().to_owned();
        std::fs::rename(&path, folder.path().join("old.db")).unwrap();
        put(&writer, 20);
        writer.write_all();
        assert_eq!(counts(&writer), (30, 0, false));
        let count = |path: &Path| Reader::open(path).unwrap().probes(&Pick::default()).unwrap().len();
        assert_eq!((count(&path), count(&folder.path().join("old.db"))), (20, 10));
    }

    #[test]
    fn upkeep_adds_up_the_hours_that_have_ended() {
        let folder = tempfile::tempdir().unwrap();
        let mut writer = writer(&folder);
        writer.bounds = Bounds::of(&Settings { keep: Duration::MAX, ..Settings::default() });
        put(&writer, 10);
        writer.write_all();
        writer.keep_up();
        assert!(writer.failure.is_none());
        let connection = &writer.inserter.as_ref().unwrap().connection;
        let sum: i64 = connection.query_row("SELECT sum(probes) FROM hours", [], |row| row.get(0)).unwrap();
        assert_eq!(sum, 10);
    }
}
