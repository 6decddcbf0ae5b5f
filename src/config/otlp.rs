//! `[otlp]`: where traces and metrics are pushed to.

use std::collections::BTreeMap;
use std::time::Duration;

use url::Url;

use super::context::Outside;
use super::reader::{Node, Table};
use super::{certificates, secret, value};
use crate::domain::{Collector, Compression};

const DEFAULT_INTERVAL: Duration = Duration::from_secs(60);
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);

const SHORTEST_INTERVAL: Duration = Duration::from_secs(1);
const LONGEST_INTERVAL: Duration = Duration::from_secs(3600);
const INTERVAL: &str = "write a duration from \"1s\" to \"1h\", such as \"60s\"";

const SHORTEST_TIMEOUT: Duration = Duration::from_millis(100);
const LONGEST_TIMEOUT: Duration = Duration::from_secs(60);
const TIMEOUT: &str = "write a duration from \"100ms\" to \"1m\", such as \"10s\"";

const ENDPOINT: &str = "write the base address of a collector, such as \"http://collector:4318\"";
const IN_HEADERS: &str =
    "take it out of the endpoint and write headers = { \"authorization\" = { env = \"NAME\" } }";

pub(super) fn read(table: &Table<'_>, outside: &Outside<'_>) -> Option<Collector> {
    let endpoint = table.need("endpoint", "write endpoint = \"http://collector:4318\"");
    let endpoint = endpoint.and_then(|node| read_endpoint(&node));
    let headers = table.or("headers", Vec::new(), |node| secret::headers(&node, false, outside));
    let interval = table.or("interval", DEFAULT_INTERVAL, |node| {
        value::duration_within(&node, SHORTEST_INTERVAL..=LONGEST_INTERVAL, INTERVAL)
    });
    let timeout = table.or("timeout", DEFAULT_TIMEOUT, |node| {
        value::duration_within(&node, SHORTEST_TIMEOUT..=LONGEST_TIMEOUT, TIMEOUT)
    });
    let traces = table.or("traces", true, |node| node.flag());
    let metrics = table.or("metrics", true, |node| node.flag());
    let gen_ai_metrics = table.or("gen_ai_metrics", false, |node| node.flag());
    let compression = table.or("compression", Compression::Gzip, |node| node.one_of(&Compression::NAMES));
    let resource = table.or("resource", BTreeMap::new(), |node| read_resource(&node));
    let ca = table.or("ca", None, |node| certificates::authorities(&node, outside));
    if let (Some(false), Some(false), Some(false)) = (traces, metrics, gen_ai_metrics) {
        let remedy = "write true for traces or metrics, or remove [otlp]";
        return table.get("metrics")?.refuse("nothing is left to push", remedy);
    }
    Some(Collector {
        endpoint: endpoint?,
        headers: headers?,
        interval: interval?,
        timeout: timeout?,
        traces: traces?,
        metrics: metrics?,
        gen_ai_metrics: gen_ai_metrics?,
        compression: compression?,
        resource: resource?,
        ca: ca?,
    })
}

/// Messages never repeat any part of it: people do put secrets into addresses.
fn read_endpoint(node: &Node<'_>) -> Option<Url> {
    let text = node.text("http://collector:4318")?;
    if !["http://", "https://"].iter().any(|scheme| text.to_ascii_lowercase().starts_with(scheme)) {
        return node.refuse("does not begin with http:// or https://", ENDPOINT);
    }
    let url = match Url::parse(text) {
        Ok(url) => url,
        Err(error) => return node.refuse(format!("not a URL: {error}"), ENDPOINT),
    };
    let path = url.path().trim_end_matches('/');
    if !url.username().is_empty() || url.password().is_some() {
        node.refuse("contains a user name or password", IN_HEADERS)
    } else if url.query().is_some() || url.fragment().is_some() {
        node.refuse("contains a query or a fragment", IN_HEADERS)
    } else if ["/v1/traces", "/v1/metrics", "/v1/logs"].iter().any(|signal| path.ends_with(signal)) {
        node.refuse("ends in the path of one signal", "leave off /v1/…: sloprobe appends it for each signal")
    } else {
        Some(url)
    }
}

fn read_resource(node: &Node<'_>) -> Option<BTreeMap<String, String>> {
    let entries = node.entries("{ \"deployment.environment.name\" = \"prod\" }")?;
    let attributes: Vec<_> = entries.iter().map(attribute).collect();
    attributes.into_iter().collect()
}

fn attribute(node: &Node<'_>) -> Option<(String, String)> {
    if secret::sounds_secret(node.key()) {
        return node
            .refuse("a secret does not belong into an attribute", "remove it, or write it as a header");
    }
    if node.key().is_empty() {
        return node
            .refuse("an attribute without a name", "write a name such as deployment.environment.name");
    }
    Some((node.key().to_owned(), value::line(node, "prod")?.to_owned()))
}
