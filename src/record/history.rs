//! How the keeping of what was measured goes, as series.

use prometheus::{Error, Gauge, IntCounter, Registry};

use super::Recorder;
use super::metrics::{options, register};
use crate::catalogue as cat;

#[derive(Debug)]
pub(super) struct History {
    probes: IntCounter,
    lost: IntCounter,
    bytes: Gauge,
    failing: Gauge,
}

/// How it stands: counts since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Keeping {
    pub written: u64,
    pub lost: u64,
    pub bytes: u64,
    pub failing: bool,
}

impl Recorder {
    pub fn keeping(&self, now: Keeping) {
        let own = &self.history;
        own.probes.inc_by(now.written.saturating_sub(own.probes.get()));
        own.lost.inc_by(now.lost.saturating_sub(own.lost.get()));
        own.bytes.set(now.bytes as f64);
        own.failing.set(f64::from(u8::from(now.failing)));
    }
}

impl History {
    pub(super) fn new(registry: &Registry) -> Result<Self, Error> {
        let counter = |family| register(registry, IntCounter::with_opts(options(family))?);
        let gauge = |family| register(registry, Gauge::with_opts(options(family))?);
        Ok(Self {
            probes: counter(&cat::HISTORY_PROBES)?,
            lost: counter(&cat::HISTORY_LOST)?,
            bytes: gauge(&cat::HISTORY_BYTES)?,
            failing: gauge(&cat::HISTORY_FAILING)?,
        })
    }
}
