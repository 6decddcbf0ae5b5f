//! The HTTP face: routes, connections, and the endpoints that identify and control the engine.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use super::Settings;
use super::answer;
use super::body::Stopping;
use super::control::Control;
use super::driver::Command;
use super::faults::Fault;
use super::log::Log;
use super::problem::Problem;
use super::text;
use super::wire::{Ask, Route};
use crate::domain::clock::{unix_seconds, wall_now};

/// Prompts of a million tokens pass; what is larger is a mistake.
pub(super) const MOST_BODY_BYTES: usize = 64 << 20;

/// What every handler shares.
#[derive(Debug)]
pub struct App {
    pub(super) settings: Settings,
    pub(super) control: Control,
    pub(super) log: Log,
    pub(super) commands: mpsc::UnboundedSender<Command>,
    pub(super) stop: watch::Receiver<bool>,
    pub(super) epoch: Instant,
    pub(super) requests: AtomicU64,
}

impl App {
    /// Ends when the server stops.
    pub(super) fn stopping(&self) -> Stopping {
        let mut stop = self.stop.clone();
        Box::pin(async move {
            // An error means that the handle is gone, which is a stop too.
            let _ = stop.wait_for(|stop| *stop).await;
        })
    }

    pub(super) fn next_number(&self) -> u64 {
        self.requests.fetch_add(1, Ordering::Relaxed)
    }

    pub(super) fn authorize(&self, headers: &HeaderMap) -> Result<(), Problem> {
        let Some(key) = &self.settings.api_key else { return Ok(()) };
        let given = headers.get(header::AUTHORIZATION).and_then(|value| value.to_str().ok());
        let right = given.and_then(|value| value.strip_prefix("Bearer ")) == Some(key.expose());
        if right { Ok(()) } else { Err(Problem::unauthorized()) }
    }

    pub(super) fn check_model(&self, asked: Option<&str>) -> Result<(), Problem> {
        match asked {
            Some(asked) if asked != self.settings.model => {
                Err(Problem::unknown_model(asked, &self.settings.model))
            }
            _ => Ok(()),
        }
    }
}

/// All routes.
pub fn router(app: Arc<App>) -> Router {
    Router::new()
        .route("/v1/chat/completions", post(answer::chat))
        .route("/v1/completions", post(answer::completions))
        .route("/v1/models", get(models))
        .route("/version", get(version))
        .route("/health", get(health))
        .route("/tokenize", post(tokenize))
        .route("/sim/faults", get(show_faults).post(change_faults))
        .route("/sim/log", get(show_log))
        .fallback(not_found)
        .method_not_allowed_fallback(method_not_allowed)
        .layer(DefaultBodyLimit::max(MOST_BODY_BYTES))
        .with_state(app)
}

async fn not_found() -> Response {
    (StatusCode::NOT_FOUND, Json(json!({ "detail": "Not Found" }))).into_response()
}

async fn method_not_allowed() -> Response {
    (StatusCode::METHOD_NOT_ALLOWED, Json(json!({ "detail": "Method Not Allowed" }))).into_response()
}

async fn health() -> StatusCode {
    StatusCode::OK
}

async fn version(State(app): State<Arc<App>>) -> Json<Value> {
    Json(json!({ "version": app.control.version() }))
}

async fn models(State(app): State<Arc<App>>, headers: HeaderMap) -> Result<Json<Value>, Problem> {
    app.authorize(&headers)?;
    Ok(Json(json!({ "object": "list", "data": [{
        "id": app.settings.model,
        "object": "model",
        "created": unix_seconds(wall_now()) as u64,
        // As vLLM, after which the whole server is modelled.
        "owned_by": "vllm",
        "root": app.settings.model,
        "parent": null,
        "max_model_len": app.settings.engine.context_limit(),
        "permission": [],
    }] })))
}

async fn tokenize(State(app): State<Arc<App>>, body: Bytes) -> Result<Json<Value>, Problem> {
    let ask: Ask = serde_json::from_slice(&body).map_err(|error| Problem::malformed(&error))?;
    app.check_model(ask.model.as_deref())?;
    let route = if ask.messages.is_some() { Route::Chat } else { Route::Completions };
    let prompt = ask
        .prompt_text(route)
        .ok_or_else(|| Problem::bad_request(Some("prompt"), "Give a prompt or messages."))?;
    let tokens: Vec<u32> = text::tokens(&prompt).map(token_number).collect();
    Ok(Json(json!({
        "count": tokens.len(),
        "max_model_len": app.settings.engine.context_limit(),
        "tokens": tokens,
        "token_strs": null,
    })))
}

/// A number that stands for a token's text, within the vocabulary of a usual model.
fn token_number(token: &str) -> u32 {
    let hash =
        token.bytes().fold(2_166_136_261_u32, |hash, byte| (hash ^ u32::from(byte)).wrapping_mul(16_777_619));
    hash % 151_000
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FaultChange {
    faults: Vec<Fault>,
    version: Option<String>,
}

async fn show_faults(State(app): State<Arc<App>>) -> Json<Value> {
    Json(json!({ "faults": app.control.faults(), "version": app.control.version() }))
}

async fn change_faults(State(app): State<Arc<App>>, body: Bytes) -> Result<Json<Value>, Problem> {
    let change: FaultChange = serde_json::from_slice(&body).map_err(|error| {
        Problem::bad_request(
            Some("faults"),
            &format!("{error}; write for example {{\"faults\":[\"slow-prefill=1.4\"]}}"),
        )
    })?;
    app.control.set_faults(change.faults);
    if let Some(version) = change.version {
        app.control.set_version(version);
    }
    Ok(show_faults(State(app)).await)
}

async fn show_log(State(app): State<Arc<App>>) -> Json<Value> {
    Json(json!({ "requests": app.log.entries() }))
}

/// Accepts without delay for small writes, and closes what a fault says to close.
#[derive(Debug)]
pub struct Door {
    pub(super) listener: TcpListener,
    pub(super) control: Control,
}

impl axum::serve::Listener for Door {
    type Io = TcpStream;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (TcpStream, SocketAddr) {
        loop {
            let (stream, address) = axum::serve::Listener::accept(&mut self.listener).await;
            if self.control.strikes_connection() {
                continue;
            }
            if let Err(error) = stream.set_nodelay(true) {
                tracing::debug!(%error, "the client left before its socket was set up");
                continue;
            }
            return (stream, address);
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}
