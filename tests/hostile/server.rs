//! A server that does to each connection whatever a test says.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// It ends when dropped.
#[derive(Debug)]
pub struct Hostile {
    pub address: SocketAddr,
    connections: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

impl Hostile {
    /// Each connection, with its number, goes to `attack`.
    pub async fn start<F>(attack: impl Fn(usize, TcpStream) -> F + Send + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("loopback has a free port");
        let address = listener.local_addr().expect("a bound listener has an address");
        let connections = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&connections);
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let _ = stream.set_nodelay(true);
                tokio::spawn(attack(count.fetch_add(1, Ordering::Relaxed), stream));
            }
        });
        Self { address, connections, task }
    }

    /// Reads a request, writes these bytes, and closes.
    pub async fn saying(answer: impl Into<Vec<u8>>) -> Self {
        let answer: Arc<[u8]> = answer.into().into();
        Self::start(move |_, mut stream| {
            let answer = Arc::clone(&answer);
            async move {
                read_request(&mut stream).await;
                let _ = stream.write_all(&answer).await;
            }
        })
        .await
    }

    /// Reads a request, writes `first`, then `piece` over and over until so many bytes are out.
    pub async fn flooding(first: &'static str, piece: impl Into<Vec<u8>>, bytes: usize) -> Self {
        let piece: Arc<[u8]> = piece.into().into();
        Self::start(move |_, mut stream| {
            let piece = Arc::clone(&piece);
            async move {
                read_request(&mut stream).await;
                let _ = stream.write_all(first.as_bytes()).await;
                flood(&mut stream, &piece, bytes).await;
            }
        })
        .await
    }

    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }
}

impl Drop for Hostile {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Reads until head and body of a request are there, or the client is gone.
pub async fn read_request(stream: &mut (impl AsyncRead + Unpin)) -> String {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes);
        let length = text.split_once("content-length: ").and_then(|(_, rest)| rest.split_once("\r\n"));
        let length = length.and_then(|(length, _)| length.parse::<usize>().ok());
        let body = text.split_once("\r\n\r\n").map(|(_, body)| body.len());
        if body.zip(length).is_some_and(|(body, length)| body >= length) {
            return text.into_owned();
        }
        match stream.read_buf(&mut bytes).await {
            Ok(0) | Err(_) => return String::new(),
            Ok(_) => {}
        }
    }
}

/// Writes as fast as the other side takes it, until so many bytes are out or it has had enough.
pub async fn flood(stream: &mut (impl AsyncWrite + Unpin), piece: &[u8], bytes: usize) {
    let block = piece.repeat((64 << 10) / piece.len() + 1);
    let mut written = 0;
    while written < bytes && stream.write_all(&block).await.is_ok() {
        written += block.len();
    }
}

/// The head of a streamed answer whose end is the end of the connection.
pub const PLAIN: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";

pub const CHUNKED: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";

pub const TEXT: &str = r#"{"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}"#;
pub const FINISH: &str = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;

/// A short answer that is whole and right.
pub fn answer() -> String {
    format!("data: {TEXT}\n\ndata: {TEXT}\n\ndata: {FINISH}\n\ndata: [DONE]\n\n")
}
