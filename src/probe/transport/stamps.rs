//! Parts of the HTTP client that stamp the phases of a connection as they pass.

use std::convert::Infallible;
use std::error::Error;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper_util::client::legacy::connect::Connection;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use tower::{Layer, Service};

use crate::domain::{IpFamily, Target};
use crate::probe::phases::Phases;
use crate::probe::tls::Handshake;

/// A request body that stamps the instant at which the connection asks for it.
#[derive(Debug)]
pub(super) struct StampedBody {
    pub(super) bytes: Option<Bytes>,
    pub(super) phases: Arc<Phases>,
}

/// The system's resolver, stamped.
#[derive(Debug)]
pub(super) struct StampedResolver {
    phases: Arc<Phases>,
    family: Option<IpFamily>,
    /// The name that requests are for, and the host to look up instead of it.
    instead: Option<(String, String)>,
}

/// Wraps the client's connector to stamp when dialling begins and ends.
#[derive(Debug, Clone)]
pub(super) struct StampedConnect {
    pub(super) handshake: Arc<Handshake>,
    pub(super) secure: bool,
    /// A server that has not chosen HTTP/2 would be sent it all the same.
    pub(super) must_be_h2: bool,
}

#[derive(Debug, Clone)]
pub(super) struct StampedConnector<S> {
    inner: S,
    stamp: StampedConnect,
}

impl Body for StampedBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let bytes = self.bytes.take();
        if bytes.is_some() {
            self.phases.sent();
        }
        Poll::Ready(bytes.map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        self.bytes.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.bytes.as_ref().map_or(0, |bytes| bytes.len() as u64))
    }
}

impl StampedResolver {
    pub(super) fn new(target: &Target, phases: &Arc<Phases>) -> Self {
        let host = target.url.host_str().unwrap_or_default().to_owned();
        let instead = target.way.server_name.clone().map(|name| (name, host));
        Self { phases: Arc::clone(phases), family: target.way.ip, instead }
    }

    fn host_of(&self, name: &str) -> String {
        let instead = self.instead.as_ref().filter(|(asked, _)| asked == name);
        let host = instead.map_or(name, |(_, host)| host);
        host.trim_matches(['[', ']']).to_owned()
    }
}

impl Resolve for StampedResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let (phases, family, host) = (Arc::clone(&self.phases), self.family, self.host_of(name.as_str()));
        Box::pin(async move {
            if let Ok(address) = host.parse::<IpAddr>() {
                // Nothing is looked up, so nothing is stamped.
                return Ok(Box::new(std::iter::once(SocketAddr::from((address, 0)))) as Addrs);
            }
            phases.resolving();
            let found: Vec<_> = tokio::net::lookup_host((host.as_str(), 0)).await?.collect();
            let found = usable(found, &host, family)?;
            phases.resolved();
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

fn usable(
    mut found: Vec<SocketAddr>,
    host: &str,
    family: Option<IpFamily>,
) -> Result<Vec<SocketAddr>, Box<dyn Error + Send + Sync>> {
    if found.is_empty() {
        return Err(format!("no address for {host}").into());
    }
    if let Some(family) = family {
        let other = found[0].ip();
        found.retain(|address| family.has(address.ip()));
        if found.is_empty() {
            let label = family.label();
            return Err(format!("{host} has no {label} address, only such as {other}; see ip").into());
        }
    }
    Ok(found)
}

impl<S> Layer<S> for StampedConnect {
    type Service = StampedConnector<S>;

    fn layer(&self, inner: S) -> Self::Service {
        StampedConnector { inner, stamp: self.clone() }
    }
}

impl<S, R> Service<R> for StampedConnector<S>
where
    S: Service<R>,
    S::Future: Send + 'static,
    S::Response: Connection + 'static,
    S::Error: From<&'static str> + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, destination: R) -> Self::Future {
        let StampedConnect { handshake, secure, must_be_h2 } = self.stamp.clone();
        // A connection that was closed while idle is dialled anew: only the last attempt counts.
        handshake.begin();
        let connecting = self.inner.call(destination);
        Box::pin(async move {
            let connection = Arc::clone(&handshake).scope(connecting).await?;
            if must_be_h2 && !connection.connected().is_negotiated_h2() {
                return Err(NO_H2.into());
            }
            handshake.phases.ready(secure);
            Ok(connection)
        })
    }
}

const NO_H2: &str = "the server does not offer HTTP/2; write http = \"1.1\" or leave http out";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_the_wrong_family_is_not_used() {
        let both: Vec<SocketAddr> = ["127.0.0.1:0", "[::1]:0"].map(|text| text.parse().unwrap()).into();
        let of = |family| usable(both.clone(), "both.test", family).unwrap();
        assert_eq!((of(None), of(Some(IpFamily::V4))), (both.clone(), both[..1].to_vec()));
        assert_eq!(of(Some(IpFamily::V6)), both[1..]);
        let told = usable(both[..1].to_vec(), "one.test", Some(IpFamily::V6)).unwrap_err().to_string();
        assert_eq!(told, "one.test has no IPv6 address, only such as 127.0.0.1; see ip");
        assert!(usable(Vec::new(), "none.test", None).is_err());
    }
}
