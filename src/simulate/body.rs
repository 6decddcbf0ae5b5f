//! The body of a streamed answer: each token its own frame, stamped as it is handed over.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::Frame;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::compose::{Composer, Piece};
use super::driver::{Command, Event};
use super::log::{Finish, Log, Write};
use super::model::RequestId;

/// Tells the engine and the log how a request ended, also when its client just went away.
#[derive(Debug)]
pub struct Ticket {
    /// In the engine.
    pub id: RequestId,
    /// In the log and the header.
    pub name: String,
    /// When it was received.
    pub received: Instant,
    /// The engine's time zero.
    pub epoch: Instant,
    /// Where writes are noted.
    pub log: Log,
    /// The engine.
    pub commands: mpsc::UnboundedSender<Command>,
    /// Set once the end is known.
    pub finish: Option<Finish>,
}

impl Ticket {
    /// Notes a write that is about to happen.
    pub fn note(&self, write: Write) {
        self.log.update(&self.name, |entry| entry.writes.push(write));
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let finish = self.finish.unwrap_or(Finish::Disconnected);
        self.log.update(&self.name, |entry| entry.finish = Some(finish));
        if finish != Finish::Complete {
            // The driver may be gone already; then there is nothing to abort.
            let _ = self.commands.send(Command::Abort(self.id));
        }
    }
}

/// The future that ends when the server stops.
pub type Stopping = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The body.
pub struct AnswerBody {
    ticket: Ticket,
    composer: Composer,
    events: mpsc::UnboundedReceiver<Event>,
    /// Keeps `events` open for an answer that never comes.
    _silent: Option<mpsc::UnboundedSender<Event>>,
    stopping: Stopping,
    /// A frame was just given: stay pending once, so that it is written before the next.
    flush: bool,
}

impl AnswerBody {
    /// A body fed by `events`.
    pub fn new(
        ticket: Ticket,
        composer: Composer,
        events: mpsc::UnboundedReceiver<Event>,
        stopping: Stopping,
    ) -> Self {
        Self { ticket, composer, events, _silent: None, stopping, flush: false }
    }

    /// A body that never says anything.
    pub fn silent(ticket: Ticket, composer: Composer, stopping: Stopping) -> Self {
        let (keep, events) = mpsc::unbounded_channel();
        Self { _silent: Some(keep), ..Self::new(ticket, composer, events, stopping) }
    }

    fn hand_over(&mut self, piece: Piece) -> Option<Result<Frame<Bytes>, io::Error>> {
        match piece {
            Piece::Write { bytes, kind, tokens, at } => {
                let ticket = &self.ticket;
                let model_offset =
                    at.map(|at| (ticket.epoch + at).saturating_duration_since(ticket.received));
                let offset = Instant::now().saturating_duration_since(ticket.received);
                ticket.note(Write { offset, model_offset, kind, tokens, bytes: bytes.len() });
                self.flush = true;
                Some(Ok(Frame::data(bytes)))
            }
            Piece::End => {
                self.ticket.finish = Some(Finish::Complete);
                None
            }
            Piece::Cut => {
                self.ticket.finish = Some(Finish::Cut);
                Some(Err(io::Error::new(io::ErrorKind::ConnectionAborted, "cut by the simulation")))
            }
        }
    }
}

impl std::fmt::Debug for AnswerBody {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AnswerBody").field("request", &self.ticket.name).finish_non_exhaustive()
    }
}

impl http_body::Body for AnswerBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        if std::mem::take(&mut self.flush) {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        loop {
            if let Some(piece) = self.composer.pop() {
                return Poll::Ready(self.hand_over(piece));
            }
            if self.composer.is_over() {
                return Poll::Ready(None);
            }
            if self.stopping.as_mut().poll(context).is_ready() {
                return Poll::Ready(self.hand_over(Piece::Cut));
            }
            match self.events.poll_recv(context) {
                Poll::Ready(Some(Event::Token(token))) => {
                    self.composer.token(&token);
                    if token.index == 0 {
                        let cached = self.composer.cached_tokens();
                        self.ticket.log.update(&self.ticket.name, |entry| entry.cached_tokens = cached);
                    }
                }
                Poll::Ready(Some(Event::GivenUp(why, at))) => self.composer.given_up(why, at),
                Poll::Ready(None) => return Poll::Ready(self.hand_over(Piece::Cut)),
                Poll::Pending => return Poll::Pending,
            }
        }
    }
}
