//! `cargo bench --bench decode`: what one event costs on its way from bytes to meaning, that an ordinary one
//! allocates nothing, and that the cost in memory does not grow with the stream.

#![allow(clippy::unwrap_used, reason = "a measurement that cannot go on should panic")]

use std::alloc::System;
use std::hint::black_box;
use std::time::Duration;

use sloprobe::protocol::sse::{Decoder, Item, TooLong};
use sloprobe::protocol::{Dialect, Nonsense};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use tokio::time::Instant;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// What an event of usual size may cost; more would show in the stamps of a fast stream.
const MOST: Duration = Duration::from_micros(2);

/// A round is shorter than a turn on a busy machine, and the quickest of many had its turn to itself: it is
/// the cost, where a median would be the load.
const EVENTS: usize = 1000;
const ROUNDS: usize = 200;

/// None for an event; a decoder's buffers grow a few times in all, where events are cut.
const MOST_ALLOCATIONS: f64 = 0.02;

const CHAT: &str = r#"{"id":"chatcmpl-8f14e45fceea167a5a36dedd4bea2543","object":"chat.completion.chunk","created":1763180000,"model":"Qwen/Qwen3-8B","choices":[{"index":0,"delta":{"content":" token"},"logprobs":null,"finish_reason":null}]}"#;
const COMPLETION: &str = r#"{"id":"cmpl-8f14e45fceea167a5a36dedd4bea2543","object":"text_completion","created":1763180000,"model":"Qwen/Qwen3-8B","choices":[{"index":0,"text":" token","logprobs":null,"finish_reason":null,"stop_reason":null}]}"#;
const COUNTED: &str = r#"{"id":"chatcmpl-8f14e45fceea167a5a36dedd4bea2543","object":"chat.completion.chunk","created":1763180000,"model":"Qwen/Qwen3-8B","choices":[{"index":0,"delta":{"content":" token"},"logprobs":null,"finish_reason":null,"token_ids":null}],"usage":{"prompt_tokens":40,"total_tokens":52,"completion_tokens":12,"prompt_tokens_details":null},"system_fingerprint":"vllm-0.27.2-tp1-8f14e45f"}"#;
const RESPONSE: &str = r#"{"type":"response.output_text.delta","item_id":"msg_8f14e45fceea167a","output_index":0,"content_index":0,"delta":" token","logprobs":[],"sequence_number":17}"#;
const MESSAGE: &str =
    r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" token"}}"#;
const GEMINI: &str = r#"{"candidates":[{"content":{"parts":[{"text":" token"}],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":9,"candidatesTokenCount":12,"totalTokenCount":21},"modelVersion":"tiny-001","responseId":"r1"}"#;
const TGI: &str = r#"{"index":7,"token":{"id":3923,"text":" token","logprob":-0.5,"special":false},"generated_text":null,"details":null}"#;

#[derive(Debug)]
struct Unread;

impl From<TooLong> for Unread {
    fn from(_: TooLong) -> Self {
        Self
    }
}

impl From<Nonsense> for Unread {
    fn from(_: Nonsense) -> Self {
        Self
    }
}

fn main() {
    println!("events of usual size, {EVENTS} a round, the quickest of {ROUNDS} rounds");
    println!("what                              bytes   ns per event   allocations per event");
    let mut slowest = Duration::ZERO;
    for (dialect, name, data) in [
        (Dialect::OpenAiChat, "chat", CHAT),
        (Dialect::OpenAiChat, "with usage", COUNTED),
        (Dialect::OpenAiCompletions, "completions", COMPLETION),
        (Dialect::OpenAiResponses, "responses", RESPONSE),
        (Dialect::Anthropic, "messages", MESSAGE),
        (Dialect::Gemini, "gemini", GEMINI),
        (Dialect::Tgi, "tgi", TGI),
    ] {
        let event = format!("data: {data}\n\n");
        for (how, piece) in [
            ("an event a read", event.len()),
            ("16 KiB a read", 16 << 10),
            ("cut in two", event.len() / 2 + 1),
        ] {
            let cost = quickest(|| read(dialect, &event, piece));
            let made = allocations(dialect, &event, piece);
            println!("{name:<12} {how:<20} {:>5} {:>14} {made:>14}", event.len(), cost.as_nanos());
            slowest = slowest.max(cost);
            assert!(made < MOST_ALLOCATIONS, "{name}, {how}: {made} allocations for an event");
        }
    }
    let bare = quickest(|| decode(&format!("data: {CHAT}\n\n")));
    println!("framing alone, an event a read    {:>5} {:>14}", CHAT.len() + 8, bare.as_nanos());
    println!("high-water mark of memory: {} kB after {} MB of events", high_water(), megabytes());
    assert!(slowest < MOST, "an event costs {slowest:?}, more than {MOST:?}");
}

/// How often memory is taken for one event, in the mean over many: the buffers of a decoder grow at its start.
fn allocations(dialect: Dialect, event: &str, piece: usize) -> f64 {
    let body = event.repeat(EVENTS);
    let region = Region::new(ALLOCATOR);
    read_all(dialect, body.as_bytes(), piece);
    let made = region.change();
    (made.allocations + made.reallocations) as f64 / EVENTS as f64
}

/// Everything that a probe does with the bytes of one event, but for keeping its stamp.
fn read(dialect: Dialect, event: &str, piece: usize) -> Duration {
    let body = event.repeat(EVENTS);
    let start = Instant::now();
    let deltas = read_all(dialect, body.as_bytes(), piece);
    let took = Instant::now() - start;
    assert_eq!(deltas, EVENTS);
    took / EVENTS as u32
}

fn read_all(dialect: Dialect, body: &[u8], piece: usize) -> usize {
    let mut decoder = Decoder::default();
    let mut deltas = 0;
    for bytes in body.chunks(piece) {
        let found = decoder.feed::<Unread>(black_box(bytes), &mut |item| {
            if let Item::Event(data) = item {
                deltas += dialect.interpret(data)?.channels.len();
            }
            Ok(())
        });
        found.unwrap();
    }
    deltas
}

fn decode(event: &str) -> Duration {
    let mut decoder = Decoder::default();
    let start = Instant::now();
    for _ in 0..EVENTS {
        let found = decoder.feed::<Unread>(black_box(event.as_bytes()), &mut |item| {
            black_box(item);
            Ok(())
        });
        found.unwrap();
    }
    (Instant::now() - start) / EVENTS as u32
}

fn quickest(mut round: impl FnMut() -> Duration) -> Duration {
    (0..ROUNDS).map(|_| round()).min().unwrap()
}

fn megabytes() -> usize {
    22 * ROUNDS * EVENTS * (CHAT.len() + 8) / 1_000_000
}

/// As the kernel tells it; where there is no such kernel, nothing.
fn high_water() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.map_or_else(|| "?".to_owned(), |line| line.trim().trim_end_matches(" kB").to_owned())
}
