//! The simulated server over real sockets: the stream's shape, faults, log, and orderly end.

mod support;

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::{Value, json};
use sloprobe::domain::Secret;
use sloprobe::simulate::faults::Fault;
use sloprobe::simulate::log::{Entry, Finish, WriteKind};
use sloprobe::simulate::{self, Handle, Profile, Settings};
use support::{in_time, punctually};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, timeout};

/// No single exchange of these tests should take this long.
const PATIENCE: Duration = Duration::from_secs(20);

struct Reply {
    status: u16,
    head: String,
    /// One for each chunk of the transfer, or the whole body.
    chunks: Vec<Vec<u8>>,
    /// The last chunk came.
    clean: bool,
}

impl Reply {
    fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(':'));
        lines.find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.chunks.concat()).into_owned()
    }

    fn json(&self) -> Value {
        serde_json::from_slice(&self.chunks.concat()).expect("a JSON body")
    }

    /// The data of all events, the end mark left out.
    fn events(&self) -> Vec<Value> {
        let text = self.text();
        let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
        data.filter(|data| *data != "[DONE]").map(|data| serde_json::from_str(data).expect("JSON")).collect()
    }
}

async fn serve(settings: Settings) -> Handle {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    simulate::start(listener, settings).expect("a listener with an address")
}

async fn fast(faults: &[&str]) -> Handle {
    let mut settings = Settings::of(Profile::Fast);
    settings.faults = faults.iter().map(|fault| fault.parse::<Fault>().expect("a known fault")).collect();
    serve(settings).await
}

fn http(method: &str, path: &str, body: &str, extra: &str) -> String {
    format!(
        "{method} {path} HTTP/1.1\r\nhost: sim\r\nconnection: close\r\ncontent-length: {}\r\n{extra}\r\n{body}",
        body.len()
    )
}

async fn exchange(address: SocketAddr, request: String) -> Reply {
    let whole = async {
        let mut socket = TcpStream::connect(address).await.expect("the server listens");
        socket.write_all(request.as_bytes()).await.expect("the request is sent");
        let mut raw = Vec::new();
        // A cut connection may end in a reset: what came before it counts.
        let _ = socket.read_to_end(&mut raw).await;
        raw
    };
    parse(&timeout(PATIENCE, whole).await.expect("an end within the bound"))
}

fn parse(raw: &[u8]) -> Reply {
    let Some(end) = raw.windows(4).position(|window| window == b"\r\n\r\n") else {
        return Reply { status: 0, head: String::new(), chunks: Vec::new(), clean: false };
    };
    let head = String::from_utf8_lossy(&raw[..end]).into_owned();
    let status = head.split_whitespace().nth(1).and_then(|code| code.parse().ok()).unwrap_or(0);
    let mut rest = &raw[end + 4..];
    if !head.to_ascii_lowercase().contains("transfer-encoding: chunked") {
        return Reply { status, head, chunks: vec![rest.to_vec()], clean: true };
    }
    let mut chunks = Vec::new();
    while let Some(line) = rest.windows(2).position(|window| window == b"\r\n") {
        let size = usize::from_str_radix(&String::from_utf8_lossy(&rest[..line]), 16).expect("a chunk size");
        if size == 0 {
            return Reply { status, head, chunks, clean: true };
        }
        chunks.push(rest[line + 2..line + 2 + size].to_vec());
        rest = &rest[line + 4 + size..];
    }
    Reply { status, head, chunks, clean: false }
}

async fn chat(handle: &Handle, mut body: Value) -> Reply {
    body["messages"] = json!([{ "role": "user", "content": "Tell me about bridges and rivers, please." }]);
    exchange(handle.address(), http("POST", "/v1/chat/completions", &body.to_string(), "")).await
}

async fn stream(handle: &Handle, tokens: u32) -> Reply {
    let options = json!({ "include_usage": true });
    chat(
        handle,
        json!({ "stream": true, "max_tokens": tokens, "ignore_eos": true, "stream_options": options }),
    )
    .await
}

