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
pub mod place;
pub mod pulse;
pub mod standing;
pub mod trip;

use std::sync::Arc;

use tokio::sync::{mpsc, watch};
use tokio::task::{JoinError, JoinSet};
use tokio::time::{Instant, sleep_until};

use crate::domain::{Skip, Target};
use crate::probe::Transport;
use crate::record::Recorder;
use cadence::{Grid, Rotation};
use desk::{Delivery, Inbox};
use guard::Guard;
use place::Place;
use standing::Standing;
use trip::Trip;

/// Everything that the schedule of one target works with.
#[derive(Debug)]
pub struct Schedule {
    pub target: Arc<Target>,
    pub trip: Trip,
    pub grid: Grid,
    pub rotation: Rotation,
    /// In the order of the target's mix.
    pub places: Vec<Arc<Place>>,
    pub guard: Guard,
    pub recorder: Arc<Recorder>,
    pub standing: Arc<Standing>,
    pub inbox: Inbox,
    pub orders: mpsc::UnboundedReceiver<Order>,
}

/// What a schedule is told while it runs.
#[derive(Debug)]
pub enum Order {
    /// The target is configured otherwise from now on; probes under way finish as they began.
    Change(Change),
    /// The target is no longer watched: no new probe, but those under way finish.
    Leave,
}

#[derive(Debug)]
pub struct Change {
    pub target: Arc<Target>,
    pub transport: Arc<Transport>,
    /// Taken only if its interval is another.
    pub grid: Grid,
    /// In the order of the target's mix.
    pub places: Vec<Arc<Place>>,
}

/// How far a schedule is from its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Probing,
    /// The daemon ends: due times are counted as skipped.
    Stopping,
    /// Nobody wants to know any more.
    Leaving,
}

impl Schedule {
    /// Probes until `stop` becomes true or the target leaves, then waits for the probes under way; due times before the
    /// end of the daemon are counted as skipped.
    pub async fn run(mut self, mut stop: watch::Receiver<bool>) {
        let mut running = JoinSet::new();
        let mut phase = Phase::Probing;
        while !(phase != Phase::Probing && running.is_empty()) {
            tokio::select! {
                biased;
                _ = stop.wait_for(|&stop| stop), if phase == Phase::Probing => {
                    phase = Phase::Stopping;
                    self.guard.close();
                }
                Some(order) = self.orders.recv(), if phase == Phase::Probing => match order {
                    Order::Change(change) => self.adopt(change, Instant::now()),
                    Order::Leave => phase = Phase::Leaving,
                },
                () = sleep_until(self.grid.due()), if phase != Phase::Leaving => {
                    self.serve_due(Instant::now(), &mut running);
                }
                Some(ended) = running.join_next() => self.note_end(ended),
            }
        }
    }

    /// The guard, the standing and the due times stay: a change is no fresh start.
    pub(crate) fn adopt(&mut self, change: Change, now: Instant) {
        let Change { target, transport, grid, places } = change;
        if grid.interval() != self.grid.interval() {
            self.grid = grid.after(&self.grid, now);
        }
        let ids = |places: &[Arc<Place>]| places.iter().map(|place| place.id()).collect::<Vec<_>>();
        let weights = |target: &Target| target.mix.iter().map(|share| share.weight).collect::<Vec<_>>();
        if (ids(&places), weights(&target)) != (ids(&self.places), weights(&self.target)) {
            self.rotation = Rotation::new(weights(&target));
        }
        self.trip.transport = transport;
        (self.target, self.places) = (target, places);
    }

    /// Serves the due time that has come; those that passed unseen before it are counted.
    fn serve_due(&mut self, now: Instant, running: &mut JoinSet<()>) {
        while self.grid.is_missed(now) {
            self.grid.advance();
            let turn = self.rotation.turn();
            self.recorder.skipped(self.places[turn].metrics(), Skip::Late);
        }
        let due = self.grid.advance();
        let turn = self.rotation.turn();
        let place = &self.places[turn];
        if !self.inbox.has_room() {
            return self.recorder.skipped(place.metrics(), Skip::Late);
        }
        let permit = match self.guard.admit(now, place.workload()) {
            Ok(permit) => permit,
            Err(reason) => return self.recorder.skipped(place.metrics(), reason),
        };
        let errand = place.next_errand(due);
        let counted = place.metrics().start();
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
