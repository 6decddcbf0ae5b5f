//! From bytes to a [`Timeline`] and an [`Answer`]: each read is stamped by the caller, then decoded, then
//! interpreted.

mod kept;

use std::fmt;

use tokio::time::Instant;

use crate::domain::attribution::{Attribution, Whole, attribute};
use crate::domain::identity::presentable;
use crate::domain::{Answer, Delta, Failure, Fault, ServerTimes, Timeline, TokenSource, Tokens};
use crate::protocol::sse::{self, Item, MAX_EVENT_BYTES, TooLong};
use crate::protocol::{Dialect, Framing, Meaning, ndjson};
use kept::Kept;

/// More than this is not an answer to a probe; servers that ignore a length limit write on and on.
const MAX_BODY_BYTES: usize = 16 << 20;

/// An answer that comes whole is one event. It is parsed at once, and `[{},{},…` grows tenfold and more on
/// its way into memory.
const MAX_WHOLE_BYTES: usize = MAX_EVENT_BYTES;

/// So many deltas have room from the first on: an answer of usual length makes no room again.
const USUAL_DELTAS: usize = 128;

/// The answer of one probe as far as it has come.
#[derive(Debug)]
pub(super) struct Reading {
    body: Body,
    bytes: usize,
    account: Account,
}

/// How the body is taken apart.
#[derive(Debug)]
enum Body {
    Events(sse::Decoder),
    Lines(ndjson::Decoder),
    /// Not streamed: kept until it is all there.
    Whole(Vec<u8>),
}

/// What the events said so far.
#[derive(Debug)]
struct Account {
    dialect: Dialect,
    timeline: Timeline,
    tokens: Tokens,
    times: ServerTimes,
    fingerprint: Option<String>,
    model: Option<String>,
    kept: Kept,
    /// Token ids that came without text since the last delta.
    withheld: u32,
    /// What came as reasoning is a summary.
    is_summarized: bool,
    /// The model stopped, and said why.
    is_finished: bool,
    /// Something generated came, in a stream or whole.
    generated: bool,
    ending: Ending,
}

/// What the newest event says about the end of the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    /// The body may not end without a terminal signal.
    Awaited,
    /// The format has no end marker: the end of the body is the end of the answer.
    WithBody,
    /// The end marker came: nothing that follows is read.
    Marked,
}

/// How far an answer has come, in words that follow what ended it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    /// Not even headers.
    Nothing,
    Chunks(usize),
    /// Of an answer that comes whole.
    Bytes(usize),
}

/// What is known once nothing more is read.
#[derive(Debug)]
pub(super) struct Read {
    pub(super) timeline: Timeline,
    pub(super) tokens: Tokens,
    pub(super) times: ServerTimes,
    pub(super) fingerprint: Option<String>,
    pub(super) model: Option<String>,
    pub(super) answer: Answer,
}

impl Reading {
    pub(super) fn new(dialect: Dialect, stream: bool, timeline: Timeline) -> Self {
        let account = Account {
            dialect,
            timeline,
            tokens: Tokens::default(),
            times: ServerTimes::default(),
            fingerprint: None,
            model: None,
            kept: Kept::new(),
            withheld: 0,
            is_summarized: false,
            is_finished: false,
            generated: false,
            ending: Ending::Awaited,
        };
        let body = match dialect.framing() {
            _ if !stream => Body::Whole(Vec::new()),
            Framing::Sse => Body::Events(sse::Decoder::default()),
            Framing::Ndjson => Body::Lines(ndjson::Decoder::default()),
        };
        Self { body, bytes: 0, account }
    }

    /// Takes one read that reached the process at `at`.
    pub(super) fn take(&mut self, at: Instant, bytes: &[u8]) -> Result<(), Fault> {
        if self.account.ending == Ending::Marked {
            // Nothing follows the end marker, however much of it comes.
            return Ok(());
        }
        self.bytes += bytes.len();
        let most = if self.is_stream() { MAX_BODY_BYTES } else { MAX_WHOLE_BYTES };
        if self.bytes > most {
            return Err(Failure::Malformed.because(format!("the answer is longer than {most} bytes")));
        }
        let account = &mut self.account;
        match &mut self.body {
            Body::Events(decoder) => decoder.feed(bytes, &mut |item| account.note(at, item)),
            Body::Lines(decoder) => decoder.feed(bytes, &mut |line| account.note(at, Item::Event(line))),
            Body::Whole(body) => {
                body.extend_from_slice(bytes);
                Ok(())
            }
        }
    }

