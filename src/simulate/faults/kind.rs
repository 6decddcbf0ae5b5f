//! The closed list of faults, their names and their values.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use super::BadFault;

/// An HTTP error that a server may answer with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HttpError {
    /// 400
    BadRequest,
    /// 401
    Unauthorized,
    /// 403
    Forbidden,
    /// 404
    NotFound,
    /// 429
    TooManyRequests,
    /// 500
    Internal,
    /// 503
    Unavailable,
}

impl HttpError {
    /// The status code.
    pub fn code(self) -> u16 {
        match self {
            Self::BadRequest => 400,
            Self::Unauthorized => 401,
            Self::Forbidden => 403,
            Self::NotFound => 404,
            Self::TooManyRequests => 429,
            Self::Internal => 500,
            Self::Unavailable => 503,
        }
    }
}

/// Everything that can go wrong on purpose.
#[derive(Debug, Clone, PartialEq)]
pub enum FaultKind {
    /// Prompt tokens take so many times longer.
    SlowPrefill(f64),
    /// Decoding takes so many times longer.
    SlowDecode(f64),
    /// The first token comes so many times later, queueing included.
    SlowFirstToken(f64),
    /// The answer pauses once.
    Stall {
        /// For so long.
        lasting: Duration,
        /// After so many tokens.
        after_tokens: u32,
    },
    /// An HTTP error instead of an answer.
    Http {
        /// Which.
        error: HttpError,
        /// What its Retry-After header says, if it has one.
        retry_after: Option<Duration>,
    },
    /// An error event inside the 200 stream, after so many tokens.
    InBandError(u32),
    /// The socket closes in mid-stream, after so many tokens.
    CutStream(u32),
    /// The body ends in order, but without finish reason and end mark, after so many tokens.
    EarlyEnd(u32),
    /// Bytes that are no text at all, after so many tokens.
    Garbage(u32),
    /// A web page with status 200.
    Html,
    /// Status 200 and no body.
    EmptyBody,
    /// A stream in perfect order that holds no text.
    EmptyAnswer,
    /// The connection is accepted and closed at once.
    RefuseConnection,
    /// The answer ends as filtered.
    ContentFilter,
    /// A question that the prompt answers is answered wrongly, a story ends after a sentence.
    Wrong,
    /// The same thing again and again, up to the limit.
    Degenerate,
    /// A fact that lies in the middle of the prompt is not found: the answer is wrong.
    LostMiddle,
    /// Not even headers come.
    Hang,
    /// Headers come, then nothing.
    HangAfterHeaders,
    /// The role chunk comes before the prompt is computed.
    EarlyRole,
    /// So many tokens in each chunk.
    TokensPerChunk(u32),
    /// So many events in each write.
    EventsPerWrite(u32),
    /// Another version string.
    Version(String),
    /// Another version string, and the first token comes 1.4 times later.
    Upgrade(String),
}

/// Names with an example and what they do, in the order that help shows.
pub const KNOWN: &[(&str, &str, &str)] = &[
    ("slow-prefill", "slow-prefill=1.4", "prompt tokens take 1.4 times longer"),
    ("slow-decode", "slow-decode=2", "decoding takes twice as long"),
    ("slow-first-token", "slow-first-token=1.4", "first token 1.4 times later, queueing included"),
    ("stall", "stall=5s@10", "a pause of 5 s, once in each answer, after 10 tokens"),
    ("http-400", "http-400", "bad request"),
    ("http-401", "http-401", "unauthorized"),
    ("http-403", "http-403", "forbidden"),
    ("http-404", "http-404", "unknown model"),
    ("http-429", "http-429=2", "too many requests, retry-after 2 s"),
    ("http-500", "http-500", "internal error"),
    ("http-503", "http-503=30", "unavailable, with Retry-After when a value is given"),
    ("in-band-error", "in-band-error=5", "an error event inside the 200 stream after 5 tokens"),
    ("cut-stream", "cut-stream=5", "socket closed in mid-stream after 5 tokens"),
    ("early-end", "early-end=5", "body ends after 5 tokens without finish reason and [DONE]"),
    ("garbage", "garbage=5", "bytes that are no text after 5 tokens"),
    ("html", "html", "a web page with status 200"),
    ("empty-body", "empty-body", "status 200 without a body"),
    ("empty-answer", "empty-answer", "a stream in order without text"),
    (
        "refuse-connection",
        "refuse-connection",
        "connection accepted and closed at once, also that of /sim: give a count",
    ),
    ("content-filter", "content-filter", "a refusal, finish reason content_filter"),
    ("wrong", "wrong", "a wrong answer to a question of sloprobe's workloads, a story of one sentence"),
    ("degenerate", "degenerate", "one sign or phrase again and again, up to the limit"),
    ("lost-middle", "lost-middle", "wrong if the fact lies between 30 % and 70 % of the prompt"),
    ("hang", "hang", "no headers, for ever"),
    ("hang-after-headers", "hang-after-headers", "headers, then silence for ever"),
    ("early-role", "early-role", "role chunk before the prompt is computed"),
    ("tokens-per-chunk", "tokens-per-chunk=4", "4 tokens in each chunk"),
    ("events-per-write", "events-per-write=4", "4 events in each write"),
    ("version", "version=0.33.0", "another version string"),
    ("upgrade", "upgrade=0.33.0", "another version string and first tokens 1.4 times later"),
];

