use sloprobe::domain::Failure;
use tokio_rustls::rustls::version::{TLS12, TLS13};

use super::authority::Authority;
use super::server::{Server, Tls};
use super::{Folder, USUAL, assert_fails, assert_ok, trusting};

#[tokio::test]
async fn the_version_of_http_is_the_one_that_is_asked_for() {
    let own = Authority::new("Own CA");
    let identity = own.issue(&["localhost"], 2045);
    let folder = trusting(&own);
    for versions in [&[&TLS12], &[&TLS13]] {
        let server = Server::secure(&identity, Tls { versions, ..USUAL }).await;
        let url = format!("https://localhost:{}", server.port());
        for (keys, is_h2) in [("", true), ("http = '1.1'", false), ("http = '2'", true)] {
            assert_ok(&folder.probe(&url, &format!("ca = 'ca.pem'\n{keys}")).await);
            assert_eq!(server.last().is_h2, is_h2, "{keys}");
        }
    }
    let server = Server::plain(&identity, "127.0.0.1:0").await;
    let url = format!("http://{}", server.address);
    for (keys, is_h2) in [("", false), ("http = '1.1'", false), ("http = '2'", true)] {
        assert_ok(&folder.probe(&url, keys).await);
        assert_eq!(server.last().is_h2, is_h2, "{keys}");
    }
}

#[tokio::test]
async fn a_server_without_http_2_is_not_sent_it_over_tls() {
    let own = Authority::new("Own CA");
    let identity = own.issue(&["localhost"], 2045);
    let cases: [(&[&str], &str); 2] =
        [(&[], "the server does not offer HTTP/2"), (&["http/1.1"], "speaks no version of HTTP")];
    for (alpn, words) in cases {
        let server = Server::secure(&identity, Tls { alpn, ..USUAL }).await;
        let url = format!("https://localhost:{}", server.port());
        let folder = trusting(&own);
        assert_fails(&folder.probe(&url, "ca = 'ca.pem'\nhttp = '2'").await, Failure::Tls, &[words]);
        assert_ok(&folder.probe(&url, "ca = 'ca.pem'").await);
        assert!(!server.last().is_h2);
    }
}

/// A name may have addresses of one family or of both: what this machine says of `localhost` decides.
#[tokio::test]
async fn addresses_of_one_family_alone_are_used() {
    let own = Authority::new("Own CA");
    let found: Vec<_> = tokio::net::lookup_host("localhost:0").await.unwrap().collect();
    for (family, label, address) in [("v4", "IPv4", "127.0.0.1:0"), ("v6", "IPv6", "[::1]:0")] {
        let has_one = found.iter().any(|address| address.is_ipv4() == (family == "v4"));
        if has_one {
            let server = Server::plain(&own.issue(&["localhost"], 2045), address).await;
            let url = format!("http://localhost:{}", server.port());
            assert_ok(&Folder::new(&[]).probe(&url, &format!("ip = '{family}'")).await);
        } else {
            let report = Folder::new(&[]).probe("http://localhost:1", &format!("ip = '{family}'")).await;
            let words = format!("localhost has no {label} address");
            assert_fails(&report, Failure::Dns, &[&words]);
        }
    }
}
