//! A server that speaks HTTP/1.1 and HTTP/2, with TLS or without, and notes how it was reached.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::server::{ClientHello, ResolvesServerCert, WebPkiClientVerifier};
use tokio_rustls::rustls::sign::CertifiedKey;
use tokio_rustls::rustls::{HandshakeKind, RootCertStore, ServerConfig, SupportedProtocolVersion};

use crate::authority::{Authority, Identity};

/// How the server speaks TLS.
#[derive(Clone, Copy)]
pub struct Tls<'a> {
    pub versions: &'a [&'static SupportedProtocolVersion],
    pub alpn: &'a [&'a str],
    /// Whose client certificates are demanded.
    pub clients: Option<&'a Authority>,
}

/// It ends when dropped.
pub struct Server {
    pub address: SocketAddr,
    pub shown: Arc<Shown>,
    pub visits: Arc<Mutex<Vec<Visit>>>,
    task: JoinHandle<()>,
}

/// One request, and the connection that it came over.
#[derive(Debug, Clone, Default)]
pub struct Visit {
    pub sni: Option<String>,
    pub resumed: bool,
    pub identified: bool,
    pub is_h2: bool,
    /// Of HTTP/1.1 alone.
    pub head: String,
}

/// The certificate that is shown at present.
#[derive(Debug)]
pub struct Shown(Mutex<Arc<CertifiedKey>>);

impl Shown {
    pub fn new(identity: &Identity) -> Arc<Self> {
        Arc::new(Self(Mutex::new(Arc::clone(&identity.loaded))))
    }

    pub fn swap(&self, identity: &Identity) {
        *self.0.lock().expect("nobody panics with it") = Arc::clone(&identity.loaded);
    }
}

impl ResolvesServerCert for Shown {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.0.lock().expect("nobody panics with it")))
    }
}

/// A configuration that offers tickets and keeps sessions, whatever certificate it shows.
pub fn acceptor(shown: &Arc<Shown>, tls: Tls<'_>) -> TlsAcceptor {
    let provider = Arc::new(ring::default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(tls.versions)
        .expect("ring supports these versions");
    let builder = match tls.clients {
        Some(authority) => {
            let mut roots = RootCertStore::empty();
            roots.add(authority.der.clone()).expect("it is a certificate");
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
            builder.with_client_cert_verifier(verifier.build().expect("there is an authority"))
        }
        None => builder.with_no_client_auth(),
    };
    let mut config = builder.with_cert_resolver(Arc::clone(shown) as _);
    config.ticketer = ring::Ticketer::new().expect("ring makes tickets");
    config.alpn_protocols = tls.alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
    TlsAcceptor::from(Arc::new(config))
}

impl Server {
    pub async fn secure(identity: &Identity, tls: Tls<'_>) -> Self {
        let shown = Shown::new(identity);
        let acceptor = acceptor(&shown, tls);
        Self::start("127.0.0.1:0", Some(acceptor), shown).await
    }

    pub async fn plain(identity: &Identity, address: &str) -> Self {
        Self::start(address, None, Shown::new(identity)).await
    }

    async fn start(address: &str, acceptor: Option<TlsAcceptor>, shown: Arc<Shown>) -> Self {
        let listener = TcpListener::bind(address).await.expect("a port is free");
        let address = listener.local_addr().expect("it has an address");
        let visits: Arc<Mutex<Vec<Visit>>> = Arc::default();
        let task = tokio::spawn({
            let visits = Arc::clone(&visits);
            async move {
                while let Ok((stream, _)) = listener.accept().await {
                    tokio::spawn(receive(stream, acceptor.clone(), Arc::clone(&visits)));
                }
            }
        });
        Self { address, shown, visits, task }
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }

    pub fn last(&self) -> Visit {
        self.visits.lock().expect("nobody panics with it").last().cloned().expect("somebody came")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn receive(
    stream: TcpStream,
    acceptor: Option<TlsAcceptor>,
    visits: Arc<Mutex<Vec<Visit>>>,
) -> io::Result<()> {
    let Some(acceptor) = acceptor else {
        return speak(stream, Visit::default(), &visits).await;
    };
    let stream = match acceptor.accept(stream).into_fallible().await {
        Ok(stream) => stream,
        Err((error, mut stream)) => {
            // Whoever closes at once with something unread resets the connection, and the alert is lost.
            stream.shutdown().await?;
            tokio::io::copy(&mut stream, &mut tokio::io::sink()).await?;
            return Err(error);
        }
    };
    let session = stream.get_ref().1;
    let visit = Visit {
        sni: session.server_name().map(str::to_owned),
        resumed: session.handshake_kind() == Some(HandshakeKind::Resumed),
        identified: session.peer_certificates().is_some(),
        ..Visit::default()
    };
    speak(stream, visit, &visits).await
}

async fn speak(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    mut visit: Visit,
    visits: &Mutex<Vec<Visit>>,
) -> io::Result<()> {
    let mut start = vec![0; 4];
    stream.read_exact(&mut start).await?;
    visit.is_h2 = start == b"PRI ";
    if visit.is_h2 {
        read_h2(&mut stream).await?;
    } else {
        visit.head = read_h1(&mut stream, start).await?;
    }
    let is_h2 = visit.is_h2;
    visits.lock().expect("nobody panics with it").push(visit);
    stream.write_all(&if is_h2 { answer_h2() } else { answer_h1() }).await?;
    stream.flush().await?;
    // The client closes; whoever closes first may lose what it wrote.
    tokio::io::copy(&mut stream, &mut tokio::io::sink()).await?;
    Ok(())
}

fn events() -> String {
    let text = r#"{"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}"#;
    let finish = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;
    format!("data: {text}\n\ndata: {finish}\n\ndata: [DONE]\n\n")
}

fn answer_h1() -> Vec<u8> {
    let events = events();
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\ncontent-length:";
    format!("{head} {}\r\n\r\n{events}", events.len()).into_bytes()
}

/// Everything of one request, whose first bytes have been read.
async fn read_h1(stream: &mut (impl AsyncRead + Unpin), mut bytes: Vec<u8>) -> io::Result<String> {
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.to_ascii_lowercase();
            let length = length.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
            if body.len() >= length.unwrap_or(0) {
                return Ok(head.to_owned());
            }
        }
        if stream.read_buf(&mut bytes).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
}

fn frame(kind: u8, flags: u8, stream: u8, payload: &[u8]) -> Vec<u8> {
    let [_, a, b, c] = (payload.len() as u32).to_be_bytes();
    [&[a, b, c, kind, flags, 0, 0, 0, stream], payload].concat()
}

/// ":status: 200" by its place in the common table, and the body.
fn answer_h2() -> Vec<u8> {
    [frame(1, 4, 1, &[0x88]), frame(0, 1, 1, events().as_bytes())].concat()
}

/// The rest of the preface, then frames until one ends the request on stream 1.
async fn read_h2(stream: &mut (impl AsyncRead + AsyncWrite + Unpin)) -> io::Result<()> {
    stream.read_exact(&mut [0; 20]).await?;
    // Settings, and that those of the client are taken.
    stream.write_all(&[frame(4, 0, 0, &[]), frame(4, 1, 0, &[])].concat()).await?;
    stream.flush().await?;
    loop {
        let mut head = [0; 9];
        stream.read_exact(&mut head).await?;
        let [a, b, c, kind, flags, .., id] = head;
        let length = u32::from_be_bytes([0, a, b, c]) as usize;
        stream.read_exact(&mut vec![0; length]).await?;
        if kind <= 1 && id == 1 && flags & 1 == 1 {
            return Ok(());
        }
    }
}
