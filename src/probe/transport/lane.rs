//! A client with at most one connection.

use std::sync::Arc;
use std::time::Duration;

use super::broken::Broken;
use super::stamps::{StampedConnect, StampedResolver};
use crate::domain::{Connection, HttpVersion, Proxy, Target};
use crate::probe::phases::Phases;
use crate::probe::tls::Handshake;

/// A connection idle for longer is not used again. Servers built on uvicorn close after 5 s, and a request
/// sent at that very moment dies: a failure that no user would see. Nothing is lost: TCP forgets what it
/// learned of the path when idle, and TTFT leaves the handshake out.
const IDLE: Duration = Duration::from_secs(4);

/// Who asks, and where to read what that is: for whoever finds it in the log of a server.
const USER_AGENT: &str =
    concat!("sloprobe/", env!("CARGO_PKG_VERSION"), " (+", env!("CARGO_PKG_REPOSITORY"), ")");

/// Used by one probe at a time.
#[derive(Debug)]
pub(in crate::probe) struct Lane {
    pub(super) client: reqwest::Client,
    pub(in crate::probe) phases: Arc<Phases>,
    handshake: Arc<Handshake>,
    target: Arc<Target>,
}

impl Lane {
    /// `tls` is shared by all lanes of a target; its clone is cheap.
    pub(super) fn new(target: &Arc<Target>, tls: &rustls::ClientConfig) -> Result<Self, reqwest::Error> {
        let handshake = Arc::new(Handshake::default());
        let way = &target.way;
        let must_be_h2 = target.is_secure() && way.http == Some(HttpVersion::Http2);
        let connect =
            StampedConnect { handshake: Arc::clone(&handshake), secure: target.is_secure(), must_be_h2 };
        let builder = reqwest::Client::builder()
            .user_agent(USER_AGENT)
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .referer(false)
            .pool_idle_timeout(IDLE)
            .pool_max_idle_per_host(usize::from(target.connection == Connection::Reuse))
            .dns_resolver(StampedResolver::new(target, &handshake.phases))
            .connector_layer(connect)
            .tls_backend_preconfigured(tls.clone());
        let builder = match &way.proxy {
            Proxy::Through(proxy) => builder.proxy(reqwest::Proxy::all(proxy.expose())?),
            Proxy::Environment if obeys_environment(target) => builder,
            Proxy::Environment | Proxy::Never => builder.no_proxy(),
        };
        let builder = match way.http {
            Some(HttpVersion::Http1) => builder.http1_only(),
            Some(HttpVersion::Http2) => builder.http2_prior_knowledge(),
            None => builder,
        };
        let phases = Arc::clone(&handshake.phases);
        Ok(Self { client: builder.build()?, phases, handshake, target: Arc::clone(target) })
    }

    /// What an error of this lane's client means.
    pub(super) fn broken(&self, error: reqwest::Error) -> Broken {
        let is_connect = error.is_connect();
        let way = &self.target.way;
        let mut broken = Broken::new(error, way.client.is_some());
        if let Some(refusal) = self.handshake.refusal() {
            broken.detail = refusal;
        }
        if let (true, Some(proxy)) = (is_connect, way.proxy.address()) {
            broken.detail = format!("through the proxy {proxy}: {}", broken.detail);
        }
        broken
    }
}

/// A proxy of the environment is for the world outside, never for this machine. Nor can it be asked for an address under
/// another name, or for HTTP/2 without TLS.
fn obeys_environment(target: &Target) -> bool {
    let plain_h2 = target.way.http == Some(HttpVersion::Http2) && !target.is_secure();
    !is_loopback(&target.url) && target.way.server_name.is_none() && !plain_h2
}

fn is_loopback(url: &url::Url) -> bool {
    match url.host() {
        Some(url::Host::Ipv4(ip)) => ip.is_loopback(),
        Some(url::Host::Ipv6(ip)) => ip.is_loopback(),
        Some(url::Host::Domain(name)) => name == "localhost",
        None => false,
    }
}
