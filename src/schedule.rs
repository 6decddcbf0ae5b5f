//! One task per target: wait until a probe is due, spawn it, never wait for its answer.
//!
//! The schedule is open-loop. A slow answer delays no other probe, and a due time that is not served is
//! counted with its reason.

mod back_off;
pub mod cadence;
pub mod calibrate;
pub mod guard;
pub mod identify;
pub mod pulse;
pub mod standing;

use std::sync::Arc;

use tokio::sync::watch;
use tokio::task::{JoinError, JoinSet};
use tokio::time::{Instant, sleep_until};

use crate::domain::{Skip, Target};
use crate::history::History;
use crate::probe::{self, Job, Transport};
use crate::record::Recorder;
use crate::release::Releases;
use crate::workload::{Posed, Source};
use cadence::{Grid, Rotation};
use guard::Guard;
use pulse::Pulse;
use standing::Standing;

/// Everything that the schedule of one target works with.
#[derive(Debug)]
pub struct Schedule {
    pub target: Arc<Target>,
    pub transport: Arc<Transport>,
    pub grid: Grid,
    pub rotation: Rotation,
    /// In the order of the target's mix.
    pub sources: Vec<Source>,
    pub guard: Guard,
    pub recorder: Arc<Recorder>,
    pub releases: Arc<Releases>,
    pub history: History,
    pub pulse: Arc<Pulse>,
    pub standing: Arc<Standing>,
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
            self.recorder.skipped(&self.target, &self.target.mix[turn].workload, Skip::Late);
        }
        let due = self.grid.advance();
        let turn = self.rotation.turn();
        let workload = &self.target.mix[turn].workload;
        let permit = match self.guard.admit(now, workload) {
            Ok(permit) => permit,
            Err(reason) => return self.recorder.skipped(&self.target, workload, reason),
        };
        let job = Job {
            target: Arc::clone(&self.target),
            workload: Arc::clone(workload),
            prompt: self.sources[turn].next_prompt(),
            due,
        };
        let posed = Posed::of(workload, &job.prompt);
        let in_flight = self.recorder.started(&self.target, workload);
        let (transport, recorder) = (Arc::clone(&self.transport), Arc::clone(&self.recorder));
        let (pulse, learner) = (Arc::clone(&self.pulse), self.sources[turn].learner());
        let (standing, releases) = (Arc::clone(&self.standing), Arc::clone(&self.releases));
        let history = self.history.clone();
        running.spawn(async move {
            let mut report = probe::run(&transport, job).await;
            report.suspect = pulse.was_late_since(report.timeline.started, Instant::now());
            let forced = transport.knowledge().forces(&report.workload);
            posed.judge(&mut report, forced).await;
            learner.hear(&report);
            permit.settle(&report, Instant::now());
            standing.hear(&report);
            let (release, mixed) = releases.reported(&report);
            history.keep(&report, release, mixed);
            recorder.record(&report);
            drop(in_flight);
        });
    }

    /// A probe's task that panicked is a defect of this program: it must not pass unseen, nor end the rest.
    fn note_end(&self, ended: Result<(), JoinError>) {
        if let Err(error) = ended {
            tracing::error!(target = &*self.target.name, %error, "a probe ended by a defect; please report it");
        }
    }
}
