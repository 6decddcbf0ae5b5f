//! A model of continuous batching on virtual time: no clock, no I/O, the same answer for the same seed.
//!
//! Time is a [`Duration`] since the engine's beginning. The caller submits requests, asks for the
//! [next step](Engine::next_step) and plays its tokens at the times they carry.

use std::collections::VecDeque;
use std::time::Duration;

use oorandom::Rand64;

use super::cost::{Slowdown, Work};
use super::prefix::PrefixCache;

mod plan;
mod sequence;
mod settings;

use sequence::Sequence;
pub use sequence::{Request, RequestId, Stall};
pub use settings::{EngineSettings, Memory};

/// One token of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Token {
    /// Whose.
    pub id: RequestId,
    /// When it is out.
    pub at: Duration,
    /// 0 for the first.
    pub index: u32,
    /// Prompt tokens that the prefix cache saved.
    pub cached_tokens: u32,
    /// No more follow.
    pub last: bool,
}

/// Why a request gets no (complete) answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// Prompt and answer do not fit the context.
    TooLong {
        /// The limit they exceed, in tokens.
        limit: u32,
    },
    /// Too many requests wait already.
    QueueFull,
    /// It did not end within the deployment's time limit.
    TimedOut,
}

/// A request that the engine gave up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GivenUp {
    /// Whose.
    pub id: RequestId,
    /// When.
    pub at: Duration,
    /// Why.
    pub why: Refusal,
}

/// What one step did.
#[derive(Debug, Clone, Default)]
pub struct Step {
    /// When it ended; the next begins here.
    pub end: Duration,
    /// How long it took.
    pub took: Duration,
    /// What it computed.
    pub work: Work,
    /// The tokens that came out, in order of time.
    pub tokens: Vec<Token>,
    /// Requests dropped at its beginning.
    pub given_up: Vec<GivenUp>,
}

/// What the engine does next.
#[derive(Debug)]
pub enum Next {
    /// Nothing until a request comes.
    Idle,
    /// Nothing until then, or until a request comes.
    WaitUntil(Duration),
    /// This step, already accounted for.
    Step(Step),
}

/// The engine: a waiting queue, the running batch, and what memory is left.
#[derive(Debug)]
pub struct Engine {
    settings: EngineSettings,
    slowdown: Slowdown,
    now: Duration,
    waiting: VecDeque<Sequence>,
    /// Prefilled, but without memory for an answer.
    parked: VecDeque<Sequence>,
    /// In order of admission: the last is the first to be preempted.
    running: Vec<Sequence>,
    prefixes: Option<PrefixCache>,
    random: Rand64,
}

impl Engine {
    /// An idle engine at time zero.
    pub fn new(settings: EngineSettings) -> Self {
        let prefixes = settings.prefix_cache.then(|| PrefixCache::new(settings.kv_tokens));
        let random = Rand64::new(u128::from(settings.seed));
        Self {
            settings,
            slowdown: Slowdown::default(),
            now: Duration::ZERO,
            waiting: VecDeque::new(),
            parked: VecDeque::new(),
            running: Vec::new(),
            prefixes,
            random,
        }
    }

    /// What it was made with.
    pub fn settings(&self) -> &EngineSettings {
        &self.settings
    }

    /// The end of the last step.
    pub fn now(&self) -> Duration {
        self.now
    }

    /// Lets idle time pass; the engine never goes back.
    pub fn advance(&mut self, now: Duration) {
        self.now = self.now.max(now);
    }

    /// Makes steps slower or healthy again, from the next one on.
    pub fn set_slowdown(&mut self, slowdown: Slowdown) {
        self.slowdown = slowdown;
    }

    /// Requests that have no step yet.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Puts a request, which arrived at `arrived`, at the end of the queue.
    pub fn submit(&mut self, request: Request, arrived: Duration) -> Result<(), Refusal> {
        let limit = self.settings.context_limit();
        if request.prompt_tokens.saturating_add(request.output_tokens) > limit {
            return Err(Refusal::TooLong { limit });
        }
        if self.settings.max_waiting.is_some_and(|most| self.waiting.len() >= most) {
            return Err(Refusal::QueueFull);
        }
        self.waiting.push_back(Sequence::new(request, arrived));
        Ok(())
    }

