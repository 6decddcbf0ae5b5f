//! The trip of one probe: send the prompt, ask whether this host was late meanwhile, judge the answer, learn from
//! it. The daemon, `once`, the demo and the tests all send their probes through here.

use std::sync::Arc;

use tokio::task::spawn_blocking;
use tokio::time::Instant;

use super::pulse::Pulse;
use crate::domain::{Prompt, Report, Workload};
use crate::probe::{self, Job, Transport};
use crate::workload::{Draft, Learner, Posed};

/// A longer prompt takes long enough to write that streams on the same thread would wait for it.
const LONG_PROMPT_TOKENS: u32 = 1000;

/// How one target's probes are sent; clones share everything.
#[derive(Debug, Clone)]
pub struct Trip {
    pub transport: Arc<Transport>,
    /// Of the thread that measures.
    pub pulse: Arc<Pulse>,
}

/// What one probe is to ask, and who learns from the answer.
#[derive(Debug)]
pub struct Errand {
    pub workload: Arc<Workload>,
    pub draft: Draft,
    pub learner: Learner,
    pub due: Instant,
}

/// A probe that has been measured and not yet been judged.
#[derive(Debug)]
pub struct Measured {
    report: Report,
    asked: Posed,
    /// The engine was told to go on past the end of the text.
    forced: bool,
    learner: Learner,
}

impl Trip {
    /// Sends the prompt and measures what comes back. This is all that happens on a measuring thread.
    pub async fn measure(&self, errand: Errand) -> Measured {
        let Errand { workload, draft, learner, due } = errand;
        let prompt = write(&workload, draft).await;
        let asked = Posed::of(&workload, &prompt);
        let target = Arc::clone(self.transport.target());
        let mut report = probe::run(&self.transport, Job { target, workload, prompt, due }).await;
        report.suspect = self.pulse.was_late_since(report.timeline.started, Instant::now());
        let forced = self.transport.knowledge().forces(&report.workload);
        Measured { report, asked, forced, learner }
    }
}

impl Measured {
    /// What is known before the answer is judged.
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// Judges the answer and learns from it. A long answer takes milliseconds: not for a measuring thread.
    pub fn finish(self) -> Report {
        let Self { mut report, asked, forced, learner } = self;
        asked.judge(&mut report, forced);
        learner.hear(&report);
        report
    }
}

/// A long prompt is written on another thread.
async fn write(workload: &Arc<Workload>, draft: Draft) -> Prompt {
    let (input_tokens, _) = workload.lengths_at(draft.seed.step);
    if input_tokens <= LONG_PROMPT_TOKENS {
        return draft.write(workload);
    }
    let workload = Arc::clone(workload);
    let written = spawn_blocking(move || draft.write(&workload)).await;
    written.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()))
}
