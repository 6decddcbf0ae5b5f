//! What comes before a body, or in place of one.

use std::time::Duration;

use tokio::io::AsyncWriteExt as _;

use super::server::{CHUNKED, Hostile, PLAIN, answer, flood, read_request};
use super::victim::{LONG, SHORT, Victim, attacked, expect};

const MANY: usize = 100 << 20;

#[tokio::test]
async fn endless_headers_are_malformed() {
    let first = "HTTP/1.1 200 OK\r\n";
    expect(Hostile::flooding(first, *b"x-more: and more\r\n", MANY).await, LONG, "malformed").await;
}

#[tokio::test]
async fn a_header_of_1_mb_is_malformed() {
    let head = format!("HTTP/1.1 200 OK\r\nx-large: {}\r\n\r\n{}", "x".repeat(1 << 20), answer());
    expect(Hostile::saying(head).await, LONG, "malformed").await;
}

#[tokio::test]
async fn a_status_line_without_end_is_malformed() {
    expect(Hostile::flooding("HTTP/1.1 200 ", *b"O", MANY).await, LONG, "malformed").await;
}

#[tokio::test]
async fn headers_and_then_silence_run_into_the_wait_for_a_token() {
    let server = Hostile::start(|_, mut stream| async move {
        read_request(&mut stream).await;
        let _ = stream.write_all(CHUNKED.as_bytes()).await;
        std::future::pending::<()>().await;
    })
    .await;
    let ended = expect(server, SHORT, "timeout_first_token").await;
    assert!(ended.took < Duration::from_secs(3), "{ended:?}");
}

#[tokio::test]
async fn half_a_head_and_then_silence_runs_into_the_wait_for_a_token() {
    let server = Hostile::start(|_, mut stream| async move {
        read_request(&mut stream).await;
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-ty").await;
        std::future::pending::<()>().await;
    })
    .await;
    expect(server, SHORT, "timeout_first_token").await;
}

#[tokio::test]
async fn a_valid_answer_a_byte_at_a_time_ends_with_a_timeout() {
    let server = Hostile::start(|_, mut stream| async move {
        read_request(&mut stream).await;
        // A pace, not a wait: by design no token comes in time.
        for byte in format!("{PLAIN}{}", answer()).bytes() {
            if stream.write_all(&[byte]).await.is_err() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    })
    .await;
    let total = "connect = '1500ms'\nfirst_token = '1500ms'\nstall = '1500ms'\ntotal = '1500ms'";
    let ended = expect(server, total, "timeout_total").await;
    assert!(ended.took < Duration::from_secs(4), "{ended:?}");
}

#[tokio::test]
async fn what_is_no_http_is_malformed() {
    for nonsense in [
        "<html>hello from 1991</html>\r\n",
        "220 mail.example.com ESMTP\r\n",
        "HTTP/9.9 200 OK\r\n\r\n",
        "HTTP/1.1 banana\r\n\r\n",
        "HTTP/1.1 200 OK\r\nno colon here\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: -5\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 7\r\n\r\nhello",
        "HTTP/1.1 200 OK\r\ncontent-length: 99999999999999999999999\r\n\r\n",
        "\u{0}\u{0}\u{0}\u{0}\r\n\r\n",
    ] {
        let ended = attacked(&Hostile::saying(nonsense).await, LONG).await;
        assert_eq!(ended.outcome, "malformed", "{nonsense:?}: {ended:?}");
    }
}

#[tokio::test]
async fn a_switch_of_protocols_nobody_asked_for_is_no_answer() {
    let head = "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n";
    let ended = attacked(&Hostile::saying(format!("{head}{}", answer())).await, SHORT).await;
    assert!(["rejected", "malformed"].contains(&ended.outcome.as_str()), "{ended:?}");
}

#[tokio::test]
async fn a_few_interim_answers_are_passed_over_and_endless_ones_waited_out() {
    let few = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n".repeat(5);
    expect(Hostile::saying(format!("{few}{PLAIN}{}", answer())).await, LONG, "ok").await;
    // The HTTP client reads 128 buffers of these at a stretch before it lets anyone else run: seconds in a
    // debug build, were there more of them.
    let server = Hostile::start(|_, mut stream| async move {
        read_request(&mut stream).await;
        flood(&mut stream, b"HTTP/1.1 100 Continue\r\n\r\n", 2 << 20).await;
        std::future::pending::<()>().await;
    })
    .await;
    let ended = expect(server, SHORT, "timeout_first_token").await;
    assert!(ended.took < Duration::from_secs(6), "{ended:?}");
}

#[tokio::test]
async fn an_answer_before_the_question_ends_in_one_outcome() {
    // The probe may or may not have asked already: both ends are named, and neither is a hang.
    let server = Hostile::start(|_, mut stream| async move {
        let _ = stream.write_all(format!("{PLAIN}{}", answer()).as_bytes()).await;
        let _ = stream.shutdown().await;
        read_request(&mut stream).await;
    })
    .await;
    let ended = attacked(&server, SHORT).await;
    assert!(["ok", "truncated", "malformed"].contains(&ended.outcome.as_str()), "{ended:?}");
}

#[tokio::test]
async fn a_server_that_never_reads_is_waited_out() {
    let server = Hostile::start(|_, stream| async move {
        std::future::pending::<()>().await;
        drop(stream);
    })
    .await;
    expect(server, SHORT, "timeout_first_token").await;
}

#[tokio::test]
async fn a_redirect_is_neither_followed_nor_given_the_key() {
    let elsewhere = Hostile::saying(format!("{PLAIN}{}", answer())).await;
    for status in [301, 302, 303, 307, 308] {
        let head = format!(
            "HTTP/1.1 {status} Elsewhere\r\nlocation: {}/v1/chat/completions\r\ncontent-length: 0\r\n\r\n",
            elsewhere.url()
        );
        let server = Hostile::saying(head).await;
        let url = server.url();
        let victim = Victim { more: "api_key = { env = 'KEY' }", ..Victim::of(&url, LONG) };
        let ended = victim.probe().await;
        assert_eq!(ended.outcome, "rejected", "{ended:?}");
        assert_eq!(server.connections(), 1);
    }
    assert_eq!(elsewhere.connections(), 0);
}

#[tokio::test]
async fn a_redirect_to_itself_is_asked_once() {
    let head = "HTTP/1.1 307 Again\r\nlocation: /v1/chat/completions\r\ncontent-length: 0\r\n\r\n";
    let server = Hostile::saying(head).await;
    assert_eq!(attacked(&server, LONG).await.outcome, "rejected");
    assert_eq!(server.connections(), 1);
}

#[tokio::test]
async fn a_wild_wait_asked_for_is_no_harm() {
    for wait in ["1e300", "-1", "NaN", "inf", "18446744073709551615", "1e19", "Fri, 31 Dec 9999 23:59:59 GMT"]
    {
        let head = format!("HTTP/1.1 429 Slow\r\nretry-after: {wait}\r\ncontent-length: 0\r\n\r\n");
        let ended = attacked(&Hostile::saying(head).await, LONG).await;
        assert_eq!(ended.outcome, "rate_limited", "{wait}: {ended:?}");
    }
}

#[tokio::test]
async fn a_flood_before_the_question_is_no_answer() {
    let server =
        Hostile::start(|_, mut stream| async move { flood(&mut stream, b"\r\n", usize::MAX).await }).await;
    let ended = attacked(&server, SHORT).await;
    assert!(["malformed", "truncated", "timeout_first_token"].contains(&ended.outcome.as_str()), "{ended:?}");
    assert!(ended.took < Duration::from_secs(4), "{ended:?}");
}
