//! A real daemon scraped by real Prometheuses, old and new, in every format and into every form of histogram: all of them
//! have the same numbers, and those of native histograms are those of the history.

mod common;

use std::fmt::Write as _;

use common::prometheus::{Prometheus, Version, percent_encoded};
use common::service::BOUND;
use common::{Daemon, config, engine, eventually, get_with, healthy, run, sloprobe};
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

const TEXT: &str = "text/plain;version=0.0.4";
const OPEN_METRICS: &str = "application/openmetrics-text;version=1.0.0";

/// So many of its values make a quantile that does not change by one of them.
const ENOUGH: f64 = 120.0;

/// A job of Prometheus 3, with what its scrapes need.
const JOBS: [(&str, &str); 5] = [
    ("text", "scrape_protocols: [PrometheusText0.0.4]"),
    ("open-metrics", "scrape_protocols: [OpenMetricsText1.0.0]"),
    ("protobuf", "scrape_protocols: [PrometheusProto]"),
    ("native", "scrape_protocols: [PrometheusProto]\n    scrape_native_histograms: true"),
    ("converted", "scrape_protocols: [PrometheusText0.0.4]\n    convert_classic_histograms_to_nhcb: true"),
];

/// Ten probes a second, and buckets that are fine enough to be compared with native ones.
fn settings(engine: &str) -> String {
    format!(
        "[daemon]\nhistory = 'sloprobe.db'\nbuckets = 'many'\n\
         [[targets]]\nname = 'one'\nurl = 'http://{engine}'\nmodel = 'm'\nrate = '10/s'\nmix = {{ tiny = 1 }}\n\
         [[workloads]]\nname = 'tiny'\nkind = 'chat'\ninput_tokens = 20\noutput_tokens = 8\n"
    )
}

/// Prometheus 2.42 cannot be told which format to ask for: this address asks for it in its place.
async fn relay(daemon: &str, accept: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
    let (address, daemon) = (listener.local_addr().expect("it has an address"), daemon.to_owned());
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            let daemon = daemon.clone();
            tokio::spawn(async move {
                // The request is short, and comes at once.
                let mut request = [0; 4096];
                if client.read(&mut request).await? == 0 {
                    return Ok(());
                }
                let page = get_with(&daemon, "/metrics", &format!("Accept: {accept}\r\n")).await;
                let page = page.map_err(std::io::Error::other)?;
                let head = format!(
                    "HTTP/1.1 200 OK\r\ncontent-type: {accept}\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
                    page.len()
                );
                client.write_all(format!("{head}{page}").as_bytes()).await
            });
        }
    });
    address.to_string()
}

fn scraping<'a>(jobs: impl Iterator<Item = (&'a str, String, &'a str)>) -> String {
    let mut text = "global:\n  scrape_interval: 500ms\n  scrape_timeout: 500ms\nscrape_configs:\n".to_owned();
    for (name, address, more) in jobs {
        let _ = writeln!(
            text,
            "  - job_name: {name}\n    static_configs: [{{ targets: ['{address}'] }}]\n    {more}"
        );
    }
    text
}

async fn old(daemon: &str) -> Prometheus {
    let jobs = [
        ("text", relay(daemon, TEXT).await, ""),
        ("open-metrics", relay(daemon, OPEN_METRICS).await, ""),
        ("native", daemon.to_owned(), ""),
    ];
    let flags = ["--storage.tsdb.path=data", "--enable-feature=native-histograms"];
    Prometheus::start_with(Version::Two, &scraping(jobs.into_iter()), &[], &flags).await
}

async fn new(daemon: &str) -> Prometheus {
    let jobs = JOBS.iter().map(|(name, more)| (*name, daemon.to_owned(), *more));
    let flags = ["--storage.tsdb.path=data", "--enable-feature=exemplar-storage"];
    Prometheus::start_with(Version::Three, &scraping(jobs), &[], &flags).await
}

/// A question about all that a job has seen of a histogram, whichever form it has.
fn either(job: &str, of: &str, whole: &str, part: &str) -> String {
    let selected = |suffix: &str| format!("sloprobe_{of}_seconds{suffix}{{job=\"{job}\"}}");
    format!("{whole}({}) or sum without (le) ({})", selected(""), selected(part))
}

fn median(job: &str, of: &str) -> String {
    let selected = |suffix: &str| format!("sloprobe_{of}_seconds{suffix}{{job=\"{job}\"}}");
    format!("histogram_quantile(0.5, {}) or histogram_quantile(0.5, {})", selected(""), selected("_bucket"))
}

