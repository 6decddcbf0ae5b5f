//! What has been learned about one target while probing it.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use crate::domain::{Api, Engine, Field, Fields, Identity, Lesson, Room, Target, Workload};

/// So many versions are remembered with what they refused.
const MAX_VERSIONS: usize = 8;

/// Shared by everything that talks to the target; no lock is held while anybody waits.
#[derive(Debug)]
pub struct Knowledge(Mutex<State>);

#[derive(Debug)]
struct State {
    api: Api,
    identity: Identity,
    refused: Fields,
    /// What other versions refused while they were seen. Two that answer in turn are told apart again and again,
    /// and neither is to be sent each time what it has refused before.
    refused_before: Vec<(Engine, Option<String>, Fields)>,
    /// What refusals said of its room, and of the least limit of an answer that it takes.
    room: Room,
    least_output: u32,
    /// It has been told that answers of an exact length cannot be had.
    told_inexact: bool,
    /// The earliest end in the chain of certificates that was seen last.
    certificate_expiry: Option<SystemTime>,
}

impl Knowledge {
    /// What the configuration says.
    pub(super) fn new(target: &Target) -> Self {
        Self(Mutex::new(State {
            api: target.api,
            identity: Identity::of(target.engine),
            refused: Fields::NONE,
            refused_before: Vec::new(),
            room: Room::default(),
            least_output: 0,
            told_inexact: false,
            certificate_expiry: None,
        }))
    }

    pub fn identity(&self) -> Identity {
        self.state().identity.clone()
    }

    /// The optional fields that may be sent now.
    pub fn fields(&self) -> Fields {
        let state = self.state();
        Fields::known_to(state.identity.engine, state.api).without(state.refused)
    }

    /// The most tokens that the target takes: what it states of itself, or what a refusal said, whichever is less. A
    /// gateway may take less than the engine behind it states.
    pub fn room(&self) -> Room {
        let state = self.state();
        state.room.and(Room { context: state.identity.context_tokens, input: None })
    }

    /// The limit of an answer that is asked for where this one is wanted.
    pub(super) fn output_limit(&self, wanted: u32) -> u32 {
        wanted.max(self.state().least_output)
    }

    /// Takes what a refusal said; whether a request with another limit of the answer is worth a try.
    pub(super) fn heed(&self, lesson: Lesson, sent: u32) -> bool {
        let mut state = self.state();
        state.room = state.room.and(lesson.room);
        let least = lesson.least_output.filter(|&least| least > sent);
        state.least_output = least.unwrap_or(state.least_output);
        least.is_some()
    }

    /// Whether the engine is told to go on past the end of the text.
    pub fn forces(&self, workload: &Workload) -> bool {
        workload.exact_output && self.fields().has(Field::IgnoreEos)
    }

    /// Takes what was found; what was not found this time stays as it was, so that one lost answer does not
    /// make a target nameless. The engine of the configuration stays, too.
    pub(super) fn learn(&self, configured: Engine, found: Identity) {
        let mut state = self.state();
        let old = &state.identity;
        let engine = match (configured, found.engine) {
            (Engine::Auto, Engine::Auto) => old.engine,
            (Engine::Auto, found) => found,
            (configured, _) => configured,
        };
        let same = engine == old.engine;
        let kept = |new: Option<String>, old: &Option<String>| new.or_else(|| old.clone().filter(|_| same));
        let identity = Identity {
            engine,
            version: kept(found.version, &old.version),
            model: kept(found.model, &old.model),
            context_tokens: found.context_tokens.or(old.context_tokens.filter(|_| same)),
        };
        let upgraded = old.version.is_some() && identity.version != old.version;
        if !same || upgraded {
            // Another version may take what the last one refused.
            state.turn_to(engine, identity.version.as_ref());
            (state.room, state.least_output) = (Room::default(), 0);
        }
        state.identity = identity;
    }

    /// The target refused these; gives those of them that were not known to be refused.
    pub(super) fn refuse(&self, fields: Fields) -> Vec<Field> {
        let mut state = self.state();
        let news = fields.without(state.refused);
        state.refused = news.iter().fold(state.refused, Fields::with);
        news.iter().collect()
    }

    /// Whether it is still to be told that answers of an exact length cannot be had.
    pub(super) fn tell_inexact(&self) -> bool {
        !std::mem::replace(&mut self.state().told_inexact, true)
    }

    /// A handshake showed a chain that is good until then, whether it was of a probe or of a question what the target
    /// runs.
    pub(super) fn saw_certificate(&self, expiry: SystemTime) {
        self.state().certificate_expiry = Some(expiry);
    }

