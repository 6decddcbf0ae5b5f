//! Bodies that are not what they should be.

use std::time::Duration;

use tokio::io::AsyncWriteExt as _;

use super::server::{FINISH, Hostile, PLAIN, TEXT, answer, flood, read_request};
use super::victim::{Ended, LONG, Victim, attacked, expect};

const WHOLE: &str = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n\r\n";

/// A probe that wants its answer whole gets these bytes.
async fn whole(body: impl Into<Vec<u8>>) -> Ended {
    let server = Hostile::saying([WHOLE.as_bytes(), &body.into()].concat()).await;
    let url = server.url();
    Victim { more: "stream = false", ..Victim::of(&url, LONG) }.probe().await
}

/// A probe that wants a stream gets these bytes.
async fn streamed(body: impl Into<Vec<u8>>, outcome: &str) -> Ended {
    expect(Hostile::saying([PLAIN.as_bytes(), &body.into()].concat()).await, LONG, outcome).await
}

async fn any(body: String) -> Ended {
    attacked(&Hostile::saying(format!("{PLAIN}{body}")).await, LONG).await
}

#[tokio::test]
async fn a_whole_answer_of_100_mb_is_malformed() {
    let server = Hostile::start(|_, mut stream| async move {
        read_request(&mut stream).await;
        let _ = stream.write_all(format!("{WHOLE}{{\"choices\":[{{\"text\":\"").as_bytes()).await;
        flood(&mut stream, b"lorem ipsum ", 100 << 20).await;
    })
    .await;
    let url = server.url();
    let ended = Victim { more: "stream = false", ..Victim::of(&url, LONG) }.probe().await;
    assert_eq!(ended.outcome, "malformed", "{ended:?}");
}

#[tokio::test]
async fn a_large_whole_answer_of_noise_is_quoted_without_copies_of_it() {
    assert_eq!(whole(vec![0xff; 15 << 20]).await.outcome, "malformed");
}

#[tokio::test]
async fn a_large_whole_answer_of_empty_things_does_not_become_a_larger_tree() {
    for (open, piece, close) in
        [("{\"choices\":[", "{},", "{}]}"), ("{\"error\":[", "[],", "0]}"), ("{\"detail\":[", "1,", "0]}")]
    {
        let body = [open, &piece.repeat((15 << 20) / piece.len()), close].concat();
        let ended = whole(body).await;
        assert_eq!(ended.outcome, "malformed", "{open}: {ended:?}");
    }
}

#[tokio::test]
async fn empty_things_in_a_whole_answer_are_not_kept_one_by_one() {
    for (api, open, close) in [
        ("openai-chat", "{\"choices\":[", "]}"),
        ("openai-responses", "{\"status\":\"completed\",\"output\":[", "]}"),
        ("anthropic", "{\"type\":\"message\",\"content\":[", "]}"),
        ("gemini", "[", "]"),
        ("gemini", "{\"candidates\":[{\"content\":{\"parts\":[", "]}}]}"),
    ] {
        let body = format!("{open}{}{{}}{close}", "{},".repeat(340_000));
        let server = Hostile::saying(format!("{WHOLE}{body}")).await;
        let url = server.url();
        let more = format!("stream = false\napi = '{api}'");
        let ended = Victim { more: &more, ..Victim::of(&url, LONG) }.probe().await;
        assert_eq!(ended.outcome, "empty", "{api}: {ended:?}");
    }
}

#[tokio::test]
async fn deep_nesting_does_not_overflow_the_stack() {
    let deep = 100_000;
    for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
        let nested = format!("{}1{}", open.repeat(deep), close.repeat(deep));
        let ended = any(format!("data: {nested}\n\n")).await;
        assert!(["malformed", "truncated"].contains(&ended.outcome.as_str()), "{ended:?}");
        for key in ["error", "message", "choices", "usage", "unknown"] {
            let ended = whole(format!("{{\"{key}\":{nested}}}")).await;
            assert_ne!(ended.outcome, "ok", "{ended:?}");
        }
        let delta = format!("{{\"choices\":[{{\"delta\":{{\"content\":{nested}}}}}]}}");
        // What a text consists of is not looked into: it is something, and the stream ends too early.
        streamed(format!("data: {delta}\n\n"), "truncated").await;
        let refusal = format!("HTTP/1.1 400 Bad\r\nconnection: close\r\n\r\n{nested}");
        expect(Hostile::saying(refusal).await, LONG, "rejected").await;
    }
}

