//! What was measured, kept in a file that any SQLite client reads.
//!
//! [`History`] takes what is measured and never makes anybody wait: a queue of bounded size, and one thread that writes
//! what it holds once a second. [`Reader`] asks what was kept, from another connection or another process. What the
//! tables are, [`schema`] tells.

mod buckets;
mod error;
mod find;
mod gaps;
mod hours;
mod insert;
mod pick;
mod queue;
mod read;
mod row;
pub mod schema;
mod store;
mod sums;
mod tally;
#[cfg(test)]
mod tests;
mod units;
mod upkeep;
mod writer;

use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};

pub use error::Error;
pub use find::StoredProbe;
pub use pick::Pick;
pub use read::{Mark, Reader};
pub use tally::{Figure, Spread, Tally, TokenSums};

use crate::domain::{Makeup, ReleaseId, Report};
use insert::Inserter;
use queue::{Entry, Order, Queue};
use row::Row;
use store::Store;
use upkeep::Bounds;
use writer::Writer;

/// Longer than the thread is busy with anything else.
const PATIENCE: Duration = Duration::from_secs(15);

/// Longer than adding up all that one file can hold.
const SUM_PATIENCE: Duration = Duration::from_secs(1800);

/// The most that is kept in memory.
const MEMORY_KEEP: Duration = Duration::from_secs(6 * 3600);
const MEMORY_BYTES: u64 = 64 << 20;

/// What is kept, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Without one it is in memory, and gone with the process: then at most 6 hours and 64 MiB are kept.
    pub path: Option<PathBuf>,
    pub keep: Duration,
    pub max_bytes: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self { path: None, keep: Duration::from_secs(35 * 24 * 3600), max_bytes: 2 << 30 }
    }
}

impl Settings {
    /// As they hold for the place that is kept at.
    fn effective(&self) -> Self {
        match self.path {
            Some(_) => self.clone(),
            None => Self {
                path: None,
                keep: self.keep.min(MEMORY_KEEP),
                max_bytes: self.max_bytes.min(MEMORY_BYTES),
            },
        }
    }
}

/// A handle to the history that is being written; when the last one is dropped, what is queued is written first.
#[derive(Clone)]
pub struct History {
    open: Arc<Open>,
}

/// How the writing goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct State {
    /// Probes that are in the file since it was opened.
    pub written: u64,
    /// Probes that were not kept: the queue was full, or the disk refused for too long.
    pub lost: u64,
    /// How much room it takes.
    pub bytes: u64,
    /// The newest attempt to write was in vain.
    pub failing: bool,
}

struct Open {
    store: Store,
    queue: Arc<Queue>,
    thread: Mutex<Option<JoinHandle<()>>>,
    /// One process writes a file, so it knows the next number without asking.
    next_release: AtomicI64,
}

impl History {
    /// Creates the file, or brings an older one up to date, and starts the thread that writes.
    pub fn open(settings: &Settings) -> Result<Self, Error> {
        let settings = settings.effective();
        let store = Store::new(settings.path.as_deref());
        let connection = store.write()?;
        let next_release = AtomicI64::new(insert::next_release(&connection)?);
        let inserter = Inserter::new(connection);
        let queue = Arc::new(Queue::default());
        let writer = Writer::new(Arc::clone(&queue), store.clone(), inserter, Bounds::of(&settings));
        let thread = std::thread::Builder::new().name("history".into()).spawn(|| writer.run());
        let thread = Mutex::new(Some(thread.map_err(Error::Thread)?));
        Ok(Self { open: Arc::new(Open { store, queue, thread, next_release }) })
    }

    /// Takes a probe in, to be written soon. Never waits and never fails; what finds no room is counted as lost.
    pub fn keep(&self, report: &Report, release: ReleaseId, mixed: bool) {
        self.open.queue.put(Entry::Probe(Box::new(Row::of(report, release, mixed))));
    }

    /// A release begins; gives its number. Never waits: whoever sees a release begin has probes to send.
    pub fn begin_release(&self, target: &str, makeup: &Makeup, began: SystemTime) -> ReleaseId {
        let id = ReleaseId(self.open.next_release.fetch_add(1, Ordering::Relaxed));
        let (target, makeup) = (target.to_owned(), makeup.clone());
        self.open.queue.put(Entry::Begin { id, target, makeup, began });
        id
    }

    /// More is known of a release than when it began.
    pub fn amend(&self, id: ReleaseId, makeup: &Makeup) {
        self.open.queue.put(Entry::Amend { id, makeup: makeup.clone() });
    }

    /// From then on what is measured is this release's alone.
    pub fn settle(&self, id: ReleaseId, at: SystemTime) {
        self.open.queue.put(Entry::Settle { id, at });
    }

    /// Keeps what a person said about a target.
    pub fn mark(&self, target: &str, text: &str, at: SystemTime) {
        self.open.queue.put(Entry::Mark { target: target.to_owned(), text: text.to_owned(), at });
    }

    pub fn state(&self) -> State {
        let counts = &self.open.queue.counts;
        State {
            written: counts.written.load(Ordering::Relaxed),
            lost: counts.lost.load(Ordering::Relaxed),
            bytes: counts.bytes.load(Ordering::Relaxed),
            failing: counts.failing.load(Ordering::Relaxed),
        }
    }

    /// Waits until all that was taken in before is written.
    pub fn flush(&self) -> Result<(), Error> {
        let (reply, answer) = sync_channel(1);
        self.ask(Order::Flush(reply), &answer)
    }

    /// Adds up all hours that have ended, and waits for it. Nobody needs that who has time: upkeep does it bit by bit.
    pub fn sum_up(&self) -> Result<(), Error> {
        let (reply, answer) = sync_channel(1);
        self.ask_within(Order::Sum(reply), &answer, SUM_PATIENCE)
    }

    /// A second connection, which sees what is written.
    pub fn reader(&self) -> Result<Reader, Error> {
        Reader::of(&self.open.store)
    }

    /// Writes what is queued and ends the thread; what other handles take in afterwards is lost.
    pub fn close(self) {
        self.open.close();
    }

    fn ask<T>(&self, order: Order, answer: &Receiver<Result<T, String>>) -> Result<T, Error> {
        self.ask_within(order, answer, PATIENCE)
    }

    fn ask_within<T>(
        &self,
        order: Order,
        answer: &Receiver<Result<T, String>>,
        patience: Duration,
    ) -> Result<T, Error> {
        if !self.open.queue.order(order) {
            return Err(Error::Write("it was closed".to_owned()));
        }
        let answer = answer.recv_timeout(patience);
        answer
            .map_err(|_| Error::Write("the thread that writes does not answer".to_owned()))?
            .map_err(Error::Write)
    }
}

impl fmt::Debug for History {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("History").field("store", &self.open.store).field("state", &self.state()).finish()
    }
}

impl Open {
    fn close(&self) {
        self.queue.close();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        // A defect in the thread has been told by the thread.
        if let Some(thread) = thread {
            drop(thread.join());
        }
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.close();
    }
}
