//! Asks again and again what a target runs, beside its schedule: an upgrade explains a change in the numbers.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::calibrate::calibrate;
use super::standing::Standing;
use crate::probe::{self, Transport};
use crate::release::Releases;
use crate::workload::Learner;

/// How often a target is asked.
#[derive(Debug, Clone, Copy)]
pub struct Pace {
    /// Whatever happens: an upgrade that nobody noticed is known this soon.
    pub every: Duration,
    /// At least so long after the last time, if the probes hint at something new. A target that comes and
    /// goes is not to be asked at every turn.
    pub soonest: Duration,
    /// While several releases answer in turn, and it takes asking to tell them apart: who is there, and who is gone.
    pub rolling: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            every: Duration::from_secs(300),
            soonest: Duration::from_secs(15),
            rolling: Duration::from_secs(30),
        }
    }
}

/// Whom to ask, and who learns from the answers. A change of the configuration brings another.
#[derive(Debug, Clone)]
pub struct Subject {
    pub transport: Arc<Transport>,
    pub learners: Vec<Learner>,
}

/// Asks at `first`, then again and again and when the probes hint at something new, until `stop` becomes true. No
/// two rounds are under way together. A target that refuses the key is left alone, and one that does not answer is
/// not asked more often. Another subject is asked soon, but no sooner than a target may be asked again.
pub async fn watch(
    mut subject: watch::Receiver<Subject>,
    releases: Arc<Releases>,
    standing: Arc<Standing>,
    first: Instant,
    pace: Pace,
    mut stop: watch::Receiver<bool>,
) {
    let mut unclear = releases.unclear(&subject.borrow().transport.target().name);
    let rounds = async {
        let (mut start, mut due, mut soonest) = (first, first, first);
        loop {
            tokio::select! {
                () = sleep_until(due) => {}
                () = standing.news() => sleep_until(soonest).await,
                Ok(()) = unclear.changed() => {
                    if *unclear.borrow() {
                        due = due.min(start + pace.rolling);
                    }
                    continue;
                }
                Ok(()) = subject.changed() => {
                    due = due.min(start + pace.soonest);
                    continue;
                }
            }
            start = Instant::now();
            standing.note_asking(start);
            let Subject { transport, learners } = subject.borrow_and_update().clone();
            soonest = start + pace.soonest;
            let mut every = pace.every;
            if !standing.is_shut_out() {
                if let Some(identity) = probe::hear(&transport).await {
                    releases.identified(transport.target(), &identity);
                    every = if *unclear.borrow() { pace.rolling } else { pace.every };
                }
                calibrate(&transport, &learners).await;
            }
            due = (start + every).max(Instant::now() + pace.soonest.min(every));
        }
    };
    tokio::select! {
        () = rounds => {}
        _ = stop.wait_for(|&stop| stop) => {}
    }
}
