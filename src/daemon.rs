//! The composition root: builds everything from a [`Plan`] and keeps it running.

mod crew;
mod files;
mod fleet;
mod follow;
mod keeper;
mod memory;
mod reload;
mod verdicts;

use std::num::NonZeroUsize;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, UNIX_EPOCH};

use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};
use tokio::task::{JoinError, JoinSet, spawn_blocking};
use tokio::time::{Instant, timeout};

use crate::config::Plan;
use crate::domain::{Share, Target, clock};
use crate::history;
use crate::otlp::{self, Exporter, Pushing};
use crate::probe::{Transport, Trust, Unusable};
use crate::record::Recorder;
use crate::release::{Patience, Releases};
use crate::schedule::desk::{Consumer, Consumers, Desk, Inbox};
use crate::schedule::identify::Pace;
use crate::schedule::measuring::{Defect, MeasuringThread, threads_for};
use crate::serve::reload::{Reloads, Request};
use crate::serve::{self, Exposition, Shown};
use crate::workload::Source;
use crew::Crew;
pub use files::Files;
use fleet::{Common, Fleet};
use follow::Follower;
use keeper::Keeper;
pub use memory::Memory;
pub use reload::Changes;
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
    trust: Trust,
    transports: Vec<Arc<Transport>>,
    files: Option<Files>,
    reloads: Reloads,
    requests: mpsc::Receiver<Request>,
    consumers: Vec<Arc<dyn Consumer>>,
    exporter: Option<Exporter>,
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

/// What the pages show and pass on.
struct Views {
    targets: watch::Receiver<Vec<Arc<Target>>>,
    reloads: Reloads,
}

/// The tasks of a daemon; all end when the set is dropped.
type Tasks = JoinSet<Result<(), Defect>>;

/// Longer than the desk takes for what waits at the end.
const DESK_PATIENCE: Duration = Duration::from_secs(5);

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Unusable(#[from] Unusable),
    #[error(transparent)]
    Otlp(#[from] otlp::Unusable),
    #[error(transparent)]
    History(#[from] history::Error),
    #[error("the metrics can no longer be served: {0}")]
    Serve(std::io::Error),
    #[error("a thread cannot be started: {0}")]
    Thread(std::io::Error),
    #[error(transparent)]
    Measuring(#[from] Defect),
    #[error("a part of the daemon ended by a defect: {0}")]
    Task(JoinError),
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
        let otlp = plan.otlp.as_ref().map(|collector| Exporter::new(collector, Arc::clone(&recorder)));
        let exporter = otlp.transpose()?;
        let trust = Trust::default();
        let transports: Result<_, Unusable> =
            plan.targets.iter().map(|target| Ok(Arc::new(Transport::new(target, &trust)?))).collect();
        let (reloads, requests) = Reloads::channel();
        Ok(Self {
            transports: transports?,
            trust,
            files: None,
            reloads,
            requests,
            consumers: exporter.iter().map(Exporter::consumer).collect(),
            exporter,
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

    /// Takes a new plan whenever these files have one, or somebody asks for it.
    pub fn follow(&mut self, files: Files) {
        self.files = Some(files);
    }

    /// Asks for the configuration to be read again.
    pub fn reloads(&self) -> Reloads {
        self.reloads.clone()
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
        mut self,
        listener: TcpListener,
        shutdown: impl Future<Output = ()>,
        drain: Duration,
    ) -> Result<(), Error> {
        let (stop, stopped) = watch::channel(false);
        let mut pushing = self.exporter.take().map(Exporter::start);
        let (recorder, releases) = (self.recorder(), self.releases());
        let (desk, inbox) = self.open_desk().map_err(Error::Thread)?;
        // The desk ends with the last inbox, and all of them are with the schedules.
        let (mut tasks, Views { targets, reloads }) = self.start(&stopped, inbox)?;
        let (exposition, ready) = (Exposition::default(), AtomicBool::new(true));
        let shown = Arc::new(Shown { recorder, releases, targets, reloads, exposition, ready });
        let mut server = pin!(serve::run(listener, Arc::clone(&shown)));
        tokio::select! {
            ended = &mut server => return Err(Error::Serve(ended.err().unwrap_or_else(ended_early))),
            Some(ended) = tasks.join_next() => {
                ended.map_err(Error::Task)??;
                return Err(Error::EndedEarly);
            }
            defect = pushing_ended(pushing.as_mut()) => return Err(Error::Task(defect)),
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
        if let Some(pushing) = pushing {
            pushing.finish().await;
        }
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

    /// Starts the measuring threads and everything beside them.
    fn start(self, stop: &watch::Receiver<bool>, inbox: Inbox) -> Result<(Tasks, Views), Error> {
        let now = Instant::now();
        let mut tasks = JoinSet::new();
        let mut crews = Vec::new();
        for number in 0..self.threads() {
            let (crew, foreman) = Crew::new(now);
            crews.push(foreman);
            let (recorder, stop) = (self.recorder(), stop.clone());
            let work = move || crew.work(recorder, stop);
            match self.measuring {
                Measuring::Threads(_) => {
                    let thread = MeasuringThread::spawn(&format!("measure-{number}"), work);
                    tasks.spawn(thread.map_err(Error::Thread)?.ended());
                }
                Measuring::Here => drop(tasks.spawn(part(work()))),
            }
        }
        tasks.spawn(part(self.keeper.clone().watch(stop.clone())));
        let verdicts = Verdicts::new(self.releases(), self.keeper.history(), self.recorder(), self.found());
        let (recorder, releases) = (self.recorder(), self.releases());
        let state = self.plan.state.clone();
        let common = Common { recorder, releases, inbox, pace: self.pace, stop: stop.clone() };
        let fleet = Fleet::begin(self.plan, self.transports, self.trust, common, crews, now);
        let views = Views { targets: fleet.targets(), reloads: self.reloads };
        tasks.spawn(part(verdicts.watch(fleet.targets(), self.look_every, stop.clone())));
        if let Some(path) = state {
            tasks.spawn(part(memory::keep(path, fleet.learners(), stop.clone())));
        }
        let (files, requests, recorder) = (self.files, self.requests, self.recorder);
        tasks.spawn(part(Follower { fleet, files, requests, recorder }.run(stop.clone())));
        Ok((tasks, views))
    }

    fn threads(&self) -> usize {
        match self.measuring {
            Measuring::Threads(count) => count.get(),
            Measuring::Here => 1,
        }
    }
}

/// Prompts for each share of a target's mix, different in every run of the daemon.
pub fn sources(target: &Target, memory: &Memory) -> Vec<Source> {
    target.mix.iter().map(|share| source(target, share, memory)).collect()
}

/// Prompts for one share of a target's mix.
fn source(target: &Target, share: &Share, memory: &Memory) -> Source {
    Source::new(&share.workload, origin(), memory.ruler(target, &share.workload.name))
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

/// Returns only if there is a pushing that ended by a defect.
async fn pushing_ended(pushing: Option<&mut Pushing>) -> JoinError {
    match pushing {
        Some(pushing) => pushing.ended().await,
        None => std::future::pending().await,
    }
}

fn ended_early() -> std::io::Error {
    std::io::Error::other("the server ended")
}
