//! Proxies on this machine: HTTP with CONNECT, with TLS or without, and SOCKS5. Whatever they are asked for, they
//! lead to one server, so that names need not exist.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

/// It ends when dropped.
pub struct Proxy {
    pub address: SocketAddr,
    /// What it was asked for.
    pub asked: Arc<Mutex<Vec<String>>>,
    task: JoinHandle<()>,
}

#[derive(Clone)]
pub enum Kind {
    Http,
    Https(TlsAcceptor),
    Socks,
    /// Lets nobody through.
    Closed,
}

impl Proxy {
    pub async fn start(kind: Kind, server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        let address = listener.local_addr().expect("it has an address");
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let task = tokio::spawn({
            let asked = Arc::clone(&asked);
            async move {
                while let Ok((stream, _)) = listener.accept().await {
                    tokio::spawn(lead(kind.clone(), stream, server, Arc::clone(&asked)));
                }
            }
        });
        Self { address, asked, task }
    }

    pub fn asked(&self) -> Vec<String> {
        self.asked.lock().expect("nobody panics with it").clone()
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn lead(
    kind: Kind,
    stream: TcpStream,
    server: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
) -> io::Result<()> {
    match kind {
        Kind::Http => http(stream, server, &asked).await,
        Kind::Https(acceptor) => http(acceptor.accept(stream).await?, server, &asked).await,
        Kind::Socks => socks(stream, server, &asked).await,
        Kind::Closed => closed(stream, &asked).await,
    }
}

async fn head(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<Vec<u8>> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await?);
    }
    Ok(head)
}

async fn http(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    server: SocketAddr,
    asked: &Mutex<Vec<String>>,
) -> io::Result<()> {
    let head = head(&mut stream).await?;
    let text = String::from_utf8_lossy(&head).into_owned();
    let is_tunnel = text.starts_with("CONNECT ");
    asked.lock().expect("nobody panics with it").push(text);
    let mut onward = TcpStream::connect(server).await?;
    if is_tunnel {
        stream.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await?;
    } else {
        onward.write_all(&head).await?;
    }
    stream.flush().await?;
    copy_bidirectional(&mut stream, &mut onward).await?;
    Ok(())
}

async fn closed(mut stream: TcpStream, asked: &Mutex<Vec<String>>) -> io::Result<()> {
    let head = head(&mut stream).await?;
    asked.lock().expect("nobody panics with it").push(String::from_utf8_lossy(&head).into_owned());
    stream.write_all(b"HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n").await?;
    stream.shutdown().await
}

/// RFC 1928 without a password: a greeting, then one CONNECT.
async fn socks(mut stream: TcpStream, server: SocketAddr, asked: &Mutex<Vec<String>>) -> io::Result<()> {
    let [_, methods] = read(&mut stream).await?;
    stream.read_exact(&mut vec![0; usize::from(methods)]).await?;
    stream.write_all(&[5, 0]).await?;
    let [_, _, _, kind] = read(&mut stream).await?;
    let host = match kind {
        1 => SocketAddr::from((read::<4>(&mut stream).await?, 0)).ip().to_string(),
        4 => SocketAddr::from((read::<16>(&mut stream).await?, 0)).ip().to_string(),
        _ => {
            let mut name = vec![0; usize::from(stream.read_u8().await?)];
            stream.read_exact(&mut name).await?;
            String::from_utf8_lossy(&name).into_owned()
        }
    };
    let port = stream.read_u16().await?;
    asked.lock().expect("nobody panics with it").push(format!("{host}:{port}"));
    let mut onward = TcpStream::connect(server).await?;
    stream.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0]).await?;
    copy_bidirectional(&mut stream, &mut onward).await?;
    Ok(())
}

async fn read<const N: usize>(stream: &mut TcpStream) -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    stream.read_exact(&mut bytes).await?;
    Ok(bytes)
}
