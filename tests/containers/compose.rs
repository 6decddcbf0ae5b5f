//! `deploy/compose.yaml`: what Compose itself makes of it, and what each container may and may not do.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use tempfile::NamedTempFile;
use tokio::sync::OnceCell;

use crate::common::root;
use crate::{deployed, replaced, said};

/// Debian's Compose knows everything in the file but its name.
const NAME: &str = "name: sloprobe\n";

/// Reads YAML and writes JSON.
const CONVERT: &str = "import json, sys, yaml; json.dump(yaml.safe_load(open(sys.argv[1])), sys.stdout)";

/// YAML as JSON.
pub async fn parsed(yaml: &str) -> Value {
    let mut file = NamedTempFile::new().expect("a file for the test");
    file.write_all(yaml.as_bytes()).expect("it can be written");
    // The Python that tests/run.sh made: whichever else there is may lack the module.
    let python = root().join("target/tools/venv/bin/python");
    let json = said(Command::new(python).args(["-c", CONVERT]).arg(file.path())).await;
    serde_json::from_str(&json).expect("Python writes sound JSON")
}

/// The services as Compose reads them: anchors, variables and paths resolved. It is asked once.
pub async fn services() -> &'static BTreeMap<String, Value> {
    static SERVICES: OnceCell<BTreeMap<String, Value>> = OnceCell::const_new();
    SERVICES.get_or_init(read_services).await
}

async fn read_services() -> BTreeMap<String, Value> {
    let folder = root().join("deploy");
    let file = tempfile::Builder::new().suffix(".yaml").tempfile().expect("a file for the test");
    fs::write(file.path(), replaced(&deployed("compose.yaml"), &[(NAME, "")])).expect("it can be written");
    let mut command = Command::new("docker-compose");
    command.arg("--project-directory").arg(&folder).arg("-f").arg(file.path()).arg("config");
    for variable in ["SLOPROBE_TAG", "PROMETHEUS_TAG", "ALERTMANAGER_TAG", "GRAFANA_TAG", "CHAT_PROD_KEY"] {
        command.env_remove(variable);
    }
    let all = parsed(&said(&mut command).await).await;
    serde_json::from_value(all["services"].clone()).expect("there are services")
}

fn texts(list: &Value) -> Vec<&str> {
    list.as_array().map(Vec::as_slice).unwrap_or_default().iter().filter_map(Value::as_str).collect()
}

/// What is mounted from this machine: path here, path in the container, and how.
pub fn mounts(service: &Value) -> Vec<(PathBuf, &str, &str)> {
    let volumes = texts(&service["volumes"]).into_iter().filter(|volume| volume.starts_with('/'));
    volumes
        .map(|volume| {
            let parts: Vec<_> = volume.split(':').collect();
            let [here, there, how] = parts[..] else { panic!("{volume} does not say how it is mounted") };
            (PathBuf::from(here), there, how)
        })
        .collect()
}

/// A name of a service and the port that others reach it by.
fn assert_is_served(services: &BTreeMap<String, Value>, address: &str) {
    let (name, port) = address.split_once(':').unwrap_or_else(|| panic!("{address} has no port"));
    let service = services.get(name).unwrap_or_else(|| panic!("{address}: no service {name}"));
    let ports = texts(&service["ports"]);
    assert!(ports.iter().any(|published| published.contains(&format!(":{port}/"))), "{address}: {ports:?}");
}

#[tokio::test]
async fn every_container_is_confined_watched_and_reached_from_this_machine_alone() {
    let services = services().await;
    let names: Vec<_> = services.keys().map(String::as_str).collect();
    assert_eq!(names, ["alertmanager", "engine", "grafana", "prometheus", "sloprobe"]);
    let dockerfile = deployed("Dockerfile");
    for (name, service) in services {
        assert_eq!(service["read_only"], true, "{name}");
        assert_eq!(texts(&service["cap_drop"]), ["ALL"], "{name}");
        assert_eq!(texts(&service["security_opt"]), ["no-new-privileges:true"], "{name}");
        assert_eq!(service["restart"], "unless-stopped", "{name}");
        assert!(service["privileged"].is_null() && service["network_mode"].is_null(), "{name}");
        let image = service["image"].as_str().unwrap_or_default();
        let tag = image.split_once(':').map_or("", |(_, tag)| tag);
        assert!(!["", "latest"].contains(&tag), "{name}: {image} is not pinned");
        let brings_its_own = image == "sloprobe:local" && dockerfile.contains("\nHEALTHCHECK ");
        assert!(service["healthcheck"]["test"].is_array() || brings_its_own, "{name} has no health check");
        let ports = texts(&service["ports"]);
        assert!(
            !ports.is_empty() && ports.iter().all(|port| port.starts_with("127.0.0.1:")),
            "{name}: {ports:?}"
        );
    }
}

