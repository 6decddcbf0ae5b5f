//! One task per target: wait until a probe is due, spawn it, never wait for its answer.
//!
//! The schedule is open-loop. A slow answer delays no other probe, and a due time that is not served is
//! counted with its reason. Schedules and their probes run on [`measuring`] threads; what follows a probe is
//! done at the [`desk`].

mod back_off;
pub mod cadence;
pub mod calibrate;
pub mod desk;
pub mod guard;
pub mod identify;
pub mod measuring;
pub mod pulse;
pub mod standing;
pub mod trip;

use std::sync::Arc;

use tokio::sync::watch;
use tokio::task::{JoinError, JoinSet};
use tokio::time::{Instant, sleep_until};

use crate::domain::{Skip, Target};
use crate::record::{PlaceMetrics, Recorder};
use crate::workload::Source;
use cadence::{Grid, Rotation};
use desk::{Delivery, Inbox};
use guard::Guard;
use standing::Standing;
use trip::{Errand, Trip};

/// Everything that the schedule of one target works with.
#[derive(Debug)]
pub struct Schedule {
    pub target: Arc<Target>,
    pub trip: Trip,
    pub grid: Grid,
    pub rotation: Rotation,
    /// In the order of the target's mix.
    pub sources: Vec<Source>,
    /// Likewise.
    pub places: Vec<Arc<PlaceMetrics>>,
    pub guard: Guard,
    pub recorder: Arc<Recorder>,
    pub standing: Arc<Standing>,
    pub inbox: Inbox,
}

impl Schedule {
    /// Probes until `stop` becomes true, then waits for those under way; due times in between are counted
    /// as skipped.
    pub async fn run(mut self, mut stop: watch::Receiver<bool>) {
        let mut running = JoinSet::new();
        let mut stopping = false;
        while !(stopping && running.is_empty()) {
            tokio::select! {
                biased;
                _ = stop.wait_for(|&stop| stop), if !stopping => {
                    stopping = true;
                    self.guard.close();
                }
                () = sleep_until(self.grid.due()) => self.serve_due(Instant::now(), &mut running),
                Some(ended) = running.join_next() => self.note_end(ended),
            }
        }
    }

    /// Serves the due time that has come; those that passed unseen before it are counted.
    fn serve_due(&mut self, now: Instant, running: &mut JoinSet<()>) {
        while self.grid.is_missed(now) {
            self.grid.advance();
            let turn = self.rotation.turn();
            self.recorder.skipped(&self.places[turn], Skip::Late);
        }
        let due = self.grid.advance();
        let turn = self.rotation.turn();
        let (workload, place) = (&self.target.mix[turn].workload, &self.places[turn]);
        if !self.inbox.has_room() {
            return self.recorder.skipped(place, Skip::Late);
        }
        let permit = match self.guard.admit(now, workload) {
            Ok(permit) => permit,
            Err(reason) => return self.recorder.skipped(place, reason),
        };
        let source = &mut self.sources[turn];
        let errand = Errand {
            workload: Arc::clone(workload),
            draft: source.next_draft(),
            learner: source.learner(),
            due,
        };
        let counted = place.start();
        let (trip, inbox) = (self.trip.clone(), self.inbox.clone());
        let standing = Arc::clone(&self.standing);
        running.spawn(async move {
            let measured = trip.measure(errand).await;
            permit.settle(measured.report(), Instant::now());
            inbox.put(Delivery { measured, standing, running: counted });
        });
    }

    /// A probe's task that panicked is a defect of this program: it must not pass unseen, nor end the rest.
    fn note_end(&self, ended: Result<(), JoinError>) {
        if let Err(error) = ended {
            tracing::error!(target = &*self.target.name, %error, "a probe ended by a defect; please report it");
        }
    }
}
