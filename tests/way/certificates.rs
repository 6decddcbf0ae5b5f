use std::time::{Duration, SystemTime};

use sloprobe::domain::Failure;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpListener;
use tokio_rustls::rustls::version::{TLS12, TLS13};

use super::authority::Authority;
use super::common::{run, sloprobe};
use super::server::{Server, Tls};
use super::{Folder, USUAL, assert_fails, assert_ok, identified, trusting};

/// 2045-01-01.
const END: Duration = Duration::from_secs(2_366_841_600);

#[tokio::test]
async fn a_swapped_certificate_is_a_failure_at_the_next_connection() {
    let (own, other) = (Authority::new("Own CA"), Authority::new("Other\u{7} CA"));
    let good = own.issue(&["localhost"], 2045);
    for versions in [&[&TLS12], &[&TLS13]] {
        let server = Server::secure(&good, Tls { versions, ..USUAL }).await;
        let folder = trusting(&own);
        let url = format!("https://localhost:{}", server.port());
        let prober = folder.prober(&url, "ca = 'ca.pem'\nconnection = 'fresh'");
        let cases = [
            (own.issue(&["localhost"], 2024), "the certificate expired at 2024-01-01T00:00:00Z; renew it"),
            (own.issue_early("localhost"), "not valid yet, but from 2126-01-01T00:00:00Z on"),
            (other.issue(&["localhost"], 2045), "not trusted here, \"CN=Other\\07 CA\"; set ca"),
            (
                own.issue(&["a.test", "b.test", "c.test", "127.0.0.9"], 2045),
                "is not valid for localhost but for \"a.test\", \"b.test\", \"c.test\" and 1 more",
            ),
        ];
        for (bad, words) in cases {
            // Twice: the second one could resume a session of the first.
            for _ in 0..2 {
                server.shown.swap(&good);
                let report = prober.probe().await;
                assert_ok(&report);
                assert!(!server.last().resumed, "{versions:?}");
                let line = &report.timeline;
                assert!(line.connected.is_some() && line.secured > line.connected, "{line:?}");
                assert_eq!(report.certificate_expiry, Some(SystemTime::UNIX_EPOCH + END));
            }
            server.shown.swap(&bad);
            let report = prober.probe().await;
            assert_fails(&report, Failure::Tls, &["cannot connect to localhost:", words]);
            let line = &report.timeline;
            assert!(line.connected.is_some() && line.secured.is_none(), "{line:?}");
        }
    }
}

#[tokio::test]
async fn authorities_of_a_target_take_the_place_of_the_system_s() {
    let (own, other) = (Authority::new("Own CA"), Authority::new("Other CA"));
    let server = Server::secure(&own.issue(&["localhost"], 2045), USUAL).await;
    let url = format!("https://localhost:{}", server.port());
    assert_fails(&trusting(&own).probe(&url, "").await, Failure::Tls, &[]);
    assert_ok(&trusting(&own).probe(&url, "ca = 'ca.pem'").await);
    let both = format!("{}{}", other.pem, own.pem);
    assert_ok(&Folder::new(&[("ca.pem", &both)]).probe(&url, "ca = 'ca.pem'").await);
    assert_fails(&trusting(&other).probe(&url, "ca = 'ca.pem'").await, Failure::Tls, &["Own CA"]);
}

#[tokio::test]
async fn a_client_certificate_is_presented_where_it_is_demanded() {
    let (own, clients) = (Authority::new("Own CA"), Authority::new("Clients CA"));
    let keys = "ca = 'ca.pem'\nclient_cert = 'own.pem'\nclient_key = 'own.key'";
    let folder = identified(&own, &clients.issue(&["prober"], 2045));
    let stranger = identified(&own, &own.issue(&["prober"], 2045));
    for versions in [&[&TLS12], &[&TLS13]] {
        let tls = Tls { versions, clients: Some(&clients), ..USUAL };
        let server = Server::secure(&own.issue(&["localhost"], 2045), tls).await;
        let url = format!("https://localhost:{}", server.port());
        assert_ok(&folder.probe(&url, keys).await);
        assert!(server.last().identified);
        let nobody = folder.probe(&url, "ca = 'ca.pem'").await;
        assert_fails(&nobody, Failure::Tls, &["client certificate", "client_cert and client_key"]);
        let refused = stranger.probe(&url, keys).await;
        assert_fails(&refused, Failure::Tls, &["the server refuses the client certificate"]);
    }
}

