//! A probe over TLS, with a certificate that only the system's store vouches for.

mod support;

use std::process::Stdio;
use std::sync::Arc;

use support::{Step, end, head, text};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

/// Answers every request on every connection with two tokens, over TLS.
async fn serve(listener: TcpListener, acceptor: TlsAcceptor) {
    let script = [head(), Step::Send(text("a") + &text("b")), end(2)];
    let answer: String = script
        .into_iter()
        .map(|step| match step {
            Step::Send(bytes) => bytes,
            _ => String::new(),
        })
        .collect();
    while let Ok((stream, _)) = listener.accept().await {
        if let Ok(mut stream) = acceptor.accept(stream).await {
            let mut request = vec![0; 65536];
            let _ = stream.read(&mut request).await;
            let _ = stream.write_all(answer.as_bytes()).await;
            let _ = stream.shutdown().await;
        }
    }
}

#[tokio::test]
async fn the_phases_of_a_tls_connection_are_told_apart() {
    let identity = rcgen::generate_simple_self_signed(vec!["localhost".into()]).unwrap();
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(identity.signing_key.serialize_der()));
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![identity.cert.der().clone()], key)
        .unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = tokio::spawn(serve(listener, TlsAcceptor::from(Arc::new(config))));

    let folder = tempfile::tempdir().unwrap();
    let (trusted, plan) = (folder.path().join("ca.pem"), folder.path().join("sloprobe.toml"));
    std::fs::write(&trusted, identity.cert.pem()).unwrap();
    let workload = "[[workloads]]\nname = 'w'\nkind = 'chat'\n";
    let target = format!("[[targets]]\nname = 't'\nurl = 'https://localhost:{port}'\nmodel = 'tiny'\n");
    std::fs::write(&plan, target + workload).unwrap();
    let once = |trusted: &std::path::Path| {
        let mut command = tokio::process::Command::new(env!("CARGO_BIN_EXE_sloprobe"));
        command.args(["once", "--json", "-c"]).arg(&plan).env("SSL_CERT_FILE", trusted);
        command.stdin(Stdio::null()).kill_on_drop(true);
        async move { command.output().await.unwrap() }
    };

    let output = once(&trusted).await;
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["outcome"], "ok", "{report}");
    for phase in ["resolve", "connect", "tls", "wait"] {
        assert!(report["connection"][phase].as_f64().is_some_and(|s| s > 0.0), "{phase}: {report}");
    }

    let nobody = folder.path().join("other.pem");
    let other = rcgen::generate_simple_self_signed(vec!["localhost".into()]).unwrap();
    std::fs::write(&nobody, other.cert.pem()).unwrap();
    let output = once(&nobody).await;
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["outcome"], "tls", "{report}");
    assert!(report["connection"]["connect"].is_number(), "{report}");
    server.abort();
}