    /// The body ended at `at`: judges whether that was the end of the answer.
    pub(super) fn end(&mut self, at: Instant) -> Result<(), Fault> {
        let account = &mut self.account;
        let mut is_stray = false;
        let rest = match &mut self.body {
            Body::Events(decoder) => decoder.finish(&mut |item| {
                is_stray |= matches!(item, Item::Stray(_));
                account.note(at, item)
            }),
            Body::Lines(decoder) => decoder.finish(&mut |line| {
                is_stray = true;
                account.note(at, Item::Event(line))
            }),
            Body::Whole(body) => return account.note_whole(at, body).and_then(|()| self.complete()),
        };
        if rest.is_ok() && account.ending == Ending::WithBody {
            account.timeline.finished.get_or_insert(at);
        }
        let Timeline { first_event, finished, .. } = &account.timeline;
        match rest {
            // Half an event at the end of the body means that the body was cut, not that it is nonsense.
            Err(fault) if fault.failure == Failure::Malformed => {
                if is_stray && first_event.is_none() && finished.is_none() {
                    return Err(fault);
                }
            }
            rest => rest?,
        }
        if finished.is_none() {
            return Err(Failure::Truncated.because("the body ended before the answer did"));
        }
        self.complete()
    }

    /// Whether a finished answer had anything in it.
    pub(super) fn complete(&self) -> Result<(), Fault> {
        if !self.account.generated && !self.account.is_starved() {
            return Err(Failure::Empty.because("the answer ended without one token"));
        }
        Ok(())
    }

    /// Whether tokens are awaited one by one, rather than the answer as a whole.
    pub(super) fn is_stream(&self) -> bool {
        !matches!(self.body, Body::Whole(_))
    }

    /// Whether any byte of a body came.
    pub(super) fn has_body(&self) -> bool {
        self.bytes > 0
    }

    pub(super) fn timeline(&mut self) -> &mut Timeline {
        &mut self.account.timeline
    }

    pub(super) fn started(&self) -> Instant {
        self.account.timeline.started
    }

    pub(super) fn last_arrival(&self) -> Option<Instant> {
        self.account.timeline.deltas.last().map(|delta| delta.at)
    }

    pub(super) fn finished(&self) -> Option<Instant> {
        self.account.timeline.finished
    }

    pub(super) fn progress(&self) -> Progress {
        match self.account.timeline.headers {
            None => Progress::Nothing,
            Some(_) if self.is_stream() => Progress::Chunks(self.account.timeline.deltas.len()),
            Some(_) => Progress::Bytes(self.bytes),
        }
    }

    pub(super) fn finish(self) -> Read {
        let Account { mut timeline, mut tokens, times, fingerprint, model, kept, .. } = self.account;
        let answer = kept.answer();
        if !timeline.deltas.is_empty() {
            let whole = Whole {
                output: tokens.output,
                reasoning: tokens.reasoning,
                is_summarized: self.account.is_summarized,
                ended_by_itself: self.account.is_finished && !answer.cut,
                late_ids: self.account.withheld,
            };
            let Attribution { source, output, hidden, shares } = attribute(&timeline.deltas, &whole);
            for (delta, share) in timeline.deltas.iter_mut().zip(shares) {
                delta.tokens = Some(u32::try_from(share).unwrap_or(u32::MAX));
            }
            tokens = Tokens { output: Some(output), source: Some(source), hidden, ..tokens };
        } else if tokens.output.is_some() {
            tokens.source = Some(TokenSource::FinalUsage);
        }
        Read { timeline, tokens, times, fingerprint, model, answer }
    }
}

impl Progress {
    /// Whether the server has answered at all.
    pub(super) fn has_begun(self) -> bool {
        self != Self::Nothing
    }
}

impl fmt::Display for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("before any answer"),
            Self::Chunks(0) => f.write_str("before the first token"),
            Self::Chunks(1) => f.write_str("after 1 chunk"),
            Self::Chunks(count) => write!(f, "after {count} chunks"),
            Self::Bytes(count) => write!(f, "after {count} bytes"),
        }
    }
}

impl Account {
    /// Hidden reasoning used up the limit that we set: tokens were made and counted, and none of them could be shown.
    fn is_starved(&self) -> bool {
        self.kept.is_cut() && self.tokens.reasoning.is_some_and(|tokens| tokens > 0)
    }

