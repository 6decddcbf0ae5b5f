//! The model of continuous batching, on virtual time.

use std::collections::HashMap;
use std::time::Duration;

use sloprobe::simulate::Profile;
use sloprobe::simulate::cost::{Jitter, Slowdown, StepCost, Work};
use sloprobe::simulate::model::{
    Engine, EngineSettings, Memory, Next, Refusal, Request, RequestId, Stall, Step, Token,
};
use sloprobe::simulate::prefix::BlockHash;

const BASE: Duration = Duration::from_millis(10);

fn settings() -> EngineSettings {
    EngineSettings {
        max_num_batched_tokens: 64,
        kv_tokens: 100_000,
        prefix_cache: false,
        front_end: Duration::ZERO,
        cost: StepCost {
            per_prefill_token: Duration::from_millis(1),
            ..StepCost::flat(BASE, Duration::from_millis(1))
        },
        jitter: Jitter::NONE,
        ..Profile::Default.engine()
    }
}

fn request(id: u64, prompt_tokens: u32, output_tokens: u32) -> Request {
    Request {
        id: RequestId(id),
        prompt_tokens,
        output_tokens,
        max_tokens: output_tokens,
        prefix: Vec::new(),
        stall: None,
        first_token_factor: 1.0,
    }
}

fn run(engine: &mut Engine) -> Vec<Step> {
    let mut steps = Vec::new();
    loop {
        match engine.next_step() {
            Next::Idle => return steps,
            Next::WaitUntil(until) => engine.advance(until),
            Next::Step(step) => steps.push(step),
        }
    }
}

fn tokens(steps: &[Step]) -> HashMap<RequestId, Vec<Token>> {
    let mut all: HashMap<RequestId, Vec<Token>> = HashMap::new();
    for token in steps.iter().flat_map(|step| &step.tokens) {
        all.entry(token.id).or_default().push(*token);
    }
    all
}

fn at(token: Token) -> u128 {
    token.at.as_millis()
}

fn gap(pair: &[Token]) -> Duration {
    pair[1].at.saturating_sub(pair[0].at)
}

#[test]
fn lone_request_takes_its_prefill_and_a_step_per_token() {
    let mut engine = Engine::new(settings());
    engine.submit(request(1, 20, 3), Duration::ZERO).unwrap();
    let all = tokens(&run(&mut engine));
    let times: Vec<u128> = all[&RequestId(1)].iter().copied().map(at).collect();
    assert_eq!(times, [30, 41, 52]);
}

#[test]
fn no_step_exceeds_the_budget_or_the_places() {
    let mut engine = Engine::new(EngineSettings { max_num_seqs: 7, ..settings() });
    for id in 0..50 {
        engine.submit(request(id, 30 + id as u32, 20), Duration::ZERO).unwrap();
    }
    let steps = run(&mut engine);
    assert!(steps.iter().all(|step| step.work.decoding + step.work.prefill_tokens <= 64));
    assert!(steps.iter().all(|step| step.work.decoding <= 7));
    let all = tokens(&steps);
    assert!((0..50).all(|id| all[&RequestId(id)].len() == 20));
}

#[test]
fn chunked_prefill_mixes_prompts_with_decoding() {
    let mut engine = Engine::new(settings());
    engine.submit(request(1, 10, 30), Duration::ZERO).unwrap();
    engine.submit(request(2, 300, 5), Duration::ZERO).unwrap();
    let mixed = run(&mut engine).iter().filter(|s| s.work.decoding > 0 && s.work.prefill_tokens > 0).count();
    assert!(mixed >= 4, "{mixed}");
}

#[test]
fn without_chunking_prompts_go_first_and_alone() {
    let whole = EngineSettings { chunked_prefill: false, max_num_batched_tokens: 512, ..settings() };
    let mut engine = Engine::new(whole);
    for id in 0..5 {
        engine.submit(request(id, 300, 10), Duration::ZERO).unwrap();
    }
    let steps = run(&mut engine);
    assert!(steps.iter().all(|step| step.work.decoding == 0 || step.work.prefill_tokens == 0));
    assert!(steps[..5].iter().all(|step| step.work.prefill_tokens == 300));
}

#[test]
fn cap_on_prefills_starts_one_prompt_per_step() {
    let mut engine = Engine::new(EngineSettings { max_prefills_per_step: Some(1), ..settings() });
    for id in 0..4 {
        engine.submit(request(id, 5, 2), Duration::ZERO).unwrap();
    }
    let steps = run(&mut engine);
    assert!(steps.iter().all(|step| step.work.prefill_tokens <= 5));
}

#[test]
fn exhausted_memory_preempts_the_newest_and_loses_no_token() {
    let mut engine =
        Engine::new(EngineSettings { kv_tokens: 200, max_num_batched_tokens: 256, ..settings() });
    for id in 0..4 {
        engine.submit(request(id, 40, 60), Duration::ZERO).unwrap();
    }
    let steps = run(&mut engine);
    let computed: u32 = steps.iter().map(|step| step.work.prefill_tokens).sum();
    assert!(computed > 160, "preempted prompts are computed again: {computed}");
    let all = tokens(&steps);
    assert!((0..4).all(|id| all[&RequestId(id)].len() == 60));
    let last = |id| all[&RequestId(id)].last().map(|token| token.at);
    assert!(last(0) < last(3), "the oldest is never the one to go");
}

#[test]
fn answer_longer_than_the_memory_still_ends_when_alone() {
    let mut engine = Engine::new(EngineSettings { kv_tokens: 50, ..settings() });
    engine.submit(request(1, 40, 100), Duration::ZERO).unwrap();
    assert_eq!(tokens(&run(&mut engine))[&RequestId(1)].len(), 100);
}