impl FaultKind {
    /// Whether it changes the engine rather than single requests.
    pub fn is_engine_wide(&self) -> bool {
        matches!(self, Self::SlowPrefill(_) | Self::SlowDecode(_) | Self::Version(_) | Self::Upgrade(_))
    }

    /// The name before the `=`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::SlowPrefill(_) => "slow-prefill",
            Self::SlowDecode(_) => "slow-decode",
            Self::SlowFirstToken(_) => "slow-first-token",
            Self::Stall { .. } => "stall",
            Self::Http { error, .. } => match error {
                HttpError::BadRequest => "http-400",
                HttpError::Unauthorized => "http-401",
                HttpError::Forbidden => "http-403",
                HttpError::NotFound => "http-404",
                HttpError::TooManyRequests => "http-429",
                HttpError::Internal => "http-500",
                HttpError::Unavailable => "http-503",
            },
            Self::InBandError(_) => "in-band-error",
            Self::CutStream(_) => "cut-stream",
            Self::EarlyEnd(_) => "early-end",
            Self::Garbage(_) => "garbage",
            Self::Html => "html",
            Self::EmptyBody => "empty-body",
            Self::EmptyAnswer => "empty-answer",
            Self::RefuseConnection => "refuse-connection",
            Self::ContentFilter => "content-filter",
            Self::Wrong => "wrong",
            Self::Degenerate => "degenerate",
            Self::LostMiddle => "lost-middle",
            Self::Hang => "hang",
            Self::HangAfterHeaders => "hang-after-headers",
            Self::EarlyRole => "early-role",
            Self::TokensPerChunk(_) => "tokens-per-chunk",
            Self::EventsPerWrite(_) => "events-per-write",
            Self::Version(_) => "version",
            Self::Upgrade(_) => "upgrade",
        }
    }
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        match self {
            Self::SlowPrefill(factor) | Self::SlowDecode(factor) | Self::SlowFirstToken(factor) => {
                write!(f, "={factor}")
            }
            Self::Stall { lasting, after_tokens } => {
                write!(f, "={}@{after_tokens}", humantime::format_duration(*lasting))
            }
            Self::Http { retry_after: Some(after), .. } => write!(f, "={}", after.as_secs()),
            Self::InBandError(count)
            | Self::CutStream(count)
            | Self::EarlyEnd(count)
            | Self::Garbage(count)
            | Self::TokensPerChunk(count)
            | Self::EventsPerWrite(count) => write!(f, "={count}"),
            Self::Version(version) | Self::Upgrade(version) => write!(f, "={version}"),
            _ => Ok(()),
        }
    }
}

impl FromStr for FaultKind {
    type Err = BadFault;

    fn from_str(text: &str) -> Result<Self, BadFault> {
        let (name, value) = text.split_once('=').map_or((text, None), |(name, value)| (name, Some(value)));
        let Some(&(_, example, _)) = KNOWN.iter().find(|(known, ..)| *known == name) else {
            let names: Vec<&str> = KNOWN.iter().map(|(known, ..)| *known).collect();
            return Err(BadFault::new(format!(
                "\"{name}\" is not a known fault; the known ones are: {}",
                names.join(", ")
            )));
        };
        parse(name, value).ok_or_else(|| {
            BadFault::new(format!("\"{text}\" is not understood: write for example {example}"))
        })
    }
}