/// Waits until the server has noted how the request ended.
async fn logged(handle: &Handle, reply: &Reply) -> Entry {
    let id = reply.header("x-request-id").expect("an id").to_owned();
    timeout(PATIENCE, async {
        loop {
            match handle.log().entry(&id) {
                Some(entry) if entry.finish.is_some() => return entry,
                _ => tokio::task::yield_now().await,
            }
        }
    })
    .await
    .expect("the end is noted within the bound")
}

#[tokio::test]
async fn chat_stream_has_the_shape_of_vllm() {
    let handle = fast(&[]).await;
    let reply = stream(&handle, 12).await;
    assert_eq!(reply.status, 200);
    assert_eq!(reply.header("content-type"), Some("text/event-stream; charset=utf-8"));
    assert!(reply.clean && reply.text().ends_with("data: [DONE]\n\n"));
    let events = reply.events();
    assert_eq!(events.len(), 1 + 12 + 1);
    assert_eq!(events[0]["choices"][0]["delta"], json!({ "role": "assistant", "content": "" }));
    assert_eq!(events[0]["object"], "chat.completion.chunk");
    assert!(events[1..12].iter().all(|event| event["choices"][0]["finish_reason"].is_null()));
    assert!(events[1..13].iter().all(|event| event["choices"][0]["delta"]["content"].as_str() != Some("")));
    assert_eq!(events[12]["choices"][0]["finish_reason"], "length");
    assert_eq!(events[13]["choices"], json!([]));
    assert_eq!(events[13]["usage"]["completion_tokens"], 12);
    assert_eq!(events[13]["usage"]["prompt_tokens_details"]["cached_tokens"], 0);
    handle.stop().await;
}

#[tokio::test]
async fn every_event_is_a_write_of_its_own_and_is_logged() {
    let handle = fast(&[]).await;
    let reply = stream(&handle, 20).await;
    assert_eq!(reply.chunks.len(), 1 + 20 + 2);
    assert!(reply.chunks.iter().all(|chunk| chunk.starts_with(b"data: ") && chunk.ends_with(b"\n\n")));
    let entry = logged(&handle, &reply).await;
    assert_eq!(entry.finish, Some(Finish::Complete));
    assert_eq!(entry.tokens(), 20);
    let bytes: Vec<usize> = entry.writes.iter().map(|write| write.bytes).collect();
    assert_eq!(bytes, reply.chunks.iter().map(Vec::len).collect::<Vec<_>>());
    assert!(entry.writes.windows(2).all(|pair| pair[0].offset <= pair[1].offset));
    let early = entry.writes.iter().find(|write| write.model_offset.is_some_and(|due| write.offset < due));
    assert!(early.is_none(), "sent before the model produced it: {early:?}");
    handle.stop().await;
}

#[tokio::test]
async fn completions_stream_and_whole_answers_count_alike() {
    let handle = fast(&[]).await;
    let ask = |stream: bool| {
        let body = json!({ "prompt": "The bridge", "max_tokens": 9, "ignore_eos": true, "stream": stream });
        exchange(handle.address(), http("POST", "/v1/completions", &body.to_string(), ""))
    };
    let streamed = ask(true).await;
    let events = streamed.events();
    assert_eq!(events.len(), 9);
    assert!(
        events.iter().all(|event| event["choices"][0]["text"].is_string() && event.get("usage").is_none())
    );
    let whole = ask(false).await.json();
    assert_eq!(whole["object"], "text_completion");
    assert_eq!(whole["choices"][0]["finish_reason"], "length");
    assert_eq!(whole["usage"]["completion_tokens"], 9);
    let whole = chat(&handle, json!({ "max_tokens": 9 })).await.json();
    assert_eq!(whole["choices"][0]["message"]["role"], "assistant");
    handle.stop().await;
}

