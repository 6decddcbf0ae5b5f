//! TLS for probes: one configuration per target, without resumption, and a hook that tells when TCP was done.

mod alert;
mod handshake;

use std::sync::{Arc, OnceLock};

use rustls::client::{ClientSessionStore, Resumption, Tls12Resumption};
use rustls::client::{Tls12ClientSessionValue, Tls13ClientSessionValue};
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, NamedGroup, RootCertStore};

use super::certificate::CertificateWatch;
use super::knowledge::Knowledge;
use crate::domain::{HttpVersion, Target};
pub(super) use alert::{explain, explain_alert};
pub(super) use handshake::{Handshake, refused};

/// The certificate authorities of the system. They are read once, and only if a target needs them: it takes
/// milliseconds.
#[derive(Debug, Clone, Default)]
pub struct Trust(Arc<OnceLock<Arc<RootCertStore>>>);

impl Trust {
    /// The authorities of the system, or these alone.
    pub fn roots(&self, instead: Option<&[CertificateDer<'static>]>) -> Arc<RootCertStore> {
        let Some(instead) = instead else { return Arc::clone(self.0.get_or_init(system_roots)) };
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(instead.iter().cloned());
        Arc::new(roots)
    }

    /// The authorities of the system, and these as well.
    pub(super) fn roots_and(&self, more: Option<&[CertificateDer<'static>]>) -> Arc<RootCertStore> {
        let system = self.roots(None);
        let Some(more) = more else { return system };
        let mut roots = RootCertStore::clone(&system);
        roots.add_parsable_certificates(more.iter().cloned());
        Arc::new(roots)
    }
}

/// Made once for each target. A clone shares everything that is dear to make: provider, verifier and key.
pub(super) fn client_config(
    target: &Target,
    trust: &Trust,
    knowledge: &Arc<Knowledge>,
) -> Result<ClientConfig, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let watch = CertificateWatch::new(target, trust, &provider, knowledge);
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(watch));
    let mut config = match &target.way.client {
        Some(client) => builder.with_client_auth_cert(client.chain.clone(), client.key.clone_key())?,
        None => builder.with_no_client_auth(),
    };
    let offered: &[&[u8]] = match target.way.http {
        Some(HttpVersion::Http1) => &[b"http/1.1"],
        Some(HttpVersion::Http2) => &[b"h2"],
        None => &[b"h2", b"http/1.1"],
    };
    config.alpn_protocols = offered.iter().map(|protocol| protocol.to_vec()).collect();
    let hook = Arc::new(NoSessions { server: ServerName::try_from(target.server_name().to_owned()).ok() });
    config.resumption = Resumption::store(hook).tls12_resumption(Tls12Resumption::Disabled);
    Ok(config)
}

fn system_roots() -> Arc<RootCertStore> {
    let found = rustls_native_certs::load_native_certs();
    for error in &found.errors {
        tracing::warn!(%error, "cannot read some of the system's certificates");
    }
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(found.certs);
    if roots.is_empty() {
        tracing::warn!(
            "no certificate authorities found: every https target without a ca of its own will fail; install ca-certificates or set SSL_CERT_FILE"
        );
    }
    Arc::new(roots)
}

/// Keeps no session. A resumed session presents no certificate, so one that went bad would stay unseen for as long as
/// the server honours its tickets, while every new client fails.
///
/// A handshake begins by asking for a session: at that instant, what is below TLS stands.
#[derive(Debug)]
struct NoSessions {
    /// A TLS session with a proxy is part of the way, and not yet the target's.
    server: Option<ServerName<'static>>,
}

impl NoSessions {
    fn asked(&self, server: &ServerName<'_>) {
        if self.server.as_ref().is_some_and(|own| own == server) {
            handshake::connected();
        }
    }
}

impl ClientSessionStore for NoSessions {
    fn set_kx_hint(&self, _: ServerName<'static>, _: NamedGroup) {}

    fn kx_hint(&self, server: &ServerName<'_>) -> Option<NamedGroup> {
        self.asked(server);
        None
    }

    fn set_tls12_session(&self, _: ServerName<'static>, _: Tls12ClientSessionValue) {}

    fn tls12_session(&self, server: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        self.asked(server);
        None
    }

    fn remove_tls12_session(&self, _: &ServerName<'static>) {}

    fn insert_tls13_ticket(&self, _: ServerName<'static>, _: Tls13ClientSessionValue) {}

    fn take_tls13_ticket(&self, server: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        self.asked(server);
        None
    }
}
