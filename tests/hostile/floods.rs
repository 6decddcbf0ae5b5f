//! More than anyone asked for, as fast as it will go.

use std::time::Duration;

use tokio::io::AsyncWriteExt as _;

use super::server::{CHUNKED, Hostile, PLAIN, TEXT, answer, flood, read_request};
use super::victim::{LONG, SHORT, Victim, attacked, expect};

const MANY: usize = 100 << 20;

#[tokio::test]
async fn an_endless_line_is_malformed() {
    let ended = expect(Hostile::flooding(PLAIN, *b"x", MANY).await, LONG, "malformed").await;
    assert!(ended.detail.contains("longer than"), "{ended:?}");
}

#[tokio::test]
async fn an_endless_event_is_malformed() {
    expect(Hostile::flooding(PLAIN, *b"data: xxxxxxxxxxxxxxx\n", MANY).await, LONG, "malformed").await;
}

#[tokio::test]
async fn endless_comments_are_cut_off() {
    expect(Hostile::flooding(PLAIN, *b": ping\n\n", MANY).await, LONG, "malformed").await;
}

#[tokio::test]
async fn endless_blank_lines_are_cut_off() {
    expect(Hostile::flooding(PLAIN, *b"\n", MANY).await, LONG, "malformed").await;
}

#[tokio::test]
async fn endless_events_without_data_are_cut_off() {
    expect(Hostile::flooding(PLAIN, *b"event: ping\nid: 1\n\n", MANY).await, LONG, "malformed").await;
}

#[tokio::test]
async fn endless_empty_chunks_of_an_answer_are_cut_off() {
    let role = "data: {\"choices\":[]}\n\n";
    expect(Hostile::flooding(PLAIN, role.as_bytes(), MANY).await, LONG, "malformed").await;
}

#[tokio::test]
async fn endless_tokens_are_cut_off() {
    let text = "data:{\"choices\":[{\"text\":\"a\"}]}\n\n";
    let server = Hostile::flooding(PLAIN, text.as_bytes(), MANY).await;
    let url = server.url();
    let victim = Victim { more: "api = 'openai-completions'", ..Victim::of(&url, LONG) };
    assert_eq!(victim.probe().await.outcome, "malformed");
}

#[tokio::test]
async fn a_million_choices_are_no_million_tokens() {
    let choices = vec![r#"{"text":"a"}"#; 75_000].join(",");
    let event = format!("data:{{\"choices\":[{choices}]}}\n\n");
    let server = Hostile::flooding(PLAIN, event, MANY).await;
    let url = server.url();
    let victim = Victim { more: "api = 'openai-completions'", ..Victim::of(&url, LONG) };
    assert_eq!(victim.probe().await.outcome, "malformed");
}

#[tokio::test]
async fn a_flood_of_tiny_chunks_does_not_outlast_the_total_timeout() {
    let server = Hostile::flooding(CHUNKED, *b"1\r\n:\r\n", usize::MAX).await;
    let ended = attacked(&server, SHORT).await;
    assert_eq!(ended.outcome, "timeout_first_token", "{ended:?}");
    assert!(ended.took < Duration::from_secs(4), "{ended:?}");
}

#[tokio::test]
async fn an_event_of_100_mb_is_malformed() {
    let server = Hostile::start(|_, mut stream| async move {
        read_request(&mut stream).await;
        let _ = stream.write_all(format!("{PLAIN}data: {{\"choices\":[{{\"text\":\"").as_bytes()).await;
        flood(&mut stream, b"lorem ipsum ", MANY).await;
        let _ = stream.write_all(b"\"}]}\n\n").await;
    })
    .await;
    expect(server, LONG, "malformed").await;
}

#[tokio::test]
async fn thousands_of_deltas_in_one_read_are_each_counted() {
    let body = format!("data: {TEXT}\n\n").repeat(5000) + &answer();
    let ended = expect(Hostile::saying(format!("{PLAIN}{body}")).await, LONG, "ok").await;
    assert_eq!(ended.report["tokens"]["output"], 5002, "{}", ended.report);
}

#[tokio::test]
async fn an_error_of_100_mb_is_told_in_a_line() {
    let head = "HTTP/1.1 500 Oops\r\nconnection: close\r\n\r\n";
    let ended = expect(Hostile::flooding(head, *b"boom ", MANY).await, LONG, "server_error").await;
    assert!(ended.detail.starts_with("HTTP 500: boom boom"), "{ended:?}");
    assert!(ended.detail.chars().count() < 310, "{ended:?}");
}

#[tokio::test]
async fn an_error_body_that_never_ends_waits_no_longer_than_an_answer() {
    let server = Hostile::start(|_, mut stream| async move {
        read_request(&mut stream).await;
        let _ = stream.write_all(b"HTTP/1.1 401 No\r\ncontent-length: 100\r\n\r\nwrong key").await;
        std::future::pending::<()>().await;
    })
    .await;
    let ended = expect(server, SHORT, "auth").await;
    assert!(ended.detail.contains("wrong key"), "{ended:?}");
    assert!(ended.took < Duration::from_secs(3), "{ended:?}");
}

#[tokio::test]
async fn a_flood_of_every_page_identifies_nothing_and_costs_little() {
    let server = Hostile::flooding(PLAIN, *b"x", MANY).await;
    let url = server.url();
    let ended = Victim { engine: "auto", ..Victim::of(&url, LONG) }.probe().await;
    assert_eq!(ended.outcome, "malformed", "{ended:?}");
    assert!(server.connections() <= 9, "{} connections", server.connections());
}