#[tokio::test]
async fn continuous_usage_counts_up_with_the_tokens() {
    let handle = fast(&[]).await;
    let options = json!({ "include_usage": true, "continuous_usage_stats": true });
    let body = json!({ "stream": true, "max_tokens": 5, "ignore_eos": true, "stream_options": options });
    let events = chat(&handle, body).await.events();
    let counts: Vec<u64> = events.iter().filter_map(|e| e["usage"]["completion_tokens"].as_u64()).collect();
    assert_eq!(counts, [0, 1, 2, 3, 4, 5, 5]);
    handle.stop().await;
}

#[tokio::test]
async fn answer_that_may_stop_does_so_before_its_limit() {
    let handle = fast(&[]).await;
    let whole = chat(&handle, json!({ "max_completion_tokens": 4096 })).await.json();
    assert_eq!(whole["choices"][0]["finish_reason"], "stop");
    assert!(whole["usage"]["completion_tokens"].as_u64().is_some_and(|count| count < 4096));
    handle.stop().await;
}

#[tokio::test]
async fn wrong_requests_are_refused_as_vllm_does() {
    let mut settings = Settings::of(Profile::Fast);
    settings.engine.max_model_len = 100;
    settings.api_key = Some(Secret::new("sk-sim"));
    let handle = serve(settings).await;
    let long = json!({ "prompt": "word ".repeat(200), "max_tokens": 5 }).to_string();
    let cases = [
        ("{\"model\":\"nope\",\"prompt\":\"a\"}", 404, "The model `nope` does not exist"),
        ("{\"prompt\":", 400, "validation error"),
        (long.as_str(), 400, "maximum context length is 100 tokens"),
        ("{\"prompt\":\"a\",\"max_tokens\":0}", 400, "max_tokens must be at least 1"),
        ("{\"prompt\":\"a\",\"max_tokens\":1000}", 400, "max_tokens=1000 is too large"),
        ("{}", 400, "prompt: Field required"),
    ];
    for (body, status, message) in cases {
        let request = http("POST", "/v1/completions", body, "authorization: Bearer sk-sim\r\n");
        let reply = exchange(handle.address(), request).await;
        assert_eq!(reply.status, status, "{body}");
        let error = reply.json()["error"].clone();
        assert_eq!(error["code"], status);
        assert!(error["message"].as_str().is_some_and(|text| text.contains(message)), "{error}");
    }
    let reply = exchange(handle.address(), http("POST", "/v1/completions", "{}", "")).await;
    assert_eq!((reply.status, reply.json()), (401, json!({ "error": "Unauthorized" })));
    handle.stop().await;
}

#[tokio::test]
async fn identity_endpoints_answer() {
    let handle = fast(&[]).await;
    let get = |path: &'static str| exchange(handle.address(), http("GET", path, "", ""));
    assert_eq!(get("/health").await.status, 200);
    assert_eq!(get("/version").await.json(), json!({ "version": "0.32.0" }));
    handle.control().set_version("0.33.0");
    assert_eq!(get("/version").await.json(), json!({ "version": "0.33.0" }));
    assert_eq!(get("/v1/models").await.json()["data"][0]["id"], "sim-fast");
    assert_eq!(get("/nowhere").await.json(), json!({ "detail": "Not Found" }));
    assert_eq!(get("/v1/completions").await.status, 405);
    let counted =
        exchange(handle.address(), http("POST", "/tokenize", "{\"prompt\":\"hello big world\"}", "")).await;
    assert_eq!(counted.json()["count"], 3);
    handle.stop().await;
}

#[tokio::test]
async fn http_faults_answer_with_their_status() {
    for (fault, status, retry_after) in [
        ("http-400", 400, None),
        ("http-401", 401, None),
        ("http-403", 403, None),
        ("http-404", 404, None),
        ("http-429=7", 429, Some("7")),
        ("http-500", 500, None),
        ("http-503", 503, None),
        ("http-503=30", 503, Some("30")),
    ] {
        let handle = fast(&[fault]).await;
        let reply = stream(&handle, 5).await;
        assert_eq!(reply.status, status, "{fault}");
        assert_eq!(reply.header("retry-after"), retry_after, "{fault}");
        assert_eq!(logged(&handle, &reply).await.finish, Some(Finish::Refused));
        handle.stop().await;
    }
}

