//! What waits for the thread that writes: bounded, and nobody waits to get in.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::SyncSender;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use tokio::time::Instant;

use super::row::Row;
use crate::domain::{Makeup, ReleaseId};

/// At two probes a second this is more than an hour.
const MOST_PROBES: usize = 8192;

/// Long answers have many gaps, and bad ones long texts.
const MOST_BYTES: usize = 32 << 20;

/// Words about releases are rare, and find room when probes do not.
const MOST_OTHERS: usize = 256;

/// So many are written at once.
pub(super) const BATCH: usize = 1000;

pub(super) enum Entry {
    Probe(Box<Row>),
    Begin { id: ReleaseId, target: String, makeup: Makeup, began: SystemTime },
    Amend { id: ReleaseId, makeup: Makeup },
    Settle { id: ReleaseId, at: SystemTime },
    Mark { target: String, text: String, at: SystemTime },
}

/// Somebody waits for what comes of it; the text is why nothing does.
pub(super) enum Order {
    Flush(SyncSender<Result<(), String>>),
    /// Adds up all hours that have ended.
    Sum(SyncSender<Result<(), String>>),
}

/// Why the thread wakes.
pub(super) enum Call {
    Order(Order),
    Time,
    Close,
}

#[derive(Default)]
pub(super) struct Queue {
    waiting: Mutex<Waiting>,
    changed: Condvar,
    pub(super) counts: Counts,
}

#[derive(Default)]
pub(super) struct Counts {
    pub(super) written: AtomicU64,
    pub(super) lost: AtomicU64,
    pub(super) bytes: AtomicU64,
    pub(super) failing: AtomicBool,
}

#[derive(Default)]
struct Waiting {
    entries: VecDeque<Entry>,
    probes: usize,
    bytes: usize,
    orders: VecDeque<Order>,
    /// Somebody asks the thread to end.
    closing: bool,
    /// There is no thread any more.
    closed: bool,
}

impl Queue {
    /// What does not fit is lost, and counted.
    pub(super) fn put(&self, entry: Entry) {
        let mut waiting = self.lock();
        if !waiting.take_in(entry) {
            self.counts.lost.fetch_add(1, Ordering::Relaxed);
        } else if waiting.entries.len() == BATCH {
            self.changed.notify_one();
        }
    }

    /// Whether there is still somebody to follow it.
    pub(super) fn order(&self, order: Order) -> bool {
        let mut waiting = self.lock();
        if waiting.closed {
            return false;
        }
        waiting.orders.push_back(order);
        self.changed.notify_one();
        true
    }

    pub(super) fn close(&self) {
        self.lock().closing = true;
        self.changed.notify_one();
    }

    /// Waits for an order, the end, or the time; with `soon`, also until there is enough for one transaction.
    pub(super) fn wait(&self, until: Instant, soon: bool) -> Call {
        let mut waiting = self.lock();
        loop {
            if let Some(order) = waiting.orders.pop_front() {
                return Call::Order(order);
            }
            if waiting.closing {
                return Call::Close;
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() || (soon && waiting.entries.len() >= BATCH) {
                return Call::Time;
            }
            let woken = self.changed.wait_timeout(waiting, left);
            waiting = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Moves the oldest entries over until there are enough for one transaction.
    pub(super) fn fill(&self, batch: &mut Vec<Entry>) {
        let mut waiting = self.lock();
        let count = BATCH.saturating_sub(batch.len()).min(waiting.entries.len());
        for entry in waiting.entries.drain(..count).collect::<Vec<_>>() {
            if let Entry::Probe(row) = &entry {
                waiting.probes -= 1;
                waiting.bytes -= row.bytes();
            }
            batch.push(entry);
        }
    }

    /// From here on everything is lost, beginning with what waits.
    pub(super) fn shut(&self) {
        let mut waiting = self.lock();
        waiting.closed = true;
        let left = std::mem::take(&mut waiting.entries).len();
        waiting.orders.clear();
        self.counts.lost.fetch_add(left as u64, Ordering::Relaxed);
    }

    /// A defect elsewhere is no reason to stop keeping.
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    fn take_in(&mut self, entry: Entry) -> bool {
        let fits = match &entry {
            Entry::Probe(row) => {
                let bytes = self.bytes + row.bytes();
                let fits = self.probes < MOST_PROBES && bytes <= MOST_BYTES && !self.closed;
                if fits {
                    (self.probes, self.bytes) = (self.probes + 1, bytes);
                }
                fits
            }
            _ => self.entries.len() - self.probes < MOST_OTHERS && !self.closed,
        };
        if fits {
            self.entries.push_back(entry);
        }
        fits
    }
}
