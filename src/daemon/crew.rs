//! What one measuring thread does: the schedules of its targets, under its own pulse.

use std::sync::Arc;

use tokio::sync::{mpsc, watch};
use tokio::task::{JoinError, JoinSet};
use tokio::time::Instant;

use crate::record::Recorder;
use crate::schedule::Schedule;
use crate::schedule::pulse::Pulse;

/// The targets of one thread. A target stays on its thread, so that a thread that is held up spoils no samples but
/// its own, and marks exactly those as suspect.
#[derive(Debug)]
pub(super) struct Crew {
    pulse: Arc<Pulse>,
    pub(super) newcomers: mpsc::UnboundedReceiver<Schedule>,
}

/// Sends schedules to a crew while it works.
#[derive(Debug)]
pub(super) struct Foreman {
    pub(super) pulse: Arc<Pulse>,
    newcomers: mpsc::UnboundedSender<Schedule>,
    /// How many targets are with this crew.
    pub(super) members: usize,
}

impl Foreman {
    /// The crew leaves only when the daemon ends: then there is nothing to start any more.
    pub(super) fn start(&mut self, schedule: Schedule) {
        self.members += 1;
        let _ = self.newcomers.send(schedule);
    }
}

impl Crew {
    pub(super) fn new(now: Instant) -> (Self, Foreman) {
        let (sender, newcomers) = mpsc::unbounded_channel();
        let pulse = Arc::new(Pulse::new(now));
        let foreman = Foreman { pulse: Arc::clone(&pulse), newcomers: sender, members: 0 };
        (Self { pulse, newcomers }, foreman)
    }

    /// Probes until `stop` becomes true and the probes under way have ended.
    pub(super) async fn work(self, recorder: Arc<Recorder>, stop: watch::Receiver<bool>) {
        let Self { pulse, newcomers } = self;
        tokio::select! {
            () = pulse.beat(|lag| recorder.loop_lag(lag)) => {}
            () = run(newcomers, stop) => {}
        }
    }
}

async fn run(mut newcomers: mpsc::UnboundedReceiver<Schedule>, mut stop: watch::Receiver<bool>) {
    let mut running = JoinSet::new();
    let (mut stopping, of_schedules) = (false, stop.clone());
    while !(stopping && running.is_empty()) {
        tokio::select! {
            _ = stop.wait_for(|&stop| stop), if !stopping => stopping = true,
            Some(schedule) = newcomers.recv(), if !stopping => {
                running.spawn(schedule.run(of_schedules.clone()));
            }
            Some(ended) = running.join_next() => pass_on(ended),
        }
    }
}

/// A schedule that panicked ends the whole: a daemon that half works would be believed.
fn pass_on(ended: Result<(), JoinError>) {
    if let Some(panic) = ended.err().and_then(|error| error.try_into_panic().ok()) {
        std::panic::resume_unwind(panic);
    }
}
