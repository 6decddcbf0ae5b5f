//! The one thread that writes: seldom, in few transactions, and undaunted by a disk that refuses.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rusqlite::ErrorCode;
use tokio::time::Instant;

use super::insert::Inserter;
use super::queue::{Call, Entry, Order, Queue};
use super::store::Store;
use super::units::micros_of;

/// Between two transactions, unless there is enough for a whole one before.
const PERIOD: Duration = Duration::from_secs(1);

/// Between two attempts while the disk refuses.
const RETRY: Duration = Duration::from_secs(10);

pub(super) struct Writer {
    queue: Arc<Queue>,
    store: Store,
    inserter: Inserter,
    /// Taken from the queue, not yet in the file.
    batch: Vec<Entry>,
    failure: Option<Failure>,
}

/// Why nothing can be written, and when to try again.
struct Failure {
    cause: String,
    retry: Instant,
}

impl Writer {
    pub(super) fn new(queue: Arc<Queue>, store: Store, inserter: Inserter) -> Self {
        let writer = Self { queue, store, inserter, batch: Vec::new(), failure: None };
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
            Order::Begin { target, makeup, began, reply } => {
                let id = match self.wait_for_retry() {
                    Some(cause) => Err(cause),
                    None => self
                        .inserter
                        .begin(&target, &makeup, micros_of(began))
                        .map_err(|error| self.note_failure(&error)),
                };
                drop(reply.send(id));
            }
            Order::Flush(reply) => {
                if self.wait_for_retry().is_none() {
                    self.write_all();
                }
                let refused = self.failure.as_ref().map(|failure| failure.cause.clone());
                drop(reply.send(refused.map_or(Ok(()), Err)));
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
        let count = self.batch.len();
        match self.inserter.write(&mut self.batch) {
            Ok(()) => {
                let probes = self.batch.iter().filter(|entry| matches!(entry, Entry::Probe(_))).count();
                self.queue.counts.written.fetch_add(probes as u64, Ordering::Relaxed);
                self.batch.clear();
                self.measure();
                self.note_success();
                count
            }
            Err(error) => {
                // Tried again, such a batch would fail again, and all others behind it.
                if error.sqlite_error_code() == Some(ErrorCode::ConstraintViolation) {
                    self.queue.counts.lost.fetch_add(count as u64, Ordering::Relaxed);
                    self.batch.clear();
                }
                self.note_failure(&error);
                0
            }
        }
    }

    fn note_failure(&mut self, error: &rusqlite::Error) -> String {
        let cause = error.to_string();
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

    fn measure(&self) {
        if let Some(bytes) = self.store.bytes(&self.inserter.connection) {
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
