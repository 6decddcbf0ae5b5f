//! Spans that wait to be sent: a bounded number, of which the oldest go first.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use opentelemetry_proto::tonic::trace::v1::Span;
use tokio::sync::Notify;

/// Some megabytes at most, and half a minute of the fastest schedule of one target.
pub(super) const MOST_WAITING: usize = 2048;

/// The most spans of one request.
pub(super) const BATCH: usize = 512;

#[derive(Debug, Default)]
pub(super) struct SpanQueue {
    waiting: Mutex<Waiting>,
    /// A whole batch waits.
    full: Notify,
}

#[derive(Debug, Default)]
struct Waiting {
    spans: VecDeque<Span>,
    /// Since the start.
    dropped: u64,
}

impl SpanQueue {
    /// Never waits; what does not fit pushes out the oldest.
    pub(super) fn put(&self, span: Span) {
        let mut waiting = self.waiting();
        waiting.spans.push_back(span);
        waiting.drop_oldest();
        if waiting.spans.len() >= BATCH {
            self.full.notify_one();
        }
    }

    /// The oldest, up to a batch.
    pub(super) fn take(&self) -> Vec<Span> {
        let mut waiting = self.waiting();
        let count = waiting.spans.len().min(BATCH);
        waiting.spans.drain(..count).collect()
    }

    /// A batch that could not be sent waits again, before all others.
    pub(super) fn put_back(&self, batch: Vec<Span>) {
        let mut waiting = self.waiting();
        for span in batch.into_iter().rev() {
            waiting.spans.push_front(span);
        }
        waiting.drop_oldest();
    }

    /// Counts spans that the collector will never take.
    pub(super) fn lose(&self, count: u64) {
        self.waiting().dropped += count;
    }

    pub(super) fn dropped(&self) -> u64 {
        self.waiting().dropped
    }

    /// Returns once a whole batch waits.
    pub(super) async fn full(&self) {
        self.full.notified().await;
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    fn drop_oldest(&mut self) {
        let excess = self.spans.len().saturating_sub(MOST_WAITING);
        self.spans.drain(..excess);
        self.dropped += excess as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(number: usize) -> Span {
        Span { start_time_unix_nano: number as u64, ..Span::default() }
    }

    fn numbers(spans: &[Span]) -> Vec<usize> {
        spans.iter().map(|span| span.start_time_unix_nano as usize).collect()
    }

    #[test]
    fn the_oldest_are_dropped_and_counted() {
        let queue = SpanQueue::default();
        (0..MOST_WAITING + 3).for_each(|number| queue.put(span(number)));
        assert_eq!(queue.dropped(), 3);
        assert_eq!(numbers(&queue.take()), (3..3 + BATCH).collect::<Vec<_>>());
    }

    #[test]
    fn a_batch_that_comes_back_is_the_oldest() {
        let queue = SpanQueue::default();
        (0..MOST_WAITING).for_each(|number| queue.put(span(number)));
        let batch = queue.take();
        (0..2).for_each(|number| queue.put(span(MOST_WAITING + number)));
        queue.put_back(batch);
        assert_eq!(queue.dropped(), 2, "there is room for all but two");
        assert_eq!(numbers(&queue.take())[..3], [2, 3, 4]);
    }
}
