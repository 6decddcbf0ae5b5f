//! How a target is reached, beyond its address: TLS, proxy, address family, HTTP version.

use std::sync::Arc;

use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use url::Url;

use super::Secret;

/// The keys of a target that concern the connection. The default is what a target without any of them gets.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Way {
    /// The certificate authorities to trust instead of the system's.
    pub ca: Option<Arc<[CertificateDer<'static>]>>,
    pub client: Option<ClientCertificate>,
    /// The name for SNI, for the verification and for `Host`, where the url has another host.
    pub server_name: Option<String>,
    /// Any certificate is accepted.
    pub insecure_skip_verify: bool,
    pub proxy: Proxy,
    /// The only family of addresses to connect to.
    pub ip: Option<IpFamily>,
    /// The only version to speak; otherwise the server chooses.
    pub http: Option<HttpVersion>,
}

/// What proves to the server who we are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientCertificate {
    /// Our own certificate first.
    pub chain: Vec<CertificateDer<'static>>,
    /// Its `Debug` hides it.
    pub key: Arc<PrivateKeyDer<'static>>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Proxy {
    /// What `HTTP_PROXY` and its siblings say.
    #[default]
    Environment,
    /// None, whatever the environment says.
    Never,
    Through(ProxyAddress),
}

/// A proxy, with the user name and the password kept apart from what may be shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProxyAddress {
    shown: Url,
    whole: Secret,
    password: Option<Secret>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IpFamily {
    V4,
    V6,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HttpVersion {
    Http1,
    Http2,
}

impl Proxy {
    pub fn address(&self) -> Option<&ProxyAddress> {
        match self {
            Self::Through(address) => Some(address),
            Self::Environment | Self::Never => None,
        }
    }
}

impl ProxyAddress {
    pub fn new(url: &Url) -> Self {
        let mut shown = url.clone();
        // Neither can fail: a url with a host takes both.
        let _ = shown.set_username("");
        let _ = shown.set_password(None);
        let password = url.password().map(|text| Secret::new(text.to_owned()));
        Self { shown, whole: Secret::new(url.as_str()), password }
    }

    /// The url with its credentials; only what connects may ask.
    pub fn expose(&self) -> &str {
        self.whole.expose()
    }

    /// Whether the connection to the proxy itself is TLS.
    pub fn is_secure(&self) -> bool {
        self.shown.scheme() == "https"
    }

    /// Whether the proxy gets the address of the target, so that its name is looked up here.
    pub fn takes_addresses(&self) -> bool {
        self.shown.scheme() == "socks5"
    }

    /// Whether plain HTTP requests are sent to the proxy itself, and not through a tunnel.
    pub fn forwards_plain_http(&self) -> bool {
        matches!(self.shown.scheme(), "http" | "https")
    }

    /// Every form in which a message could repeat a secret of the address.
    pub(super) fn secrets(&self) -> impl Iterator<Item = Secret> {
        let decoded = self.password.as_ref().map(|password| Secret::new(percent_decoded(password.expose())));
        let whole = self.password.is_some().then(|| self.whole.clone());
        whole.into_iter().chain(self.password.clone()).chain(decoded)
    }
}

/// Host and port.
impl std::fmt::Display for ProxyAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.shown.host_str().unwrap_or_default())?;
        match self.shown.port_or_known_default() {
            Some(port) => write!(f, ":{port}"),
            None => Ok(()),
        }
    }
}

impl IpFamily {
    pub const NAMES: [(&'static str, Self); 2] = [("v4", Self::V4), ("v6", Self::V6)];

    pub fn has(self, address: std::net::IpAddr) -> bool {
        address.is_ipv4() == (self == Self::V4)
    }

    /// As people call it.
    pub fn label(self) -> &'static str {
        match self {
            Self::V4 => "IPv4",
            Self::V6 => "IPv6",
        }
    }
}

impl HttpVersion {
    pub const NAMES: [(&'static str, Self); 2] = [("1.1", Self::Http1), ("2", Self::Http2)];
}

fn percent_decoded(text: &str) -> String {
    // A form has one decoder for its parts, in which alone a plus means a space.
    let form = format!("={}", text.replace('+', "%2B").replace('&', "%26"));
    url::form_urlencoded::parse(form.as_bytes()).map(|(_, value)| value.into_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_credentials_of_a_proxy_are_never_shown() {
        let proxy = ProxyAddress::new(&Url::parse("http://me:hunter2%21+@proxy:3128").unwrap());
        assert_eq!(proxy.to_string(), "proxy:3128");
        assert!(!format!("{proxy:?}").contains("hunter2"), "{proxy:?}");
        let all: Vec<_> = proxy.secrets().map(|secret| secret.expose().to_owned()).collect();
        assert_eq!(all, ["http://me:hunter2%21+@proxy:3128/", "hunter2%21+", "hunter2!+"]);
        let open = ProxyAddress::new(&Url::parse("socks5://[::1]:1080").unwrap());
        assert_eq!((open.to_string().as_str(), open.secrets().count()), ("[::1]:1080", 0));
    }

    #[test]
    fn an_address_belongs_to_one_family() {
        let (v4, v6) = ("127.0.0.1".parse().unwrap(), "::1".parse().unwrap());
        assert!(IpFamily::V4.has(v4) && IpFamily::V6.has(v6));
        assert!(!IpFamily::V4.has(v6) && !IpFamily::V6.has(v4));
    }
}
