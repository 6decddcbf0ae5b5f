//! A server that follows a script, and probes sent to it.

#![allow(dead_code, reason = "each test file uses a part of this")]

use std::fmt::Debug;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use sloprobe::config::{self, Outside, Plan};
use sloprobe::domain::{Prompt, Report};
use sloprobe::probe::{self, Job, Transport, Trust};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};

/// What the server does, in order, after it has read a request.
#[derive(Debug, Clone)]
pub enum Step {
    Send(String),
    /// Wait until so long after the request came.
    At(Duration),
    /// Say nothing more, for ever.
    Hang,
    Close,
}

/// A server on loopback; it ends when dropped.
#[derive(Debug)]
pub struct Server {
    pub address: std::net::SocketAddr,
    pub seen: Arc<Seen>,
    task: JoinHandle<()>,
}

#[derive(Debug, Default)]
pub struct Seen {
    pub connections: AtomicUsize,
    pub requests: Mutex<Vec<String>>,
    /// When each `Send` of the scripts began.
    pub sent: Mutex<Vec<Instant>>,
}

type Script = dyn Fn(&str) -> Vec<Step> + Send + Sync;

impl Server {
    /// Plays the same script for every request.
    pub async fn start(script: Vec<Step>) -> Self {
        Self::answering(move |_| script.clone()).await
    }

    /// Plays a script that depends on the text of the request.
    pub async fn answering(script: impl Fn(&str) -> Vec<Step> + Send + Sync + 'static) -> Self {
        let script: Arc<Script> = Arc::new(script);
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback has a free port");
        let address = listener.local_addr().expect("a bound listener has an address");
        let seen = Arc::new(Seen::default());
        let task = tokio::spawn({
            let seen = Arc::clone(&seen);
            async move {
                while let Ok((stream, _)) = listener.accept().await {
                    seen.connections.fetch_add(1, Ordering::Relaxed);
                    tokio::spawn(serve(stream, Arc::clone(&script), Arc::clone(&seen)));
                }
            }
        });
        Self { address, seen, task }
    }

    pub fn connections(&self) -> usize {
        self.seen.connections.load(Ordering::Relaxed)
    }

