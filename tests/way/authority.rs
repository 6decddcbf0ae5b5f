//! A certificate authority for tests.

use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::rustls::sign::CertifiedKey;

pub struct Authority {
    pub pem: String,
    pub der: CertificateDer<'static>,
    issuer: Issuer<'static, KeyPair>,
}

/// A certificate with its key.
#[derive(Debug, Clone)]
pub struct Identity {
    pub pem: String,
    pub key_pem: String,
    pub loaded: Arc<CertifiedKey>,
}

impl Authority {
    pub fn new(name: &str) -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.remove(DnType::CommonName);
        params.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate().expect("ring makes keys");
        let own = params.self_signed(&key).expect("it can be signed");
        Self { pem: own.pem(), der: own.der().clone(), issuer: Issuer::new(params, key) }
    }

    /// A certificate for these names that ends on the first of January.
    pub fn issue(&self, names: &[&str], year: i32) -> Identity {
        let names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
        let mut params = CertificateParams::new(names).expect("the names are sound");
        params.not_after = date_time_ymd(year, 1, 1);
        self.sign(&params)
    }

    /// A certificate that begins in a hundred years.
    pub fn issue_early(&self, name: &str) -> Identity {
        let mut params = CertificateParams::new([name.to_owned()]).expect("the name is sound");
        params.not_before = date_time_ymd(2126, 1, 1);
        self.sign(&params)
    }

    fn sign(&self, params: &CertificateParams) -> Identity {
        let key = KeyPair::generate().expect("ring makes keys");
        let own = params.signed_by(&key, &self.issuer).expect("it can be signed");
        let der = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let signer = ring::sign::any_supported_type(&der).expect("ring knows its own keys");
        let loaded = Arc::new(CertifiedKey::new(vec![own.der().clone()], signer));
        Identity { pem: own.pem(), key_pem: key.serialize_pem(), loaded }
    }
}