#[tokio::test]
async fn what_is_mounted_is_there_and_read_only() {
    for (name, service) in services().await {
        let mounts = mounts(service);
        assert_eq!(mounts.is_empty(), name == "engine", "{name}");
        for (here, there, how) in mounts {
            assert!(here.exists(), "{name} mounts {}, which is not there", here.display());
            assert!(here.starts_with(root()), "{}", here.display());
            assert_eq!(how, "ro", "{name}: {there}");
        }
        let build = &service["build"];
        if build.is_object() {
            let context = Path::new(build["context"].as_str().unwrap_or_default());
            assert!(context.join(build["dockerfile"].as_str().unwrap_or_default()).is_file(), "{build}");
            assert!(context.join(".dockerignore").is_file());
        }
    }
}

#[tokio::test]
async fn the_containers_find_each_other() {
    let services = services().await;
    let prometheus = parsed(&deployed("compose/prometheus.yml")).await;
    let mut addresses = Vec::new();
    let alerting = prometheus["alerting"]["alertmanagers"].as_array().expect("it sends alerts");
    let jobs = prometheus["scrape_configs"].as_array().expect("it scrapes");
    for place in alerting.iter().chain(jobs) {
        addresses.extend(texts(&place["static_configs"][0]["targets"]));
    }
    let own = "127.0.0.1:9090";
    assert!(addresses.contains(&own) && addresses.contains(&"sloprobe:9788"), "{addresses:?}");
    for address in addresses.into_iter().filter(|&address| address != own) {
        assert_is_served(services, address);
    }
    let source = parsed(&deployed("grafana/provisioning/datasources/prometheus.yml")).await;
    let source = &source["datasources"][0];
    assert_eq!((&source["uid"], &source["type"]), (&"prometheus".into(), &"prometheus".into()));
    assert_eq!(source["jsonData"]["timeInterval"], prometheus["global"]["scrape_interval"]);
    let url = source["url"].as_str().and_then(|url| url.strip_prefix("http://")).unwrap_or_default();
    assert_is_served(services, url);
    let target = deployed("compose/sloprobe.toml");
    let (_, url) = target.split_once("url = \"http://").expect("there is a target");
    assert_is_served(services, url.split('/').next().unwrap_or_default());
}

#[tokio::test]
async fn grafana_finds_its_dashboards_and_asks_nobody_outside() {
    let services = services().await;
    let grafana = &services["grafana"];
    let mounts = mounts(grafana);
    let here = |there: &str| {
        let found = mounts.iter().find_map(|(here, at, _)| {
            let rest = there.strip_prefix(at)?;
            Some(here.join(rest.trim_start_matches('/')))
        });
        found.unwrap_or_else(|| panic!("nothing is mounted at {there}"))
    };
    let provider = parsed(&deployed("grafana/provisioning/dashboards/sloprobe.yml")).await;
    let folder = provider["providers"][0]["options"]["path"].as_str().expect("a folder");
    assert_eq!(here(folder), root().join("deploy/../grafana").canonicalize().expect("there are dashboards"));
    let setting = |name: &str| grafana["environment"][name].as_str().unwrap_or_default();
    assert!(
        here(setting("GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH")).is_file(),
        "the home dashboard is there"
    );
    assert_eq!(setting("GF_AUTH_ANONYMOUS_ORG_ROLE"), "Viewer");
    for off in [
        "GF_ANALYTICS_REPORTING_ENABLED",
        "GF_ANALYTICS_CHECK_FOR_UPDATES",
        "GF_ANALYTICS_CHECK_FOR_PLUGIN_UPDATES",
        "GF_NEWS_NEWS_FEED_ENABLED",
        "GF_PLUGINS_PREINSTALL_AUTO_UPDATE",
    ] {
        assert_eq!(setting(off), "false", "{off}");
    }
    assert_eq!(setting("GF_PLUGINS_PREINSTALL_DISABLED"), "true");
}
