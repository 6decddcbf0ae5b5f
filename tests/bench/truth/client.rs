//! What the two hand-written clients share: an open loop, events parsed as JSON, and what they found as lines.

use std::io::Write as _;
use std::time::Duration;

use serde_json::Value;
use sloprobe::domain::clock;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use crate::trip::Trip;

/// What is asked, as often as the daemon asks, in the form that the daemon uses.
#[derive(Debug, Clone)]
pub struct Ask {
    pub address: String,
    pub body: String,
    /// Each is an endpoint with connections of its own, though all have one address here.
    pub targets: usize,
}

/// The events of one answer, as they come.
#[derive(Debug)]
pub struct Answer {
    started: std::time::SystemTime,
    sent: Instant,
    /// The beginning of an event whose end has not come yet.
    rest: Vec<u8>,
    stamps: Vec<Instant>,
    truth: Option<Duration>,
}

const PROMPT: &str = "The river bends twice before it reaches the old mill, and the road follows it.\\n\\n\
                      Anna: 12 apples\\nBert: 7 pears\\nCara: 31 plums\\nDora: 25 nuts\\nEmil: 4 figs\\n\
                      How many do Anna and Cara have together? Write the number first, then explain it in some words.";

impl Ask {
    pub fn new(address: &str, tokens: u32, targets: u32) -> Self {
        let body = format!(
            r#"{{"model":"m","messages":[{{"role":"user","content":"{PROMPT}"}}],"stream":true,"max_tokens":{tokens},"stream_options":{{"include_usage":true}}}}"#
        );
        Self { address: address.to_owned(), body, targets: targets as usize }
    }
}

impl Answer {
    /// Of a request that is sent now.
    pub fn begin() -> Self {
        let (rest, stamps) = (Vec::new(), Vec::with_capacity(64));
        Self { started: clock::wall_now(), sent: Instant::now(), rest, stamps, truth: None }
    }

    /// Takes what was read at one instant.
    pub fn feed(&mut self, at: Instant, mut bytes: &[u8]) {
        if !self.rest.is_empty() {
            self.rest.extend_from_slice(bytes);
            let joined = std::mem::take(&mut self.rest);
            return self.feed(at, &joined);
        }
        while let Some(end) = memchr::memmem::find(bytes, b"\n\n") {
            self.event(at, &bytes[..end]);
            bytes = &bytes[end + 2..];
        }
        self.rest.extend_from_slice(bytes);
    }

    fn event(&mut self, at: Instant, event: &[u8]) {
        let Some(data) = event.strip_prefix(b"data: ").filter(|&data| data != b"[DONE]") else { return };
        let chunk: Value = serde_json::from_slice(data).expect("the engine writes JSON");
        let text = chunk.pointer("/choices/0/delta/content").and_then(Value::as_str);
        if text.is_some_and(|text| !text.is_empty()) {
            self.stamps.push(at);
        }
        if let Some(ms) = chunk.pointer("/timings/prompt_ms").and_then(Value::as_f64) {
            self.truth = Some(Duration::from_secs_f64(ms / 1e3));
        }
    }

    /// What was measured, once the answer is over; none if it did not come whole.
    pub fn trip(self) -> Option<Trip> {
        let ttft = *self.stamps.first()? - self.sent;
        let mut gaps: Vec<_> = self.stamps.windows(2).map(|pair| pair[1] - pair[0]).collect();
        gaps.sort_unstable();
        let itl_p50 = *gaps.get(gaps.len() / 2)?;
        Some(Trip { started: self.started, ttft, truth: self.truth?, itl_p50, suspect: false })
    }
}

/// Starts a trip at every interval, each with its number, until this process is asked to end; then prints those that
/// came to an end.
pub async fn open_loop(interval: Duration, start_trip: impl Fn(usize, mpsc::UnboundedSender<Trip>)) {
    let mut asked_to_end = signal(SignalKind::terminate()).expect("signals can be caught");
    let (ended, mut trips) = mpsc::unbounded_channel();
    let begin = Instant::now();
    for count in 0.. {
        tokio::select! {
            () = sleep_until(begin + interval * count) => start_trip(count as usize, ended.clone()),
            _ = asked_to_end.recv() => break,
        }
    }
    drop(ended);
    let mut out = std::io::stdout().lock();
    while let Some(trip) = trips.recv().await {
        writeln!(out, "{}", trip.line()).expect("the parent reads this");
    }
}
