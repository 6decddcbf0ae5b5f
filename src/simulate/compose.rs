//! From tokens to the bytes of one answer. Pure: events in, pieces out.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;

use super::faults::{FaultKind, Strikes};
use super::log::WriteKind;
use super::model::{Refusal, Token};
use super::wire::{Choice, Chunk, FinishReason, Route, Said, StreamOptions, Usage, error_body};
use super::writer::Writer;

/// What is fixed when an answer begins.
#[derive(Debug)]
pub struct Frame {
    /// Chat or completions.
    pub route: Route,
    /// Of the answer.
    pub id: String,
    /// Which model answers.
    pub model: String,
    /// Seconds since 1970.
    pub created: u64,
    /// `system_fingerprint`
    pub fingerprint: String,
    /// Tokens of the prompt.
    pub prompt_tokens: u32,
    /// Whether cached tokens are reported.
    pub prefix_cache: bool,
    /// What besides text is streamed.
    pub options: StreamOptions,
    /// How the answer will end.
    pub finish: FinishReason,
    /// What goes wrong.
    pub strikes: Strikes,
}

/// One thing to hand to the network.
#[derive(Debug, PartialEq, Eq)]
pub enum Piece {
    /// A write of its own.
    Write {
        /// What.
        bytes: Bytes,
        /// What for.
        kind: WriteKind,
        /// Tokens of the answer in it.
        tokens: u32,
        /// When the model produced it.
        at: Option<Duration>,
    },
    /// The body ends in order.
    End,
    /// The connection breaks.
    Cut,
}

/// Writes one answer.
#[derive(Debug)]
pub struct Composer {
    frame: Frame,
    writer: Writer,
    out: VecDeque<Piece>,
    produced: u32,
    cached_tokens: u32,
    role_sent: bool,
    /// Text waiting for its chunk to fill.
    chunk: String,
    chunk_tokens: u32,
    /// Events waiting for their write to fill.
    batch: Vec<u8>,
    batch_events: u32,
    batch_tokens: u32,
    over: bool,
}

impl Composer {
    /// A stream about to begin.
    pub fn new(frame: Frame, writer: Writer) -> Self {
        let mut composer = Self {
            frame,
            writer,
            out: VecDeque::new(),
            produced: 0,
            cached_tokens: 0,
            role_sent: false,
            chunk: String::new(),
            chunk_tokens: 0,
            batch: Vec::new(),
            batch_events: 0,
            batch_tokens: 0,
            over: false,
        };
        if composer.frame.strikes.has(&FaultKind::EarlyRole) {
            composer.push_role(None);
        }
        composer
    }

    /// The next piece to hand over, if any is ready.
    pub fn pop(&mut self) -> Option<Piece> {
        self.out.pop_front()
    }

    /// Prompt tokens that the cache saved, known with the first token.
    pub fn cached_tokens(&self) -> u32 {
        self.cached_tokens
    }

    /// Nothing more will come.
    pub fn is_over(&self) -> bool {
        self.over
    }

    /// The model produced a token.
    pub fn token(&mut self, token: &Token) {
        if self.over || self.frame.strikes.has(&FaultKind::HangAfterHeaders) {
            return;
        }
        self.cached_tokens = token.cached_tokens;
        self.push_role(Some(token.at));
        if self.breaks_off(token) {
            return;
        }
        self.produced += 1;
        if self.frame.strikes.has(&FaultKind::ContentFilter) {
            self.filter(token);
            return;
        }
        if !self.frame.strikes.has(&FaultKind::EmptyAnswer) {
            let ends_sentence = token.last && self.frame.finish == FinishReason::Stop;
            self.chunk.push_str(&self.writer.next_token(ends_sentence));
            self.chunk_tokens += 1;
        }
        if token.last || self.chunk_tokens >= self.tokens_per_chunk() {
            self.push_text(token);
        }
        if token.last {
            self.finish(token.at);
        }
    }

    /// The engine gave the request up after it had been taken on.
    pub fn given_up(&mut self, why: Refusal, at: Duration) {
        let message = match why {
            Refusal::TimedOut => "The request did not end within the time limit.",
            Refusal::QueueFull => "Too many requests are waiting.",
            Refusal::TooLong { .. } => "The request exceeds the context length.",
        };
        let body = error_body(message, "TimeoutError", None, 408);
        self.push_event(&body.to_string(), WriteKind::Error, 0, Some(at));
        self.finish_with_mark(Some(at));
    }

    fn tokens_per_chunk(&self) -> u32 {
        let found = self.frame.strikes.all().iter().find_map(|kind| match kind {
            FaultKind::TokensPerChunk(count) => Some(*count),
            _ => None,
        });
        found.unwrap_or(1)
    }

    fn events_per_write(&self) -> u32 {
        let found = self.frame.strikes.all().iter().find_map(|kind| match kind {
            FaultKind::EventsPerWrite(count) => Some(*count),
            _ => None,
        });
        found.unwrap_or(1)
    }

