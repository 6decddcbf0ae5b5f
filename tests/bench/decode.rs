//! `cargo bench --bench decode`: what one event costs on its way from bytes to meaning, and that the cost in
//! memory does not grow with the stream.

#![allow(clippy::unwrap_used, reason = "a measurement that cannot go on should panic")]

use std::hint::black_box;
use std::time::Duration;

use sloprobe::protocol::sse::{Decoder, Item, TooLong};
use sloprobe::protocol::{Dialect, Nonsense};
use tokio::time::Instant;

/// What an event of usual size may cost; more would show in the stamps of a fast stream.
const MOST: Duration = Duration::from_micros(2);

/// A round is shorter than a turn on a busy machine, and the quickest of many had its turn to itself: it is
/// the cost, where a median would be the load.
const EVENTS: usize = 1000;
const ROUNDS: usize = 500;

const CHAT: &str = r#"{"id":"chatcmpl-8f14e45fceea167a5a36dedd4bea2543","object":"chat.completion.chunk","created":1763180000,"model":"Qwen/Qwen3-8B","choices":[{"index":0,"delta":{"content":" token"},"logprobs":null,"finish_reason":null}]}"#;
const COMPLETION: &str = r#"{"id":"cmpl-8f14e45fceea167a5a36dedd4bea2543","object":"text_completion","created":1763180000,"model":"Qwen/Qwen3-8B","choices":[{"index":0,"text":" token","logprobs":null,"finish_reason":null,"stop_reason":null}]}"#;

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
    println!("what                              bytes   ns per event");
    let mut slowest = Duration::ZERO;
    for (dialect, name, data) in
        [(Dialect::OpenAiChat, "chat", CHAT), (Dialect::OpenAiCompletions, "completions", COMPLETION)]
    {
        let event = format!("data: {data}\n\n");
        for (how, piece) in
            [("an event a read", event.len()), ("16 KiB a read", 16 << 10), ("cut in two", 130)]
        {
            let cost = quickest(|| read(dialect, &event, piece));
            println!("{name:<12} {how:<20} {:>5} {:>14}", event.len(), cost.as_nanos());
            slowest = slowest.max(cost);
        }
    }
    let bare = quickest(|| decode(&format!("data: {CHAT}\n\n")));
    println!("framing alone, an event a read    {:>5} {:>14}", CHAT.len() + 8, bare.as_nanos());
    println!("high-water mark of memory: {} kB after {} MB of events", high_water(), megabytes());
    assert!(slowest < MOST, "an event costs {slowest:?}, more than {MOST:?}");
}

/// Everything that a probe does with the bytes of one event, but for keeping its stamp.
fn read(dialect: Dialect, event: &str, piece: usize) -> Duration {
    let body = event.repeat(EVENTS);
    let mut decoder = Decoder::default();
    let mut deltas = 0;
    let start = Instant::now();
    for bytes in body.as_bytes().chunks(piece) {
        let found = decoder.feed::<Unread>(black_box(bytes), &mut |item| {
            if let Item::Event(data) = item {
                deltas += dialect.interpret(data)?.channels.len();
            }
            Ok(())
        });
        found.unwrap();
    }
    let took = Instant::now() - start;
    assert_eq!(deltas, EVENTS);
    took / EVENTS as u32
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
    7 * ROUNDS * EVENTS * (CHAT.len() + 8) / 1_000_000
}

/// As the kernel tells it; where there is no such kernel, nothing.
fn high_water() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.map_or_else(|| "?".to_owned(), |line| line.trim().trim_end_matches(" kB").to_owned())
}
