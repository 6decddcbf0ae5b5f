//! What one measuring thread does: the schedules of its targets, under its own pulse.

use std::sync::Arc;

use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::record::Recorder;
use crate::schedule::Schedule;
use crate::schedule::pulse::Pulse;

/// The targets of one thread. A target stays on its thread, so that a thread that is held up spoils no samples but
/// its own, and marks exactly those as suspect.
#[derive(Debug)]
pub(super) struct Crew {
    pub(super) pulse: Arc<Pulse>,
    pub(super) schedules: Vec<Schedule>,
}

impl Crew {
    pub(super) fn new(now: Instant) -> Self {
        Self { pulse: Arc::new(Pulse::new(now)), schedules: Vec::new() }
    }

    /// Probes until `stop` becomes true and the probes under way have ended.
    pub(super) async fn work(self, recorder: Arc<Recorder>, stop: watch::Receiver<bool>) {
        let mut running: JoinSet<()> =
            self.schedules.into_iter().map(|schedule| schedule.run(stop.clone())).collect();
        let all = async {
            while let Some(ended) = running.join_next().await {
                if let Some(panic) = ended.err().and_then(|error| error.try_into_panic().ok()) {
                    std::panic::resume_unwind(panic);
                }
            }
        };
        tokio::select! {
            () = self.pulse.beat(|lag| recorder.loop_lag(lag)) => {}
            () = all => {}
        }
    }
}
