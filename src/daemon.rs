//! The composition root: builds everything from a [`Plan`] and keeps it running.

mod keeper;
mod memory;
mod verdicts;

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, UNIX_EPOCH};

use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use crate::config::Plan;
use crate::domain::{Share, Target, clock};
use crate::history;
use crate::probe::{Transport, Trust, Unusable};
use crate::record::{self, Recorder};
use crate::release::{Patience, Releases};
use crate::schedule::Schedule;
use crate::schedule::cadence::{Grid, Rotation};
use crate::schedule::guard::{Guard, House};
use crate::schedule::identify::{self, Pace};
use crate::schedule::pulse::Pulse;
use crate::schedule::standing::Standing;
use crate::serve::{self, Shown};
use crate::workload::Source;
use keeper::Keeper;
pub use memory::Memory;
pub use verdicts::Found;
use verdicts::Verdicts;

/// A daemon that has been built but not started.
#[derive(Debug)]
pub struct Daemon {
    plan: Plan,
    recorder: Arc<Recorder>,
    releases: Arc<Releases>,
    keeper: Keeper,
    found: Found,
    transports: Vec<Arc<Transport>>,
    /// How often each target is asked what it runs.
    pub pace: Pace,
    /// How often a new release is held against the one before.
    pub look_every: Duration,
}

