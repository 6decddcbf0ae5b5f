//! How the keeping of what was measured goes, as series.

use super::Recorder;
use super::page::Page;
use crate::catalogue as cat;
use crate::series::{Counter, Gauge};

#[derive(Debug, Default)]
pub(super) struct History {
    probes: Counter,
    lost: Counter,
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
        own.probes.raise_to(now.written);
        own.lost.raise_to(now.lost);
        own.bytes.set(now.bytes as f64);
        own.failing.set(f64::from(u8::from(now.failing)));
    }
}

impl History {
    pub(super) fn show(&self, page: &mut Page<'_>) {
        for (family, counter) in [(&cat::HISTORY_PROBES, &self.probes), (&cat::HISTORY_LOST, &self.lost)] {
            page.writer.family(family.into());
            page.counter(&[], counter.get(), None);
        }
        for (family, gauge) in [(&cat::HISTORY_BYTES, &self.bytes), (&cat::HISTORY_FAILING, &self.failing)] {
            page.writer.family(family.into());
            page.gauge(&[], gauge.get());
        }
    }
}
