//! The phases of making a connection, stamped by the hooks that the HTTP client offers.
//!
//! A lane carries one probe at a time, so whatever is stamped here belongs to that probe.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::time::Instant;

use crate::domain::{Failure, Timeline};

#[derive(Debug, Default)]
pub(super) struct Phases(Mutex<Stamps>);

#[derive(Debug, Default, Clone, Copy)]
struct Stamps {
    resolving: Option<Instant>,
    resolved: Option<Instant>,
    connected: Option<Instant>,
    secured: Option<Instant>,
    ready: bool,
    sent: Option<Instant>,
}

impl Phases {
    pub(super) fn reset(&self) {
        *self.stamps() = Stamps::default();
    }

    pub(super) fn resolving(&self) {
        self.stamps().resolving = Some(Instant::now());
    }

    pub(super) fn resolved(&self) {
        self.stamps().resolved = Some(Instant::now());
    }

    /// TCP is open: said by the first thing that TLS asks for.
    pub(super) fn connected(&self) {
        self.stamps().connected.get_or_insert_with(Instant::now);
    }

    /// Dialling is over; with TLS, this is when it was done.
    pub(super) fn ready(&self, secure: bool) {
        let now = Instant::now();
        let mut stamps = self.stamps();
        stamps.connected.get_or_insert(now);
        stamps.secured = secure.then_some(now);
        stamps.ready = true;
    }

    /// The connection takes the request's body: what follows is the server's time.
    pub(super) fn sent(&self) {
        self.stamps().sent.get_or_insert_with(Instant::now);
    }

    pub(super) fn sent_at(&self) -> Option<Instant> {
        self.stamps().sent
    }

    /// Which part of making the connection has not succeeded; none once there is one.
    pub(super) fn unfinished(&self) -> Option<Failure> {
        let stamps = *self.stamps();
        if stamps.ready || stamps.sent.is_some() {
            None
        } else if stamps.resolving.is_some() && stamps.resolved.is_none() {
            Some(Failure::Dns)
        } else if stamps.connected.is_some() {
            Some(Failure::Tls)
        } else {
            Some(Failure::Connect)
        }
    }

    pub(super) fn copy_to(&self, timeline: &mut Timeline) {
        let stamps = *self.stamps();
        timeline.resolved = stamps.resolved;
        timeline.connected = stamps.connected;
        timeline.secured = stamps.secured;
        timeline.sent = stamps.sent;
    }

    fn stamps(&self) -> MutexGuard<'_, Stamps> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
