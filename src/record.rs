//! One [`Report`] becomes metrics and a line in the log.

mod by_label;
mod history;
mod info;
mod layouts;
mod measured;
mod narrator;
mod objectives;
mod own;
mod page;
mod place;
mod process;
mod quality;
mod releases;
mod shown;
mod target;

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use crate::domain::{Exposure, Makeup, Report, Skip, Slo, Target, Workload, clock};
use crate::expose;
use crate::series::{Labels, Writer};
use history::History;
pub use history::Keeping;
use layouts::Layouts;
use narrator::Narrator;
use own::Own;
use page::Page;
pub use place::{PlaceMetrics, Running};
use process::Process;
use quality::Quality;
use shown::Shown;

/// Everything that is known of what was measured.
#[derive(Debug)]
pub struct Recorder {
    exposure: Mutex<Exposure>,
    shown: Mutex<Arc<Shown>>,
    own: Own,
    process: Process,
    history: History,
    created: SystemTime,
    narrator: Mutex<Narrator>,
    quality: Mutex<Quality>,
}

impl Recorder {
    /// Creates every series of these targets and objectives at 0, but those that come later by their scope.
    pub fn new(targets: &[Arc<Target>], slos: &[Arc<Slo>]) -> Self {
        let now = clock::wall_now();
        let exposure = Exposure::default();
        let recorder = Self {
            own: Own::new(&Layouts::new(exposure.buckets, slos), now),
            exposure: Mutex::new(exposure),
            shown: Mutex::default(),
            process: Process::new(),
            history: History::default(),
            created: now,
            narrator: Mutex::default(),
            quality: Mutex::default(),
        };
        recorder.arrange(targets, slos);
        recorder
    }

    /// In which form durations are shown; bounds follow with the next [`Self::arrange`].
    pub fn expose_as(&self, exposure: Exposure) {
        *lock(&self.exposure) = exposure;
    }

    pub fn exposure(&self) -> Exposure {
        *lock(&self.exposure)
    }

    /// Shows the workloads of these targets, and what these objectives count there, from now on: what stays keeps its
    /// series, what left has none any more. In the order of the targets and their mixes.
    pub fn arrange(&self, targets: &[Arc<Target>], slos: &[Arc<Slo>]) -> Vec<Vec<Arc<PlaceMetrics>>> {
        let layouts = Arc::new(Layouts::new(self.exposure().buckets, slos));
        self.own.arrange(&layouts);
        let mut shown = lock(&self.shown);
        let after = Shown::after(&shown, targets, slos, &layouts, clock::wall_now());
        let mut places = after.places().iter();
        let by_target =
            targets.iter().map(|target| places.by_ref().take(target.mix.len()).cloned().collect()).collect();
        *shown = Arc::new(after);
        drop(shown);
        let names: HashSet<_> = targets
            .iter()
            .flat_map(|t| t.mix.iter().map(|share| (&*t.name, &*share.workload.name)))
            .collect();
        lock(&self.narrator).forget_others(|target, workload| names.contains(&(target, workload)));
        lock(&self.quality).forget_others(|target, workload| names.contains(&(target, workload)));
        by_target
    }

    /// Where the probes of a target's workload are counted.
    pub fn place(&self, target: &str, workload: &str) -> Option<Arc<PlaceMetrics>> {
        let shown = self.shown();
        let is_it =
            |place: &&Arc<PlaceMetrics>| **place.target() == *target && **place.workload() == *workload;
        shown.places().iter().find(is_it).cloned()
    }

    /// The configuration was read again; whether it could be used.
    pub fn reloaded(&self, successful: bool) {
        self.own.reloaded(successful, clock::wall_now());
    }

    /// A due time was not served.
    pub fn skipped(&self, place: &PlaceMetrics, reason: Skip) {
        place.skip(reason);
        lock(&self.narrator).skipped(place.target(), place.workload(), reason);
    }

    pub fn record(&self, place: &PlaceMetrics, report: &Report) {
        self.own.lag(report.sample.lag);
        place.record(report, clock::wall_now());
        lock(&self.narrator).tell(report);
        lock(&self.quality).tell(report);
    }

    /// What a target runs: one makeup, or several while they answer in turn; and when the newest of them began.
    pub fn runs(&self, target: &Target, makeups: &[&Makeup], began: SystemTime) {
        if let Some(target) = self.shown().target(&target.name) {
            target.runs(makeups, began);
        }
    }

    /// The event loop ran a timer this much too late.
    pub fn loop_lag(&self, lag: Duration) {
        self.own.loop_lag(lag);
    }

    /// How many probes an objective has counted, and how many of them were bad.
    pub fn counted(&self, target: &Target, workload: &Workload, slo: &Slo) -> [u64; 2] {
        self.place(&target.name, &workload.name).map_or([0; 2], |place| place.counted(slo))
    }

    /// Shows every family and series.
    pub fn walk(&self, writer: &mut dyn Writer) {
        self.shown().walk(writer);
        let mut page = Page { writer, labels: &Labels::default(), created: self.created };
        self.own.show(&mut page);
        self.history.show(&mut page);
        self.process.show(writer);
    }

    /// Everything as text.
    pub fn text(&self) -> String {
        expose::text(|writer| self.walk(writer))
    }

    fn shown(&self) -> Arc<Shown> {
        Arc::clone(&lock(&self.shown))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