fn parse(name: &str, value: Option<&str>) -> Option<FaultKind> {
    Some(match name {
        "slow-prefill" => FaultKind::SlowPrefill(factor(value)?),
        "slow-decode" => FaultKind::SlowDecode(factor(value)?),
        "slow-first-token" => FaultKind::SlowFirstToken(factor(value).filter(|factor| *factor >= 1.0)?),
        "stall" => stall(value.unwrap_or("5s@10"))?,
        "http-429" => http(HttpError::TooManyRequests, Some(value.unwrap_or("1")))?,
        "http-503" => http(HttpError::Unavailable, value)?,
        "in-band-error" => FaultKind::InBandError(count(value, 5)?),
        "cut-stream" => FaultKind::CutStream(count(value, 5)?),
        "early-end" => FaultKind::EarlyEnd(count(value, 5)?),
        "garbage" => FaultKind::Garbage(count(value, 5)?),
        "tokens-per-chunk" => FaultKind::TokensPerChunk(count(value, 2)?.max(1)),
        "events-per-write" => FaultKind::EventsPerWrite(count(value, 2)?.max(1)),
        "version" => FaultKind::Version(value.filter(|text| !text.is_empty())?.to_owned()),
        "upgrade" => FaultKind::Upgrade(value.filter(|text| !text.is_empty())?.to_owned()),
        _ if value.is_some() => return None,
        "http-400" => http(HttpError::BadRequest, None)?,
        "http-401" => http(HttpError::Unauthorized, None)?,
        "http-403" => http(HttpError::Forbidden, None)?,
        "http-404" => http(HttpError::NotFound, None)?,
        "http-500" => http(HttpError::Internal, None)?,
        "html" => FaultKind::Html,
        "empty-body" => FaultKind::EmptyBody,
        "empty-answer" => FaultKind::EmptyAnswer,
        "refuse-connection" => FaultKind::RefuseConnection,
        "content-filter" => FaultKind::ContentFilter,
        "wrong" => FaultKind::Wrong,
        "degenerate" => FaultKind::Degenerate,
        "lost-middle" => FaultKind::LostMiddle,
        "hang" => FaultKind::Hang,
        "hang-after-headers" => FaultKind::HangAfterHeaders,
        "early-role" => FaultKind::EarlyRole,
        _ => return None,
    })
}

fn factor(value: Option<&str>) -> Option<f64> {
    value?.parse().ok().filter(|factor: &f64| factor.is_finite() && (0.01..=10_000.0).contains(factor))
}

fn count(value: Option<&str>, default: u32) -> Option<u32> {
    value.map_or(Some(default), |value| value.parse().ok())
}

fn stall(value: &str) -> Option<FaultKind> {
    let (lasting, after) = value.split_once('@').unwrap_or((value, "10"));
    let lasting = humantime::parse_duration(lasting).ok()?;
    Some(FaultKind::Stall { lasting, after_tokens: after.parse().ok().filter(|&after| after > 0)? })
}

fn http(error: HttpError, retry_after: Option<&str>) -> Option<FaultKind> {
    let retry_after = match retry_after {
        Some(seconds) => Some(Duration::from_secs(seconds.trim_end_matches('s').parse().ok()?)),
        None => None,
    };
    Some(FaultKind::Http { error, retry_after })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_example_in_the_list_is_understood_and_keeps_its_name() {
        for (name, example, _) in KNOWN {
            let kind: FaultKind = example.parse().expect("an example must be valid");
            assert_eq!(kind.name(), *name);
        }
    }

    #[test]
    fn unknown_fault_names_the_known_ones() {
        let error = "explode".parse::<FaultKind>().expect_err("unknown").to_string();
        assert!(error.starts_with("\"explode\" is not a known fault"), "{error}");
        assert!(error.contains("slow-prefill, slow-decode"), "{error}");
    }

    #[test]
    fn bad_value_is_answered_with_an_example() {
        let error = "stall=soon".parse::<FaultKind>().expect_err("bad value").to_string();
        assert_eq!(error, "\"stall=soon\" is not understood: write for example stall=5s@10");
    }
}
