//! `cargo bench`: how true the numbers are, and what they cost.
//!
//! A server in a process of its own sends tokens on an exactly known schedule. `sloprobe once` measures it at
//! 1, 32 and 128 streams; a bare reqwest client that parses the same events reads as many, for the cost.

#![allow(clippy::unwrap_used, reason = "a measurement that cannot go on should panic")]

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use tokio::time::Instant;

const TTFT: Duration = Duration::from_millis(200);
const ITL: Duration = Duration::from_millis(20);
/// For the cost: as fast as a quick engine.
const SHORT_ITL: Duration = Duration::from_millis(5);
const TOKEN: &str = r#"{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":" token"},"logprobs":null,"finish_reason":null}]}"#;
const LAST: &str = r#"{"id":"chatcmpl-1","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;

fn main() {
    let args: Vec<String> = std::env::args().collect();
    match args.get(1).map(String::as_str) {
        Some("serve") => serve(Duration::from_micros(args[2].parse().unwrap()), args[3].parse().unwrap()),
        Some("bare") => bare(&args[2], args[3].parse().unwrap()),
        _ => measure(),
    }
}

fn measure() {
    println!("error against a server with a known schedule (TTFT {TTFT:?}, a token every {ITL:?}), in ms");
    println!("streams  rounds  TTFT median    p99  ITL median  ITL p99, median over streams");
    let server = Server::start(ITL, 100);
    for (streams, rounds) in [(1, 20), (32, 5), (128, 3)] {
        let reports: Vec<Value> = (0..rounds).flat_map(|_| once(&server, streams).0).collect();
        let errors = |path: &str, truth: Duration| {
            let values = reports.iter().map(|report| report.pointer(path).and_then(Value::as_f64).unwrap());
            let mut errors: Vec<f64> = values.map(|v| (v - truth.as_secs_f64()).abs() * 1e3).collect();
            errors.sort_by(f64::total_cmp);
            errors
        };
        let at = |sorted: &[f64], q: f64| sorted[((sorted.len() - 1) as f64 * q).round() as usize];
        let (ttft, p50, p99) =
            (errors("/ttft_seconds", TTFT), errors("/itl_seconds/p50", ITL), errors("/itl_seconds/p99", ITL));
        let columns =
            [at(&ttft, 0.5), at(&ttft, 0.99), at(&p50, 0.5), at(&p99, 0.5)].map(|e| format!("{e:.3}"));
        let [median, high, gap, gap_high] = columns;
        println!("{streams:>7}  {rounds:>6}  {median:>11}  {high:>5}  {gap:>10}  {gap_high:>7}");
    }
    drop(server);

    println!("\nCPU per 1000 streamed tokens, 32 streams of 1000 tokens, in ms");
    let server = Server::start(SHORT_ITL, 1000);
    for round in 1..=3 {
        let own = once(&server, 32).1;
        let bare = cpu_of(|| {
            let itself = std::env::current_exe().unwrap();
            let ended = Command::new(itself).args(["bare", &server.url(), "32"]).status().unwrap();
            assert!(ended.success());
        });
        let per_thousand = |cpu: Duration| cpu.as_secs_f64() * 1e3 / 32.0;
        let (own, bare) = (per_thousand(own), per_thousand(bare));
        println!("round {round}: sloprobe {own:.1}, bare reqwest {bare:.1}, ratio {:.2}", own / bare);
    }
}

/// What `sloprobe once --json` says of so many streams, and the CPU it took.
fn once(server: &Server, streams: usize) -> (Vec<Value>, Duration) {
    let mut config = "[[workloads]]\nname = 'w'\nkind = 'chat'\n".to_owned();
    for n in 0..streams {
        let _ = write!(
            config,
            "[[targets]]\nname = 't{n}'\nurl = '{}'\nmodel = 'm'\nengine = 'other'\n",
            server.url()
        );
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sloprobe.toml");
    std::fs::write(&path, config).unwrap();
    let mut reports: Vec<Value> = Vec::new();
    let cpu = cpu_of(|| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sloprobe"));
        let output = command.args(["once", "--json", "-c"]).arg(&path).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        reports = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    });
    assert_eq!(reports.iter().filter(|report| report["outcome"] == "ok").count(), streams);
    (reports, cpu)
}

