//! Asks again and again what a target runs, beside its schedule: an upgrade explains a change in the numbers.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::calibrate::calibrate;
use super::standing::Standing;
use crate::probe::{self, Transport};
use crate::record::Recorder;
use crate::workload::Learner;

/// How often a target is asked.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    /// Whatever happens: an upgrade that nobody noticed is known this soon.
    pub every: Duration,
    /// At least so long after the last time, if the probes hint at something new. A target that comes and
    /// goes is not to be asked at every turn.
    pub soonest: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self { every: Duration::from_secs(300), soonest: Duration::from_secs(15) }
    }
}

/// Asks at `first`, then at fixed intervals and when the probes hint at something new, until `stop` becomes
/// true. A round that took too long loses the next one, so that no two are under way together; so does a
/// target that refuses the key.
pub async fn watch(
    transport: Arc<Transport>,
    recorder: Arc<Recorder>,
    standing: Arc<Standing>,
    learners: Vec<Learner>,
    first: Instant,
    pace: Pace,
    mut stop: watch::Receiver<bool>,
) {
    let rounds = async {
        let mut due = first;
        let mut soonest = first;
        loop {
            tokio::select! {
                () = sleep_until(due) => {}
                () = standing.news() => sleep_until(soonest).await,
            }
            soonest = Instant::now() + pace.soonest;
            if !standing.is_shut_out() {
                let identity = probe::identify(&transport).await;
                recorder.identified(transport.target(), &identity);
                calibrate(&transport, &learners).await;
            }
            while due <= Instant::now() {
                due += pace.every;
            }
        }
    };
    tokio::select! {
        () = rounds => {}
        _ = stop.wait_for(|&stop| stop) => {}
    }
}
