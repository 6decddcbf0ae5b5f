//! What the log says of pushing: a change once, not every repetition of it.

use std::time::Duration;

use tokio::time::Instant;

use super::send::{Refusal, Rejected, Signal};

/// How pushing one signal has fared lately.
#[derive(Debug)]
pub(super) struct Narrator {
    signal: Signal,
    /// Where to, without anything that may be secret.
    collector: String,
    failing: Option<Failing>,
    /// Told once: it goes on with every push.
    rejecting: bool,
}

#[derive(Debug)]
struct Failing {
    since: Instant,
    failures: u64,
    /// Spans that had been dropped before.
    dropped: u64,
}

impl Narrator {
    pub(super) fn new(signal: Signal, collector: String) -> Self {
        Self { signal, collector, failing: None, rejecting: false }
    }

    /// `dropped` is the number of spans that were never sent, since the start.
    pub(super) fn failed(&mut self, refusal: &Refusal, dropped: u64) {
        if let Some(failing) = &mut self.failing {
            failing.failures += 1;
            return;
        }
        let (signal, collector, why) = (self.signal.name(), &*self.collector, &*refusal.why);
        tracing::warn!(signal, collector, why, "the collector of [otlp] does not take what is pushed");
        self.failing = Some(Failing { since: Instant::now(), failures: 1, dropped });
    }

    pub(super) fn succeeded(&mut self, rejected: Option<&Rejected>, dropped: u64) {
        let (signal, collector) = (self.signal.name(), &*self.collector);
        if let Some(past) = self.failing.take() {
            let lasted = Duration::from_secs((Instant::now() - past.since).as_secs());
            let (failures, dropped) = (past.failures, dropped.saturating_sub(past.dropped));
            let lasted = humantime::format_duration(lasted);
            tracing::info!(signal, collector, failures, dropped, %lasted, "the collector takes what is pushed again");
        }
        match rejected {
            Some(Rejected { items, why }) if !self.rejecting => {
                tracing::warn!(
                    signal,
                    collector,
                    items,
                    why,
                    "the collector refuses a part of what is pushed"
                );
            }
            None if self.rejecting => {
                tracing::info!(signal, collector, "the collector takes all that is pushed again");
            }
            _ => {}
        }
        self.rejecting = rejected.is_some();
    }
}
