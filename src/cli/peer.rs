//! Talking to a daemon that runs already: one small request, one small answer.
//!
//! HTTP/1.0 by hand, so that an answer comes in one piece and ends with the connection; the client that probes use
//! belongs to the probes.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;
use url::Url;

/// No answer to what is asked here is longer.
const MAX_ANSWER_BYTES: u64 = 64 << 10;

/// A status and a body, as far as they were sent.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) body: String,
}

/// Where such a daemon listens: host and port.
pub(super) fn place(url: &Url) -> String {
    format!("{}:{}", url.host_str().unwrap_or_default(), url.port_or_known_default().unwrap_or(80))
}

/// Reads a page below this address.
pub(super) async fn get(url: &Url, path: &str, patience: Duration) -> io::Result<Option<Answer>> {
    exchange(url, "GET", path, "", patience).await
}

/// Sends JSON to a page below this address.
pub(super) async fn post(
    url: &Url,
    path: &str,
    body: &str,
    patience: Duration,
) -> io::Result<Option<Answer>> {
    let rest = format!("content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    exchange(url, "POST", path, &rest, patience).await
}

/// The answer; `None` if what came is not HTTP.
async fn exchange(
    url: &Url,
    method: &str,
    path: &str,
    rest: &str,
    patience: Duration,
) -> io::Result<Option<Answer>> {
    let (place, prefix) = (place(url), url.path().trim_end_matches('/'));
    let end = if rest.is_empty() { "\r\n" } else { rest };
    let request = format!("{method} {prefix}{path} HTTP/1.0\r\nhost: {place}\r\n{end}");
    let came = timeout(patience, send(&place, &request)).await.unwrap_or_else(|_| {
        Err(io::Error::new(io::ErrorKind::TimedOut, format!("no answer within {patience:?}")))
    });
    came.map(|text| read(&text))
}

async fn send(place: &str, request: &str) -> io::Result<String> {
    let mut stream = TcpStream::connect(place).await?;
    stream.write_all(request.as_bytes()).await?;
    let mut answer = Vec::new();
    stream.take(MAX_ANSWER_BYTES).read_to_end(&mut answer).await?;
    Ok(String::from_utf8_lossy(&answer).into_owned())
}

fn read(answer: &str) -> Option<Answer> {
    let (head, body) = answer.split_once("\r\n\r\n")?;
    let status = head.strip_prefix("HTTP/")?.split([' ', '\r']).nth(1)?.parse().ok()?;
    Some(Answer { status, body: body.to_owned() })
}

/// For clap: only plain HTTP is spoken.
pub(super) fn address(text: &str) -> Result<Url, String> {
    let url = Url::parse(text).ok().filter(|url| url.scheme() == "http" && url.host().is_some());
    url.ok_or_else(|| "write http:// and where the daemon listens, such as http://127.0.0.1:9788".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_http_is_spoken() {
        assert!(address("http://[::1]:9788").is_ok() && address("http://probe/below").is_ok());
        assert!(address("https://probe").is_err() && address("probe:9788").is_err() && address("").is_err());
    }

    #[test]
    fn a_place_has_a_host_and_a_port() {
        for (url, at) in [("http://probe", "probe:80"), ("http://[::1]:9788/x", "[::1]:9788")] {
            assert_eq!(place(&address(url).unwrap()), at);
        }
    }

    #[test]
    fn an_answer_is_read_and_nothing_else_is() {
        let found = |text| read(text).map(|answer| (answer.status, answer.body));
        assert_eq!(found("HTTP/1.0 200 OK\r\na: b\r\n\r\nyes"), Some((200, "yes".to_owned())));
        assert_eq!(found("HTTP/1.1 503\r\n\r\n"), Some((503, String::new())));
        for other in ["", "SSH-2.0-x\r\n", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 fine\r\n\r\n", "SSH 200\r\n\r\n"]
        {
            assert_eq!(found(other), None, "{other:?}");
        }
    }
}
