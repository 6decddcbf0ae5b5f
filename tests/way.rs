//! The way to a target, over real sockets: certificates, names, proxies, address families and versions of HTTP.

#[path = "way/authority.rs"]
mod authority;
#[path = "way/certificates.rs"]
mod certificates;
mod common;
#[path = "way/proxies.rs"]
mod proxies;
#[path = "way/proxy.rs"]
mod proxy;
#[path = "way/routes.rs"]
mod routes;
#[path = "way/server.rs"]
mod server;
mod support;

use authority::Identity;
use server::Tls;
use sloprobe::config::{self, Plan};
use sloprobe::domain::{Failure, Report};
use support::Prober;
use tempfile::TempDir;
use tokio_rustls::rustls::version::{TLS12, TLS13};

/// What servers usually speak.
const USUAL: Tls<'_> = Tls { versions: &[&TLS13, &TLS12], alpn: &["h2", "http/1.1"], clients: None };

/// A folder with files of certificates, beside which a configuration can stand.
struct Folder(TempDir);

impl Folder {
    fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().expect("there is room for a file");
        for (name, text) in files {
            std::fs::write(folder.path().join(name), text).expect("there is room for a file");
        }
        Self(folder)
    }

    fn write(&self, url: &str, keys: &str) {
        let text = format!(
            "[[targets]]\nname = 't'\nurl = '{url}'\nmodel = 'tiny'\nengine = 'other'\n{keys}\n\
             [[workloads]]\nname = 'w'\nkind = 'chat'\n"
        );
        std::fs::write(self.0.path().join("sloprobe.toml"), text).expect("there is room for a file");
    }

    fn plan(&self, url: &str, keys: &str) -> Plan {
        self.write(url, keys);
        config::load(&self.0.path().join("sloprobe.toml")).unwrap_or_else(|problems| panic!("{problems}"))
    }

    fn prober(&self, url: &str, keys: &str) -> Prober {
        Prober::new(self.plan(url, keys))
    }

    async fn probe(&self, url: &str, keys: &str) -> Report {
        self.prober(url, keys).probe().await
    }
}

fn trusting(authority: &authority::Authority) -> Folder {
    Folder::new(&[("ca.pem", &authority.pem)])
}

fn identified(authority: &authority::Authority, client: &Identity) -> Folder {
    Folder::new(&[("ca.pem", &authority.pem), ("own.pem", &client.pem), ("own.key", &client.key_pem)])
}

#[track_caller]
fn assert_ok(report: &Report) {
    assert!(report.fault.is_none(), "{:?}", report.fault);
}

#[track_caller]
fn assert_fails(report: &Report, failure: Failure, words: &[&str]) {
    let fault = report.fault.as_ref().expect("it fails");
    assert_eq!(fault.failure, failure, "{}", fault.detail);
    for word in words {
        assert!(fault.detail.contains(word), "{word:?} is not in {:?}", fault.detail);
    }
}
