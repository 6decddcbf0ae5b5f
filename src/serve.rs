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
use axum::http::header::{ACCEPT, ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_TYPE, VARY};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::domain::Target;
use crate::expose::negotiate;
use crate::record::Recorder;
use crate::release::Releases;
use reload::Reloads;
pub use scrape::Exposition;

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

async fn metrics(State(shown): State<Arc<Shown>>, headers: HeaderMap) -> Response {
    let format = negotiate::format(&accepted(&headers, ACCEPT));
    let packing = negotiate::packing(&accepted(&headers, ACCEPT_ENCODING));
    let page = shown.exposition.page(&shown.recorder, format, packing);
    let mut response =
        ([(CONTENT_TYPE, format.content_type()), (VARY, "accept, accept-encoding")], page).into_response();
    if let Some(name) = packing.name() {
        response.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static(name));
    }
    response
}

/// What a header that may come several times accepts.
fn accepted(headers: &HeaderMap, name: HeaderName) -> String {
    let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    values.collect::<Vec<_>>().join(",")
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