#[tokio::test]
async fn invalid_utf8_is_malformed_in_a_string_and_between() {
    let inside = b"data: {\"choices\":[{\"delta\":{\"content\":\"\xc3\x28\"}}]}\n\n";
    streamed(*inside, "malformed").await;
    streamed(
        [format!("data: {TEXT}\n\n").as_bytes(), b"\xff\xfe\n\n", answer().as_bytes()].concat(),
        "malformed",
    )
    .await;
    streamed([b"data: \xff".as_slice(), TEXT.as_bytes(), b"\n\n"].concat(), "malformed").await;
    // Between events, where no name of a field could stand: a comment may hold anything.
    streamed([b": \xff\xfe\n\n".as_slice(), answer().as_bytes()].concat(), "ok").await;
}

#[tokio::test]
async fn a_compressed_answer_is_never_inflated() {
    // A mebibyte of zeros in a kibibyte, as gzip writes it: a fixed block of one long repetition.
    let bomb = [b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\xed\xc1\x01\x0d".as_slice(), &[0; 1020]].concat();
    for encoding in ["gzip", "br", "zstd", "deflate"] {
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-encoding: {encoding}\r\ncontent-length: {}\r\n\r\n",
            bomb.len()
        );
        let server = Hostile::saying([head.as_bytes(), &bomb].concat()).await;
        expect(server, LONG, "malformed").await;
    }
}

#[tokio::test]
async fn garbage_after_the_end_marker_spoils_nothing() {
    for garbage in ["}{ <html>\n\n", "data: {{{\n\n", "data: {\"error\":\"late\"}\n\n", "\u{0}\u{0}\u{0}"] {
        streamed(answer() + garbage, "ok").await;
    }
}

#[tokio::test]
async fn a_flood_after_the_end_marker_does_not_keep_the_probe() {
    let server = Hostile::start(|_, mut stream| async move {
        read_request(&mut stream).await;
        let _ = stream.write_all(format!("{PLAIN}{}", answer()).as_bytes()).await;
        flood(&mut stream, b": more\n\n", usize::MAX).await;
    })
    .await;
    let url = server.url();
    let ended = Victim::of(&url, LONG).probe().await;
    assert_eq!(ended.outcome, "ok", "{ended:?}");
    assert!(ended.took < Duration::from_secs(6), "{ended:?}");
}

#[tokio::test]
async fn an_error_after_the_finish_is_in_band_even_without_its_blank_line() {
    for end in ["\n\n", "\n", ""] {
        let body = format!("data: {TEXT}\n\ndata: {FINISH}\n\ndata: {{\"error\":\"engine died\"}}{end}");
        let ended = streamed(body, "in_band").await;
        assert_eq!(ended.detail, "engine died");
    }
}

#[tokio::test]
async fn wild_numbers_are_no_measurements() {
    for usage in ["18446744073709551615", "1e400", "-1", "1.5", "99999999999999999999999"] {
        let wild = format!(
            "{{\"choices\":[],\"usage\":{{\"prompt_tokens\":{usage},\"completion_tokens\":{usage}}},\
             \"timings\":{{\"prompt_ms\":1e300,\"predicted_ms\":-5}}}}"
        );
        let body = format!("data: {TEXT}\n\ndata: {FINISH}\n\ndata: {wild}\n\ndata: [DONE]\n\n");
        let ended = any(body).await;
        assert!(["ok", "malformed"].contains(&ended.outcome.as_str()), "{ended:?}");
        assert!(ended.report["tokens"]["output"].as_u64().is_none_or(|n| n <= 1), "{ended:?}");
    }
}
