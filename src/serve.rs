//! What the daemon shows over HTTP: metrics, health, and a page that leads to them; and the marks that it takes.

mod marks;
pub mod reload;
mod scrape;

use std::fmt::Write as _;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::Router;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderName, StatusCode};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::domain::Target;
use crate::expose;
use crate::record::Recorder;
use crate::release::Releases;
use reload::Reloads;
pub use scrape::Exposition;
use scrape::NotWritten;

/// What the routes look at.
#[derive(Debug)]
pub struct Shown {
    pub recorder: Arc<Recorder>,
    pub releases: Arc<Releases>,
    /// Those that are watched now.
    pub targets: watch::Receiver<Vec<Arc<Target>>>,
    pub reloads: Reloads,
    pub exposition: Exposition,
    /// Whether probes are being sent.
    pub ready: AtomicBool,
}

/// Serves for ever, unless the listener fails.
pub async fn run(listener: TcpListener, shown: Arc<Shown>) -> io::Result<()> {
    axum::serve(listener, router(shown)).await
}

fn router(shown: Arc<Shown>) -> Router {
    Router::new()
        .route("/", get(landing))
        .route("/metrics", get(metrics))
        .route("/-/healthy", get(healthy))
        .route("/-/ready", get(ready))
        .route("/-/reload", post(reload::post))
        .route("/api/v1/marks", post(marks::post).layer(marks::limit()))
        .with_state(shown)
}

async fn metrics(State(shown): State<Arc<Shown>>) -> Response {
    match shown.exposition.text(&shown.recorder).await {
        Ok(text) => ([(CONTENT_TYPE, expose::TEXT)], text).into_response(),
        Err(NotWritten) => {
            (StatusCode::INTERNAL_SERVER_ERROR, "cannot write the metrics; the log says why\n")
                .into_response()
        }
    }
}

async fn healthy() -> &'static str {
    "sloprobe is healthy\n"
}

async fn ready(State(shown): State<Arc<Shown>>) -> (StatusCode, &'static str) {
    if shown.ready.load(Ordering::Relaxed) {
        (StatusCode::OK, "sloprobe is probing\n")
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "sloprobe is starting or ending\n")
    }
}

/// Nothing on the page is a script, and nothing is fetched from elsewhere.
const CONTENT_POLICY: (HeaderName, &str) =
    (HeaderName::from_static("content-security-policy"), "default-src 'none'; style-src 'unsafe-inline'");

async fn landing(State(shown): State<Arc<Shown>>) -> impl IntoResponse {
    let mut rows = String::new();
    for target in shown.targets.borrow().iter() {
        let workloads: Vec<_> = target.mix.iter().map(|share| &*share.workload.name).collect();
        let cells = [&*target.name, target.api.name(), &target.model, &workloads.join(", ")];
        let cells = cells.map(|cell| format!("<td>{}</td>", escape(cell))).concat();
        let _ = writeln!(rows, "<tr>{cells}</tr>");
    }
    let page = include_str!("serve/landing.html")
        .replace("{version}", env!("CARGO_PKG_VERSION"))
        .replace("{rows}", &rows);
    ([CONTENT_POLICY], Html(page))
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
