//! HTTP/2 over TLS, spoken frame by frame by hand: no library would write these frames.

use std::sync::Arc;
use std::time::Duration;

use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::server::TlsStream;

use super::server::{FINISH, Hostile, TEXT, answer, flood};
use super::victim::{Ended, LONG, SHORT, Victim};

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PUSH_PROMISE: u8 = 5;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const CONTINUATION: u8 = 9;

const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// ":status: 200", by its place in the table that every HTTP/2 client knows.
const STATUS_200: &[u8] = &[0x88];

fn frame(kind: u8, flags: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
    let [_, a, b, c] = (payload.len() as u32).to_be_bytes();
    [&[a, b, c, kind, flags, 0, 0, 0, stream], payload].concat()
}

/// The head of an answer and its first token.
fn begun() -> Vec<u8> {
    let text = format!("data: {TEXT}\n\n");
    [frame(HEADERS, END_HEADERS, 1, STATUS_200), frame(DATA, 0, 1, text.as_bytes())].concat()
}

/// A server whose every connection speaks HTTP/2 up to the request, and then goes to `attack`.
async fn start<F>(attack: impl Fn(TlsStream<TcpStream>) -> F + Clone + Send + 'static) -> (Hostile, TempDir)
where
    F: Future<Output = ()> + Send + 'static,
{
    let identity = rcgen::generate_simple_self_signed(vec!["localhost".into()]).expect("a certificate");
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(identity.signing_key.serialize_der()));
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("ring supports the default versions of TLS")
        .with_no_client_auth()
        .with_single_cert(vec![identity.cert.der().clone()], key)
        .expect("a key and its certificate");
    config.alpn_protocols = vec![b"h2".to_vec()];
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let folder = tempfile::tempdir().expect("there is room for a file");
    std::fs::write(folder.path().join("ca.pem"), identity.cert.pem()).expect("there is room for a file");
    let server = Hostile::start(move |_, stream| {
        let (acceptor, attack) = (acceptor.clone(), attack.clone());
        async move {
            if let Ok(mut stream) = acceptor.accept(stream).await {
                let hello = [frame(SETTINGS, 0, 0, &[]), frame(SETTINGS, 1, 0, &[])].concat();
                let _ = stream.write_all(&hello).await;
                asked(&mut stream).await;
                attack(stream).await;
            }
        }
    })
    .await;
    (server, folder)
}

/// Reads until the frame that ends the request on stream 1.
async fn asked(stream: &mut TlsStream<TcpStream>) {
    let mut preface = [0; 24];
    let _ = stream.read_exact(&mut preface).await;
    let mut head = [0; 9];
    while stream.read_exact(&mut head).await.is_ok() {
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
        let mut payload = vec![0; length];
        let _ = stream.read_exact(&mut payload).await;
        if head[3] == DATA && head[4] & END_STREAM != 0 {
            return;
        }
    }
}

async fn probe(server: &(Hostile, TempDir), timeouts: &str) -> Ended {
    let url = format!("https://localhost:{}", server.0.address.port());
    let trusted = server.1.path().join("ca.pem");
    Victim { trusted: Some(&trusted), ..Victim::of(&url, timeouts) }.probe().await
}

/// A server that answers with these frames and then says nothing more.
async fn saying(frames: Vec<u8>, timeouts: &str, outcome: &str) -> Ended {
    let server = start(move |mut stream| {
        let frames = frames.clone();
        async move {
            let _ = stream.write_all(&frames).await;
            let _ = stream.flush().await;
            std::future::pending::<()>().await;
        }
    })
    .await;
    let ended = probe(&server, timeouts).await;
    assert_eq!(ended.outcome, outcome, "{ended:?}");
    ended
}

/// A server that answers with `first` and then with `piece` over and over.
async fn flooding(first: Vec<u8>, piece: Vec<u8>, timeouts: &str) -> Ended {
    let server = start(move |mut stream| {
        let (first, piece) = (first.clone(), piece.clone());
        async move {
            let _ = stream.write_all(&first).await;
            flood(&mut stream, &piece, usize::MAX).await;
        }
    })
    .await;
    probe(&server, timeouts).await
}