#[test]
fn reserved_memory_gives_first_tokens_at_once_and_answers_in_turn() {
    let tight = EngineSettings { memory: Memory::ReserveAnswer, kv_tokens: 250, ..settings() };
    let mut engine = Engine::new(tight);
    for id in 0..3 {
        engine.submit(request(id, 20, 100), Duration::ZERO).unwrap();
    }
    let all = tokens(&run(&mut engine));
    let waiting = &all[&RequestId(2)];
    assert!(at(waiting[0]) < 300);
    let freezes = waiting.windows(2).filter(|pair| gap(pair) > Duration::from_millis(500)).count();
    assert_eq!(freezes, 1);
}

#[test]
fn shared_prefix_is_computed_once() {
    let mut engine = Engine::new(EngineSettings { prefix_cache: true, ..settings() });
    let prefix: Vec<BlockHash> = (0..4).map(BlockHash).collect();
    engine.submit(Request { prefix: prefix.clone(), ..request(1, 64, 1) }, Duration::ZERO).unwrap();
    let first = tokens(&run(&mut engine));
    assert_eq!(first[&RequestId(1)][0].cached_tokens, 0);
    let begun = engine.now();
    engine.submit(Request { prefix, ..request(2, 64, 1) }, begun).unwrap();
    let second = tokens(&run(&mut engine))[&RequestId(2)][0];
    assert_eq!(second.cached_tokens, 48);
    assert_eq!(second.at.saturating_sub(begun), Duration::from_millis(26));
}

#[test]
fn first_token_factor_stretches_queueing_and_prefill_exactly() {
    let first = |factor| {
        let mut engine = Engine::new(EngineSettings { max_num_seqs: 1, ..settings() });
        engine.submit(request(1, 20, 5), Duration::ZERO).unwrap();
        engine.submit(Request { first_token_factor: factor, ..request(2, 20, 5) }, Duration::ZERO).unwrap();
        tokens(&run(&mut engine))[&RequestId(2)][0].at
    };
    let stretch = first(1.4).as_secs_f64() / first(1.0).as_secs_f64();
    assert!((stretch - 1.4).abs() < 1e-6, "{stretch}");
}

#[test]
fn stall_pauses_one_answer_once_and_not_the_others() {
    let pause = Duration::from_secs(5);
    let mut engine = Engine::new(settings());
    let stall = Some(Stall { after_tokens: 3, lasting: pause });
    engine.submit(Request { stall, ..request(1, 5, 10) }, Duration::ZERO).unwrap();
    engine.submit(request(2, 5, 10), Duration::ZERO).unwrap();
    let all = tokens(&run(&mut engine));
    let long = |id| {
        let answer = &all[&RequestId(id)];
        answer.windows(2).filter(|pair| gap(pair) >= pause).map(|pair| pair[1].index).collect()
    };
    let (struck, other): (Vec<u32>, Vec<u32>) = (long(1), long(2));
    assert_eq!(struck, [3]);
    assert!(other.is_empty());
}

#[test]
fn aborted_request_frees_its_place() {
    let mut engine = Engine::new(EngineSettings { max_num_seqs: 1, ..settings() });
    engine.submit(request(1, 5, 10_000), Duration::ZERO).unwrap();
    engine.submit(request(2, 5, 2), Duration::ZERO).unwrap();
    let Next::Step(_) = engine.next_step() else { panic!("there is work") };
    engine.abort(RequestId(1));
    let all = tokens(&run(&mut engine));
    assert_eq!(all[&RequestId(2)].len(), 2);
    assert!(!all.contains_key(&RequestId(1)));
}

#[test]
fn refusals_say_why() {
    let strict = EngineSettings { max_waiting: Some(1), max_model_len: 100, ..settings() };
    let mut engine = Engine::new(strict);
    assert_eq!(engine.submit(request(1, 90, 20), Duration::ZERO), Err(Refusal::TooLong { limit: 100 }));
    assert_eq!(engine.submit(request(2, 10, 10), Duration::ZERO), Ok(()));
    assert_eq!(engine.submit(request(3, 10, 10), Duration::ZERO), Err(Refusal::QueueFull));
}

#[test]
fn time_limit_gives_up_what_takes_longer() {
    let limited = EngineSettings { time_limit: Some(Duration::from_millis(200)), ..settings() };
    let mut engine = Engine::new(limited);
    engine.submit(request(1, 5, 1000), Duration::ZERO).unwrap();
    let steps = run(&mut engine);
    let given_up: Vec<_> = steps.iter().flat_map(|step| &step.given_up).collect();
    assert_eq!(given_up.len(), 1);
    assert_eq!(given_up[0].why, Refusal::TimedOut);
    assert!(given_up[0].at >= Duration::from_millis(200) && given_up[0].at < Duration::from_millis(220));
}

#[test]
fn slow_decode_stretches_gaps_and_slow_prefill_the_first_token() {
    let times = |slow: Slowdown| {
        let mut engine = Engine::new(settings());
        engine.set_slowdown(slow);
        engine.submit(request(1, 20, 3), Duration::ZERO).unwrap();
        let all = tokens(&run(&mut engine));
        all[&RequestId(1)].iter().copied().map(at).collect::<Vec<u128>>()
    };
    assert_eq!(times(Slowdown { prefill: 2.0, decode: 1.0 }), [60, 71, 82]);
    assert_eq!(times(Slowdown { prefill: 1.0, decode: 2.0 }), [30, 52, 74]);
}

#[test]
fn engine_without_requests_does_nothing() {
    let mut engine = Engine::new(settings());
    assert!(matches!(engine.next_step(), Next::Idle));
    assert_eq!(Work::default().decoding, 0);
}
