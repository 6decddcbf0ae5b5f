//! What the log says about answers and prompts that are not as they should be: now and then, not each time.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::domain::{Kind, Report};

/// A model that is wrong now and then is told about so often at most.
const TELL_AGAIN: Duration = Duration::from_secs(600);

/// Prompts so much shorter than wanted, one after the other so often, are cut short by the server: how long a
/// prompt is by its tokenizer has been learned by then.
const SHORT: f64 = 0.8;
const OFTEN: u32 = 6;

/// This much of an answer stands in a log line.
const EXCERPT_CHARS: usize = 200;

#[derive(Debug, Default)]
pub(super) struct Quality {
    states: HashMap<(Arc<str>, Arc<str>), State>,
    /// Targets whose cache has been told about.
    cached: HashSet<Arc<str>>,
}

#[derive(Debug, Default)]
struct State {
    told: Option<Instant>,
    /// Bad answers since then.
    bad: u64,
    short_prompts: u32,
}

impl Quality {
    /// Forgets places that left.
    pub(super) fn forget_others(&mut self, stays: impl Fn(&str, &str) -> bool) {
        self.states.retain(|(target, workload), _| stays(target, workload));
        self.cached.retain(|target| self.states.keys().any(|(known, _)| known == target));
    }

    pub(super) fn tell(&mut self, report: &Report) {
        let (target, workload) = (&*report.target.name, &*report.workload.name);
        if report.was_cold_but_cached() && self.cached.insert(Arc::clone(&report.target.name)) {
            let (prompt, cached) = (report.tokens.prompt, report.tokens.cached);
            tracing::warn!(
                target,
                workload,
                prompt,
                cached,
                "a prompt that never came before was answered from a cache: TTFT is not that of a cold prompt"
            );
        }
        let key = (Arc::clone(&report.target.name), Arc::clone(&report.workload.name));
        let state = self.states.entry(key).or_default();
        if let (Some(wanted), Some(tokens)) = (wanted_tokens(report), report.tokens.prompt)
            && state.prompts_are_short(tokens as f64 / wanted)
        {
            tracing::warn!(
                target,
                workload,
                wanted,
                tokens,
                "the server counts far fewer tokens than were sent: it may cut prompts short"
            );
        }
        if let Some(verdict) = report.verdict.filter(|&verdict| verdict.is_bad())
            && let Some(bad) = state.bad_answer(Instant::now())
        {
            let (verdict, seed, depth) = (verdict.label(), report.seed, report.depth.map(|depth| depth.0));
            let answer = excerpt(report);
            tracing::warn!(target, workload, verdict, bad, %seed, depth, answer, "bad answer");
        }
    }
}

impl State {
    /// Gives how many there were since the last that was told, if it is time to tell.
    fn bad_answer(&mut self, now: Instant) -> Option<u64> {
        self.bad += 1;
        let is_time = self.told.is_none_or(|told| now - told >= TELL_AGAIN);
        is_time.then(|| {
            self.told = Some(now);
            std::mem::take(&mut self.bad)
        })
    }

    /// Whether it has just become clear.
    fn prompts_are_short(&mut self, share: f64) -> bool {
        self.short_prompts = if share < SHORT { self.short_prompts.saturating_add(1) } else { 0 };
        self.short_prompts == OFTEN
    }
}

/// The length that the prompt was meant to have.
fn wanted_tokens(report: &Report) -> Option<f64> {
    let workload = &report.workload;
    (workload.kind != Kind::File).then(|| f64::from(workload.lengths_at(report.seed.step).0))
}

/// The beginning of what came; the log escapes what must be.
fn excerpt(report: &Report) -> String {
    let answer = &report.answer;
    let text = if answer.text.trim().is_empty() { &answer.thought } else { &answer.text };
    text.trim().chars().take(EXCERPT_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bad_answers_are_told_at_once_and_then_every_ten_minutes() {
        let mut state = State::default();
        let start = Instant::now();
        assert_eq!(state.bad_answer(start), Some(1));
        for minute in 1..10 {
            assert_eq!(state.bad_answer(start + minute * Duration::from_secs(60)), None);
        }
        assert_eq!(state.bad_answer(start + TELL_AGAIN), Some(10));
    }

    #[test]
    fn prompts_that_stay_short_are_told_once() {
        let mut state = State::default();
        let told: Vec<_> = (0..20).filter(|_| state.prompts_are_short(0.5)).collect();
        assert_eq!(told, [5]);
        let mut state = State::default();
        assert!((0..20).all(|round| !state.prompts_are_short(if round % 3 == 0 { 1.0 } else { 0.5 })));
    }
}