#[tokio::test]
async fn a_server_behind_an_address_is_asked_for_by_its_name() {
    let own = Authority::new("Own CA");
    let server = Server::secure(&own.issue(&["llm.test"], 2045), USUAL).await;
    let (folder, url) = (trusting(&own), format!("https://127.0.0.1:{}", server.port()));
    let misnamed = folder.probe(&url, "ca = 'ca.pem'").await;
    assert_fails(&misnamed, Failure::Tls, &["not valid for 127.0.0.1 but for \"llm.test\"", "server_name"]);
    let report = folder.probe(&url, "ca = 'ca.pem'\nserver_name = 'LLM.test'\nhttp = '1.1'").await;
    assert_ok(&report);
    assert_eq!(report.certificate_expiry, Some(SystemTime::UNIX_EPOCH + END));
    assert!(report.timeline.resolved.is_none(), "an address is not looked up");
    let visit = server.last();
    assert_eq!(visit.sni.as_deref(), Some("llm.test"));
    let host = format!("host: llm.test:{}\r\n", server.port());
    assert!(visit.head.to_ascii_lowercase().contains(&host), "{}", visit.head);
    let report = folder.probe(&url, "ca = 'ca.pem'\nserver_name = 'other.test'").await;
    assert_fails(&report, Failure::Tls, &["not valid for other.test"]);

    // And by a name in the url, which is looked up.
    let url = format!("https://localhost:{}", server.port());
    let report = folder.probe(&url, "ca = 'ca.pem'\nserver_name = 'llm.test'").await;
    assert_ok(&report);
    assert!(report.timeline.resolved.is_some());
}

#[tokio::test]
async fn what_a_target_runs_is_asked_the_same_way() {
    let own = Authority::new("Own CA");
    let server = Server::secure(&own.issue(&["llm.test"], 2045), USUAL).await;
    let url = format!("https://127.0.0.1:{}", server.port());
    let keys = "ca = 'ca.pem'\nserver_name = 'llm.test'\nhttp = '1.1'";
    let mut target = (*trusting(&own).plan(&url, keys).targets[0]).clone();
    target.engine = sloprobe::domain::Engine::Auto;
    let trust = sloprobe::probe::Trust::default();
    let transport = sloprobe::probe::Transport::new(&std::sync::Arc::new(target), &trust).unwrap();
    sloprobe::probe::identify(&transport).await;
    let visit = server.last();
    assert!(visit.head.starts_with("GET /"), "{}", visit.head);
    assert_eq!(visit.sni.as_deref(), Some("llm.test"));
}

#[tokio::test]
async fn verification_is_skipped_with_a_warning_and_the_end_is_noted() {
    let own = Authority::new("Own CA");
    let server = Server::secure(&own.issue(&["elsewhere.test"], 2024), USUAL).await;
    let (folder, url) = (Folder::new(&[]), format!("https://localhost:{}", server.port()));
    let report = folder.probe(&url, "insecure_skip_verify = true").await;
    assert_ok(&report);
    let end = SystemTime::UNIX_EPOCH + Duration::from_secs(1_704_067_200);
    assert_eq!(report.certificate_expiry, Some(end));

    let told = |args: &'static [&str]| {
        let mut command = sloprobe(args);
        command.current_dir(folder.0.path());
        async move { run(&mut command).await }
    };
    let checked = told(&["check", "--offline"]).await;
    assert!(checked.stdout.contains("Warning: the certificate of target t is not verified"), "{checked:?}");
    let once = told(&["once"]).await;
    assert!(once.stderr.contains("the certificate is not verified"), "{once:?}");
    assert!(once.stderr.contains("target=\"t\"") || once.stderr.contains("target=t"), "{once:?}");
}

#[tokio::test]
async fn what_does_not_speak_tls_is_told_so() {
    let own = Authority::new("Own CA");
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://localhost:{}", listener.local_addr().unwrap().port());
    let server = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n").await.unwrap();
        let _ = tokio::io::copy(&mut stream, &mut tokio::io::sink()).await;
    });
    let report = trusting(&own).probe(&url, "ca = 'ca.pem'").await;
    server.abort();
    assert_fails(&report, Failure::Tls, &["does not speak TLS", "http://"]);
}
