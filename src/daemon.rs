//! The composition root: builds everything from a [`Plan`] and keeps it running.

mod crew;
mod keeper;
mod memory;
mod verdicts;

use std::num::NonZeroUsize;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, UNIX_EPOCH};

use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::{Instant, timeout};

use crate::config::Plan;
use crate::domain::{Share, Target, clock};
use crate::history;
use crate::probe::{Transport, Trust, Unusable};
use crate::record::Recorder;
use crate::release::{Patience, Releases};
use crate::schedule::Schedule;
use crate::schedule::cadence::{Grid, Rotation};
use crate::schedule::desk::{Consumer, Consumers, Desk, Inbox};
use crate::schedule::guard::{Guard, House};
use crate::schedule::identify::{self, Pace};
use crate::schedule::measuring::{Defect, MeasuringThread, threads_for};
use crate::schedule::standing::Standing;
use crate::schedule::trip::Trip;
use crate::serve::{self, Exposition, Shown};
use crate::workload::{Learner, Source};
use crew::Crew;
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
    consumers: Vec<Arc<dyn Consumer>>,
    /// Where probes are measured.
    pub measuring: Measuring,
    /// How often each target is asked what it runs.
    pub pace: Pace,
    /// How often a new release is held against the one before.
    pub look_every: Duration,
}

/// Where probes are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measuring {
    /// On so many threads that do nothing else.
    Threads(NonZeroUsize),
    /// On the runtime that runs the daemon: for tests, whose stopped clock does not reach other threads.
    Here,
}

/// What the task that asks what a target runs works with.
struct Asked {
    transport: Arc<Transport>,
    learners: Vec<Learner>,
    standing: Arc<Standing>,
}

/// The tasks of a daemon; all end when the set is dropped.
type Tasks = JoinSet<Result<(), Defect>>;

/// At the start the targets are asked what they run this far apart, so as not to disturb the first probes.
const IDENTIFY_SPREAD: Duration = Duration::from_millis(10);

