//! Answers a chat or a completion: checks it, submits it, streams or collects what the engine produces.

use std::sync::Arc;

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use oorandom::Rand64;
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use super::body::{AnswerBody, Ticket};
use super::compose::{Composer, Frame};
use super::driver::{Command, Event};
use super::faults::{FaultKind, Strikes};
use super::log::Finish;
use super::model::{self, RequestId};
use super::problem::Problem;
use super::server::{App, MOST_BODY_BYTES};
use super::speech::Speech;
use super::text;
use super::whole;
use super::wire::{Ask, FinishReason, Route};
use super::writer::Writer;
use crate::domain::clock::{unix_seconds, wall_now};

/// `POST /v1/chat/completions`
pub async fn chat(State(app): State<Arc<App>>, request: Request) -> Response {
    handle(app, Route::Chat, request).await
}

/// `POST /v1/completions`
pub async fn completions(State(app): State<Arc<App>>, request: Request) -> Response {
    handle(app, Route::Completions, request).await
}

async fn handle(app: Arc<App>, route: Route, request: Request) -> Response {
    let received = Instant::now();
    let number = app.next_number();
    let mut random = Rand64::new((u128::from(app.settings.seed) << 64) | u128::from(number));
    let name = format!("{}-{:016x}", route.id_prefix(), random.rand_u64());
    app.log.begin(&name, route.path(), received);
    let ticket = Ticket {
        id: RequestId(number),
        name: name.clone(),
        received,
        epoch: app.epoch,
        log: app.log.clone(),
        commands: app.commands.clone(),
        finish: None,
    };
    let mut response = match respond(&app, route, request, ticket, &mut random).await {
        Ok(response) => response,
        Err(problem) => {
            app.log.update(&name, |entry| entry.finish = Some(Finish::Refused));
            problem.into_response()
        }
    };
    if let Ok(value) = HeaderValue::from_str(&name) {
        response.headers_mut().insert("x-request-id", value);
    }
    response
}

async fn respond(
    app: &Arc<App>,
    route: Route,
    request: Request,
    mut ticket: Ticket,
    random: &mut Rand64,
) -> Result<Response, Problem> {
    let (parts, body) = request.into_parts();
    app.authorize(&parts.headers)?;
    let strikes = app.control.strike_request();
    let body = to_bytes(body, MOST_BODY_BYTES)
        .await
        .map_err(|error| Problem::bad_request(Some("body"), &error.to_string()))?;
    if let Some(response) = struck_before_answer(app, &strikes).await? {
        ticket.finish = Some(Finish::Complete);
        return Ok(response);
    }
    let (order, writer) = Order::read(app, route, &body, strikes, random)?;
    app.log.update(&ticket.name, |entry| entry.prompt_tokens = order.prompt_tokens);
    let frame = order.frame(app, &ticket);
    if order.strikes.has(&FaultKind::HangAfterHeaders) {
        return Ok(streamed(AnswerBody::silent(ticket, Composer::new(frame, writer), app.stopping())));
    }
    let events = submit(app, &order, &ticket).await?;
    if order.ask.stream {
        return Ok(streamed(AnswerBody::new(ticket, Composer::new(frame, writer), events, app.stopping())));
    }
    whole::collect(app, &frame, writer, events, ticket).await
}

/// Faults that need no prompt.
async fn struck_before_answer(app: &App, strikes: &Strikes) -> Result<Option<Response>, Problem> {
    if let Some((error, retry_after)) = strikes.http_error() {
        return Err(Problem::of_fault(error, retry_after));
    }
    if strikes.has(&FaultKind::Hang) {
        app.stopping().await;
        return Err(Problem::stopping());
    }
    if strikes.has(&FaultKind::Html) {
        let page =
            "<!DOCTYPE html><html><head><title>Bad gateway</title></head><body>Try later.</body></html>";
        return Ok(Some(([(header::CONTENT_TYPE, "text/html; charset=utf-8")], page).into_response()));
    }
    if strikes.has(&FaultKind::EmptyBody) {
        return Ok(Some(([(header::CONTENT_TYPE, "text/event-stream; charset=utf-8")], "").into_response()));
    }
    Ok(None)
}

/// A checked request.
struct Order {
    route: Route,
    ask: Ask,
    prompt: String,
    prompt_tokens: u32,
    output_tokens: u32,
    max_tokens: u32,
    finish: FinishReason,
    strikes: Strikes,
}