/// CPU time of the children that `work` starts and waits for; Linux counts it in hundredths of a second.
fn cpu_of(work: impl FnOnce()) -> Duration {
    let ticks = || -> u64 {
        let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
        let after_name = stat.rsplit(')').next().unwrap();
        after_name.split_whitespace().skip(13).take(2).map(|n| n.parse::<u64>().unwrap()).sum()
    };
    let before = ticks();
    work();
    Duration::from_millis((ticks() - before) * 10)
}

/// A client that does the least one can do: read, split, parse, count.
fn bare(url: &str, streams: usize) {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let url = format!("{url}/v1/chat/completions");
    let counted: usize = runtime.block_on(async {
        let running: Vec<_> = (0..streams).map(|_| tokio::spawn(bare_stream(url.clone()))).collect();
        let mut sum = 0;
        for stream in running {
            sum += stream.await.unwrap();
        }
        sum
    });
    assert_eq!(counted, streams * 1000);
}

async fn bare_stream(url: String) -> usize {
    let tls = rustls::ClientConfig::builder_with_provider(rustls::crypto::ring::default_provider().into())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
    let client = reqwest::Client::builder().no_proxy().tls_backend_preconfigured(tls).build().unwrap();
    let mut response = client.post(url).body("{}").send().await.unwrap();
    let (mut buffer, mut stamps) = (Vec::new(), Vec::new());
    while let Some(bytes) = response.chunk().await.unwrap() {
        let at = Instant::now();
        buffer.extend_from_slice(&bytes);
        while let Some(end) = buffer.windows(2).position(|pair| pair == b"\n\n") {
            let event: Vec<u8> = buffer.drain(..end + 2).collect();
            let chunk: Option<Value> =
                event.strip_prefix(b"data: ").and_then(|d| serde_json::from_slice(d).ok());
            let text = chunk.as_ref().and_then(|c| c.pointer("/choices/0/delta/content")?.as_str());
            if text.is_some_and(|text| !text.is_empty()) {
                stamps.push(at);
            }
        }
    }
    stamps.len()
}

/// The scheduled server, in a process of its own.
struct Server {
    child: Child,
    address: String,
}

impl Server {
    fn start(itl: Duration, tokens: usize) -> Self {
        let itself = std::env::current_exe().unwrap();
        let mut command = Command::new(itself);
        command.args(["serve", &itl.as_micros().to_string(), &tokens.to_string()]);
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut address = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut address).unwrap();
        Self { child, address: address.trim().to_owned() }
    }

    fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Threads that are there before they are needed: starting one takes longer than what is measured.
fn serve(itl: Duration, tokens: usize) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    println!("{}", listener.local_addr().unwrap());
    let threads: Vec<_> = (0..160)
        .map(|_| {
            let listener = listener.try_clone().unwrap();
            std::thread::spawn(move || {
                while let Ok((stream, _)) = listener.accept() {
                    // A client that goes away is the client's business.
                    let _ = answer(stream, itl, tokens);
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
}

fn answer(mut stream: TcpStream, itl: Duration, tokens: usize) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut request = vec![0; 1 << 16];
    while stream.read(&mut request)? > 0 {
        let came = Instant::now();
        stream.write_all(
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n",
        )?;
        let mut due = came + TTFT;
        for _ in 0..tokens {
            wait_until(due);
            stream.write_all(chunk(TOKEN).as_bytes())?;
            due += itl;
        }
        stream.write_all(format!("{}{}0\r\n\r\n", chunk(LAST), chunk("[DONE]")).as_bytes())?;
    }
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "this thread is the schedule that others are measured against")]
fn wait_until(due: Instant) {
    std::thread::sleep(due.saturating_duration_since(Instant::now()));
}

fn chunk(data: &str) -> String {
    let event = format!("data: {data}\n\n");
    format!("{:x}\r\n{event}\r\n", event.len())
}
