//! Verifies the certificates of a target, notes when they end, and says in plain words why they are refused.

mod refusal;

use std::sync::{Arc, OnceLock};
use std::time::SystemTime;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{CertificateError, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use x509_cert::Certificate;
use x509_cert::der::Decode as _;

use super::knowledge::Knowledge;
use super::tls::{self, Trust};
use crate::domain::{ProxyAddress, Target, Way};
use refusal::Refusal;

/// Looks at the chain, then leaves every decision to the verifier of rustls.
#[derive(Debug)]
pub(super) struct CertificateWatch {
    /// The target; any other name is that of a proxy. None for plain http.
    server: Option<ServerName<'static>>,
    verification: Verification,
    /// For proxies; made when the first of them presents a chain.
    proxies: OnceLock<Verification>,
    way: Way,
    trust: Trust,
    provider: Arc<CryptoProvider>,
    knowledge: Arc<Knowledge>,
}

#[derive(Debug)]
enum Verification {
    Against(Arc<WebPkiServerVerifier>),
    /// There are no certificate authorities, so no chain is good. Rustls makes no verifier of that.
    Nobody,
    Skipped,
}

impl CertificateWatch {
    pub(super) fn new(
        target: &Target,
        trust: &Trust,
        provider: &Arc<CryptoProvider>,
        knowledge: &Arc<Knowledge>,
    ) -> Self {
        let way = target.way.clone();
        let server = Some(target.server_name().to_owned()).filter(|_| target.is_secure());
        let verification = if target.skips_verification() || !target.is_secure() {
            Verification::Skipped
        } else {
            Verification::against(trust.roots(way.ca.as_deref()), provider)
        };
        let watch = Self {
            server: server.and_then(|name| ServerName::try_from(name).ok()),
            verification,
            proxies: OnceLock::new(),
            way,
            trust: trust.clone(),
            provider: Arc::clone(provider),
            knowledge: Arc::clone(knowledge),
        };
        if watch.way.proxy.address().is_some_and(ProxyAddress::is_secure) {
            // Now rather than within a handshake whose time is measured.
            watch.of_proxies();
        }
        watch
    }

    /// A proxy is verified always, by the system's authorities and those of the target together.
    fn of_proxies(&self) -> &Verification {
        let make = || Verification::against(self.trust.roots_and(self.way.ca.as_deref()), &self.provider);
        self.proxies.get_or_init(make)
    }
}

impl Verification {
    fn against(roots: Arc<RootCertStore>, provider: &Arc<CryptoProvider>) -> Self {
        let verifier = WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(provider)).build();
        verifier.map_or(Self::Nobody, Self::Against)
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
        let is_target = self.server.as_ref().is_some_and(|server| server == server_name);
        // First of all: the end of a chain is worth knowing though it is about to be refused.
        if is_target && let Some(expiry) = earliest_end(std::iter::once(end_entity).chain(intermediates)) {
            self.knowledge.saw_certificate(expiry);
        }
        let verification = if is_target { &self.verification } else { self.of_proxies() };
        let result = match verification {
            Verification::Against(verifier) => {
                verifier.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
            }
            Verification::Nobody => Err(CertificateError::UnknownIssuer.into()),
            Verification::Skipped => Ok(ServerCertVerified::assertion()),
        };
        result.inspect_err(|error| {
            let trusts_anybody = !matches!(verification, Verification::Nobody);
            let refusal =
                Refusal { error, end_entity, intermediates, server_name, now, is_target, trusts_anybody };
            tls::refused(refusal.to_string());
        })
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
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

    fn watch(url: &str, trusted: &CertificateDer<'static>) -> CertificateWatch {
        let way = Way { ca: Some([trusted.clone()].into()), ..Way::default() };
        watch_on(url, way)
    }

    fn watch_on(url: &str, way: Way) -> CertificateWatch {
        let mut target = (*fixture::target("t", &["w"])).clone();
        target.url = url.parse().unwrap();
        target.way = way;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let knowledge = Arc::new(Knowledge::new(&target));
        CertificateWatch::new(&target, &Trust::default(), &provider, &knowledge)
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
        let watch_good = watch("https://localhost", &good);
        assert_eq!(shown(&watch_good, &good, "localhost"), (true, Some(unix(2_366_841_600))));
        assert_eq!(shown(&watch_good, &other, "localhost"), (false, Some(unix(2_208_988_800))));
        let garbage = CertificateDer::from(b"garbage".as_slice());
        assert_eq!(shown(&watch_good, &garbage, "localhost"), (false, Some(unix(2_208_988_800))));
        let watch_expired = watch("https://localhost", &expired);
        assert_eq!(shown(&watch_expired, &expired, "localhost"), (false, Some(unix(1_577_836_800))));
    }

    #[test]
    fn the_chain_of_a_proxy_is_not_that_of_the_target() {
        let good = ending(2045, 1, 1);
        let elsewhere = watch("https://llm.example.com", &good);
        assert_eq!(shown(&elsewhere, &good, "localhost"), (true, None));
        let by_address = watch("https://[::1]:8443/v1", &good);
        assert_eq!(shown(&by_address, &good, "::1"), (false, Some(unix(2_366_841_600))));
        assert_eq!(shown(&watch("http://localhost", &good), &good, "localhost"), (true, None));
    }

    #[test]
    fn a_certificate_is_that_of_the_server_name() {
        let good = ending(2045, 1, 1);
        let way =
            Way { ca: Some([good.clone()].into()), server_name: Some("localhost".into()), ..Way::default() };
        let watch = watch_on("https://127.0.0.1:8443", way);
        assert_eq!(shown(&watch, &good, "localhost"), (true, Some(unix(2_366_841_600))));
    }

    #[test]
    fn skipping_the_verification_concerns_the_target_alone() {
        let expired = ending(2020, 1, 1);
        let way = Way { insecure_skip_verify: true, ..Way::default() };
        let watch = watch_on("https://llm.example.com", way);
        assert_eq!(shown(&watch, &expired, "localhost"), (false, None));
        assert_eq!(shown(&watch, &expired, "llm.example.com"), (true, Some(unix(1_577_836_800))));
    }
}
