//! The next prompt of a workload: seeded, so that any prompt can be made again; and what its answer is worth.

mod answer;
mod chat;
mod continuation;
mod draft;
mod draw;
mod file;
mod learner;
mod length;
mod posed;
mod prose;
mod rag;
mod weigh;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::domain::{Cache, Depth, Expect, Kind, Language, Prompt, Role, Seed, Turn, Workload};
pub use draft::Draft;
use draw::{Draw, hash, scramble};
pub use learner::Learner;
use length::Form;
pub use length::Ruler;
pub use posed::Posed;
use weigh::weigh;

/// Where facts are planted if the configuration does not say: from the start to the end, and again.
const DEPTHS: u32 = 11;

/// A prompt of less weight is written in few words. What is asked for with 100 tokens is below, whatever the
/// tokenizer, and what is asked for with 150 is above with those that know the language.
const SHORT: f64 = 105.0;

/// A prompt of less weight leaves out all that it can: 100 tokens are few for a tokenizer that does not know
/// the language.
const TINY: f64 = 42.0;

/// Prompts of one workload for one target, each different from all before it.
#[derive(Debug)]
pub struct Source {
    workload: Arc<Workload>,
    ruler: Arc<Mutex<Ruler>>,
    random: u64,
    step: u32,
}

impl Source {
    /// `origin` must differ between two runs, or the second would find the prompts of the first in a cache.
    pub fn new(workload: &Arc<Workload>, origin: u64, ruler: Ruler) -> Self {
        Self {
            workload: Arc::clone(workload),
            ruler: Arc::new(Mutex::new(ruler)),
            random: scramble(origin ^ hash(&workload.name)),
            step: 0,
        }
    }

    /// The next prompt as it will be written: of the length that has been learned, and so that it fits.
    pub fn next_draft(&mut self) -> Draft {
        let seed = Seed { random: self.random, step: self.step, size: 0 };
        self.random = scramble(self.random);
        self.step = self.step.wrapping_add(1);
        Draft::new(&self.workload, &lock(&self.ruler), seed)
    }

    /// Another prompt of the same lengths, in place of one that was refused.
    pub fn draft_instead(&mut self) -> Draft {
        self.step = self.step.wrapping_sub(1);
        self.next_draft()
    }

    pub fn next_prompt(&mut self) -> Prompt {
        let draft = self.next_draft();
        draft.write(&self.workload)
    }

    pub fn workload(&self) -> &Arc<Workload> {
        &self.workload
    }

    pub fn learner(&self) -> Learner {
        Learner::new(&self.workload, &self.ruler)
    }
}

/// What a text is written from.
#[derive(Debug)]
struct Sheet {
    language: Language,
    /// The same for all prompts of a workload: their words are drawn from it.
    fixed: u64,
    /// Of this prompt alone.
    own: u64,
    cache: Cache,
    /// How long it is meant to be, in tokens.
    wanted: u32,
    /// How much is to be written, by our own count.
    weight: f64,
    output_tokens: u32,
    depth: Depth,
}

/// What was written.
#[derive(Debug)]
struct Written {
    turns: Vec<Turn>,
    expect: Expect,
    depth: Option<Depth>,
}

impl Written {
    fn new(text: String, expect: Expect) -> Self {
        Self { turns: vec![Turn::user(text)], expect, depth: None }
    }
}

impl Sheet {
    /// There is room for few words.
    fn is_short(&self) -> bool {
        self.weight < SHORT
    }

    /// There is room for the question and hardly anything else.
    fn is_tiny(&self) -> bool {
        self.weight < TINY
    }

    /// What the text before the question is drawn from: it may differ between prompts only where no cache is
    /// wanted.
    fn changing(&self) -> u64 {
        match self.cache {
            Cache::Cold => scramble(self.own),
            Cache::Warm => scramble(self.fixed),
        }
    }
}

/// The prompt that belongs to a seed.
pub fn prompt(workload: &Workload, seed: Seed) -> Prompt {
    let (_, max_tokens) = workload.lengths_at(seed.step);
    let Written { mut turns, expect, depth } = write(workload, seed);
    dress(&mut turns, workload);
    mark(&mut turns, workload.cache, seed.random);
    let (exact_output, extra) = (workload.exact_output, workload.extra.clone());
    Prompt { turns, max_tokens, exact_output, seed, expect, depth, extra }
}

/// Which of the questions of its kind the prompt of a seed asks, whatever its size.
fn form(workload: &Workload, seed: Seed) -> Form {
    match workload.kind {
        Kind::Chat => chat::form(&sheet(workload, seed)),
        Kind::Rag => rag::form(&sheet(workload, seed)),
        Kind::Continuation | Kind::File => Form(0),
    }
}

fn sheet(workload: &Workload, seed: Seed) -> Sheet {
    let around = [&workload.system, &workload.template].into_iter().flatten().map(|text| weigh(text));
    let (wanted, output_tokens) = workload.lengths_at(seed.step);
    Sheet {
        language: workload.language,
        fixed: hash(&workload.name),
        own: seed.random,
        cache: workload.cache,
        wanted,
        weight: f64::from(seed.size) - around.sum::<f64>() - weigh(&nonce(seed.random)) - 1.0,
        output_tokens,
        depth: workload.depth.unwrap_or(Depth((seed.step % DEPTHS * 100 / (DEPTHS - 1)) as u8)),
    }
}

fn write(workload: &Workload, seed: Seed) -> Written {
    let sheet = sheet(workload, seed);
    match workload.kind {
        Kind::Chat => chat::write(&sheet),
        Kind::Rag => rag::write(&sheet),
        Kind::Continuation => continuation::write(&sheet),
        Kind::File => file::question(&workload.questions, seed.step),
    }
}

/// Puts the template around the user's last words and the system's before everything.
fn dress(turns: &mut Vec<Turn>, workload: &Workload) {
    if let (Some(template), Some(last)) = (&workload.template, turns.last_mut()) {
        last.text = template.replace(Workload::PLACE, &last.text);
    }
    if let Some(system) = &workload.system {
        turns.retain(|turn| turn.role != Role::System);
        turns.insert(0, Turn { role: Role::System, text: system.clone() });
    }
}

/// A prefix cache compares from the start: what is to be cold begins with a number that never came before,
/// what is to be warm ends with it. Digits cost the same number of tokens whatever they are.
fn mark(turns: &mut [Turn], cache: Cache, random: u64) {
    let nonce = nonce(random);
    match (cache, turns) {
        (Cache::Cold, [first, ..]) => first.text.insert_str(0, &format!("{nonce}\n")),
        (Cache::Warm, [.., last]) => {
            last.text.push('\n');
            last.text.push_str(&nonce);
        }
        (_, []) => {}
    }
}

fn nonce(random: u64) -> String {
    format!("{:010}", Draw::new(random ^ hash("nonce")).number(0, 10_000_000_000))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