/// At the start the targets are asked what they run this far apart, so as not to disturb the first probes.
const IDENTIFY_SPREAD: Duration = Duration::from_millis(10);

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Unusable(#[from] Unusable),
    #[error(transparent)]
    Record(#[from] record::Error),
    #[error(transparent)]
    History(#[from] history::Error),
    #[error("the metrics can no longer be served: {0}")]
    Serve(std::io::Error),
    #[error("the schedule of a target ended by a defect: {0}")]
    Schedule(tokio::task::JoinError),
    #[error("the schedule of a target ended though nobody asked it to")]
    ScheduleEnded,
}

impl Daemon {
    pub fn new(plan: Plan) -> Result<Self, Error> {
        Self::build(plan, Patience::default())
    }

    /// With the patience to wait until a release has settled.
    pub fn build(plan: Plan, patience: Patience) -> Result<Self, Error> {
        let recorder = Arc::new(Recorder::new(&plan.targets, &plan.slos)?);
        let keeper = Keeper::open(&plan.history, Arc::clone(&recorder))?;
        let ledger = Box::new(keeper.history());
        let releases = Arc::new(Releases::new(&plan.targets, ledger, Arc::clone(&recorder), patience));
        let trust = Trust::default();
        let transports: Result<_, Unusable> =
            plan.targets.iter().map(|target| Ok(Arc::new(Transport::new(target, &trust)?))).collect();
        Ok(Self {
            transports: transports?,
            plan,
            recorder,
            releases,
            keeper,
            found: Found::default(),
            pace: Pace::default(),
            look_every: verdicts::EVERY,
        })
    }

    pub fn recorder(&self) -> Arc<Recorder> {
        Arc::clone(&self.recorder)
    }

    /// What became of each target with its present release.
    pub fn found(&self) -> Found {
        self.found.clone()
    }

    pub fn releases(&self) -> Arc<Releases> {
        Arc::clone(&self.releases)
    }

    /// Probes and serves until `shutdown`; then sends no new probe, gives those under way `drain` to end,
    /// and returns. A part that fails ends the whole: a daemon that half works would be believed.
    pub async fn run(
        self,
        listener: TcpListener,
        shutdown: impl Future<Output = ()>,
        drain: Duration,
    ) -> Result<(), Error> {
        let (stop, stopped) = watch::channel(false);
        let shown = Arc::new(Shown {
            recorder: self.recorder(),
            releases: self.releases(),
            targets: self.plan.targets.clone(),
            ready: AtomicBool::new(true),
        });
        let mut schedules = self.start(&stopped);
        let mut server = pin!(serve::run(listener, Arc::clone(&shown)));
        tokio::select! {
            ended = &mut server => return Err(Error::Serve(ended.err().unwrap_or_else(ended_early))),
            Some(ended) = schedules.join_next() => {
                return Err(ended.err().map_or(Error::ScheduleEnded, Error::Schedule));
            }
            () = shutdown => {}
        }
        shown.ready.store(false, Ordering::Relaxed);
        let _ = stop.send(true);
        // Metrics stay readable to the end: the last scrape shows what was skipped and why.
        let drained = async { while schedules.join_next().await.is_some() {} };
        tokio::select! {
            _ = &mut server => {}
            left = timeout(drain, drained) => if left.is_err() {
                tracing::warn!("probes still under way after {} are abandoned", humantime::format_duration(drain));
            }
        }
        Ok(())
    }

    /// Spawns the pulse, and for each target its schedule and the task that asks what it runs; all end when the set is dropped.
    fn start(&self, stopped: &watch::Receiver<bool>) -> JoinSet<()> {
        let now = Instant::now();
        let pulse = Arc::new(Pulse::new(now));
        let largest = self.plan.workloads.iter().map(|w| w.expected_tokens()).max().unwrap_or(0);
        let house = House::new(self.plan.limits, largest, now);
        let mut tasks = JoinSet::new();
        let memory = Memory::load(self.plan.state.as_deref());
        let mut learners = Vec::new();
        let count = self.plan.targets.len();
        let mut first = now;
        for (index, (target, transport)) in self.plan.targets.iter().zip(&self.transports).enumerate() {
            let standing = Arc::new(Standing::default());
            let sources = sources(target, &memory);
            let own: Vec<_> = sources.iter().map(Source::learner).collect();
            learners.extend(own.iter().map(|learner| (target.name.to_string(), learner.clone())));
            let schedule = Schedule {
                target: Arc::clone(target),
                transport: Arc::clone(transport),
                grid: Grid::staggered(now, target.rate.interval, index, count),
                rotation: Rotation::new(target.mix.iter().map(|share| share.weight)),
                sources,
                guard: Guard::new(&house, target, now),
                recorder: self.recorder(),
                releases: self.releases(),
                history: self.keeper.history(),
                pulse: Arc::clone(&pulse),
                standing: Arc::clone(&standing),
            };
            tasks.spawn(schedule.run(stopped.clone()));
            let (transport, releases) = (Arc::clone(transport), self.releases());
            let (pace, stopped) = (self.pace, stopped.clone());
            tasks.spawn(identify::watch(transport, releases, standing, own, first, pace, stopped));
            first += IDENTIFY_SPREAD;
        }
        tasks.spawn(self.keeper.clone().watch(stopped.clone()));
        let verdicts = Verdicts::new(self.releases(), self.keeper.history(), self.recorder(), self.found());
        tasks.spawn(verdicts.watch(self.plan.targets.clone(), self.look_every, stopped.clone()));
        if let Some(path) = self.plan.state.clone() {
            tasks.spawn(memory::keep(path, learners, stopped.clone()));
        }
        let (recorder, mut stopped) = (self.recorder(), stopped.clone());
        tasks.spawn(async move {
            tokio::select! {
                () = pulse.beat(|lag| recorder.loop_lag(lag)) => {}
                _ = stopped.wait_for(|&stop| stop) => {}
            }
        });
        tasks
    }
}

/// Prompts for each share of a target's mix, different in every run of the daemon.
pub fn sources(target: &Target, memory: &Memory) -> Vec<Source> {
    let origin = origin();
    let source =
        |share: &Share| Source::new(&share.workload, origin, memory.ruler(target, &share.workload.name));
    target.mix.iter().map(source).collect()
}

/// What prompts are drawn from: another in every run.
pub fn origin() -> u64 {
    clock::wall_now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as u64
}

fn ended_early() -> std::io::Error {
    std::io::Error::other("the server ended")
}
