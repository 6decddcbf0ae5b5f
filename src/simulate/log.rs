//! The exact log: what was handed to the network, and when.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde::Serialize;
use tokio::time::Instant;

use crate::domain::clock::{unix_seconds, wall_now};

/// Most requests kept; older ones leave.
pub const KEPT_REQUESTS: usize = 2000;

/// Most writes kept of all requests together: some megabytes.
pub const KEPT_WRITES: usize = 200_000;

/// What a write was for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum WriteKind {
    /// The chunk that only names the role.
    Role,
    /// Text of the answer.
    Text,
    /// The closing counts.
    Usage,
    /// The end mark.
    Done,
    /// An error inside the stream.
    Error,
    /// A whole answer at once.
    Whole,
    /// Bytes of a fault.
    Garbage,
}

/// How a request ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    /// All was sent.
    Complete,
    /// The client went away.
    Disconnected,
    /// A fault, or the engine's stop, cut it.
    Cut,
    /// An HTTP error was sent instead.
    Refused,
}

/// One write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Write {
    /// Since the request was received.
    #[serde(rename = "offset_ns", serialize_with = "as_nanos")]
    pub offset: Duration,
    /// When the model produced it, since the request was received; absent where no token was involved.
    #[serde(rename = "model_offset_ns", serialize_with = "as_optional_nanos")]
    pub model_offset: Option<Duration>,
    /// What for.
    pub kind: WriteKind,
    /// Tokens of the answer in it.
    pub tokens: u32,
    /// Length.
    pub bytes: usize,
}

/// One request.
#[derive(Debug, Clone, Serialize)]
pub struct Entry {
    /// As in the `x-request-id` header.
    pub id: String,
    /// The route.
    pub path: &'static str,
    /// When it was received.
    #[serde(skip)]
    pub received: Instant,
    /// The same by the wall clock, in seconds since 1970.
    pub received_unix: f64,
    /// Tokens of the prompt.
    pub prompt_tokens: u32,
    /// Those of them that the prefix cache saved.
    pub cached_tokens: u32,
    /// All writes in order.
    pub writes: Vec<Write>,
    /// Absent while under way.
    pub finish: Option<Finish>,
}

impl Entry {
    /// When the first text was handed over, since the request was received.
    pub fn first_text(&self) -> Option<Duration> {
        self.writes.iter().find(|write| write.tokens > 0).map(|write| write.offset)
    }

    /// Tokens of the answer sent so far.
    pub fn tokens(&self) -> u32 {
        self.writes.iter().map(|write| write.tokens).sum()
    }
}

/// The log; clones share it.
#[derive(Debug, Clone, Default)]
pub struct Log {
    entries: Arc<Mutex<VecDeque<Entry>>>,
}

impl Log {
    /// Begins an entry.
    pub fn begin(&self, id: &str, path: &'static str, received: Instant) {
        self.with(|entries| {
            let mut writes: usize = entries.iter().map(|entry| entry.writes.len()).sum();
            while entries.len() >= KEPT_REQUESTS || writes > KEPT_WRITES {
                writes -= entries.pop_front().map_or(writes, |oldest| oldest.writes.len());
            }
            entries.push_back(Entry {
                id: id.to_owned(),
                path,
                received,
                received_unix: unix_seconds(wall_now()),
                prompt_tokens: 0,
                cached_tokens: 0,
                writes: Vec::new(),
                finish: None,
            });
        });
    }

    /// Changes the entry of a request, unless it has left already.
    pub fn update(&self, id: &str, change: impl FnOnce(&mut Entry)) {
        self.with(|entries| {
            if let Some(entry) = entries.iter_mut().rev().find(|entry| entry.id == id) {
                change(entry);
            }
        });
    }

    /// A copy of all entries, oldest first.
    pub fn entries(&self) -> Vec<Entry> {
        self.with(|entries| entries.iter().cloned().collect())
    }

    /// A copy of one request's entry.
    pub fn entry(&self, id: &str) -> Option<Entry> {
        self.with(|entries| entries.iter().rev().find(|entry| entry.id == id).cloned())
    }

    fn with<T>(&self, work: impl FnOnce(&mut VecDeque<Entry>) -> T) -> T {
        work(&mut self.entries.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn as_nanos<S: serde::Serializer>(value: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_u64(u64::try_from(value.as_nanos()).unwrap_or(u64::MAX))
}

#[expect(clippy::ref_option, reason = "serde hands fields over by reference")]
fn as_optional_nanos<S: serde::Serializer>(
    value: &Option<Duration>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => as_nanos(value, serializer),
        None => serializer.serialize_none(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write() -> Write {
        Write {
            offset: Duration::from_millis(5),
            model_offset: None,
            kind: WriteKind::Text,
            tokens: 1,
            bytes: 10,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn oldest_requests_leave_when_the_log_is_full() {
        let log = Log::default();
        for number in 0..=KEPT_REQUESTS {
            log.begin(&number.to_string(), "/v1/completions", Instant::now());
        }
        assert_eq!(log.entries().len(), KEPT_REQUESTS);
        assert!(log.entry("0").is_none() && log.entry("1").is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn long_answers_leave_before_memory_grows() {
        let log = Log::default();
        log.begin("long", "/v1/completions", Instant::now());
        log.update("long", |entry| entry.writes = vec![write(); KEPT_WRITES + 1]);
        log.begin("next", "/v1/completions", Instant::now());
        assert!(log.entry("long").is_none() && log.entry("next").is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn offsets_are_written_in_nanoseconds() {
        let json = serde_json::to_value(write()).expect("plain values");
        assert_eq!(json["offset_ns"], 5_000_000);
        assert!(json["model_offset_ns"].is_null());
    }
}