    pub(super) fn certificate_expiry(&self) -> Option<SystemTime> {
        self.state().certificate_expiry
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Takes up what this version is known to refuse, and keeps for later what the last one did.
    fn turn_to(&mut self, engine: Engine, version: Option<&String>) {
        let last = (self.identity.engine, self.identity.version.clone(), self.refused);
        let known = self.refused_before.iter().position(|(of, v, _)| *of == engine && v.as_ref() == version);
        self.refused = known.map_or(Fields::NONE, |at| self.refused_before.remove(at).2);
        self.refused_before.truncate(MAX_VERSIONS - 1);
        self.refused_before.insert(0, last);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::fixture;

    fn found(engine: Engine, version: Option<&str>) -> Identity {
        Identity { version: version.map(str::to_owned), ..Identity::of(engine) }
    }

    #[test]
    fn what_is_found_decides_the_fields_and_stays_when_it_is_not_found_again() {
        let knowledge = Knowledge::new(&fixture::target("t", &["w"]));
        assert_eq!(knowledge.fields(), Fields::COMMON);
        knowledge.learn(Engine::Auto, found(Engine::Vllm, Some("0.32.0")));
        knowledge.learn(Engine::Auto, found(Engine::Auto, None));
        knowledge.learn(Engine::Auto, found(Engine::Vllm, None));
        assert_eq!(knowledge.identity(), found(Engine::Vllm, Some("0.32.0")));
        assert_eq!(knowledge.fields(), Fields::of(&Field::ALL));
        knowledge.learn(Engine::Auto, found(Engine::Sglang, None));
        assert_eq!(knowledge.identity(), found(Engine::Sglang, None));
    }

    #[test]
    fn the_engine_of_the_configuration_wins() {
        let mut target = (*fixture::target("t", &["w"])).clone();
        target.engine = Engine::Other;
        let knowledge = Knowledge::new(&target);
        knowledge.learn(target.engine, found(Engine::Vllm, Some("0.32.0")));
        assert_eq!(knowledge.identity(), found(Engine::Other, Some("0.32.0")));
    }

    #[test]
    fn a_refused_field_is_news_once_and_forgiven_after_an_upgrade() {
        let knowledge = Knowledge::new(&fixture::target("t", &["w"]));
        knowledge.learn(Engine::Auto, found(Engine::Vllm, Some("0.32.0")));
        let both = Fields::of(&[Field::IgnoreEos, Field::MinTokens]);
        assert_eq!(knowledge.refuse(both), [Field::IgnoreEos, Field::MinTokens]);
        assert_eq!(knowledge.refuse(both), []);
        let left = [Field::ContinuousUsage, Field::TemplateSwitch];
        assert_eq!(knowledge.fields(), Fields::COMMON.and(Fields::of(&left)));
        knowledge.learn(Engine::Auto, found(Engine::Vllm, Some("0.33.0")));
        assert_eq!(knowledge.fields(), Fields::of(&Field::ALL));
    }

    #[test]
    fn the_room_is_what_is_stated_or_what_a_refusal_said_until_an_upgrade() {
        let context = |tokens| Room { context: Some(tokens), input: None };
        let said = |tokens| Lesson { too_long: true, room: context(tokens), ..Lesson::default() };
        let knowledge = Knowledge::new(&fixture::target("t", &["w"]));
        assert_eq!(knowledge.room(), Room::default());
        assert!(!knowledge.heed(said(8192), 100));
        assert_eq!(knowledge.room(), context(8192));
        let stated = Identity { context_tokens: Some(4096), ..found(Engine::Vllm, Some("0.32.0")) };
        knowledge.learn(Engine::Auto, stated);
        assert_eq!(knowledge.room(), context(4096));
        assert!(!knowledge.heed(said(2048), 100));
        assert_eq!(knowledge.room(), context(2048));
        knowledge.learn(Engine::Auto, found(Engine::Vllm, Some("0.33.0")));
        assert_eq!(knowledge.room(), context(4096));
    }

    #[test]
    fn a_least_limit_is_kept_and_tried_once() {
        let knowledge = Knowledge::new(&fixture::target("t", &["w"]));
        let lesson = Lesson { least_output: Some(16), ..Lesson::default() };
        assert!(knowledge.heed(lesson, 8));
        assert_eq!((knowledge.output_limit(8), knowledge.output_limit(100)), (16, 100));
        assert!(!knowledge.heed(lesson, 16));
    }

    #[test]
    fn versions_in_turn_are_not_asked_again_for_what_they_refused() {
        let knowledge = Knowledge::new(&fixture::target("t", &["w"]));
        let mut news = 0;
        for round in 0..20 {
            let version = ["0.32.0", "0.33.0"][round % 2];
            knowledge.learn(Engine::Auto, found(Engine::Vllm, Some(version)));
            if version == "0.33.0" && knowledge.fields().has(Field::MinTokens) {
                news += knowledge.refuse(Fields::of(&[Field::MinTokens])).len();
            }
            assert_eq!(knowledge.fields().has(Field::MinTokens), version == "0.32.0");
        }
        assert_eq!(news, 1);
        for number in 0..100 {
            knowledge.learn(Engine::Auto, found(Engine::Vllm, Some(&number.to_string())));
        }
        assert_eq!(knowledge.state().refused_before.len(), MAX_VERSIONS);
    }
}
