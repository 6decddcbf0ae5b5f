//! Bodies whose length is a lie, chunks that are none, and answers that come twice.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::AsyncWriteExt as _;

use super::server::{CHUNKED, FINISH, Hostile, TEXT, answer, read_request};
use super::support::{Prober, QUICK, plan};
use super::victim::{LONG, expect};

fn chunk(body: &str) -> String {
    format!("{:x}\r\n{body}\r\n", body.len())
}

async fn sized(length: usize, body: &str, outcome: &str) {
    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n{body}");
    expect(Hostile::saying(head).await, LONG, outcome).await;
}

#[tokio::test]
async fn a_body_longer_or_shorter_than_announced_is_judged_by_what_came() {
    let body = answer();
    sized(body.len() + 100, &body, "ok").await;
    sized(body.len() - 10, &body, "ok").await;
    let cut = body.find(FINISH).unwrap_or_default();
    sized(body.len() + 100, &body[..cut], "truncated").await;
    sized(cut, &body, "truncated").await;
    sized(0, &body, "truncated").await;
}

#[tokio::test]
async fn chunk_sizes_that_cannot_be_are_malformed() {
    let text = chunk(&format!("data: {TEXT}\n\n"));
    for size in ["-5", "ffffffffffffffffff", "0x10", "", "5 5", "\u{0}"] {
        let body = format!("{CHUNKED}{text}{size}\r\nhello\r\n");
        let ended = super::victim::attacked(&Hostile::saying(body).await, LONG).await;
        assert_eq!(ended.outcome, "malformed", "{size:?}: {ended:?}");
    }
}

#[tokio::test]
async fn a_huge_chunk_that_is_never_sent_takes_no_memory() {
    let body = format!("{CHUNKED}{:x}\r\ndata: {TEXT}\n\n", u64::MAX - 1);
    expect(Hostile::saying(body).await, LONG, "truncated").await;
}

#[tokio::test]
async fn a_chunk_longer_than_its_size_is_malformed() {
    let body = format!("{CHUNKED}5\r\ndata: {TEXT}\n\n\r\n0\r\n\r\n");
    expect(Hostile::saying(body).await, LONG, "malformed").await;
}

#[tokio::test]
async fn short_chunk_extensions_are_passed_over_and_endless_ones_malformed() {
    let body = answer();
    let extended = format!("{CHUNKED}{:x};name=\"value\"\r\n{body}\r\n0;last\r\n\r\n", body.len());
    expect(Hostile::saying(extended).await, LONG, "ok").await;
    let endless = Hostile::start(|_, mut stream| async move {
        read_request(&mut stream).await;
        let _ = stream.write_all(format!("{CHUNKED}5;").as_bytes()).await;
        super::server::flood(&mut stream, b"x=y;", 100 << 20).await;
    });
    expect(endless.await, LONG, "malformed").await;
}

#[tokio::test]
async fn endless_trailers_do_not_spoil_or_keep_a_finished_answer() {
    let server = Hostile::start(|_, mut stream| async move {
        read_request(&mut stream).await;
        let _ = stream.write_all(format!("{CHUNKED}{}0\r\n", chunk(&answer())).as_bytes()).await;
        super::server::flood(&mut stream, b"x-more: and more\r\n", 100 << 20).await;
    })
    .await;
    expect(server, LONG, "ok").await;
}

#[tokio::test]
async fn a_reset_right_after_the_head_is_truncated() {
    let server = Hostile::start(|_, mut stream| async move {
        read_request(&mut stream).await;
        let _ = stream.write_all(CHUNKED.as_bytes()).await;
        reset(stream);
    })
    .await;
    expect(server, LONG, "truncated").await;
}

#[tokio::test]
async fn a_reset_in_the_middle_of_a_stream_is_truncated() {
    let server = Hostile::start(|_, mut stream| async move {
        read_request(&mut stream).await;
        let _ =
            stream.write_all(format!("{CHUNKED}{}", chunk(&format!("data: {TEXT}\n\n"))).as_bytes()).await;
        reset(stream);
    })
    .await;
    expect(server, LONG, "truncated").await;
}

/// Closes at once, and tells the other side so with a reset rather than an end.
fn reset(stream: tokio::net::TcpStream) {
    stream.set_zero_linger().expect("a socket lingers as told");
    drop(stream);
}

#[tokio::test]
async fn a_connection_does_not_outlive_a_probe_that_failed() {
    let text = chunk(&format!("data: {TEXT}\n\n"));
    let error = "HTTP/1.1 500 Oops\r\ncontent-length: 100\r\n\r\nboom".to_owned();
    for (first, piece) in [
        (String::new(), ""),
        (CHUNKED.to_owned(), ""),
        (format!("{CHUNKED}{text}"), ""),
        (CHUNKED.to_owned(), "4\r\n: x\n\r\n"),
        (error, ""),
    ] {
        let closed = Arc::new(tokio::sync::Notify::new());
        let tell = Arc::clone(&closed);
        let shown = format!("{first:?} {piece:?}");
        let server = Hostile::start(move |_, mut stream| {
            let (tell, first) = (Arc::clone(&tell), first.clone());
            async move {
                read_request(&mut stream).await;
                let _ = stream.write_all(first.as_bytes()).await;
                if !piece.is_empty() {
                    super::server::flood(&mut stream, piece.as_bytes(), usize::MAX).await;
                }
                // Empty: the other side has closed.
                read_request(&mut stream).await;
                tell.notify_one();
            }
        })
        .await;
        let prober = Prober::new(plan(&server.url(), "connection = 'reuse'", QUICK));
        assert!(prober.probe().await.fault.is_some(), "{shown}");
        let patience = std::time::Duration::from_secs(5);
        assert!(tokio::time::timeout(patience, closed.notified()).await.is_ok(), "{shown}");
    }
}

/// The answer to probe `number`: its count of tokens says which it is.
fn numbered(number: usize) -> String {
    let usage = format!("{{\"choices\":[],\"usage\":{{\"completion_tokens\":{number}}}}}");
    let body = format!("data: {TEXT}\n\ndata: {FINISH}\n\ndata: {usage}\n\ndata: [DONE]\n\n");
    format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

#[tokio::test]
async fn a_second_answer_on_a_connection_is_never_taken_for_the_next_ones() {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let server = Hostile::start(move |_, mut stream| {
        let count = Arc::clone(&count);
        async move {
            while !read_request(&mut stream).await.is_empty() {
                let number = 1 + count.fetch_add(1, Ordering::Relaxed);
                let twice = numbered(number) + &numbered(777);
                let _ = stream.write_all(twice.as_bytes()).await;
            }
        }
    })
    .await;
    let prober = Prober::new(plan(&server.url(), "connection = 'reuse'", QUICK));
    for number in 1..=5 {
        let report = prober.probe().await;
        assert_eq!(report.fault, None);
        assert_eq!(report.tokens.output, Some(number));
    }
    assert_eq!(asked.load(Ordering::Relaxed), 5);
}
