//! What the tests of the real binary share: processes that end with their test, a scripted engine, HTTP.
#![allow(dead_code, reason = "each test uses a part of it")]

pub mod alertmanager;
pub mod prometheus;
pub mod service;

use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, sleep, timeout};

/// Longer than anything here takes, even on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(120);

pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Asks until there is an answer; the last refusal is told when the time is up.
pub async fn eventually<T>(
    what: &str,
    bound: Duration,
    mut attempt: impl AsyncFnMut() -> Result<T, String>,
) -> T {
    let end = Instant::now() + bound;
    loop {
        match attempt().await {
            Ok(value) => return value,
            Err(why) => assert!(Instant::now() < end, "{what} did not happen within {bound:?}: {why}"),
        }
        sleep(Duration::from_millis(10)).await;
    }
}

/// A process whose output is kept; it does not outlive its test, even one that panics.
#[derive(Debug)]
pub struct Process {
    child: Child,
    folder: TempDir,
}

#[derive(Debug)]
pub struct Ended {
    /// `None` if a signal ended it.
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Process {
    pub fn spawn(command: &mut Command) -> std::io::Result<Self> {
        let folder = TempDir::new()?;
        let file = |name| File::create(folder.path().join(name));
        command.stdin(Stdio::null()).stdout(file("stdout")?).stderr(file("stderr")?);
        Ok(Self { child: command.spawn()?, folder })
    }

    pub fn stdout(&self) -> String {
        self.read("stdout")
    }

    pub fn stderr(&self) -> String {
        self.read("stderr")
    }

    fn read(&self, name: &str) -> String {
        let bytes = fs::read(self.folder.path().join(name)).expect("the output is kept");
        String::from_utf8_lossy(&bytes).into_owned()
    }

    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().expect("a child can be asked").is_some()
    }

    /// Waits for its end.
    pub async fn ended(mut self, bound: Duration) -> Ended {
        let status = eventually("the end of the process", bound, async || {
            let status = self.child.try_wait().expect("a child can be asked");
            status.ok_or_else(|| format!("it still runs and says {}{}", self.stdout(), self.stderr()))
        })
        .await;
        Ended { code: status.code(), stdout: self.stdout(), stderr: self.stderr() }
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The names of its threads that begin so.
    pub fn threads(&self, prefix: &str) -> Vec<String> {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.child.id())).expect("it runs");
        let names = tasks.filter_map(|task| fs::read_to_string(task.ok()?.path().join("comm")).ok());
        let mut names: Vec<_> =
            names.map(|name| name.trim().to_owned()).filter(|name| name.starts_with(prefix)).collect();
        names.sort();
        names
    }

    /// Sends a signal by its name, such as "TERM".
    pub fn signal(&self, name: &str) {
        let command = format!("kill -{name} {}", self.child.id());
        let status = Command::new("sh").args(["-c", &command]).status().expect("there is a shell");
        assert!(status.success(), "{command}");
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // An error means that it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The real binary, untouched by the environment of whoever runs the tests.
pub fn sloprobe(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sloprobe"));
    command.args(args).env_remove("SLOPROBE_CONFIG").env_remove("SLOPROBE_LOG").env("COLUMNS", "100");
    command
}

/// Runs a command to its end.
pub async fn run(command: &mut Command) -> Ended {
    Process::spawn(command).expect("it can be started").ended(PATIENCE).await
}

/// A running `sloprobe run`.
#[derive(Debug)]
pub struct Daemon {
    pub process: Process,
    /// Where it serves its metrics, such as "127.0.0.1:40123".
    pub address: String,
}

impl Daemon {
    /// Starts it on a port that is free, and waits until it serves.
    pub async fn start(command: &mut Command) -> Self {
        let mut process =
            Process::spawn(command.args(["--listen", "127.0.0.1:0"])).expect("it can be started");
        let address = eventually("the line with the address", PATIENCE, async || {
            let log = process.stderr();
            assert!(!process.has_ended(), "the daemon ended: {log}");
            let found =
                log.split_once("metrics at http://").and_then(|(_, rest)| rest.split_once("/metrics"));
            found.map(|(address, _)| address.to_owned()).ok_or(log)
        })
        .await;
        Self { process, address }
    }

    pub async fn metrics(&self) -> String {
        get(&self.address, "/metrics").await.expect("the daemon serves its metrics")
    }
}

/// A file with this text in a folder of its own.
pub fn config(text: &str) -> TempDir {
    let folder = TempDir::new().expect("a folder for the test");
    fs::write(folder.path().join("sloprobe.toml"), text).expect("the folder can be written to");
    folder
}

/// The body of a page, or why there is none.
pub async fn get(address: &str, path: &str) -> Result<String, String> {
    get_with(address, path, "").await
}

/// The same with headers, each of which ends its line.
pub async fn get_with(address: &str, path: &str, headers: &str) -> Result<String, String> {
    let fetch = async {
        let mut stream = TcpStream::connect(address).await?;
        let head = format!("GET {path} HTTP/1.0\r\nHost: {address}\r\n{headers}\r\n");
        stream.write_all(head.as_bytes()).await?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.map(|_| answer)
    };
    let answer = timeout(PATIENCE, fetch).await.map_err(|_| format!("no answer from {address}"))?;
    let answer = answer.map_err(|error| format!("{address}: {error}"))?;
    let (head, body) = answer.split_once("\r\n\r\n").ok_or("an answer without a head")?;
    if head.split(' ').nth(1) == Some("200") { Ok(body.to_owned()) } else { Err(answer) }
}

/// What the scripted engine does for one request: pieces of the answer, each after its pause.
pub type Script = Vec<(Duration, String)>;

/// A server on this machine that follows a script; the script is made from the head of the request.
/// It ends with the runtime of the test.
pub async fn engine(script: fn(&str) -> Script) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
    let address = listener.local_addr().expect("it has an address").to_string();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            // A client that leaves early is no fault of the engine.
            tokio::spawn(async move { answer(stream, script).await.ok() });
        }
    });
    address
}

async fn answer(mut stream: TcpStream, script: fn(&str) -> Script) -> std::io::Result<()> {
    let mut request = Vec::new();
    while !is_complete(&request) {
        if stream.read_buf(&mut request).await? == 0 {
            return Ok(());
        }
    }
    for (pause, piece) in script(&String::from_utf8_lossy(&request)) {
        sleep(pause).await;
        stream.write_all(piece.as_bytes()).await?;
    }
    stream.shutdown().await
}

/// Whether a request has come whole, by its content-length; a GET has none.
fn is_complete(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request).to_ascii_lowercase();
    let Some((head, _)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.split("content-length: ").nth(1).and_then(|rest| rest.lines().next());
    let length: usize = length.and_then(|digits| digits.parse().ok()).unwrap_or(0);
    request.len() >= head.len() + 4 + length
}

/// A healthy stream of an OpenAI-like server: first token after 40 ms, then one every 10 ms.
pub fn healthy(_request: &str) -> Script {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
    let mut script = vec![(Duration::ZERO, head.to_owned())];
    for index in 0..8 {
        let pause = Duration::from_millis(if index == 0 { 40 } else { 10 });
        let chunk = r#"data: {"choices":[{"index":0,"delta":{"content":"word "}}]}"#;
        script.push((pause, format!("{chunk}\n\n")));
    }
    let finish = r#"data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;
    let usage =
        r#"data: {"choices":[],"usage":{"prompt_tokens":50,"completion_tokens":8,"total_tokens":58}}"#;
    script.push((Duration::ZERO, format!("{finish}\n\n{usage}\n\ndata: [DONE]\n\n")));
    script
}