    pub fn requests(&self) -> Vec<String> {
        self.seen.requests.lock().expect("no test panics while it holds this").clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn serve(mut stream: TcpStream, script: Arc<Script>, seen: Arc<Seen>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    while let Some(request) = read_request(&mut stream).await? {
        let came = Instant::now();
        let steps = script(&request);
        seen.requests.lock().expect("no test panics while it holds this").push(request);
        for step in &steps {
            match step {
                Step::Send(bytes) => {
                    seen.sent.lock().expect("no test panics while it holds this").push(Instant::now());
                    stream.write_all(bytes.as_bytes()).await?;
                }
                Step::At(offset) => sleep_until(came + *offset).await,
                Step::Hang => std::future::pending().await,
                Step::Close => return Ok(()),
            }
        }
    }
    Ok(())
}

/// Head and body of one request; none once the client has closed.
async fn read_request(stream: &mut TcpStream) -> io::Result<Option<String>> {
    let mut bytes = Vec::new();
    loop {
        if stream.read_buf(&mut bytes).await? == 0 {
            return Ok(None);
        }
        let text = String::from_utf8_lossy(&bytes);
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head
                .lines()
                .filter_map(|line| line.split_once(':'))
                .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
                .and_then(|(_, value)| value.trim().parse().ok())
                .unwrap_or(0_usize);
            if body.len() >= length {
                return Ok(Some(text.into_owned()));
            }
        }
    }
}

/// The head of a streamed answer.
pub fn head() -> Step {
    Step::Send(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n".into(),
    )
}

/// One event in one HTTP chunk.
pub fn event(data: &str) -> String {
    let event = format!("data: {data}\n\n");
    format!("{:x}\r\n{event}\r\n", event.len())
}

pub fn text(content: &str) -> String {
    event(&format!(r#"{{"choices":[{{"index":0,"delta":{{"content":"{content}"}},"finish_reason":null}}]}}"#))
}

pub const ROLE: &str = r#"{"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}"#;
pub const FINISH: &str = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;

/// Finish reason, usage, end marker and the last chunk of the body.
pub fn end(output_tokens: u32) -> Step {
    let usage =
        format!(r#"{{"choices":[],"usage":{{"prompt_tokens":9,"completion_tokens":{output_tokens}}}}}"#);
    Step::Send([event(FINISH), event(&usage), event("[DONE]"), "0\r\n\r\n".into()].concat())
}

/// An answer with a body of known length.
pub fn answer(status: &str, headers: &str, body: &str) -> Vec<Step> {
    let length = body.len();
    vec![Step::Send(format!("HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\n\r\n{body}"))]
}

pub fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// A plan with one target and one workload `w`; `more` is added to the target.
pub fn plan(url: &str, more: &str, timeouts: &str) -> Plan {
    let file = format!(
        "[[targets]]\nname = 't'\nurl = '{url}'\nmodel = 'tiny'\n{more}\n\
         [[workloads]]\nname = 'w'\nkind = 'chat'\ninput_tokens = 30\noutput_tokens = 20\n\
         [workloads.timeouts]\n{timeouts}\n"
    );
    let env = |name: &str| (name == "TEST_KEY").then(|| "sk-very-secret".to_owned());
    let outside = Outside {
        env: &env,
        file: &|_| Err(io::Error::other("tests read no secret files")),
        text: &|_| Err(std::io::ErrorKind::NotFound.into()),
    };
    config::parse("test.toml", &file, &outside).expect("the configuration of a test is sound")
}

/// Sends the probes of a plan's only target, one after another, over one transport.
#[derive(Debug)]
pub struct Prober {
    plan: Plan,
    transport: Transport,
}

impl Prober {
    pub fn new(plan: Plan) -> Self {
        let transport = Transport::new(&plan.targets[0], &Trust::default()).expect("usable");
        Self { plan, transport }
    }

    pub async fn probe(&self) -> Report {
        let target = Arc::clone(&self.plan.targets[0]);
        let workload = Arc::clone(&target.mix[0].workload);
        let prompt = Prompt::of_user("hello", 20);
        probe::run(&self.transport, Job { target, workload, prompt, due: Instant::now() }).await
    }
}

/// One probe to a server with a script, with timeouts that it does not run into.
pub async fn probe_script(script: Vec<Step>) -> Report {
    probe_script_within(PATIENT, script).await
}

/// One probe to a server with a script, with these timeouts.
pub async fn probe_script_within(timeouts: &str, script: Vec<Step>) -> Report {
    let server = Server::start(script).await;
    let url = format!("http://{}", server.address);
    Prober::new(plan(&url, "", timeouts)).probe().await
}

/// Timeouts that a test can wait for. A late host may run into them, so they are for those that wait for one.
pub const QUICK: &str = "connect = '2s'\nfirst_token = '600ms'\nstall = '400ms'\ntotal = '3s'";

/// Timeouts that even a late host does not run into.
pub const PATIENT: &str = "connect = '5s'\nfirst_token = '20s'\nstall = '20s'\ntotal = '60s'";

/// The tokens that came with the first chunk and so have no gap before them: more than one chunk's on a late host,
/// which finds several in its first read. Each chunk counts for its equal share of all tokens.
pub fn tokens_without_gap(report: &Report) -> u64 {
    let deltas = &report.timeline.deltas;
    let first = deltas.iter().take_while(|delta| delta.at - deltas[0].at < ms(1)).count() as u64;
    first * report.tokens.output.expect("tokens were counted") / deltas.len() as u64
}

/// Attempts what a late host can spoil until it goes well once, and panics with all reasons if it never does.
///
/// A busy host lets a process stand still now and then, for some hundred milliseconds, and all that happens in it
/// happens later. So an upper bound on a time is told as an `Err`; likewise any bound on the time between two
/// events, which grows if the second is late and shrinks if the first is. Whatever no host can change belongs into
/// an assertion, because that must hold in every attempt: what was counted, and that nothing came before its time.
pub async fn punctually(attempt: impl AsyncFn() -> Result<(), String>) {
    const ATTEMPTS: usize = 6;
    let mut reasons = Vec::new();
    while reasons.len() < ATTEMPTS {
        match attempt().await {
            Ok(()) => return,
            Err(reason) => reasons.push(reason),
        }
    }
    panic!("not once in {ATTEMPTS} attempts did it go well: {reasons:#?}");
}

/// What was measured as the reason for another attempt, unless it is as it should be.
pub fn in_time(is_in_time: bool, measured: &impl Debug) -> Result<(), String> {
    if is_in_time { Ok(()) } else { Err(format!("{measured:?}")) }
}
