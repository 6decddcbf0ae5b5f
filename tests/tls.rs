//! Probes over TLS, with certificates that only the system's store vouches for.

mod common;
mod support;

use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use common::{Daemon, PATIENCE, config, eventually, run, sloprobe};
use rcgen::{BasicConstraints, Certificate, CertificateParams, IsCa, Issuer, KeyPair, date_time_ymd};
use serde_json::Value;
use support::{Step, end, head, text};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

const WORKLOAD: &str = "[[workloads]]\nname = 'w'\nkind = 'chat'\n";

/// A server over TLS on this machine; it ends when dropped.
struct Server {
    url: String,
    task: JoinHandle<()>,
}

impl Server {
    /// Shows this chain, the server's own certificate first, and answers every request with two tokens.
    async fn showing(chain: &[&Certificate], key: &KeyPair) -> Self {
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let chain = chain.iter().map(|certificate| certificate.der().clone()).collect();
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("ring supports the default versions")
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .expect("the key is that of the certificate");
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        let port = listener.local_addr().expect("it has an address").port();
        let url = format!("https://localhost:{port}");
        Self { url, task: tokio::spawn(serve(listener, TlsAcceptor::from(Arc::new(config)))) }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn script() -> Vec<Step> {
    vec![head(), Step::Send(text("a") + &text("b")), end(2)]
}

async fn serve(listener: TcpListener, acceptor: TlsAcceptor) {
    let sent = script().into_iter().filter_map(|step| match step {
        Step::Send(bytes) => Some(bytes),
        _ => None,
    });
    let answer: String = sent.collect();
    while let Ok((stream, _)) = listener.accept().await {
        if let Ok(mut stream) = acceptor.accept(stream).await {
            let mut request = vec![0; 65536];
            let _ = stream.read(&mut request).await;
            let _ = stream.write_all(answer.as_bytes()).await;
            let _ = stream.shutdown().await;
        }
    }
}

/// What a certificate for this machine says; it ends at midnight of a day.
fn params(year: i32, month: u8, day: u8) -> CertificateParams {
    let mut params = CertificateParams::new(["localhost".to_owned()]).expect("the name is sound");
    params.not_after = date_time_ymd(year, month, day);
    params
}

fn self_signed(params: &CertificateParams) -> (Certificate, KeyPair) {
    let key = KeyPair::generate().expect("ring makes keys");
    (params.self_signed(&key).expect("it can be signed"), key)
}

/// A file with one target, and whom to trust beside it.
fn trusting(trusted: &Certificate, url: &str) -> TempDir {
    let folder = config(&format!("[[targets]]\nname = 't'\nurl = '{url}'\nmodel = 'tiny'\n{WORKLOAD}"));
    std::fs::write(folder.path().join("ca.pem"), trusted.pem()).expect("the folder can be written to");
    folder
}

fn command(args: &[&str], folder: &TempDir) -> Command {
    let mut command = sloprobe(args);
    command.current_dir(folder.path()).env("SSL_CERT_FILE", folder.path().join("ca.pem"));
    command
}

/// The report of one probe by somebody who trusts this certificate alone.
async fn once(trusted: &Certificate, url: &str) -> Value {
    let folder = trusting(trusted, url);
    let ended = run(&mut command(&["once", "--json"], &folder)).await;
    serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {ended:?}"))
}

#[tokio::test]
async fn the_phases_of_a_tls_connection_are_told_apart() {
    let (own, key) = self_signed(&params(4096, 1, 1));
    let server = Server::showing(&[&own], &key).await;
    let report = once(&own, &server.url).await;
    assert_eq!(report["outcome"], "ok", "{report}");
    for phase in ["resolve", "connect", "tls", "wait"] {
        assert!(report["connection"][phase].as_f64().is_some_and(|s| s > 0.0), "{phase}: {report}");
    }

    let (other, _) = self_signed(&params(4096, 1, 1));
    let report = once(&other, &server.url).await;
    assert_eq!(report["outcome"], "tls", "{report}");
    assert!(report["connection"]["connect"].is_number(), "{report}");
}

#[tokio::test]
async fn the_end_of_a_certificate_is_reported_to_the_second() {
    let mut params = params(2048, 2, 29);
    params.not_after += Duration::from_secs(86_399);
    let (own, key) = self_signed(&params);
    let server = Server::showing(&[&own], &key).await;
    let report = once(&own, &server.url).await;
    assert_eq!(
        (&report["outcome"], &report["certificate_expiry"]),
        (&"ok".into(), &"2048-02-29T23:59:59Z".into())
    );
}

#[tokio::test]
async fn the_end_of_a_certificate_that_is_refused_is_reported_all_the_same() {
    let (expired, key) = self_signed(&params(2024, 5, 6));
    let server = Server::showing(&[&expired], &key).await;
    let report = once(&expired, &server.url).await;
    assert_eq!(
        (&report["outcome"], &report["certificate_expiry"]),
        (&"tls".into(), &"2024-05-06T00:00:00Z".into())
    );
    let error = report["error"].as_str().unwrap();
    assert!(error.contains("certificate expired"), "{error}");

    let ended = run(&mut command(&["once"], &trusting(&expired, &server.url))).await;
    let warning = "\nt: a certificate that it presents ended at 2024-05-06T00:00:00Z\n";
    assert!(ended.stdout.contains(warning), "{}", ended.stdout);
}

#[tokio::test]
async fn an_intermediate_that_ends_before_the_server_s_own_certificate_counts() {
    let authority = |year, name: &str| {
        let mut params = params(year, 1, 1);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name.push(rcgen::DnType::CommonName, name);
        params
    };
    let root_params = authority(2030, "root");
    let (root, root_key) = self_signed(&root_params);
    let root_issuer = Issuer::new(root_params, root_key);
    let (middle_params, middle_key) = (authority(2040, "middle"), KeyPair::generate().unwrap());
    let middle = middle_params.signed_by(&middle_key, &root_issuer).unwrap();
    let key = KeyPair::generate().unwrap();
    let own = params(2045, 1, 1).signed_by(&key, &Issuer::new(middle_params, middle_key)).unwrap();

    let server = Server::showing(&[&own, &middle], &key).await;
    let report = once(&root, &server.url).await;
    assert_eq!(
        (&report["outcome"], &report["certificate_expiry"]),
        (&"ok".into(), &"2040-01-01T00:00:00Z".into())
    );
}

#[tokio::test]
async fn plain_http_has_no_certificate() {
    let server = support::Server::start(script()).await;
    let (nobody, _) = self_signed(&params(4096, 1, 1));
    let report = once(&nobody, &format!("http://{}", server.address)).await;
    assert_eq!((&report["outcome"], &report["certificate_expiry"]), (&"ok".into(), &Value::Null), "{report}");
}

#[tokio::test]
async fn the_daemon_exposes_the_end_of_a_certificate_of_https_targets_alone() {
    let (expired, key) = self_signed(&params(2024, 5, 6));
    let (secure, plain) = (Server::showing(&[&expired], &key).await, support::Server::start(script()).await);
    let folder = trusting(&expired, &secure.url);
    let path = folder.path().join("sloprobe.toml");
    let more = format!("[[targets]]\nname = 'plain'\nurl = 'http://{}'\nmodel = 'tiny'\n", plain.address);
    std::fs::write(&path, std::fs::read_to_string(&path).unwrap() + &more).unwrap();
    let daemon = Daemon::start(&mut command(&["run"], &folder)).await;
    let metrics = eventually("a probe of each target", PATIENCE, async || {
        let metrics = daemon.metrics().await;
        let both = metrics.contains("sloprobe_up{target=\"plain\"} 1")
            && metrics.contains("sloprobe_failures_total{reason=\"tls\",target=\"t\",workload=\"w\"} 1");
        if both { Ok(metrics) } else { Err(daemon.process.stderr()) }
    })
    .await;
    let series: Vec<_> = metrics.lines().filter(|l| l.starts_with("sloprobe_certificate_expiry")).collect();
    assert_eq!(series, ["sloprobe_certificate_expiry_timestamp_seconds{target=\"t\"} 1714953600"]);
}
