//! Answers that are not streamed: collected, then sent at once.

use std::io;

use axum::body::Body;
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::body::Ticket;
use super::compose::Frame;
use super::driver::Event;
use super::faults::FaultKind;
use super::log::{Finish, Write, WriteKind};
use super::model::Token;
use super::problem::Problem;
use super::server::App;
use super::wire::{FinishReason, Route, Usage, error_body};
use super::writer::Writer;

/// Waits for the whole answer and sends it.
pub async fn collect(
    app: &App,
    frame: &Frame,
    mut writer: Writer,
    mut events: mpsc::UnboundedReceiver<Event>,
    mut ticket: Ticket,
) -> Result<Response, Problem> {
    let mut text = String::new();
    let last = loop {
        let event = tokio::select! {
            event = events.recv() => event,
            () = app.stopping() => None,
        };
        match event {
            Some(Event::Token(token)) => {
                text.push_str(&writer.next_token(token.last && frame.finish == FinishReason::Stop));
                if token.last {
                    break token;
                }
            }
            Some(Event::GivenUp(why, _)) => return Err(Problem::of_refusal(why)),
            None => return Err(Problem::stopping()),
        }
    };
    let body = answer_bytes(frame, &text, last);
    let received = ticket.received;
    ticket.log.update(&ticket.name, |entry| entry.cached_tokens = last.cached_tokens);
    ticket.note(Write {
        offset: Instant::now().saturating_duration_since(received),
        model_offset: Some((ticket.epoch + last.at).saturating_duration_since(received)),
        kind: WriteKind::Whole,
        tokens: last.index + 1,
        bytes: body.len(),
    });
    ticket.finish = Some(Finish::Complete);
    let json = [(header::CONTENT_TYPE, "application/json")];
    if frame.strikes.all().iter().any(|kind| matches!(kind, FaultKind::CutStream(_))) {
        ticket.finish = Some(Finish::Cut);
        return Ok((json, Body::new(Cut(Some(body)))).into_response());
    }
    Ok((json, body).into_response())
}

/// The body, spoilt where a fault says so.
fn answer_bytes(frame: &Frame, text: &str, last: Token) -> Vec<u8> {
    let whole = answer(frame, text, last).to_string().into_bytes();
    for kind in frame.strikes.all() {
        match kind {
            FaultKind::InBandError(_) => {
                let error = error_body("EngineCore encountered an issue.", "InternalServerError", None, 500);
                return error.to_string().into_bytes();
            }
            FaultKind::EarlyEnd(_) => return whole[..whole.len() / 2].to_vec(),
            FaultKind::Garbage(_) => return b"\xff\xfe\x00\x9c\x80\xc3\x28 \x01\x02{{{".to_vec(),
            _ => {}
        }
    }
    whole
}

fn answer(frame: &Frame, text: &str, last: Token) -> Value {
    let filtered = frame.strikes.has(&FaultKind::ContentFilter);
    let text = if filtered || frame.strikes.has(&FaultKind::EmptyAnswer) { "" } else { text };
    let finish = if filtered { FinishReason::ContentFilter } else { frame.finish };
    let refusal = filtered.then_some("I cannot help with this request.");
    let (object, choice) = match frame.route {
        Route::Chat => (
            "chat.completion",
            json!({
                "index": 0,
                "message": { "role": "assistant", "content": text, "refusal": refusal },
                "logprobs": null, "finish_reason": finish, "stop_reason": null, "token_ids": null,
            }),
        ),
        Route::Completions => (
            "text_completion",
            json!({
                "index": 0, "text": text,
                "logprobs": null, "finish_reason": finish, "stop_reason": null, "token_ids": null,
            }),
        ),
    };
    let cached = frame.prefix_cache.then_some(last.cached_tokens);
    json!({
        "id": frame.id, "object": object, "created": frame.created, "model": frame.model,
        "choices": [choice], "service_tier": null, "system_fingerprint": frame.fingerprint,
        "usage": Usage::new(frame.prompt_tokens, last.index + 1, cached),
    })
}

/// Half of the bytes, then a broken connection.
struct Cut(Option<Vec<u8>>);

impl http_body::Body for Cut {
    type Data = axum::body::Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Option<Result<http_body::Frame<Self::Data>, io::Error>>> {
        std::task::Poll::Ready(Some(match self.0.take() {
            Some(mut bytes) => {
                bytes.truncate(bytes.len() / 2);
                Ok(http_body::Frame::data(bytes.into()))
            }
            None => Err(io::Error::new(io::ErrorKind::ConnectionAborted, "cut by the simulation")),
        }))
    }
}