/// Waits until a job has seen enough, and its medians and means are near those of the history.
async fn expect_numbers(prometheus: &Prometheus, job: &str, off: f64, history: &Folder) {
    for of in ["ttft", "tpot", "latency"] {
        let seen = either(job, of, "histogram_count", "_count");
        prometheus.expect(&seen, ENOUGH, f64::MAX).await;
        let mean = format!("({}) / ({seen})", either(job, of, "histogram_sum", "_sum"));
        eventually(&format!("the {of} of {job}"), BOUND, async || {
            let exact = history.told(of).await?;
            for (query, statistic, off) in [(median(job, of), "p50", off), (mean.clone(), "mean", 0.05)] {
                let wanted = exact[statistic].as_f64().ok_or("the history has no values yet")?;
                let number = prometheus.number(&query).await?;
                if (number / wanted - 1.0).abs() > off {
                    return Err(format!("{statistic} is {number}, and {wanted} in the history"));
                }
            }
            Ok(())
        })
        .await;
    }
}

/// Where the daemon keeps its history.
struct Folder(tempfile::TempDir);

impl Folder {
    /// The statistics of a duration.
    async fn told(&self, of: &str) -> Result<Value, String> {
        let ended = run(sloprobe(&["report", "--format", "json"]).current_dir(self.0.path())).await;
        let report: Value =
            serde_json::from_str(&ended.stdout).map_err(|error| format!("{error}: {ended:?}"))?;
        Ok(report["rows"][0][format!("{of}_seconds")].clone())
    }

    /// What the history has of a probe.
    async fn probe(&self, id: &str) -> Result<Value, String> {
        let ended = run(sloprobe(&["probe", id, "--json"]).current_dir(self.0.path())).await;
        serde_json::from_str(&ended.stdout).map_err(|error| format!("{error}: {ended:?}"))
    }
}

#[tokio::test]
async fn old_and_new_prometheuses_take_every_format_and_have_the_same_numbers() {
    let folder = Folder(config(&settings(&engine(healthy).await)));
    let daemon = Daemon::start(sloprobe(&["run"]).current_dir(folder.0.path())).await;
    let (old, new) = (old(&daemon.address).await, new(&daemon.address).await);
    // Classic quantiles are guessed within a bucket; those of native ones are promised.
    let [guessed, promised] = [0.25, 0.05];
    for (prometheus, jobs) in
        [(&old, &["text", "open-metrics", "native"][..]), (&new, &JOBS.map(|(name, _)| name)[..])]
    {
        prometheus.expect("min(up)", 1.0, 1.0).await;
        for job in jobs {
            let off = if *job == "native" { promised } else { guessed };
            expect_numbers(prometheus, job, off, &folder).await;
        }
        // Each form is what it should be: one series, or one for each bucket.
        for job in jobs {
            let is_whole = ["native", "converted"].contains(job);
            let [present, absent] = if is_whole { ["", "_bucket"] } else { ["_bucket", ""] };
            let of = |suffix: &str| format!("sloprobe_ttft_seconds{suffix}{{job=\"{job}\"}}");
            prometheus.expect(&format!("count({}) > bool 0", of(present)), 1.0, 1.0).await;
            prometheus.expect(&format!("absent({})", of(absent)), 1.0, 1.0).await;
        }
        prometheus.expect("sum(sloprobe_failures_total)", 0.0, 0.0).await;
    }
    for series in
        [r#"sloprobe_ttft_seconds_bucket{job="open-metrics"}"#, r#"sloprobe_ttft_seconds{job="native"}"#]
    {
        expect_exemplar(&new, series, &folder).await;
    }
}

/// Waits until an exemplar of a series is that of a probe in the history, with the same number.
async fn expect_exemplar(prometheus: &Prometheus, series: &str, history: &Folder) {
    eventually(&format!("an exemplar of {series}"), BOUND, async || {
        let series = percent_encoded(series);
        let path = format!("query_exemplars?query={series}&start=1700000000&end=4000000000");
        let found = prometheus.api(&path).await?;
        let exemplar = &found[0]["exemplars"][0];
        let id = exemplar["labels"]["probe_id"].as_str().ok_or_else(|| format!("none in {found}"))?;
        let value: f64 = exemplar["value"].as_str().and_then(|value| value.parse().ok()).ok_or("no value")?;
        let probe = history.probe(id).await?;
        let ttft = probe["ttft_seconds"].as_f64().ok_or("no TTFT")?;
        if (value - ttft).abs() < 1e-6 {
            Ok(())
        } else {
            Err(format!("{value} s, and {ttft} s in the history"))
        }
    })
    .await;
}
