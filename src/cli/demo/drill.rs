//! The fire drill of the demo: the alerts on objectives, sixty times as fast as in life, on what is being measured.
//!
//! No Prometheus is needed to see them: the arithmetic is the forecast's, which a test holds against the real one. With
//! `--files` a real one can judge the same.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result};

use crate::config::Plan;
use crate::domain::{Slo, Target, Workload};
use crate::forecast::watch::{Kind, STEP, Watch};
use crate::record::Recorder;
use crate::rules::rule::Span;
use crate::rules::{self, Options, Watched};

/// Windows and waits are divided by this.
pub(super) const SCALE: u32 = 60;

/// How often the counters are looked at.
pub(super) const PERIOD: Duration = Duration::from_millis(STEP.as_millis() as u64 / SCALE as u64);

#[derive(Debug)]
pub(super) struct Drill {
    recorder: Arc<Recorder>,
    rows: Vec<Row>,
}

#[derive(Debug)]
struct Row {
    target: Arc<Target>,
    workload: Arc<Workload>,
    slo: Arc<Slo>,
    watch: Watch,
    /// Events and bad events at the last look.
    seen: [u64; 2],
    firing: Vec<Kind>,
}

impl Drill {
    pub(super) fn new(plan: &Plan, recorder: Arc<Recorder>) -> Self {
        let mut rows = Vec::new();
        for target in &plan.targets {
            for share in &target.mix {
                for slo in plan.slos.iter().filter(|slo| slo.covers(target, &share.workload)) {
                    rows.push(Row {
                        target: Arc::clone(target),
                        workload: Arc::clone(&share.workload),
                        slo: Arc::clone(slo),
                        watch: Watch::new(slo.objective.budget(), target.interval_of(share) * SCALE),
                        seen: [0; 2],
                        firing: Vec::new(),
                    });
                }
            }
        }
        Self { recorder, rows }
    }

    /// Takes what was counted since the last look, and says which alerts began or ended.
    pub(super) fn look(&mut self) -> Vec<String> {
        self.rows.iter_mut().flat_map(|row| row.look(&self.recorder)).collect()
    }
}

impl Row {
    fn look(&mut self, recorder: &Recorder) -> Vec<String> {
        let now = recorder.counted(&self.target, &self.workload, &self.slo);
        let [events, bad] = [0, 1].map(|part| u32::try_from(now[part] - self.seen[part]).unwrap_or(u32::MAX));
        self.seen = now;
        self.watch.step(events, bad);
        let firing: Vec<_> = self.watch.firing().map(|tier| tier.kind).collect();
        let began = firing.iter().filter(|kind| !self.firing.contains(kind)).map(|kind| ("FIRING  ", kind));
        let ended = self.firing.iter().filter(|kind| !firing.contains(kind)).map(|kind| ("resolved", kind));
        let told = began.chain(ended).map(|(state, kind)| self.tell(state, *kind)).collect();
        self.firing = firing;
        told
    }

    fn tell(&self, state: &str, kind: Kind) -> String {
        let name = match kind {
            Kind::Quick(_) => "SloprobeFastDegradation",
            Kind::Burn(_) => "SloprobeErrorBudgetBurn",
        };
        let window = Span(kind.windows()[0] / SCALE);
        let Self { target, workload, slo, .. } = self;
        format!("{state} {name}, window {window}: {} of {} on {}", slo.name, workload.name, target.name)
    }
}

/// What a real Prometheus needs to judge the same: its own configuration and the rules, in the drill's time.
pub(super) fn write_files(folder: &Path, plan: &Plan, address: &str) -> Result<()> {
    let options = Options { time_scale: SCALE, ..Options::default() };
    let watched = Watched { targets: &plan.targets, slos: &plan.slos };
    let head = "The rules of `sloprobe demo`, sixty times as fast as in life: a drill, not for production.";
    let rules = rules::prometheus(&rules::groups(watched, &options), &options, head);
    let prometheus = format!(
        "global:\n  scrape_interval: {PERIOD:?}\n  scrape_timeout: {PERIOD:?}\nrule_files: [sloprobe.rules.yml]\n\
         scrape_configs:\n- job_name: sloprobe\n  static_configs:\n  - targets: ['{address}']\n"
    );
    std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    for (name, text) in [("sloprobe.rules.yml", rules), ("prometheus.yml", prometheus)] {
        let path = folder.join(name);
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}
