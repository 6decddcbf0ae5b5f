//! A real Prometheus and what a test asks it.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use super::service::{BOUND, REMEDY, Service};
use super::{eventually, get};

/// Debian's, which many have, and one in which native histograms are settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    Two,
    Three,
}

impl Version {
    fn server(self) -> &'static str {
        match self {
            Self::Two => "prometheus",
            Self::Three => "prometheus3",
        }
    }

    fn tool(self) -> &'static str {
        match self {
            Self::Two => "promtool",
            Self::Three => "promtool3",
        }
    }
}

#[derive(Debug)]
pub struct Prometheus {
    service: Service,
}

impl Prometheus {
    /// Starts one with this configuration and, beside it, these files.
    pub async fn start(settings: &str, others: &[(&str, &str)]) -> Self {
        Self::start_with(Version::Two, settings, others, &["--storage.tsdb.path=data"]).await
    }

    /// The same of any version, with flags of its own.
    pub async fn start_with(
        version: Version,
        settings: &str,
        others: &[(&str, &str)],
        flags: &[&str],
    ) -> Self {
        let files = [&[("prometheus.yml", settings)], others].concat();
        let args = [&["--config.file=prometheus.yml"], flags].concat();
        Self { service: Service::start(version.server(), &files, &args).await }
    }

    /// Where it listens, such as "127.0.0.1:40123".
    pub fn address(&self) -> &str {
        &self.service.address
    }

    /// The part of a configuration by which it scrapes this address, as job "sloprobe".
    pub fn scraping(address: &str, interval: &str) -> String {
        format!(
            "global:\n  scrape_interval: {interval}\n  scrape_timeout: {interval}\n\
             scrape_configs:\n  - job_name: sloprobe\n    static_configs:\n      - targets: ['{address}']\n"
        )
    }

    /// The `data` of an answer of its API.
    pub async fn api(&self, path: &str) -> Result<Value, String> {
        let body = get(&self.service.address, &format!("/api/v1/{path}")).await?;
        let answer: Value = serde_json::from_str(&body).map_err(|error| format!("{error}: {body}"))?;
        if answer["status"] == "success" { Ok(answer["data"].clone()) } else { Err(body) }
    }

    /// The one number that a query gives.
    pub async fn number(&self, query: &str) -> Result<f64, String> {
        let data = self.api(&format!("query?query={}", percent_encoded(query))).await?;
        let result = data["result"].as_array().map(Vec::as_slice).unwrap_or_default();
        let [series] = result else { return Err(format!("{query} gives {} series", result.len())) };
        let value = series["value"][1].as_str().and_then(|text| text.parse().ok());
        value.ok_or_else(|| format!("{query} gives {series}"))
    }

    /// Waits until a query gives a number within these bounds.
    pub async fn expect(&self, query: &str, low: f64, high: f64) {
        eventually(query, BOUND, async || {
            let number = self.number(query).await?;
            if (low..=high).contains(&number) {
                Ok(())
            } else {
                Err(format!("it is {number}, not {low} to {high}"))
            }
        })
        .await;
    }

    /// Waits until every rule has been evaluated and is in health; none may ever have failed.
    pub async fn expect_sound_rules(&self) {
        eventually("a sound evaluation of every rule", BOUND, async || {
            let rules = self.rules().await?;
            let is_sound = |rule: &Value| {
                rule["health"] == "ok" && rule["lastError"].as_str().unwrap_or_default().is_empty()
            };
            match rules.iter().find(|rule| !is_sound(rule)) {
                Some(rule) => Err(format!("{rule:#}")),
                None if rules.is_empty() => Err("there are no rules".to_owned()),
                None => Ok(()),
            }
        })
        .await;
        let metrics =
            get(&self.service.address, "/metrics").await.expect("Prometheus has metrics of its own");
        let failures =
            metrics.lines().filter(|l| l.starts_with("prometheus_rule_evaluation_failures_total{"));
        let (never, some): (Vec<_>, Vec<_>) = failures.partition(|line| line.ends_with(" 0"));
        assert!(!never.is_empty() && some.is_empty(), "{some:#?}\n{}", self.service.log());
    }

    /// All rules of all groups.
    async fn rules(&self) -> Result<Vec<Value>, String> {
        let data = self.api("rules").await?;
        let groups = data["groups"].as_array().ok_or_else(|| format!("no groups: {data}"))?;
        Ok(groups.iter().filter_map(|group| group["rules"].as_array()).flatten().cloned().collect())
    }
}

pub fn percent_encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    text.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect::<Vec<_>>()
        .concat()
}

/// Whether promtool is content, and all that it said.
pub fn promtool(version: Version, args: &[&str], folder: &Path) -> (bool, String) {
    let tool = version.tool();
    let Output { status, stdout, stderr } = Command::new(tool)
        .args(args)
        // Less time for collecting garbage: it ends soon anyway.
        .env("GOGC", "400")
        .current_dir(folder)
        .output()
        .unwrap_or_else(|error| panic!("{tool} cannot be started: {error}\n    {REMEDY}"));
    (status.success(), String::from_utf8_lossy(&[stdout, stderr].concat()).into_owned())
}