#[tokio::test]
async fn stream_faults_spoil_the_stream_as_named() {
    let handle = fast(&["in-band-error=3"]).await;
    let reply = stream(&handle, 10).await;
    assert!(reply.text().ends_with("data: [DONE]\n\n"));
    assert_eq!(reply.events().last().expect("events")["error"]["code"], 500);
    assert_eq!(logged(&handle, &reply).await.tokens(), 3);

    let reply = struck(&handle, "cut-stream=3").await;
    assert!(!reply.clean && reply.events().len() == 4);
    assert_eq!(logged(&handle, &reply).await.finish, Some(Finish::Cut));

    let reply = struck(&handle, "early-end=3").await;
    assert!(reply.clean && reply.events().len() == 4 && !reply.text().contains("[DONE]"));

    let reply = struck(&handle, "garbage=3").await;
    assert!(String::from_utf8(reply.chunks.concat()).is_err());

    let reply = struck(&handle, "html").await;
    assert!(reply.status == 200 && reply.text().contains("<html>"));

    let reply = struck(&handle, "empty-body").await;
    assert!(reply.status == 200 && reply.text().is_empty());

    let reply = struck(&handle, "empty-answer").await;
    assert!(reply.text().ends_with("[DONE]\n\n") && logged(&handle, &reply).await.tokens() == 0);

    let reply = struck(&handle, "content-filter").await;
    assert!(
        reply.text().contains("\"finish_reason\":\"content_filter\"") && reply.text().contains("refusal")
    );

    let reply = struck(&handle, "tokens-per-chunk=4").await;
    let texts =
        logged(&handle, &reply).await.writes.into_iter().filter(|write| write.kind == WriteKind::Text);
    assert_eq!(texts.map(|write| write.tokens).collect::<Vec<_>>(), [4, 4, 2]);

    let reply = struck(&handle, "events-per-write=4").await;
    assert_eq!((reply.chunks.len(), reply.events().len()), (4, 12));
    handle.stop().await;
}

async fn struck(handle: &Handle, fault: &str) -> Reply {
    handle.control().set_faults(vec![fault.parse().expect("a known fault")]);
    stream(handle, 10).await
}

#[tokio::test]
async fn stall_shows_as_one_long_gap_in_the_log() {
    punctually(async || {
        let handle = fast(&["stall=400ms@4"]).await;
        let entry = logged(&handle, &stream(&handle, 10).await).await;
        handle.stop().await;
        let texts: Vec<Duration> = entry.writes.iter().filter(|w| w.tokens > 0).map(|w| w.offset).collect();
        assert_eq!(texts.len(), 10);
        let long: Vec<usize> = (1..10)
            .filter(|&n| texts[n].saturating_sub(texts[n - 1]) >= Duration::from_millis(390))
            .collect();
        // The token before the stall may be written late, the one after it keeps its time.
        in_time(long.contains(&4), &texts)
    })
    .await;
}

#[tokio::test]
async fn early_role_comes_before_the_first_token_is_computed() {
    let handle = fast(&["early-role", "slow-first-token=8"]).await;
    let entry = logged(&handle, &stream(&handle, 3).await).await;
    assert_eq!(entry.writes[0].kind, WriteKind::Role);
    assert!(entry.writes[0].model_offset.is_none());
    assert!(entry.writes[1].model_offset.is_some_and(|due| due > Duration::from_millis(80)));
    handle.stop().await;
}

#[tokio::test]
async fn refused_connection_closes_without_a_byte() {
    let handle = fast(&["refuse-connection,count=1"]).await;
    assert_eq!(stream(&handle, 3).await.status, 0);
    assert_eq!(stream(&handle, 3).await.status, 200);
    handle.stop().await;
}

