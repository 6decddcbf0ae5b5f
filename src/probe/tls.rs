//! TLS for probes: the system's certificates, and a hook that tells when TCP was done.

use std::sync::{Arc, OnceLock};

use rustls::client::{ClientSessionMemoryCache, ClientSessionStore, Resumption};
use rustls::client::{Tls12ClientSessionValue, Tls13ClientSessionValue};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, NamedGroup, RootCertStore};

use super::certificate::CertificateWatch;
use super::knowledge::Knowledge;
use super::phases::Phases;
use crate::domain::Target;

/// Sessions kept for resumption; a lane talks to one server.
const SESSIONS: usize = 4;

/// The certificate authorities of the system. They are read once, and only if a target speaks TLS: it
/// takes milliseconds.
#[derive(Debug, Clone, Default)]
pub struct Trust(Arc<OnceLock<Arc<RootCertStore>>>);

impl Trust {
    fn roots(&self, secure: bool) -> Arc<RootCertStore> {
        if secure { Arc::clone(self.0.get_or_init(system_roots)) } else { Arc::new(RootCertStore::empty()) }
    }
}

pub(super) fn client_config(
    target: &Target,
    trust: &Trust,
    phases: &Arc<Phases>,
    knowledge: &Arc<Knowledge>,
) -> ClientConfig {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let roots = trust.roots(target.is_secure());
    let watch = CertificateWatch::new(target, &roots, &provider, knowledge);
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("ring supports the default versions of TLS");
    let builder = match watch {
        Some(watch) => builder.dangerous().with_custom_certificate_verifier(Arc::new(watch)),
        None => builder.with_root_certificates(roots),
    };
    let mut config = builder.with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    config.resumption = Resumption::store(Arc::new(HandshakeWatch {
        phases: Arc::clone(phases),
        sessions: ClientSessionMemoryCache::new(SESSIONS),
    }));
    config
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
            "no certificate authorities found: every https target will fail; install ca-certificates or set SSL_CERT_FILE"
        );
    }
    Arc::new(roots)
}

/// A handshake begins by looking for a session to resume: at that instant TCP is open.
#[derive(Debug)]
struct HandshakeWatch {
    phases: Arc<Phases>,
    sessions: ClientSessionMemoryCache,
}

impl ClientSessionStore for HandshakeWatch {
    fn set_kx_hint(&self, server: ServerName<'static>, group: NamedGroup) {
        self.sessions.set_kx_hint(server, group);
    }

    fn kx_hint(&self, server: &ServerName<'_>) -> Option<NamedGroup> {
        self.phases.connected();
        self.sessions.kx_hint(server)
    }

    fn set_tls12_session(&self, server: ServerName<'static>, value: Tls12ClientSessionValue) {
        self.sessions.set_tls12_session(server, value);
    }

    fn tls12_session(&self, server: &ServerName<'_>) -> Option<Tls12ClientSessionValue> {
        self.phases.connected();
        self.sessions.tls12_session(server)
    }

    fn remove_tls12_session(&self, server: &ServerName<'static>) {
        self.sessions.remove_tls12_session(server);
    }

    fn insert_tls13_ticket(&self, server: ServerName<'static>, value: Tls13ClientSessionValue) {
        self.sessions.insert_tls13_ticket(server, value);
    }

    fn take_tls13_ticket(&self, server: &ServerName<'static>) -> Option<Tls13ClientSessionValue> {
        self.phases.connected();
        self.sessions.take_tls13_ticket(server)
    }
}
