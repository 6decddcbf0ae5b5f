use std::net::SocketAddr;

use sloprobe::domain::Failure;

use super::authority::Authority;
use super::common::{run, sloprobe};
use super::proxy::{Kind, Proxy};
use super::server::{Server, Shown, acceptor};
use super::{Folder, USUAL, assert_fails, assert_ok, trusting};

/// A name that no resolver knows.
const NOWHERE: &str = "llm.invalid";

async fn secure(own: &Authority) -> Server {
    Server::secure(&own.issue(&[NOWHERE, "localhost"], 2045), USUAL).await
}

#[tokio::test]
async fn a_proxy_leads_to_a_target_whose_name_it_alone_knows() {
    let own = Authority::new("Own CA");
    let server = secure(&own).await;
    let folder = trusting(&own);
    let url = format!("https://{NOWHERE}:{}", server.port());
    assert_fails(&folder.probe(&url, "ca = 'ca.pem'\nproxy = 'none'").await, Failure::Dns, &[]);

    let shown = Shown::new(&own.issue(&["localhost"], 2045));
    let secured = Kind::Https(acceptor(&shown, super::Tls { alpn: &[], ..USUAL }));
    for (kind, scheme) in [(Kind::Http, "http"), (secured, "https"), (Kind::Socks, "socks5h")] {
        let proxy = Proxy::start(kind, server.address).await;
        let keys = format!("ca = 'ca.pem'\nproxy = '{scheme}://localhost:{}'", proxy.address.port());
        let report = folder.probe(&url, &keys).await;
        assert_ok(&report);
        let line = &report.timeline;
        assert!(line.resolved < line.connected && line.connected < line.secured, "{scheme}: {line:?}");
        assert_eq!(server.last().sni.as_deref(), Some(NOWHERE), "{scheme}");
        let asked = proxy.asked();
        assert!(asked[0].contains(&format!("{NOWHERE}:{}", server.port())), "{scheme}: {asked:?}");
    }
}

#[tokio::test]
async fn a_socks_proxy_gets_the_address_that_was_looked_up_here() {
    let own = Authority::new("Own CA");
    let server = secure(&own).await;
    let proxy = Proxy::start(Kind::Socks, server.address).await;
    let through = format!("ca = 'ca.pem'\nproxy = 'socks5://{}'", proxy.address);
    let url = format!("https://localhost:{}", server.port());
    let report = trusting(&own).probe(&url, &format!("{through}\nip = 'v4'")).await;
    assert_ok(&report);
    let by_address = format!("https://127.0.0.1:{}", server.port());
    let keys = format!("{through}\nserver_name = '{NOWHERE}'");
    assert_ok(&trusting(&own).probe(&by_address, &keys).await);
    assert_eq!(proxy.asked(), [server.address.to_string(), server.address.to_string()]);
}

#[tokio::test]
async fn plain_http_goes_through_a_proxy_as_well() {
    let own = Authority::new("Own CA");
    let server = Server::plain(&own.issue(&[NOWHERE], 2045), "127.0.0.1:0").await;
    let proxy = Proxy::start(Kind::Http, server.address).await;
    let keys = format!("proxy = 'http://{}'", proxy.address);
    assert_ok(&Folder::new(&[]).probe(&format!("http://{NOWHERE}"), &keys).await);
    assert!(proxy.asked()[0].starts_with(&format!("POST http://{NOWHERE}/v1/")), "{:?}", proxy.asked());
}

#[tokio::test]
async fn a_proxy_gets_the_password_and_no_message_does() {
    let own = Authority::new("Own CA");
    let server = secure(&own).await;
    let url = format!("https://{NOWHERE}:{}", server.port());
    for kind in [Kind::Http, Kind::Closed] {
        let is_open = matches!(kind, Kind::Http);
        let proxy = Proxy::start(kind, server.address).await;
        let secret = format!("http://me:hunter2@{}\n", proxy.address);
        let folder = Folder::new(&[("ca.pem", &own.pem), ("proxy.url", &secret)]);
        let report = folder.probe(&url, "ca = 'ca.pem'\nproxy = { file = 'proxy.url' }").await;
        let asked = proxy.asked()[0].to_ascii_lowercase();
        // "me:hunter2" in base64, in lower case.
        assert!(asked.contains("proxy-authorization: basic bwu6ahvudgvymg=="), "{asked}");
        assert!(!format!("{report:?}").contains("hunter2"), "{report:?}");
        if is_open {
            assert_ok(&report);
        } else {
            let words = format!("through the proxy {}: ", proxy.address);
            assert_fails(&report, Failure::Connect, &[&words]);
        }
    }
}

#[tokio::test]
async fn the_certificate_of_a_proxy_is_verified_though_that_of_the_target_is_not() {
    let own = Authority::new("Own CA");
    let server = secure(&own).await;
    let shown = Shown::new(&own.issue(&["localhost"], 2024));
    let kind = Kind::Https(acceptor(&shown, super::Tls { alpn: &[], ..USUAL }));
    let proxy = Proxy::start(kind, server.address).await;
    let keys = format!(
        "ca = 'ca.pem'\ninsecure_skip_verify = true\nproxy = 'https://localhost:{}'",
        proxy.address.port()
    );
    let url = format!("https://{NOWHERE}:{}", server.port());
    let report = trusting(&own).probe(&url, &keys).await;
    assert_fails(&report, Failure::Connect, &["the proxy's certificate expired at 2024-01-01T00:00:00Z"]);
}

/// The address that means this machine but is not that of its loopback interface, which no proxy of the environment is
/// used for.
#[tokio::test]
async fn none_is_stronger_than_the_environment() {
    let own = Authority::new("Own CA");
    let server = Server::plain(&own.issue(&[NOWHERE], 2045), "127.0.0.1:0").await;
    let proxy = Proxy::start(Kind::Http, server.address).await;
    let url = format!("http://0.0.0.0:{}", server.port());
    let folder = Folder::new(&[]);
    let once = async |keys: &str, proxy: SocketAddr| {
        folder.write(&url, keys);
        let mut command = sloprobe(&["once", "--json"]);
        for name in ["NO_PROXY", "no_proxy", "http_proxy", "ALL_PROXY", "all_proxy"] {
            command.env_remove(name);
        }
        command.current_dir(folder.0.path()).env("HTTP_PROXY", format!("http://{proxy}"));
        let ended = run(&mut command).await;
        assert!(
            ended.stdout.contains("\"outcome\": \"ok\"") || ended.stdout.contains("\"outcome\":\"ok\""),
            "{ended:?}"
        );
    };
    once("proxy = 'none'", proxy.address).await;
    assert_eq!(proxy.asked(), [""; 0]);
    once("", proxy.address).await;
    assert_eq!(proxy.asked().len(), 1);
}
