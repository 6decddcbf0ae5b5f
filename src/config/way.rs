//! The keys of a target that say how it is reached: TLS, proxy, address family, HTTP version.

use rustls::pki_types::ServerName;
use url::{Host, Url};

use super::certificates;
use super::context::{Outside, UNREAD};
use super::reader::{Node, Table};
use super::secret;
use crate::domain::{HttpVersion, IpFamily, Proxy, ProxyAddress, Way};

const PROXY: &str =
    "write \"http://proxy.example.com:3128\", an https://, socks5:// or socks5h:// address, or \"none\"";
const PROXY_SECRET: &str =
    "write proxy = { env = \"NAME\" } or proxy = { file = \"/path\" }, and put the whole address there";
const SERVER_NAME: &str = "write the name that the certificate is for, such as \"llm.example.com\"";

/// `url` is that of the target, if it is sound.
pub(super) fn read(table: &Table<'_>, url: Option<&Url>, outside: &Outside<'_>) -> Option<Way> {
    let ca = table.or("ca", None, |node| certificates::authorities(&node, outside));
    let client = certificates::client(table, outside);
    let server_name = table.or("server_name", None, |node| server_name(&node).map(Some));
    let insecure_skip_verify = table.or("insecure_skip_verify", false, |node| node.flag());
    let proxy = table.or("proxy", Proxy::Environment, |node| proxy(&node, outside));
    let ip = table.or("ip", None, |node| node.one_of(&IpFamily::NAMES).map(Some));
    let http = table.or("http", None, |node| node.one_of(&HttpVersion::NAMES).map(Some));
    let way = Way {
        ca: ca?,
        client: client?,
        server_name: server_name?,
        insecure_skip_verify: insecure_skip_verify?,
        proxy: proxy?,
        ip: ip?,
        http: http?,
    };
    fits_together(table, url?, &way).then_some(way)
}

fn server_name(node: &Node<'_>) -> Option<String> {
    let text = node.text("llm.example.com")?;
    match ServerName::try_from(text) {
        Ok(ServerName::DnsName(name)) => Some(name.as_ref().to_ascii_lowercase()),
        Ok(_) => node.refuse("an address, not a name", SERVER_NAME),
        Err(_) => node.refuse("not the name of a server", SERVER_NAME),
    }
}

fn proxy(node: &Node<'_>, outside: &Outside<'_>) -> Option<Proxy> {
    if node.is_table() {
        let secret = secret::reference(node, outside)?;
        if secret.expose() == UNREAD {
            return Some(Proxy::Never);
        }
        return proxy_url(node, secret.expose()).map(|url| Proxy::Through(ProxyAddress::new(&url)));
    }
    let Some(text) = node.as_text() else { return node.wrong_type("text or a table", PROXY) };
    if text == "none" {
        return Some(Proxy::Never);
    }
    let url = proxy_url(node, text)?;
    if !url.username().is_empty() || url.password().is_some() {
        return node.refuse("contains a user name or password", PROXY_SECRET);
    }
    Some(Proxy::Through(ProxyAddress::new(&url)))
}

/// Messages never repeat any part of it.
fn proxy_url(node: &Node<'_>, text: &str) -> Option<Url> {
    let schemes = ["http://", "https://", "socks5://", "socks5h://"];
    if !schemes.iter().any(|scheme| text.to_ascii_lowercase().starts_with(scheme)) {
        return node.refuse("not the address of a proxy", PROXY);
    }
    let url = match Url::parse(text) {
        Ok(url) if url.host_str().is_some_and(|host| !host.is_empty()) => url,
        Ok(_) => return node.refuse("not the address of a proxy: it names no host", PROXY),
        Err(error) => return node.refuse(format!("not the address of a proxy: {error}"), PROXY),
    };
    let is_bare = matches!(url.path(), "" | "/") && url.query().is_none() && url.fragment().is_none();
    if is_bare {
        Some(url)
    } else {
        node.refuse("the address of a proxy has no path", "end it after the port")
    }
}

/// Every pair of keys that cannot be had together; all of them are told.
fn fits_together(table: &Table<'_>, url: &Url, way: &Way) -> bool {
    let mut fits = true;
    let mut refuse = |key: &'static str, what: &str, remedy: &str| {
        if let Some(node) = table.get(key) {
            fits = false;
            node.refuse::<()>(what, remedy);
        }
    };
    let proxy = way.proxy.address();
    if url.scheme() != "https" {
        let what = "this is for https, and url begins with http://";
        let remedy = "remove it, or write an https:// url";
        for key in ["client_cert", "client_key", "server_name"] {
            refuse(key, what, remedy);
        }
        if way.insecure_skip_verify {
            refuse("insecure_skip_verify", what, remedy);
        }
        if !proxy.is_some_and(ProxyAddress::is_secure) {
            refuse("ca", what, remedy);
        }
        if way.http == Some(HttpVersion::Http2) && proxy.is_some_and(ProxyAddress::forwards_plain_http) {
            refuse(
                "http",
                "this proxy takes no HTTP/2 for an http:// url",
                "remove http, or write a socks5:// proxy or an https:// url",
            );
        }
    }
    if proxy.is_some_and(|proxy| !proxy.takes_addresses()) {
        refuse(
            "server_name",
            "the proxy would be asked for this name instead of the host in url",
            "remove it and write the name into url, or use a socks5:// proxy",
        );
        refuse("ip", "the proxy looks up the target itself", "remove it, or use a socks5:// proxy");
    }
    let is_other = |family: IpFamily| match url.host() {
        Some(Host::Ipv4(address)) => !family.has(address.into()),
        Some(Host::Ipv6(address)) => !family.has(address.into()),
        _ => false,
    };
    if way.ip.is_some_and(is_other) {
        refuse("ip", "the address in url is of the other family", "remove it, or write a name into url");
    }
    fits
}
