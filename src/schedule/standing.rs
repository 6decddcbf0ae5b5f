//! How a target's probes fare, as far as it matters to the task that asks what the target runs.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::domain::{Failure, Report};

#[derive(Debug, Default)]
pub struct Standing {
    /// The newest probe was refused for its key.
    shut_out: AtomicBool,
}

impl Standing {
    pub fn hear(&self, report: &Report) {
        let failure = report.fault.as_ref().map(|fault| fault.failure);
        self.shut_out.store(failure == Some(Failure::Auth), Ordering::Relaxed);
    }

    /// Whether a request with the present key only adds to the failed attempts that a server counts.
    pub fn is_shut_out(&self) -> bool {
        self.shut_out.load(Ordering::Relaxed)
    }
}
