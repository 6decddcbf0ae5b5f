//! Requests that get an error instead of an answer.

use std::time::Duration;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::faults::HttpError;
use super::model::Refusal;
use super::wire::error_body;

/// An HTTP error with its body.
#[derive(Debug)]
pub struct Problem {
    status: StatusCode,
    body: Value,
    retry_after: Option<Duration>,
}

impl Problem {
    fn new(status: StatusCode, kind: &str, param: Option<&str>, message: &str) -> Self {
        Self { status, body: error_body(message, kind, param, status.as_u16()), retry_after: None }
    }

    /// The request is wrong.
    pub fn bad_request(param: Option<&str>, message: &str) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "BadRequestError", param, message)
    }

    /// The body is not what the route takes.
    pub fn malformed(error: &serde_json::Error) -> Self {
        let message = format!("1 validation error:\n  {{'type': 'json_invalid', 'msg': '{error}'}}");
        Self::new(StatusCode::BAD_REQUEST, "Bad Request", Some("body"), &message)
    }

    /// Another model is served.
    pub fn unknown_model(asked: &str, served: &str) -> Self {
        let message = format!("The model `{asked}` does not exist. Valid aliases: {served}.");
        Self::new(StatusCode::NOT_FOUND, "NotFoundError", Some("model"), &message)
    }

    /// The key is missing or wrong.
    pub fn unauthorized() -> Self {
        Self { status: StatusCode::UNAUTHORIZED, body: json!({ "error": "Unauthorized" }), retry_after: None }
    }

    /// What a fault asks for.
    pub fn of_fault(error: HttpError, retry_after: Option<Duration>) -> Self {
        let status = StatusCode::from_u16(error.code()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let (kind, message) = match error {
            HttpError::BadRequest => ("BadRequestError", "The request is not valid."),
            HttpError::Unauthorized => return Self::unauthorized(),
            HttpError::Forbidden => ("PermissionDeniedError", "This key may not use the model."),
            HttpError::NotFound => ("NotFoundError", "The model does not exist."),
            HttpError::TooManyRequests => ("RateLimitError", "Too many requests."),
            HttpError::Internal => ("InternalServerError", "Internal server error."),
            HttpError::Unavailable => ("ServiceUnavailableError", "The server is overloaded."),
        };
        Self { retry_after, ..Self::new(status, kind, None, message) }
    }

    /// What the engine refused.
    pub fn of_refusal(refusal: Refusal) -> Self {
        match refusal {
            Refusal::TooLong { limit } => Self::bad_request(
                Some("input_tokens"),
                &format!(
                    "This model's maximum context length is {limit} tokens, which prompt and answer exceed."
                ),
            ),
            Refusal::QueueFull => Self::of_fault(HttpError::Unavailable, None),
            Refusal::TimedOut => Self::new(
                StatusCode::REQUEST_TIMEOUT,
                "TimeoutError",
                None,
                "The request did not end within the time limit.",
            ),
        }
    }

    /// The server is stopping.
    pub fn stopping() -> Self {
        Self::of_fault(HttpError::Unavailable, None)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let mut response = (self.status, axum::Json(self.body)).into_response();
        if let Some(after) = self.retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(after.as_secs()));
        }
        response
    }
}
