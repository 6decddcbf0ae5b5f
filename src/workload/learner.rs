//! Takes what a server reports of the prompts of one source, and what it refuses.

use std::sync::{Arc, Mutex};

use super::draw::{hash, scramble};
use super::{Draft, Ruler, form, lock};
use crate::domain::{Kind, Prompt, Report, Room, Seed, Workload};

/// No kind has more questions.
const FORMS: u32 = 9;

/// So often a seed is drawn for a form: where the form follows from the step, in vain.
const TRIES: u32 = 64;

#[derive(Debug, Clone)]
pub struct Learner {
    workload: Arc<Workload>,
    ruler: Arc<Mutex<Ruler>>,
}

impl Learner {
    pub(super) fn new(workload: &Arc<Workload>, ruler: &Arc<Mutex<Ruler>>) -> Self {
        Self { workload: Arc::clone(workload), ruler: Arc::clone(ruler) }
    }

    /// Takes what a report tells of the length of its prompt, be it an answer or a refusal.
    pub fn hear(&self, report: &Report) {
        if report.lesson.too_long {
            self.hear_refusal(report);
        } else if let Some(tokens) = report.tokens.prompt {
            self.learn(report.seed, tokens);
        }
    }

    /// The prompt of this seed had so many tokens.
    pub fn learn(&self, seed: Seed, reported: u64) {
        if self.workload.kind != Kind::File {
            let mut ruler = lock(&self.ruler);
            let (input, _) = self.lengths(&ruler, seed);
            ruler.learn(input, form(&self.workload, seed), seed.size, reported);
        }
    }

    /// A prompt was too long: the next one is shorter, whatever else the refusal says.
    fn hear_refusal(&self, report: &Report) {
        let lesson = report.lesson;
        let room = lock(&self.ruler).room().and(lesson.room);
        self.fit(&report.target.name, room);
        if self.workload.kind != Kind::File {
            let mut ruler = lock(&self.ruler);
            let lengths = self.lengths(&ruler, report.seed);
            let form = form(&self.workload, report.seed);
            let is_bound = lesson.room != Room::default();
            ruler.refused(lengths, form, report.seed.size, lesson.prompt_tokens, is_bound);
        }
    }

    /// Takes what a target has room for; says so once where that is less than the workload asks for.
    pub fn fit(&self, target: &str, room: Room) {
        let is_news = lock(&self.ruler).fit(room);
        let (wanted, given) = self.longest(room);
        if is_news && wanted != given {
            let (workload, context) = (&*self.workload.name, room.context.or(room.input));
            tracing::warn!(
                target,
                workload,
                context,
                input_tokens = given.0,
                output_tokens = given.1,
                "what the workload asks for does not fit into the target's context; shorter prompts are sent"
            );
        }
    }

    /// Prompt and answer at their longest: as asked for, and as they fit.
    fn longest(&self, room: Room) -> ((u32, u32), (u32, u32)) {
        let wanted = (self.workload.input_tokens.longest(), self.workload.output_tokens.longest());
        (wanted, room.fit(wanted.0, wanted.1))
    }

    fn lengths(&self, ruler: &Ruler, seed: Seed) -> (u32, u32) {
        let (input, output) = self.workload.lengths_at(seed.step);
        ruler.room().fit(input, output)
    }

    /// Nothing is known yet.
    pub fn is_new(&self) -> bool {
        self.workload.kind != Kind::File && lock(&self.ruler).is_new()
    }

    /// How many trials tell enough: some of each length, and of each form.
    pub fn trials(&self) -> u32 {
        3 * self.workload.input_tokens.count() as u32 + FORMS + 3
    }

    /// A prompt such as will be sent, to be counted only. The forms take turns, so that each is counted.
    pub fn trial(&self, nth: u32) -> Prompt {
        let mut seed = Seed { random: scramble(hash("trial") ^ u64::from(nth)), step: nth, size: 0 };
        for _ in 0..TRIES {
            if u32::from(form(&self.workload, seed).0) == nth % FORMS {
                break;
            }
            seed.random = scramble(seed.random);
        }
        Draft::new(&self.workload, &lock(&self.ruler), seed).write(&self.workload)
    }

    /// What was learned is about right only: the next reports move it wholly.
    pub fn doubt(&self) {
        lock(&self.ruler).doubt();
    }

    pub fn ruler(&self) -> Ruler {
        lock(&self.ruler).clone()
    }

    pub fn workload(&self) -> &Arc<Workload> {
        &self.workload
    }
}
