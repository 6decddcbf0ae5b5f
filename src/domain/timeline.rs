//! The instants of one probe, all from one monotonic clock; durations are derived from them elsewhere.

use tokio::time::Instant;

use super::Channel;

/// Instants as they were stamped; what did not happen is absent.
#[derive(Debug, Clone)]
pub struct Timeline {
    /// The schedule's grid point.
    pub due: Instant,
    /// The probe's task began work.
    pub started: Instant,
    /// Names answered; absent for an address and on a reused connection.
    pub resolved: Option<Instant>,
    /// TCP is open; absent on a reused connection.
    pub connected: Option<Instant>,
    /// TLS is done; absent without TLS and on a reused connection.
    pub secured: Option<Instant>,
    /// The connection is ready and takes the request.
    pub sent: Option<Instant>,
    /// The status line and the headers arrived.
    pub headers: Option<Instant>,
    /// The first decoded event of any kind.
    pub first_event: Option<Instant>,
    /// Chunks that carry generated text, reasoning or a tool call.
    pub deltas: Vec<Delta>,
    /// The terminal signal.
    pub finished: Option<Instant>,
    /// The end of the body, or of the probe's patience; absent if the server holds a finished answer open.
    pub closed: Option<Instant>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Delta {
    pub at: Instant,
    pub channel: Channel,
    /// Output tokens so far, if the chunk itself states them.
    pub total: Option<u32>,
    /// Token ids that came since the delta before, if the chunk lists its own.
    pub ids: Option<u32>,
    /// The tokens that it counts for; absent until they are [attributed](super::attribution).
    pub tokens: Option<u32>,
}

impl Delta {
    pub fn new(at: Instant, channel: Channel) -> Self {
        Self { at, channel, total: None, ids: None, tokens: None }
    }
}

impl Timeline {
    pub fn new(due: Instant, started: Instant) -> Self {
        Self {
            due,
            started,
            resolved: None,
            connected: None,
            secured: None,
            sent: None,
            headers: None,
            first_event: None,
            deltas: Vec::new(),
            finished: None,
            closed: None,
        }
    }
}