    /// Forgets a request, whose client is gone. Its memory is free at once.
    pub fn abort(&mut self, id: RequestId) {
        self.waiting.retain(|sequence| sequence.id != id);
        self.parked.retain(|sequence| sequence.id != id);
        self.running.retain(|sequence| sequence.id != id);
    }

    /// The next step, or how long there is none.
    pub fn next_step(&mut self) -> Next {
        let mut step = Step { end: self.now, given_up: self.expire(), ..Step::default() };
        self.release(&mut step.tokens);
        let work = self.plan();
        if work == Work::default() {
            if !step.given_up.is_empty() || !step.tokens.is_empty() {
                return Next::Step(step);
            }
            return self.earliest_release().map_or(Next::Idle, Next::WaitUntil);
        }
        let seconds = self.settings.cost.seconds(work, self.slowdown, self.settings.chunked_prefill);
        step.took = self.settings.jitter.apply(seconds, &mut self.random);
        step.work = work;
        self.now += step.took;
        step.end = self.now;
        self.progress(&mut step.tokens);
        self.release(&mut step.tokens);
        step.tokens.sort_by_key(|token| token.at);
        Next::Step(step)
    }

    fn expire(&mut self) -> Vec<GivenUp> {
        let Some(limit) = self.settings.time_limit else { return Vec::new() };
        let now = self.now;
        let mut given_up = Vec::new();
        let mut keep = |sequence: &Sequence| {
            let alive = now.saturating_sub(sequence.arrived) < limit;
            if !alive {
                given_up.push(GivenUp { id: sequence.id, at: now, why: Refusal::TimedOut });
            }
            alive
        };
        self.waiting.retain(&mut keep);
        self.parked.retain(&mut keep);
        self.running.retain(&mut keep);
        given_up
    }

    /// Moves the planned work into the sequences and collects what comes out.
    fn progress(&mut self, tokens: &mut Vec<Token>) {
        let now = self.now;
        for sequence in &mut self.running {
            let planned = std::mem::take(&mut sequence.planned);
            if planned == 0 {
                continue;
            }
            sequence.context += planned;
            if sequence.to_prefill > 0 {
                sequence.to_prefill -= planned;
                if sequence.to_prefill > 0 {
                    continue;
                }
                if let Some(prefixes) = &mut self.prefixes {
                    prefixes.insert(&sequence.prefix);
                }
            }
            let due = if sequence.produced == 0 {
                let outside = self.settings.front_end.mul_f64(0.5 + self.random.rand_float());
                let natural = now.saturating_sub(sequence.arrived) + outside;
                sequence.arrived + natural.mul_f64(sequence.first_token_factor)
            } else {
                now
            };
            if due > now {
                sequence.held_until = Some(due);
                sequence.token_held = true;
            } else {
                tokens.push(sequence.emit(now));
            }
        }
        self.settle();
    }

    /// Lets go what was held back until now.
    fn release(&mut self, tokens: &mut Vec<Token>) {
        let now = self.now;
        let mut released = false;
        for sequence in &mut self.running {
            let Some(due) = sequence.held_until.filter(|&due| due <= now) else { continue };
            released = true;
            sequence.held_until = None;
            if std::mem::take(&mut sequence.token_held) {
                tokens.push(sequence.emit(due));
            }
        }
        if released {
            self.settle();
        }
    }

    /// Ended sequences leave; those without memory for their answer are parked.
    fn settle(&mut self) {
        self.running.retain(|sequence| !sequence.ended());
        if self.settings.memory != Memory::ReserveAnswer {
            return;
        }
        let mut index = 0;
        while index < self.running.len() {
            let sequence = &self.running[index];
            if sequence.produced > 0 && !sequence.reserved {
                let sequence = self.running.remove(index);
                self.parked.push_back(sequence);
            } else {
                index += 1;
            }
        }
    }

    fn earliest_release(&self) -> Option<Duration> {
        let limit = self.settings.time_limit;
        let all = self.running.iter().chain(&self.waiting).chain(&self.parked);
        let expiry = limit.and_then(|limit| all.map(|sequence| sequence.arrived + limit).min());
        let release = self.running.iter().filter_map(|sequence| sequence.held_until).min();
        match (release, expiry) {
            (Some(release), Some(expiry)) => Some(release.min(expiry)),
            (release, expiry) => release.or(expiry),
        }
    }
}
