//! One target that is watched: its schedule on a measuring thread, the task that asks what it runs, and what both share.

use std::sync::Arc;

use tokio::sync::{mpsc, watch};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::Instant;

use super::{Common, Ready};
use crate::daemon::memory::Learners;
use crate::domain::Target;
use crate::probe::Transport;
use crate::schedule::cadence::Rotation;
use crate::schedule::guard::{Guard, House};
use crate::schedule::identify::{self, Subject};
use crate::schedule::place::Place;
use crate::schedule::pulse::Pulse;
use crate::schedule::standing::Standing;
use crate::schedule::trip::Trip;
use crate::schedule::{Change, Order, Schedule};
use crate::workload::Learner;

#[derive(Debug)]
pub(super) struct Member {
    target: Arc<Target>,
    transport: Arc<Transport>,
    places: Vec<Arc<Place>>,
    guard: Guard,
    standing: Arc<Standing>,
    /// By its number.
    crew: usize,
    orders: mpsc::UnboundedSender<Order>,
    subject: watch::Sender<Subject>,
    asker: Option<AbortHandle>,
}

/// What is remembered of a target that left.
#[derive(Debug)]
pub(super) struct Left {
    guard: Guard,
    standing: Arc<Standing>,
    pub(super) at: Instant,
}

/// When a target begins, and when it is asked what it runs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Now {
    pub(super) now: Instant,
    pub(super) first: Instant,
}

impl Member {
    /// The member and its schedule, which the crew is to start.
    pub(super) fn new(
        ready: Ready,
        places: Vec<Arc<Place>>,
        left: Option<Left>,
        house: &House,
        common: &Common,
        (crew, pulse): (usize, &Arc<Pulse>),
        Now { now, .. }: Now,
    ) -> (Self, Schedule) {
        let Ready { target, transport, grid, .. } = ready;
        let (guard, standing) = left.map_or_else(
            || (Guard::new(house, &target, now), Arc::default()),
            |left| (left.guard, left.standing),
        );
        guard.adopt(&target, now);
        let (orders, receiver) = mpsc::unbounded_channel();
        let schedule = Schedule {
            target: Arc::clone(&target),
            trip: Trip { transport: Arc::clone(&transport), pulse: Arc::clone(pulse) },
            grid,
            rotation: Rotation::new(target.mix.iter().map(|share| share.weight)),
            places: places.clone(),
            guard: guard.clone(),
            recorder: Arc::clone(&common.recorder),
            standing: Arc::clone(&standing),
            inbox: common.inbox.clone(),
            orders: receiver,
        };
        let subject = watch::Sender::new(subject(&transport, &places));
        (Self { target, transport, places, guard, standing, crew, orders, subject, asker: None }, schedule)
    }

    /// Begins to ask what it runs: not sooner after the last time than a target may be asked.
    pub(super) fn ask(self, askers: &mut JoinSet<()>, common: &Common, Now { first, .. }: Now) -> Self {
        let soonest = self.standing.asked().map(|asked| asked + common.pace.soonest);
        let first = soonest.map_or(first, |soonest| first.max(soonest));
        let (releases, standing) = (Arc::clone(&common.releases), Arc::clone(&self.standing));
        let subject = self.subject.subscribe();
        let asking = identify::watch(subject, releases, standing, first, common.pace, common.stop.clone());
        Self { asker: Some(askers.spawn(asking)), ..self }
    }

    /// Takes what is configured now, if that is anything else.
    pub(super) fn change(&mut self, ready: Ready, places: Vec<Arc<Place>>, now: Instant) {
        let Ready { target, transport, grid, .. } = ready;
        let is_same = |(old, new): (&Arc<Place>, &Arc<Place>)| Arc::ptr_eq(old, new);
        let same_places = self.places.len() == places.len() && self.places.iter().zip(&places).all(is_same);
        if target == self.target && same_places {
            return;
        }
        self.guard.adopt(&target, now);
        self.subject.send_replace(subject(&transport, &places));
        let (of_order, way) = (Arc::clone(&target), Arc::clone(&transport));
        let order = Change { target: of_order, transport: way, grid, places: places.clone() };
        // A schedule that has ended is that of a daemon that ends.
        let _ = self.orders.send(Order::Change(order));
        (self.target, self.transport, self.places) = (target, transport, places);
    }

    /// No new probe, and no question any more.
    pub(super) fn leave(self, now: Instant) -> Left {
        let _ = self.orders.send(Order::Leave);
        if let Some(asker) = &self.asker {
            asker.abort();
        }
        Left { guard: self.guard, standing: self.standing, at: now }
    }

    pub(super) fn target(&self) -> &Arc<Target> {
        &self.target
    }

    pub(super) fn transport(&self) -> &Arc<Transport> {
        &self.transport
    }

    pub(super) fn places(&self) -> &[Arc<Place>] {
        &self.places
    }

    pub(super) fn crew(&self) -> usize {
        self.crew
    }

    /// With the name of the target.
    pub(super) fn learners(&self) -> Learners {
        self.places.iter().map(|place| (self.target.name.to_string(), place.learner().clone())).collect()
    }
}

fn subject(transport: &Arc<Transport>, places: &[Arc<Place>]) -> Subject {
    let learners: Vec<Learner> = places.iter().map(|place| place.learner().clone()).collect();
    Subject { transport: Arc::clone(transport), learners }
}