#[tokio::test]
async fn faults_change_over_http_and_unknown_ones_are_refused_with_the_list() {
    let handle = fast(&[]).await;
    let post = |body: &'static str| exchange(handle.address(), http("POST", "/sim/faults", body, ""));
    let reply = post("{\"faults\":[\"explode\"]}").await;
    assert_eq!(reply.status, 400);
    assert!(reply.text().contains("the known ones are: slow-prefill"), "{}", reply.text());
    let reply = post("{\"faults\":[\"upgrade=0.40.0\",\"http-500,share=0.5,count=2\"]}").await;
    let expected = json!({ "faults": ["upgrade=0.40.0", "http-500,share=0.5,count=2"], "version": "0.40.0" });
    assert_eq!(reply.json(), expected);
    let reply = post("{\"faults\":[{\"fault\":\"html\",\"share\":0.5,\"count\":3}]}").await;
    assert_eq!(reply.json()["faults"], json!(["html,share=0.5,count=3"]));
    let reply = post("{\"faults\":[{\"fault\":\"html\",\"share\":7}]}").await;
    assert!(reply.status == 400 && reply.text().contains("share must be between 0 and 1"));
    assert_eq!(post("{\"faults\":[]}").await.json(), json!({ "faults": [], "version": "0.32.0" }));
    handle.stop().await;
}

#[tokio::test]
async fn repeated_prompt_is_reported_as_cached_in_answer_and_log() {
    let handle = fast(&[]).await;
    let body = json!({ "prompt": "one two three ".repeat(20), "max_tokens": 2 }).to_string();
    let ask = || exchange(handle.address(), http("POST", "/v1/completions", &body, ""));
    let cached = |reply: &Reply| reply.json()["usage"]["prompt_tokens_details"]["cached_tokens"].as_u64();
    assert_eq!(cached(&ask().await), Some(0));
    let second = ask().await;
    assert!(cached(&second).is_some_and(|tokens| tokens >= 48));
    assert!(logged(&handle, &second).await.cached_tokens >= 48);
    handle.stop().await;
}

#[tokio::test]
async fn client_that_leaves_frees_its_place_in_the_engine() {
    let mut settings = Settings::of(Profile::Fast);
    settings.engine.max_num_seqs = 1;
    let handle = serve(settings).await;
    let body = json!({ "prompt": "a", "stream": true, "max_tokens": 30_000, "ignore_eos": true }).to_string();
    let mut socket = TcpStream::connect(handle.address()).await.expect("the server listens");
    socket.write_all(http("POST", "/v1/completions", &body, "").as_bytes()).await.expect("sent");
    let mut some = [0; 64];
    let _ = timeout(PATIENCE, socket.read(&mut some)).await.expect("headers within the bound");
    drop(socket);
    let reply = stream(&handle, 3).await;
    assert_eq!(logged(&handle, &reply).await.tokens(), 3);
    assert_eq!(handle.log().entries()[0].finish, Some(Finish::Disconnected));
    handle.stop().await;
}

#[tokio::test]
async fn stop_ends_within_a_second_with_streams_and_hangs_open() {
    for fault in ["hang", "hang-after-headers", "stall=1h@2", "slow-decode=1"] {
        punctually(async || {
            let handle = fast(&[fault]).await;
            let body = json!({ "prompt": "a", "stream": true, "max_tokens": 30_000, "ignore_eos": true })
                .to_string();
            let mut socket = TcpStream::connect(handle.address()).await.expect("the server listens");
            socket.write_all(http("POST", "/v1/completions", &body, "").as_bytes()).await.expect("sent");
            timeout(PATIENCE, async {
                while handle.log().entries().is_empty() {
                    tokio::task::yield_now().await;
                }
            })
            .await
            .expect("the request is noted within the bound");
            let before = Instant::now();
            handle.stop().await;
            let took = Instant::now() - before;
            let mut rest = Vec::new();
            let _ = timeout(PATIENCE, socket.read_to_end(&mut rest)).await.expect("the socket is closed");
            in_time(took < Duration::from_secs(1), &(fault, took))
        })
        .await;
    }
}

#[tokio::test]
async fn full_queue_answers_503() {
    let mut settings = Settings::of(Profile::Fast);
    settings.engine.max_waiting = Some(0);
    let handle = serve(settings).await;
    assert_eq!(stream(&handle, 3).await.status, 503);
    handle.stop().await;
}
