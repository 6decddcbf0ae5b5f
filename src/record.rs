//! One [`Report`] becomes metrics, recent samples and a line in the log.

mod metrics;
mod narrator;
pub mod recent;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use crate::domain::{Report, Skip, Target, Workload, clock};
use metrics::Metrics;
use narrator::Narrator;
use recent::{Recent, Window};

/// Everything that is known of what was measured.
#[derive(Debug)]
pub struct Recorder {
    metrics: Metrics,
    recent: Mutex<Recent>,
    narrator: Mutex<Narrator>,
}

/// The catalogue and the targets do not go together: two series would have one name.
#[derive(Debug, thiserror::Error)]
#[error("cannot create the metrics: {0}")]
pub struct Error(#[from] prometheus::Error);

/// A probe under way; it counts as in flight until this is dropped, even if its task is aborted.
#[derive(Debug)]
pub struct Running {
    recorder: Arc<Recorder>,
    target: Arc<Target>,
    workload: Arc<Workload>,
}

impl Recorder {
    /// Creates every series of these targets at 0.
    pub fn new(targets: &[Arc<Target>]) -> Result<Self, Error> {
        let metrics = Metrics::new(targets)?;
        metrics.reloaded(clock::wall_now());
        Ok(Self { metrics, recent: Mutex::default(), narrator: Mutex::default() })
    }

    pub fn registry(&self) -> &prometheus::Registry {
        self.metrics.registry()
    }

    /// A probe is about to be sent.
    pub fn started(self: &Arc<Self>, target: &Arc<Target>, workload: &Arc<Workload>) -> Running {
        self.metrics.started(target, workload);
        Running { recorder: Arc::clone(self), target: Arc::clone(target), workload: Arc::clone(workload) }
    }

    /// A due time was not served.
    pub fn skipped(&self, target: &Target, workload: &Workload, reason: Skip) {
        self.metrics.skipped(target, workload, reason);
        lock(&self.narrator).skipped(target, workload, reason);
    }

    pub fn record(&self, report: &Report) {
        self.metrics.record(report, clock::wall_now());
        lock(&self.recent).add(report, Instant::now());
        lock(&self.narrator).tell(report);
    }

    /// The event loop ran a timer this much too late.
    pub fn loop_lag(&self, lag: Duration) {
        self.metrics.loop_lag(lag);
    }

    /// What a target's workload showed since `since`.
    pub fn window(&self, target: &Target, workload: &Workload, since: Instant) -> Window {
        lock(&self.recent).window(target, workload, since)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.recorder.metrics.ended(&self.target, &self.workload);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
