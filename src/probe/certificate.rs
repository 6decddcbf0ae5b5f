//! Notes when the certificates that a target presents end, beside the verification that rustls does.
//!
//! A resumed session presents no certificate; what was noted before stays.

use std::sync::Arc;
use std::time::SystemTime;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, DistinguishedName, Error, RootCertStore, SignatureScheme};
use x509_cert::Certificate;
use x509_cert::der::Decode as _;

use super::knowledge::Knowledge;
use crate::domain::Target;

/// Looks at the chain, then leaves every decision to the verifier that rustls would have used.
#[derive(Debug)]
pub(super) struct CertificateWatch {
    verifier: Arc<WebPkiServerVerifier>,
    /// A proxy presents a chain as well, of which nothing is to be said.
    server: ServerName<'static>,
    knowledge: Arc<Knowledge>,
}

impl CertificateWatch {
    /// None for plain http, and where nobody is trusted: then no chain is good, and rustls makes no verifier
    /// that could be asked.
    pub(super) fn new(
        target: &Target,
        roots: &Arc<RootCertStore>,
        provider: &Arc<CryptoProvider>,
        knowledge: &Arc<Knowledge>,
    ) -> Option<Self> {
        let host = target.url.host_str().filter(|_| target.is_secure())?;
        let server = ServerName::try_from(host.trim_matches(['[', ']']).to_owned()).ok()?;
        let verifier =
            WebPkiServerVerifier::builder_with_provider(Arc::clone(roots), Arc::clone(provider)).build();
        Some(Self { verifier: verifier.ok()?, server, knowledge: Arc::clone(knowledge) })
    }
}

impl ServerCertVerifier for CertificateWatch {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        // First of all: that a chain has expired is known of one that is about to be refused.
        if *server_name == self.server
            && let Some(expiry) = earliest_end(std::iter::once(end_entity).chain(intermediates))
        {
            self.knowledge.saw_certificate(expiry);
        }
        self.verifier.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.verifier.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.verifier.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.verifier.supported_verify_schemes()
    }

    fn requires_raw_public_keys(&self) -> bool {
        self.verifier.requires_raw_public_keys()
    }

    fn root_hint_subjects(&self) -> Option<&[DistinguishedName]> {
        self.verifier.root_hint_subjects()
    }
}

/// When the first of these certificates ends. What cannot be read is passed over: whether it is a fault is for
/// the verifier to say.
fn earliest_end<'a>(chain: impl Iterator<Item = &'a CertificateDer<'a>>) -> Option<SystemTime> {
    chain.filter_map(|certificate| end(certificate)).min()
}

fn end(certificate: &[u8]) -> Option<SystemTime> {
    let certificate = Certificate::from_der(certificate).ok()?;
    Some(certificate.tbs_certificate().validity().not_after.to_system_time())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use rcgen::{CertificateParams, KeyPair, date_time_ymd};

    use super::*;
    use crate::domain::clock::wall_now;
    use crate::domain::fixture;

    /// A certificate for `localhost` that ends at midnight of a day.
    fn ending(year: i32, month: u8, day: u8) -> CertificateDer<'static> {
        let mut params = CertificateParams::new(["localhost".to_owned()]).unwrap();
        params.not_after = date_time_ymd(year, month, day);
        params.self_signed(&KeyPair::generate().unwrap()).unwrap().der().clone()
    }

    fn unix(seconds: u64) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
    }

    fn watch(url: &str, trusted: &CertificateDer<'static>) -> Option<CertificateWatch> {
        let mut target = (*fixture::target("t", &["w"])).clone();
        target.url = url.parse().unwrap();
        let mut roots = RootCertStore::empty();
        roots.add(trusted.clone()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let knowledge = Arc::new(Knowledge::new(&target));
        CertificateWatch::new(&target, &Arc::new(roots), &provider, &knowledge)
    }

    /// Whether a certificate is taken, and what is noted then.
    fn shown(
        watch: &CertificateWatch,
        certificate: &CertificateDer<'_>,
        name: &str,
    ) -> (bool, Option<SystemTime>) {
        let name = ServerName::try_from(name).unwrap();
        let now = UnixTime::since_unix_epoch(wall_now().duration_since(SystemTime::UNIX_EPOCH).unwrap());
        let verified = watch.verify_server_cert(certificate, &[], &name, &[], now);
        (verified.is_ok(), watch.knowledge.certificate_expiry())
    }

    #[test]
    fn the_end_is_read_in_both_ways_of_writing_it() {
        assert_eq!(end(&ending(2049, 12, 31)), Some(unix(2_524_521_600)));
        assert_eq!(end(&ending(2050, 1, 1)), Some(unix(2_524_608_000)));
        assert_eq!(end(&ending(9999, 12, 31)), Some(unix(253_402_214_400)));
    }

    #[test]
    fn no_garbage_has_an_end_or_does_harm() {
        let whole = ending(2040, 1, 1);
        assert!(end(&whole).is_some());
        for length in 0..whole.len() {
            assert_eq!(end(&whole[..length]), None, "{length} bytes");
        }
        for at in 0..whole.len() {
            for value in [0x00, 0x7f, 0x80, 0xff] {
                let mut broken = whole.to_vec();
                broken[at] = value;
                let _ = end(&broken);
            }
        }
        assert_eq!(end(&[whole.as_ref(), b"more"].concat()), None);
    }

    #[test]
    fn the_first_end_of_what_can_be_read_counts() {
        let (early, late) = (ending(2040, 1, 1), ending(2045, 1, 1));
        let garbage = CertificateDer::from(b"garbage".as_slice());
        assert_eq!(earliest_end([&late, &garbage, &early].into_iter()), Some(unix(2_208_988_800)));
        assert_eq!(earliest_end([&garbage].into_iter()), None);
    }

    #[test]
    fn whatever_is_noted_the_verifier_decides() {
        let (good, expired, other) = (ending(2045, 1, 1), ending(2020, 1, 1), ending(2040, 1, 1));
        let watch_good = watch("https://localhost", &good).unwrap();
        assert_eq!(shown(&watch_good, &good, "localhost"), (true, Some(unix(2_366_841_600))));
        assert_eq!(shown(&watch_good, &other, "localhost"), (false, Some(unix(2_208_988_800))));
        let garbage = CertificateDer::from(b"garbage".as_slice());
        assert_eq!(shown(&watch_good, &garbage, "localhost"), (false, Some(unix(2_208_988_800))));
        let watch_expired = watch("https://localhost", &expired).unwrap();
        assert_eq!(shown(&watch_expired, &expired, "localhost"), (false, Some(unix(1_577_836_800))));
    }

    #[test]
    fn the_chain_of_a_proxy_is_not_that_of_the_target() {
        let good = ending(2045, 1, 1);
        let watching = |url: &str| watch(url, &good);
        let elsewhere = watching("https://llm.example.com").unwrap();
        assert_eq!(shown(&elsewhere, &good, "localhost"), (true, None));
        let by_address = watching("https://[::1]:8443/v1").unwrap();
        assert_eq!(shown(&by_address, &good, "::1"), (false, Some(unix(2_366_841_600))));
        assert!(watching("http://localhost").is_none());
    }
}
