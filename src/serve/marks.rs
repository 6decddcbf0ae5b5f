//! `POST /api/v1/marks`: a person, or a pipeline, says that something about a target is new.

use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::json;

use super::Shown;
use crate::release::mark::{Mark, Refused};

/// Far above any mark.
const MAX_BYTES: usize = 4 << 10;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    target: String,
    text: String,
}

pub(super) fn limit() -> DefaultBodyLimit {
    DefaultBodyLimit::max(MAX_BYTES)
}

pub(super) async fn post(
    State(shown): State<Arc<Shown>>,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Response {
    match mark(&shown, &headers, body) {
        Ok(marked) => marked,
        Err((status, error)) => (status, Json(json!({ "error": error }))).into_response(),
    }
}

fn mark(
    shown: &Shown,
    headers: &HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, (StatusCode, String)> {
    if !is_json(headers) {
        let error = "send the mark with content-type: application/json";
        return Err((StatusCode::UNSUPPORTED_MEDIA_TYPE, error.to_owned()));
    }
    let body = body.map_err(|error| match error.status() {
        StatusCode::PAYLOAD_TOO_LARGE => {
            (StatusCode::PAYLOAD_TOO_LARGE, format!("a mark has at most {MAX_BYTES} bytes"))
        }
        status => (status, error.body_text()),
    })?;
    let bad = |error: String| (StatusCode::BAD_REQUEST, error);
    let Wanted { target, text } = serde_json::from_slice(&body)
        .map_err(|error| bad(format!(r#"write {{"target": "…", "text": "…"}}: {error}"#)))?;
    let mark = Mark::new(&text).map_err(|error| bad(error.to_string()))?;
    let release = shown.releases.marked(&target, &mark).map_err(|refused| {
        let status = match refused {
            Refused::NoSuchTarget { .. } => StatusCode::NOT_FOUND,
            Refused::TooMany => StatusCode::TOO_MANY_REQUESTS,
        };
        (status, refused.to_string())
    })?;
    let began = humantime::format_rfc3339_seconds(release.began).to_string();
    let marked = json!({ "target": &*release.target, "release": release.id.0, "began": began });
    Ok((StatusCode::CREATED, Json(marked)).into_response())
}

/// A page in somebody's browser can send a form to any address, but not this type: for that, the browser asks
/// first, and nobody here says yes.
fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = kind.split(';').next().unwrap_or_default().trim();
    essence.eq_ignore_ascii_case("application/json")
}