#[tokio::test]
async fn a_whole_answer_over_http2_is_a_success() {
    let frames =
        [frame(HEADERS, END_HEADERS, 1, STATUS_200), frame(DATA, END_STREAM, 1, answer().as_bytes())];
    saying(frames.concat(), LONG, "ok").await;
}

#[tokio::test]
async fn a_stream_reset_in_the_middle_is_truncated_whatever_its_reason() {
    // No error, protocol error, internal error, refused, cancelled, an unknown one.
    for reason in [0, 1, 2, 7, 8, 200] {
        let reset = frame(RST_STREAM, 0, 1, &[0, 0, 0, reason]);
        saying([begun(), reset.clone()].concat(), LONG, "truncated").await;
    }
    saying(frame(RST_STREAM, 0, 1, &[0, 0, 0, 7]), LONG, "truncated").await;
}

#[tokio::test]
async fn a_goodbye_in_the_middle_is_truncated() {
    // The last stream that is served is none at all; then the connection closes.
    for reason in [0, 2, 11] {
        let goodbye = frame(GOAWAY, 0, 0, &[0, 0, 0, 0, 0, 0, 0, reason]);
        saying([begun(), goodbye.clone()].concat(), LONG, "truncated").await;
        saying(goodbye, LONG, "truncated").await;
    }
}

#[tokio::test]
async fn headers_over_http2_and_then_nothing_run_into_the_wait_for_a_token() {
    saying(frame(HEADERS, END_HEADERS, 1, STATUS_200), SHORT, "timeout_first_token").await;
    saying(begun(), SHORT, "timeout_stall").await;
    saying(Vec::new(), SHORT, "timeout_first_token").await;
}

#[tokio::test]
async fn frames_that_break_the_protocol_are_one_failure() {
    let finish = format!("data: {FINISH}\n\n");
    for frames in [
        b"HTTP/1.1 200 OK\r\n\r\n".repeat(40),
        frame(DATA, 0, 1, b"data before any head"),
        frame(HEADERS, END_HEADERS, 1, &[0xff; 40]),
        frame(PUSH_PROMISE, END_HEADERS, 1, &[0, 0, 0, 2, 0x88]),
        [begun(), frame(DATA, 0, 7, finish.as_bytes())].concat(),
        [begun(), frame(SETTINGS, 0, 0, &[1])].concat(),
    ] {
        let server = start(move |mut stream| {
            let frames = frames.clone();
            async move {
                let _ = stream.write_all(&frames).await;
                let _ = stream.flush().await;
                std::future::pending::<()>().await;
            }
        })
        .await;
        let ended = probe(&server, SHORT).await;
        assert!(["malformed", "truncated"].contains(&ended.outcome.as_str()), "{ended:?}");
    }
}

#[tokio::test]
async fn endless_empty_frames_do_not_outlast_the_wait_for_a_token() {
    let head = frame(HEADERS, END_HEADERS, 1, STATUS_200);
    for piece in [frame(DATA, 0, 1, b""), frame(DATA, 0, 1, b":"), frame(PING, 0, 0, &[0; 8])] {
        let ended = flooding(head.clone(), piece, SHORT).await;
        assert_ne!(ended.outcome, "ok", "{ended:?}");
        assert!(ended.took < Duration::from_secs(4), "{ended:?}");
    }
}

#[tokio::test]
async fn endless_headers_over_http2_are_one_failure() {
    let more = frame(CONTINUATION, 0, 1, &[0x88; 1000]);
    let ended = flooding(frame(HEADERS, 0, 1, STATUS_200), more, SHORT).await;
    assert!(["malformed", "truncated", "timeout_first_token"].contains(&ended.outcome.as_str()), "{ended:?}");
    assert!(ended.took < Duration::from_secs(4), "{ended:?}");
}