    /// Ends the stream here if a fault says so.
    fn breaks_off(&mut self, token: &Token) -> bool {
        let due = self.frame.strikes.all().iter().find(|kind| match kind {
            FaultKind::InBandError(after)
            | FaultKind::CutStream(after)
            | FaultKind::EarlyEnd(after)
            | FaultKind::Garbage(after) => token.index >= *after || token.last,
            _ => false,
        });
        let Some(due) = due.cloned() else { return false };
        match due {
            FaultKind::InBandError(_) => {
                let body = error_body("EngineCore encountered an issue.", "InternalServerError", None, 500);
                self.push_event(&body.to_string(), WriteKind::Error, 0, Some(token.at));
                self.finish_with_mark(Some(token.at));
            }
            FaultKind::Garbage(_) => {
                self.flush(WriteKind::Text, None);
                let noise =
                    Bytes::from_static(b"\xff\xfe\x00\x9c\x80\xc3\x28 \x01\x02{{{\xf0\x28\x8c\x28\n\n");
                self.out.push_back(Piece::Write {
                    bytes: noise,
                    kind: WriteKind::Garbage,
                    tokens: 0,
                    at: Some(token.at),
                });
                self.end(Piece::End);
            }
            FaultKind::CutStream(_) => self.end(Piece::Cut),
            _ => self.end(Piece::End),
        }
        true
    }

    fn filter(&mut self, token: &Token) {
        let refusal = "I cannot help with this request.";
        let said = Said { role: None, content: "", refusal: Some(refusal) };
        let chunk = self.chunk_json(said, Some(FinishReason::ContentFilter));
        self.push_event(&chunk, WriteKind::Text, 1, Some(token.at));
        self.finish(token.at);
    }

    fn push_role(&mut self, at: Option<Duration>) {
        if self.role_sent || self.frame.route == Route::Completions {
            return;
        }
        self.role_sent = true;
        let said = Said { role: Some("assistant"), content: "", refusal: None };
        let json = self.chunk_json(said, None);
        self.push_event(&json, WriteKind::Role, 0, at);
    }

    fn push_text(&mut self, token: &Token) {
        let finish = token.last.then_some(self.frame.finish);
        let text = std::mem::take(&mut self.chunk);
        let tokens = std::mem::take(&mut self.chunk_tokens);
        if tokens == 0 && finish.is_none() {
            return;
        }
        let json = self.chunk_json(Said { role: None, content: &text, refusal: None }, finish);
        self.push_event(&json, WriteKind::Text, tokens, Some(token.at));
    }

    fn chunk_json(&self, said: Said<'_>, finish_reason: Option<FinishReason>) -> String {
        let mut choice = Choice {
            index: 0,
            delta: None,
            message: None,
            text: None,
            logprobs: None,
            finish_reason,
            stop_reason: None,
            token_ids: None,
        };
        match self.frame.route {
            Route::Chat => choice.delta = Some(said),
            Route::Completions => choice.text = Some(said.content),
        }
        let usage = self.frame.options.continuous_usage_stats.then(|| self.usage());
        self.json(vec![choice], usage, None)
    }

    fn json(&self, choices: Vec<Choice<'_>>, usage: Option<Usage>, fingerprint: Option<&str>) -> String {
        let object = match self.frame.route {
            Route::Chat => "chat.completion.chunk",
            Route::Completions => "text_completion",
        };
        let chunk = Chunk {
            id: &self.frame.id,
            object,
            created: self.frame.created,
            model: &self.frame.model,
            choices,
            usage,
            system_fingerprint: fingerprint,
        };
        serde_json::to_string(&chunk).expect("a chunk has string keys only")
    }

    fn usage(&self) -> Usage {
        let cached = self.frame.prefix_cache.then_some(self.cached_tokens);
        Usage::new(self.frame.prompt_tokens, self.produced, cached)
    }

    fn finish(&mut self, at: Duration) {
        if self.frame.options.include_usage {
            let json = self.json(Vec::new(), Some(self.usage()), Some(&self.frame.fingerprint));
            self.push_event(&json, WriteKind::Usage, 0, Some(at));
        }
        self.finish_with_mark(Some(at));
    }

    fn finish_with_mark(&mut self, at: Option<Duration>) {
        self.push_event("[DONE]", WriteKind::Done, 0, at);
        self.end(Piece::End);
    }

    fn end(&mut self, how: Piece) {
        self.flush(WriteKind::Text, None);
        self.out.push_back(how);
        self.over = true;
    }

    fn push_event(&mut self, json: &str, kind: WriteKind, tokens: u32, at: Option<Duration>) {
        self.batch.extend_from_slice(b"data: ");
        self.batch.extend_from_slice(json.as_bytes());
        self.batch.extend_from_slice(b"\n\n");
        self.batch_events += 1;
        self.batch_tokens += tokens;
        if self.batch_events >= self.events_per_write() {
            self.flush(kind, at);
        }
    }

    fn flush(&mut self, kind: WriteKind, at: Option<Duration>) {
        if self.batch.is_empty() {
            return;
        }
        self.batch_events = 0;
        let bytes = Bytes::from(std::mem::take(&mut self.batch));
        let tokens = std::mem::take(&mut self.batch_tokens);
        self.out.push_back(Piece::Write { bytes, kind, tokens, at });
    }
}
