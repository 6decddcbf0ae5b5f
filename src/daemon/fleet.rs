//! The targets that are watched, and the step from one plan to the next: only what changed is touched.

mod member;
#[cfg(test)]
mod tests;

use std::any::Any;
use std::cell::OnceCell;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::crew::Foreman;
use super::memory::{Learners, Memory};
use super::reload::{Changes, THREADS};
use super::source;
use crate::config::Plan;
use crate::domain::{PlaceId, Share, Target};
use crate::probe::{Transport, Trust, Unusable};
use crate::record::{PlaceMetrics, Recorder};
use crate::release::Releases;
use crate::schedule::cadence::Grid;
use crate::schedule::desk::Inbox;
use crate::schedule::guard::House;
use crate::schedule::identify::Pace;
use crate::schedule::measuring::threads_for;
use crate::schedule::place::Place;
use member::{Left, Member, Now};

/// Targets that begin together are asked what they run this far apart, so as not to disturb the first probes.
const IDENTIFY_SPREAD: Duration = Duration::from_millis(10);

/// So long it is remembered what a target that left has spent, and whether it wants rest: it may come back.
const REMEMBERED: Duration = Duration::from_secs(3600);

/// What every target works with.
#[derive(Debug)]
pub(super) struct Common {
    pub(super) recorder: Arc<Recorder>,
    pub(super) releases: Arc<Releases>,
    pub(super) inbox: Inbox,
    pub(super) pace: Pace,
    pub(super) stop: watch::Receiver<bool>,
}

#[derive(Debug)]
pub(super) struct Fleet {
    /// The one in force.
    plan: Plan,
    common: Common,
    trust: Trust,
    house: House,
    /// All due times are reckoned from here, so that a target that leaves and comes back has the same ones.
    started: Instant,
    crews: Vec<Foreman>,
    members: HashMap<Arc<str>, Member>,
    left: HashMap<Arc<str>, Left>,
    /// The tasks that ask what each target runs.
    askers: JoinSet<()>,
    targets: watch::Sender<Vec<Arc<Target>>>,
    learners: watch::Sender<Learners>,
}

/// What was made ready for one target before anything was changed.
struct Ready {
    target: Arc<Target>,
    transport: Arc<Transport>,
    metrics: Vec<Arc<PlaceMetrics>>,
    grid: Grid,
}

impl Fleet {
    /// Begins to watch the targets of a plan, each over its transport.
    pub(super) fn begin(
        plan: Plan,
        transports: Vec<Arc<Transport>>,
        trust: Trust,
        common: Common,
        crews: Vec<Foreman>,
        started: Instant,
    ) -> Self {
        let mut fleet = Self {
            common,
            trust,
            house: House::new(plan.limits, plan.largest_probe(), started),
            started,
            crews,
            members: HashMap::new(),
            left: HashMap::new(),
            askers: JoinSet::new(),
            targets: watch::Sender::new(Vec::new()),
            learners: watch::Sender::new(Vec::new()),
            plan,
        };
        fleet.arrange(transports, started);
        fleet
    }

    /// The targets in the order of the configuration; changes with it.
    pub(super) fn targets(&self) -> watch::Receiver<Vec<Arc<Target>>> {
        self.targets.subscribe()
    }

    pub(super) fn learners(&self) -> watch::Receiver<Learners> {
        self.learners.subscribe()
    }

    /// One of the tasks that ask has ended: by its target's leave, or by a panic, which is given.
    pub(super) async fn asker_ended(&mut self) -> Option<Result<(), Box<dyn Any + Send>>> {
        let ended = self.askers.join_next().await?;
        Some(match ended.map_err(tokio::task::JoinError::try_into_panic) {
            Err(Ok(panic)) => Err(panic),
            _ => Ok(()),
        })
    }

