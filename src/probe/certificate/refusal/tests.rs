use std::sync::Arc;

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, date_time_ymd};
use rustls::client::danger::ServerCertVerifier as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};

use crate::domain::clock::wall_now;
use crate::domain::{Way, fixture};
use crate::probe::certificate::CertificateWatch;
use crate::probe::knowledge::Knowledge;
use crate::probe::tls::{Handshake, Trust};

/// What is said of this chain by somebody who trusts this authority alone.
async fn told(ca: &CertificateDer<'static>, chain: &[&CertificateDer<'static>]) -> String {
    let mut target = (*fixture::target("t", &["w"])).clone();
    target.url = "https://localhost".parse().unwrap();
    target.way = Way { ca: Some([ca.clone()].into()), ..Way::default() };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let knowledge = Arc::new(Knowledge::new(&target));
    let watch = CertificateWatch::new(&target, &Trust::default(), &provider, &knowledge);
    let others: Vec<_> = chain[1..].iter().copied().cloned().collect();
    let name = ServerName::try_from("localhost").unwrap();
    let now = UnixTime::since_unix_epoch(wall_now().duration_since(std::time::UNIX_EPOCH).unwrap());
    let handshake = Arc::new(Handshake::default());
    let verified =
        Arc::clone(&handshake).scope(async { watch.verify_server_cert(chain[0], &others, &name, &[], now) });
    assert!(verified.await.is_err());
    handshake.refusal().expect("it is told why")
}

fn authority(name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.distinguished_name.push(DnType::CommonName, name);
    params
}

fn self_signed(params: &CertificateParams) -> CertificateDer<'static> {
    params.self_signed(&KeyPair::generate().unwrap()).unwrap().der().clone()
}

fn server() -> CertificateParams {
    CertificateParams::new(["localhost".to_owned()]).unwrap()
}

#[tokio::test]
async fn an_authority_that_expired_on_the_way_is_named() {
    let (root, mut middle) = (authority("root"), authority("middle"));
    middle.not_after = date_time_ymd(2024, 1, 1);
    let (root_key, middle_key, key) =
        (KeyPair::generate().unwrap(), KeyPair::generate().unwrap(), KeyPair::generate().unwrap());
    let ca = root.self_signed(&root_key).unwrap().der().clone();
    let between = middle.signed_by(&middle_key, &Issuer::new(root, root_key)).unwrap().der().clone();
    let own = server().signed_by(&key, &Issuer::new(middle, middle_key)).unwrap().der().clone();
    let told = told(&ca, &[&own, &between]).await;
    let wanted = "that of the intermediate authority \"CN=middle\" expired at 2024-01-01T00:00:00Z";
    assert!(told.contains(wanted), "{told}");
}

#[tokio::test]
async fn a_self_signed_certificate_is_called_so() {
    let mut params = server();
    params.distinguished_name.push(DnType::CommonName, "mine");
    let told = told(&self_signed(&authority("other")), &[&self_signed(&params)]).await;
    assert_eq!(told, "the certificate is self-signed and not trusted here; set ca to a file that holds it");
}

#[tokio::test]
async fn a_certificate_without_names_is_called_so() {
    let own = self_signed(&CertificateParams::default());
    let told = told(&own, &[&own]).await;
    assert!(told.starts_with("the certificate is not valid for localhost: it names no server"), "{told}");
}

#[tokio::test]
async fn the_certificate_of_an_authority_is_no_server_s() {
    let mut params = authority("both");
    params.subject_alt_names = server().subject_alt_names;
    let own = self_signed(&params);
    let told = told(&own, &[&own]).await;
    assert!(told.contains("is that of an authority (CA:TRUE)"), "{told}");
}

#[tokio::test]
async fn a_damaged_certificate_and_long_names_do_no_harm() {
    let ca = self_signed(&authority("root"));
    let garbage = CertificateDer::from(b"garbage".as_slice());
    assert_eq!(told(&ca, &[&garbage]).await, "the certificate cannot be read: it is damaged");

    let long = authority(&"x\u{1b}\n".repeat(300));
    let own =
        server().signed_by(&KeyPair::generate().unwrap(), &Issuer::new(long, KeyPair::generate().unwrap()));
    let told = told(&ca, &[own.unwrap().der()]).await;
    assert!(told.contains("not trusted here, \"") && told.chars().count() < 300, "{told}");
    assert!(!told.chars().any(char::is_control), "{told}");
}