impl Order {
    fn read(
        app: &App,
        route: Route,
        body: &Bytes,
        strikes: Strikes,
        random: &mut Rand64,
    ) -> Result<(Self, Writer), Problem> {
        let ask: Ask = serde_json::from_slice(body).map_err(|error| Problem::malformed(&error))?;
        app.check_model(ask.model.as_deref())?;
        let field = if route == Route::Chat { "messages" } else { "prompt" };
        let prompt = ask
            .prompt_text(route)
            .ok_or_else(|| Problem::bad_request(Some(field), &format!("{field}: Field required")))?;
        if ask.messages.as_ref().is_some_and(Vec::is_empty) {
            return Err(Problem::bad_request(Some("messages"), "A conversation needs at least one message."));
        }
        let prompt_tokens = text::count(&prompt).max(1);
        let limit = app.settings.engine.context_limit();
        let max_tokens = allowed(&ask, prompt_tokens, limit)?;
        let usual = app.settings.answer.one(random);
        let speech = Speech::plan(&prompt, &strikes, usual, max_tokens, random.rand_u64());
        let (output_tokens, finish) = end(&ask, speech.length, max_tokens);
        let order = Self { route, ask, prompt, prompt_tokens, output_tokens, max_tokens, finish, strikes };
        Ok((order, speech.writer))
    }

    fn frame(&self, app: &App, ticket: &Ticket) -> Frame {
        Frame {
            route: self.route,
            id: ticket.name.clone(),
            model: app.settings.model.clone(),
            created: unix_seconds(wall_now()) as u64,
            fingerprint: format!("simulate-{}", app.control.version()),
            prompt_tokens: self.prompt_tokens,
            prefix_cache: app.settings.engine.prefix_cache,
            options: self.ask.stream_options.unwrap_or_default(),
            finish: self.finish,
            strikes: self.strikes.clone(),
        }
    }
}

/// Tokens that the answer will have, and why it ends after them.
fn end(ask: &Ask, length: Option<u32>, max_tokens: u32) -> (u32, FinishReason) {
    let wanted = length.map(|length| length.max(ask.min_tokens.unwrap_or(1)).max(1));
    match wanted.filter(|wanted| !ask.ignore_eos && *wanted < max_tokens) {
        Some(wanted) => (wanted, FinishReason::Stop),
        None => (max_tokens, FinishReason::Length),
    }
}

/// Tokens that the answer may have.
fn allowed(ask: &Ask, prompt_tokens: u32, limit: u32) -> Result<u32, Problem> {
    let asked = ask.max_completion_tokens.or(ask.max_tokens);
    if let Some(asked) = asked.filter(|asked| *asked < 1) {
        let message = format!("max_tokens must be at least 1, got {asked}.");
        return Err(Problem::bad_request(Some("max_tokens"), &message));
    }
    if prompt_tokens >= limit {
        let message = format!(
            "This model's maximum context length is {limit} tokens. However, your prompt contains {prompt_tokens} \
             input tokens. Please reduce the length of the input prompt."
        );
        return Err(Problem::bad_request(Some("input_tokens"), &message));
    }
    let room = limit - prompt_tokens;
    match asked {
        None => Ok(room),
        Some(asked) => u32::try_from(asked).ok().filter(|asked| *asked <= room).ok_or_else(|| {
            let message = format!(
                "max_tokens={asked} is too large: {room} tokens are left of the context of {limit}. Please \
                 request fewer output tokens."
            );
            Problem::bad_request(Some("max_tokens"), &message)
        }),
    }
}

async fn submit(
    app: &App,
    order: &Order,
    ticket: &Ticket,
) -> Result<mpsc::UnboundedReceiver<Event>, Problem> {
    let prefix =
        if app.settings.engine.prefix_cache { text::block_hashes(&order.prompt) } else { Vec::new() };
    let request = model::Request {
        id: ticket.id,
        prompt_tokens: order.prompt_tokens,
        output_tokens: order.output_tokens,
        max_tokens: order.max_tokens,
        prefix,
        stall: order.strikes.stall(),
        first_token_factor: order.strikes.first_token_factor(),
    };
    let (events, listener) = mpsc::unbounded_channel();
    let (taken, answer) = oneshot::channel();
    let command = Command::Submit { request, received: ticket.received, events, taken };
    app.commands.send(command).map_err(|_| Problem::stopping())?;
    answer.await.map_err(|_| Problem::stopping())?.map_err(Problem::of_refusal)?;
    Ok(listener)
}

fn streamed(body: AnswerBody) -> Response {
    ([(header::CONTENT_TYPE, "text/event-stream; charset=utf-8")], Body::new(body)).into_response()
}
