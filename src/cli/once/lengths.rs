//! How long the prompts of `once` are: asked of the targets before the first probe, and learned from refusals.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::domain::{Kind, Report, Room};
use crate::probe::Transport;
use crate::schedule::calibrate::calibrate;
use crate::schedule::trip::Measured;
use crate::workload::Learner;

/// So long at most it takes to ask the targets how they count, all at the same time.
const CALIBRATE_WITHIN: Duration = Duration::from_secs(5);

/// A prompt that is refused as too long is sent again, shorter; so often at most it is sent.
const MOST_TRIES: usize = 4;

/// A prompt whose length differs by more than this part from what is asked for is told of.
const FAR: f64 = 0.1;

/// One probe whose last try has not been judged yet.
#[derive(Debug)]
pub(super) struct Tries {
    pub(super) refused: Vec<Report>,
    pub(super) last: Measured,
    pub(super) room: Room,
    /// How the target counts was known before the first try.
    pub(super) was_known: bool,
}

/// All that came of one probe: every try, in order, and what the target has room for.
#[derive(Debug)]
pub(super) struct Tried {
    pub(super) reports: Vec<Report>,
    pub(super) room: Room,
    pub(super) was_known: bool,
}

/// Asks the targets how long prompts are by their tokenizers, as far as they have a page for it and in bounded time. What
/// was learned until then stays.
pub(super) async fn learn(asked: Vec<(Arc<Transport>, Learner)>) {
    let mut asking = JoinSet::new();
    for (transport, learner) in asked {
        asking.spawn(async move {
            let _ = timeout(CALIBRATE_WITHIN, calibrate(&transport, &[learner])).await;
        });
    }
    while asking.join_next().await.is_some() {}
}

/// Whether a prompt is to be sent again, shorter, after it was refused so many times before.
pub(super) fn is_worth_another_try(report: &Report, refused: usize) -> bool {
    report.lesson.too_long && report.workload.kind != Kind::File && refused + 1 < MOST_TRIES
}

impl Tries {
    pub(super) fn finish(self) -> Tried {
        let Self { mut refused, last, room, was_known } = self;
        refused.push(last.finish());
        Tried { reports: refused, room, was_known }
    }
}

impl Tried {
    /// The last try is what counts: those before it were refused for the length of our own prompt.
    pub(super) fn succeeded(&self) -> bool {
        self.reports.last().is_some_and(Report::succeeded)
    }

    /// What a person must know about the lengths.
    pub(super) fn remarks(&self) -> Vec<String> {
        let Some(report) = self.reports.last() else { return Vec::new() };
        let who = format!("\n{}, {}", report.target.name, report.workload.name);
        let mut remarks = Vec::new();
        if self.reports.len() > 1 {
            let tries = self.reports.len();
            remarks.push(format!(
                "{who}: refused as too long; sent again with a shorter prompt, {tries} tries in all"
            ));
        }
        let (wanted, _) = report.workload.lengths_at(report.seed.step);
        let told = report.tokens.prompt.filter(|_| report.workload.kind != Kind::File);
        if let Some(tokens) = told.filter(|&tokens| (tokens as f64 / f64::from(wanted) - 1.0).abs() > FAR) {
            let why = match self.room.context.or(self.room.input) {
                Some(room) if self.room.beside(report.workload.output_tokens.longest()) < wanted => {
                    format!("no more fits, the target takes {room}")
                }
                _ if self.was_known => {
                    "by the target's tokenizer no prompt of this kind comes nearer".to_owned()
                }
                _ => "nothing was known of the target's tokenizer; with state in [daemon] it is remembered"
                    .to_owned(),
            };
            remarks.push(format!("{who}: the prompt had {tokens} tokens, {wanted} are asked for: {why}"));
        }
        remarks.extend(starved(report).map(|why| format!("{who}: {why}")));
        remarks
    }
}

/// Why a finished answer says nothing: reasoning took all the tokens that it was allowed.
fn starved(report: &Report) -> Option<String> {
    let spent = report.tokens.reasoning.or(report.tokens.output).filter(|&tokens| tokens > 0)?;
    let is_starved = report.succeeded() && report.answer.cut && report.sample.answer_ttft.is_none();
    (is_starved && report.target.stream).then(|| {
        format!(
            "all {spent} tokens went into reasoning, so the answer is not judged; raise output_tokens, or write reasoning = \"off\" or \"low\""
        )
    })
}
