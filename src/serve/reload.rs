//! `POST /-/reload`: the configuration is to be read again.

use std::sync::Arc;

use axum::extract::State;
use axum::http::header::{HOST, ORIGIN};
use axum::http::{HeaderMap, HeaderName, StatusCode};
use tokio::sync::{mpsc, oneshot};
use url::Url;

use super::Shown;

/// So many may wait for their turn; whoever comes then waits to be let in.
const MOST_WAITING: usize = 16;

/// What a browser says of the page that sent a request.
const SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// What came of it, in words: what changed, or every problem.
pub type Answer = Result<String, String>;

/// Where the answer goes.
pub type Request = oneshot::Sender<Answer>;

/// Asks for the configuration to be read again. Clones ask the same daemon.
#[derive(Debug, Clone)]
pub struct Reloads(mpsc::Sender<Request>);

impl Reloads {
    /// Requests come out at the other end, one after the other.
    pub fn channel() -> (Self, mpsc::Receiver<Request>) {
        let (sender, requests) = mpsc::channel(MOST_WAITING);
        (Self(sender), requests)
    }

    /// Waits until it has been done.
    pub async fn ask(&self) -> Answer {
        let ending = || "sloprobe is ending".to_owned();
        let (sender, answer) = oneshot::channel();
        self.0.send(sender).await.map_err(|_| ending())?;
        answer.await.unwrap_or_else(|_| Err(ending()))
    }
}

pub(super) async fn post(State(shown): State<Arc<Shown>>, headers: HeaderMap) -> (StatusCode, String) {
    if is_foreign(&headers) {
        return (StatusCode::FORBIDDEN, "a page of another site cannot ask for this\n".to_owned());
    }
    match shown.reloads.ask().await {
        Ok(changes) => (StatusCode::OK, changes + "\n"),
        Err(problems) => (StatusCode::INTERNAL_SERVER_ERROR, problems + "\n"),
    }
}

/// A page in somebody's browser can send a form to any address; the browser says where the page came from.
fn is_foreign(headers: &HeaderMap) -> bool {
    let text = |name: &HeaderName| headers.get(name).map(|value| value.to_str().unwrap_or_default());
    let is_other_site = text(&SITE).is_some_and(|site| !matches!(site, "same-origin" | "none"));
    let host = text(&HOST).unwrap_or_default();
    let is_other_origin = text(&ORIGIN).is_some_and(|origin| authority(origin).as_deref() != Some(host));
    is_other_site || is_other_origin
}

/// Host and port as a browser writes them into `Host`; none of an origin that is kept secret.
fn authority(origin: &str) -> Option<String> {
    let url = Url::parse(origin).ok()?;
    let host = url.host_str()?;
    Some(url.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn foreign(headers: &[(&'static str, &str)]) -> bool {
        let headers = headers.iter().map(|(name, value)| {
            (HeaderName::from_static(name), value.parse().expect("a value that can be sent"))
        });
        is_foreign(&headers.collect())
    }

    #[test]
    fn a_command_line_may_ask_and_a_page_of_another_site_may_not() {
        let host = ("host", "probe:9788");
        assert!(!foreign(&[host]));
        assert!(!foreign(&[host, ("origin", "http://probe:9788"), ("sec-fetch-site", "same-origin")]));
        for from in [
            ("sec-fetch-site", "cross-site"),
            ("sec-fetch-site", "same-site"),
            ("origin", "http://evil.example"),
            ("origin", "http://probe:80"),
            ("origin", "null"),
        ] {
            assert!(foreign(&[host, from]), "{from:?}");
        }
    }
}