/// Longer than the desk takes for what waits at the end.
const DESK_PATIENCE: Duration = Duration::from_secs(5);

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Unusable(#[from] Unusable),
    #[error(transparent)]
    History(#[from] history::Error),
    #[error("the metrics can no longer be served: {0}")]
    Serve(std::io::Error),
    #[error("a thread cannot be started: {0}")]
    Thread(std::io::Error),
    #[error(transparent)]
    Measuring(#[from] Defect),
    #[error("a part of the daemon ended by a defect: {0}")]
    Task(tokio::task::JoinError),
    #[error("a part of the daemon ended though nobody asked it to")]
    EndedEarly,
}

impl Daemon {
    pub fn new(plan: Plan) -> Result<Self, Error> {
        Self::build(plan, Patience::default())
    }

    /// With the patience to wait until a release has settled.
    pub fn build(plan: Plan, patience: Patience) -> Result<Self, Error> {
        let recorder = Arc::new(Recorder::new(&plan.targets, &plan.slos));
        recorder.expose_as(plan.exposure);
        let keeper = Keeper::open(&plan.history, Arc::clone(&recorder))?;
        let ledger = Box::new(keeper.history());
        let releases = Arc::new(Releases::new(&plan.targets, ledger, Arc::clone(&recorder), patience));
        let trust = Trust::default();
        let transports: Result<_, Unusable> =
            plan.targets.iter().map(|target| Ok(Arc::new(Transport::new(target, &trust)?))).collect();
        Ok(Self {
            transports: transports?,
            consumers: Vec::new(),
            measuring: Measuring::Threads(
                plan.threads.unwrap_or_else(|| threads_for(plan.usually_under_way())),
            ),
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

    /// Tells somebody else of every finished probe, too.
    pub fn tell(&mut self, consumer: Arc<dyn Consumer>) {
        self.consumers.push(consumer);
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
            exposition: Exposition::default(),
            ready: AtomicBool::new(true),
        });
        let (desk, inbox) = self.open_desk().map_err(Error::Thread)?;
        let mut tasks = self.start(&stopped, &inbox)?;
        // The desk ends with the last inbox; the others are with the schedules.
        drop(inbox);
        let mut server = pin!(serve::run(listener, Arc::clone(&shown)));
        tokio::select! {
            ended = &mut server => return Err(Error::Serve(ended.err().unwrap_or_else(ended_early))),
            Some(ended) = tasks.join_next() => {
                ended.map_err(Error::Task)??;
                return Err(Error::EndedEarly);
            }
            () = shutdown => {}
        }
        shown.ready.store(false, Ordering::Relaxed);
        let _ = stop.send(true);
        // Metrics stay readable to the end: the last scrape shows what was skipped and why.
        let drained = async { while tasks.join_next().await.is_some() {} };
        tokio::select! {
            _ = &mut server => {}
            left = timeout(drain, drained) => if left.is_err() {
                tracing::warn!("probes still under way after {} are abandoned", humantime::format_duration(drain));
            }
        }
        drop(tasks);
        let _ = timeout(DESK_PATIENCE, spawn_blocking(|| desk.close())).await;
        Ok(())
    }

    fn open_desk(&self) -> std::io::Result<(Desk, Inbox)> {
        Desk::open(Consumers {
            releases: self.releases(),
            history: self.keeper.history(),
            recorder: self.recorder(),
            others: self.consumers.clone(),
        })
    }

    /// Starts the measuring threads, and for each target the task that asks what it runs.
    fn start(&self, stopped: &watch::Receiver<bool>, inbox: &Inbox) -> Result<Tasks, Error> {
        let now = Instant::now();
        let mut tasks = JoinSet::new();
        let (crews, asked) = self.crews(inbox, now);
        for (number, crew) in crews.into_iter().enumerate() {
            let (recorder, stopped) = (self.recorder(), stopped.clone());
            let work = move || crew.work(recorder, stopped);
            match self.measuring {
                Measuring::Threads(_) => {
                    let thread = MeasuringThread::spawn(&format!("measure-{number}"), work);
                    tasks.spawn(thread.map_err(Error::Thread)?.ended());
                }
                Measuring::Here => drop(tasks.spawn(part(work()))),
            }
        }
        let mut learners = Vec::new();
        let mut first = now;
        for Asked { transport, learners: own, standing } in asked {
            let name = &transport.target().name;
            learners.extend(own.iter().map(|learner| (name.to_string(), learner.clone())));
            let (releases, pace) = (self.releases(), self.pace);
            let asking = identify::watch(transport, releases, standing, own, first, pace, stopped.clone());
            tasks.spawn(part(asking));
            first += IDENTIFY_SPREAD;
        }
        tasks.spawn(part(self.keeper.clone().watch(stopped.clone())));
        let verdicts = Verdicts::new(self.releases(), self.keeper.history(), self.recorder(), self.found());
        tasks.spawn(part(verdicts.watch(self.plan.targets.clone(), self.look_every, stopped.clone())));
        if let Some(path) = self.plan.state.clone() {
            tasks.spawn(part(memory::keep(path, learners, stopped.clone())));
        }
        Ok(tasks)
    }

    /// The schedules of all targets, spread over the measuring threads, and what the task beside each works with.
    fn crews(&self, inbox: &Inbox, now: Instant) -> (Vec<Crew>, Vec<Asked>) {
        let largest = self.plan.workloads.iter().map(|w| w.expected_tokens()).max().unwrap_or(0);
        let house = House::new(self.plan.limits, largest, now);
        let memory = Memory::load(self.plan.state.as_deref());
        let threads = match self.measuring {
            Measuring::Threads(count) => count.get(),
            Measuring::Here => 1,
        };
        let mut crews: Vec<Crew> = (0..threads).map(|_| Crew::new(now)).collect();
        let mut asked = Vec::new();
        let places = self.recorder.arrange(&self.plan.targets, &self.plan.slos);
        let targets = self.plan.targets.iter().zip(&self.transports).zip(places);
        for (index, ((target, transport), places)) in targets.enumerate() {
            let crew = &mut crews[index % threads];
            let standing = Arc::new(Standing::default());
            let sources = sources(target, &memory);
            asked.push(Asked {
                transport: Arc::clone(transport),
                learners: sources.iter().map(Source::learner).collect(),
                standing: Arc::clone(&standing),
            });
            crew.schedules.push(Schedule {
                target: Arc::clone(target),
                trip: Trip { transport: Arc::clone(transport), pulse: Arc::clone(&crew.pulse) },
                grid: Grid::staggered(now, target.rate.interval, index, self.plan.targets.len()),
                rotation: Rotation::new(target.mix.iter().map(|share| share.weight)),
                sources,
                places,
                guard: Guard::new(&house, target, now),
                recorder: self.recorder(),
                standing,
                inbox: inbox.clone(),
            });
        }
        (crews, asked)
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

/// A part of the daemon that is no measuring thread.
async fn part(work: impl Future<Output = ()>) -> Result<(), Defect> {
    work.await;
    Ok(())
}

fn ended_early() -> std::io::Error {
    std::io::Error::other("the server ended")
}