    fn note(&mut self, at: Instant, item: Item<'_>) -> Result<(), Fault> {
        if self.ending == Ending::Marked {
            return Ok(());
        }
        match item {
            Item::Event(data) => {
                let meaning =
                    self.dialect.interpret(data).map_err(|e| Failure::Malformed.because(e.to_string()))?;
                self.apply(at, &meaning)
            }
            Item::Error(data) => Err(Failure::InBand.because(Dialect::explain(data))),
            Item::Stray(line) => Err(self.stray(line)),
        }
    }

    fn apply(&mut self, at: Instant, meaning: &Meaning<'_>) -> Result<(), Fault> {
        self.timeline.first_event.get_or_insert(at);
        if let Some(error) = &meaning.error {
            return Err(Failure::InBand.because(error));
        }
        let usage = self.note_counts(meaning);
        self.generated |= !meaning.channels.is_empty();
        self.kept.note(meaning);
        self.add_deltas(at, meaning, usage.and_then(|usage| usage.output));
        self.is_summarized |= meaning.is_summary;
        self.is_finished |= meaning.finished;
        if meaning.finished || meaning.ended {
            self.timeline.finished.get_or_insert(at);
        }
        self.ending = match meaning {
            Meaning { ended: true, .. } => Ending::Marked,
            Meaning { may_be_last: true, .. } => Ending::WithBody,
            _ => Ending::Awaited,
        };
        Ok(())
    }

    /// An answer that was not streamed has no deltas, and none are made up.
    fn note_whole(&mut self, at: Instant, body: &[u8]) -> Result<(), Fault> {
        if body.trim_ascii().is_empty() {
            return Err(Failure::Truncated.because("the answer has no body"));
        }
        let meaning =
            self.dialect.interpret_whole(body).map_err(|e| Failure::Malformed.because(e.to_string()))?;
        if let Some(error) = meaning.error {
            return Err(Failure::InBand.because(error));
        }
        self.note_counts(&meaning);
        self.generated = !meaning.channels.is_empty();
        self.kept.note(&meaning);
        self.timeline.finished = Some(at);
        Ok(())
    }

    /// Keeps what the server says about itself; gives the counts of this event.
    fn note_counts(&mut self, meaning: &Meaning<'_>) -> Option<Tokens> {
        let usage = meaning.usage.map(Tokens::plausible);
        if let Some(usage) = usage {
            self.tokens = self.tokens.merged(usage);
        }
        self.times = self.times.merged(meaning.times);
        // Most servers say it with every event.
        if let Some(fingerprint) = meaning.fingerprint.as_deref()
            && self.fingerprint.as_deref() != Some(fingerprint)
        {
            self.fingerprint = presentable(fingerprint);
        }
        if let (None, Some(model)) = (&self.model, meaning.model.as_deref()) {
            self.model = presentable(model);
        }
        usage
    }

    /// `so_far` is the number of output tokens that the event itself tells.
    fn add_deltas(&mut self, at: Instant, meaning: &Meaning<'_>, so_far: Option<u64>) {
        // Half a character is a token without text: it counts with the next one that has some.
        self.withheld = self.withheld.saturating_add(meaning.token_ids.unwrap_or(0));
        if meaning.channels.is_empty() {
            return;
        }
        let deltas = &mut self.timeline.deltas;
        if deltas.is_empty() {
            deltas.reserve(USUAL_DELTAS);
        }
        let total = so_far.and_then(|total| u32::try_from(total).ok());
        let mut ids = meaning.token_ids.map(|_| std::mem::take(&mut self.withheld));
        // Several choices in a chunk came at one instant: they are no more tokens to tell apart, only more memory.
        for channel in meaning.channels.iter() {
            deltas.push(Delta { total, ids, ..Delta::new(at, channel) });
            // A chunk's tokens are counted once, even if it speaks on two channels.
            ids = ids.map(|_| 0);
        }
    }

    /// A line outside the format: an error that was sent plain, or something else altogether.
    fn stray(&self, line: &[u8]) -> Fault {
        match self.dialect.interpret(line) {
            Ok(Meaning { error: Some(error), .. }) => Failure::InBand.because(error),
            Ok(_) => {
                Failure::Malformed.because("the server answered without streaming, though it was asked to")
            }
            Err(_) => {
                Failure::Malformed.because(format!("not an event stream: {}", String::from_utf8_lossy(line)))
            }
        }
    }
}

impl From<TooLong> for Fault {
    fn from(error: TooLong) -> Self {
        Failure::Malformed.because(error.to_string())
    }
}

#[cfg(test)]
mod pace;
#[cfg(test)]
mod tests;
