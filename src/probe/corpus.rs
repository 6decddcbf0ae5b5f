//! However the bytes of a recorded stream are split, nothing but the instants may change.

use std::path::Path;

use oorandom::Rand64;
use serde_json::Value;
use tokio::time::Instant;

use super::read::Reading;
use crate::domain::{Answer, Channel, Failure, ServerTimes, Timeline, Tokens};
use crate::protocol::Dialect;

/// All that a stream says, without its instants.
#[derive(Debug, PartialEq, Eq)]
struct Said {
    failure: Option<Failure>,
    deltas: Vec<(Channel, Option<u32>)>,
    tokens: Tokens,
    times: ServerTimes,
    fingerprint: Option<String>,
    answer: Answer,
    finished: bool,
}

/// Bodies of recorded streams with their dialect, without HTTP's framing.
fn streams() -> Vec<(String, Dialect, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/wire");
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|end| end != "json") {
            continue;
        }
        let recorded: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        let dialect = match recorded["request"]["path"].as_str().unwrap_or_default() {
            "/v1/chat/completions" => Dialect::OpenAiChat,
            "/v1/completions" => Dialect::OpenAiCompletions,
            "/v1/responses" => Dialect::OpenAiResponses,
            "/v1/messages" => Dialect::Anthropic,
            "/generate_stream" => Dialect::Tgi,
            "/api/chat" => Dialect::Ollama,
            called if called.starts_with("/v2/models/") => Dialect::Triton,
            called if called.contains(":streamGenerateContent") => Dialect::Gemini,
            called => panic!("{} was sent to {called}", path.display()),
        };
        let raw: String = recorded["reads"]
            .as_array()
            .unwrap()
            .iter()
            .map(|read| read[1]["utf8"].as_str().unwrap())
            .collect();
        let (head, body) = raw.split_once("\r\n\r\n").unwrap();
        if head.contains(" 200 ") && head.to_lowercase().contains("transfer-encoding: chunked") {
            let name = path.file_stem().unwrap().to_string_lossy().into_owned();
            found.push((name, dialect, dechunk(body.as_bytes())));
        }
    }
    found
}

/// The body inside HTTP's chunks, as far as it goes.
fn dechunk(mut bytes: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(end) = bytes.windows(2).position(|pair| pair == b"\r\n") {
        let size = std::str::from_utf8(&bytes[..end]).unwrap();
        let size = usize::from_str_radix(size, 16).unwrap();
        let rest = &bytes[end + 2..];
        if size == 0 || rest.len() < size + 2 {
            break;
        }
        body.extend_from_slice(&rest[..size]);
        bytes = &rest[size + 2..];
    }
    body
}

fn said<'a>(dialect: Dialect, pieces: impl IntoIterator<Item = &'a [u8]>) -> Said {
    let now = Instant::now();
    let mut reading = Reading::new(dialect, true, Timeline::new(now, now));
    let taken = pieces.into_iter().try_for_each(|piece| reading.take(now, piece));
    let outcome = taken.and_then(|()| reading.end(now));
    let read = reading.finish();
    Said {
        failure: outcome.err().map(|fault| fault.failure),
        deltas: read.timeline.deltas.iter().map(|delta| (delta.channel, delta.tokens)).collect(),
        tokens: read.tokens,
        times: read.times,
        fingerprint: read.fingerprint,
        answer: read.answer,
        finished: read.timeline.finished.is_some(),
    }
}

#[test]
fn single_bytes_say_the_same_as_the_whole() {
    let streams = streams();
    assert!(streams.len() > 150, "{} streams", streams.len());
    for (name, dialect, body) in streams {
        let whole = said(dialect, [body.as_slice()]);
        assert_eq!(said(dialect, body.chunks(1)), whole, "{name}");
    }
}

#[test]
fn a_split_at_any_byte_changes_nothing() {
    // A few of each dialect and server, short enough to be tried at every byte.
    for (name, dialect, body) in streams().into_iter().filter(|(_, _, body)| body.len() < 4000) {
        let whole = said(dialect, [body.as_slice()]);
        for at in 0..body.len() {
            assert_eq!(said(dialect, [&body[..at], &body[at..]]), whole, "{name} split at {at}");
        }
    }
}

#[test]
fn random_splits_change_nothing() {
    let mut random = Rand64::new(7);
    for (name, dialect, body) in streams() {
        let whole = said(dialect, [body.as_slice()]);
        for _ in 0..10 {
            let mut pieces = Vec::new();
            let mut rest = body.as_slice();
            while !rest.is_empty() {
                let size = random.rand_range(1..200).min(rest.len() as u64) as usize;
                let (piece, after) = rest.split_at(size);
                pieces.push(piece);
                rest = after;
            }
            assert_eq!(said(dialect, pieces), whole, "{name}");
        }
    }
}