    /// Turns to another plan. If one of its targets cannot be spoken to at all, nothing changes.
    pub(super) fn adopt(&mut self, plan: Plan) -> Result<Changes, Unusable> {
        let now = Instant::now();
        let transports: Result<_, _> = plan.targets.iter().map(|target| self.transport(target)).collect();
        let transports = transports?;
        let mut changes = Changes::between(&self.plan, &plan);
        let wanted = plan.threads.unwrap_or_else(|| threads_for(plan.usually_under_way()));
        if wanted.get() > self.crews.len() && !changes.waiting.contains(&THREADS) {
            // So many more probes that a start would have given them more threads.
            changes.waiting.push(THREADS);
        }
        // What waits for a restart is still as it was.
        let Plan { listen, threads, state, history, otlp, .. } = self.plan.clone();
        self.plan = Plan { listen, threads, state, history, otlp, ..plan };
        self.house.adopt(self.plan.limits, self.plan.largest_probe(), now);
        self.arrange(transports, now);
        Ok(changes)
    }

    fn transport(&self, target: &Arc<Target>) -> Result<Arc<Transport>, Unusable> {
        match self.members.get(&target.name) {
            Some(member) if member.target() == target => Ok(Arc::clone(member.transport())),
            Some(member) => member.transport().renewed(target, &self.trust).map(Arc::new),
            None => Transport::new(target, &self.trust).map(Arc::new),
        }
    }

    /// Watches what the plan says from now on.
    fn arrange(&mut self, transports: Vec<Arc<Transport>>, now: Instant) {
        let targets = self.plan.targets.clone();
        self.common.recorder.expose_as(self.plan.exposure);
        let metrics = self.common.recorder.arrange(&targets, &self.plan.slos);
        self.common.releases.arrange(&targets);
        self.dismiss(now);
        let memory = OnceCell::new();
        let mut first = now;
        let ready = targets.iter().zip(transports).zip(metrics).enumerate();
        for (index, ((target, transport), metrics)) in ready {
            let grid = Grid::staggered(self.started, target.rate.interval, index, targets.len());
            let ready = Ready { target: Arc::clone(target), transport, metrics, grid: grid.not_before(now) };
            let places = self.places(&ready, &memory);
            if let Some(member) = self.members.get_mut(&target.name) {
                member.change(ready, places, now);
            } else {
                self.welcome(ready, places, Now { now, first });
                first += IDENTIFY_SPREAD;
            }
        }
        self.left.retain(|_, left| now - left.at < REMEMBERED);
        let learners = self.members.values().flat_map(Member::learners).collect();
        self.learners.send_replace(learners);
        self.targets.send_replace(targets);
    }

    /// Sends away those that are not in the plan.
    fn dismiss(&mut self, now: Instant) {
        let plan = &self.plan;
        let gone = self.members.extract_if(|name, _| !plan.targets.iter().any(|target| target.name == *name));
        for (name, member) in gone {
            self.crews[member.crew()].members -= 1;
            self.left.insert(name, member.leave(now));
        }
    }

    fn welcome(&mut self, ready: Ready, places: Vec<Arc<Place>>, when: Now) {
        let name = Arc::clone(&ready.target.name);
        let crew = (0..self.crews.len()).min_by_key(|&crew| self.crews[crew].members).unwrap_or(0);
        let left = self.left.remove(&name);
        let (member, schedule) = Member::new(
            ready,
            places,
            left,
            &self.house,
            &self.common,
            (crew, &self.crews[crew].pulse),
            when,
        );
        self.crews[crew].start(schedule);
        let member = member.ask(&mut self.askers, &self.common, when);
        self.members.insert(name, member);
    }

    /// The places of a target: those that it has already go on, and the others begin.
    fn places(&self, ready: &Ready, memory: &OnceCell<Memory>) -> Vec<Arc<Place>> {
        let target = &ready.target;
        let old = self.members.get(&target.name).map_or(&[][..], Member::places);
        let place = |(share, metrics): (&Share, &Arc<PlaceMetrics>)| {
            let id = PlaceId::of(target, &share.workload);
            match old.iter().find(|place| place.id() == id) {
                Some(place) if Arc::ptr_eq(place.metrics(), metrics) => Arc::clone(place),
                Some(place) => Arc::new(place.counted_at(Arc::clone(metrics))),
                None => {
                    let memory = memory.get_or_init(|| Memory::load(self.plan.state.as_deref()));
                    Arc::new(Place::new(id, Arc::clone(metrics), source(target, share, memory)))
                }
            }
        };
        target.mix.iter().zip(&ready.metrics).map(place).collect()
    }
}
