//! Which connection a TLS handshake belongs to.
//!
//! One TLS configuration serves all connections to a target, and rustls calls its hooks without saying for which
//! connection. So the future that makes a connection carries the answer with it.

use std::sync::{Arc, Mutex, PoisonError};

use crate::probe::phases::Phases;

tokio::task_local! {
    static CURRENT: Arc<Handshake>;
}

/// The connection that a lane makes.
#[derive(Debug, Default)]
pub(in crate::probe) struct Handshake {
    pub(in crate::probe) phases: Arc<Phases>,
    /// Why a certificate was refused.
    refusal: Mutex<Option<String>>,
}

impl Handshake {
    /// Forgets an earlier connection: only the last attempt counts.
    pub(in crate::probe) fn begin(&self) {
        self.phases.reset();
        self.refusal();
    }

    /// Why a certificate was refused, told once.
    pub(in crate::probe) fn refusal(&self) -> Option<String> {
        self.refusal.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Runs what makes the connection; hooks that it calls find their way back here.
    pub(in crate::probe) async fn scope<F: Future>(self: Arc<Self>, connecting: F) -> F::Output {
        CURRENT.scope(self, connecting).await
    }
}

/// Whatever is below TLS stands: TCP, and the tunnel of a proxy.
pub(super) fn connected() {
    let _ = CURRENT.try_with(|handshake| handshake.phases.connected());
}

pub(in crate::probe) fn refused(reason: String) {
    let note = |handshake: &Arc<Handshake>| {
        *handshake.refusal.lock().unwrap_or_else(PoisonError::into_inner) = Some(reason);
    };
    let _ = CURRENT.try_with(note);
}
