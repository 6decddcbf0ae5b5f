//! Everything that the dashboards look at: engines of three kinds, the real daemon, the rules that it writes, and a real
//! Prometheus that scrapes the one and evaluates the other.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use rcgen::{CertificateParams, KeyPair};
use sloprobe::domain::clock::{unix_seconds, wall_now};
use sloprobe::simulate::{self, Handle, Profile, Settings};
use tempfile::TempDir;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

use super::common::prometheus::{Prometheus, Version};
use super::common::service::REMEDY;
use super::common::{Daemon, PATIENCE, Process, Script, config, engine, healthy, run, sloprobe};

/// Most rules are as fast as in a drill: 15 minutes are 15 seconds.
const TIME_SCALE: &str = "60";

/// Some compare with yesterday, or count by the hour: they must be faster still, to have a yesterday within the minute.
const FASTER: &str = "2400";
const FASTER_GROUPS: [&str; 2] = ["sloprobe-budget", "sloprobe-regression"];

/// Every target with every workload that is sent to it.
pub const PLACES: [(&str, &str); 7] = [
    ("steady", "chat"),
    ("steady", "rag"),
    ("steady", "story"),
    ("secure", "chat"),
    ("secure", "rag"),
    ("secure", "story"),
    ("telling", "own"),
];

/// How a Prometheus stores histograms.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Storing {
    /// A series for each bucket.
    Classic,
    /// One series, with the bounds of the classic buckets.
    Converted,
    /// One series, with buckets that grow by a factor.
    Native,
}

/// All but the classic one.
pub const OTHERWISE: [Storing; 2] = [Storing::Converted, Storing::Native];

impl Storing {
    fn version(self) -> Version {
        match self {
            Self::Classic => Version::Two,
            Self::Converted | Self::Native => Version::Three,
        }
    }

    /// What its scrapes need for that.
    fn setting(self) -> &'static str {
        match self {
            Self::Classic => "",
            Self::Converted => "  convert_classic_histograms_to_nhcb: true\n",
            Self::Native => "  scrape_native_histograms: true\n",
        }
    }
}

/// Each part ends with this.
pub struct Stage {
    pub daemon: Daemon,
    /// What `secure` runs.
    pub secure: Handle,
    _steady: Handle,
    rules: String,
    folder: TempDir,
}

impl Stage {
    pub async fn start() -> Self {
        let (steady, secure) = (simulated().await, simulated().await);
        let (certificate, port) = behind_tls(&secure).await;
        let telling = engine(telling).await;
        let folder = config(&settings(
            &steady.base_url(),
            &format!("https://localhost:{port}"),
            &format!("http://{telling}"),
        ));
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        write("ca.pem", &certificate);
        write("questions.jsonl", r#"{"prompt": "Say word.", "expect": {"regex": "word"}}"#);
        let trust = folder.path().join("ca.pem");
        let mut command = sloprobe(&["run"]);
        let daemon = Daemon::start(command.current_dir(&folder).env("SSL_CERT_FILE", trust)).await;
        let rules = rules(&folder).await;
        Self { daemon, secure, _steady: steady, rules, folder }
    }

    /// A Prometheus that scrapes the daemon and evaluates its rules.
    pub async fn watched(&self, storing: Storing) -> Prometheus {
        let settings = scraping(&self.daemon.address, storing) + "rule_files: ['sloprobe.rules.yml']\n";
        let data = self.folder.path().join(format!("{storing:?}"));
        remember(&last_week(), &data).await;
        let flag = format!("--storage.tsdb.path={}", data.display());
        let files = [("sloprobe.rules.yml", self.rules.as_str())];
        let prometheus = Prometheus::start_with(storing.version(), &settings, &files, &[&flag]).await;
        // What is not there yet cannot be mixed up with what is.
        prometheus.expect("count(count_over_time(up{job=\"sloprobe\"}[1m]) > 2)", 3.0, 3.0).await;
        prometheus
    }
}

/// One daemon stands for three: two replicas here, which differ in their instance, and one elsewhere, which is called as
/// one of them. The latter two are looked at less often, to spare the machine.
fn scraping(address: &str, storing: Storing) -> String {
    let replica = address.replace("127.0.0.1", "localhost");
    let mut text = format!(
        "global:\n  scrape_interval: 250ms\n  scrape_timeout: 250ms\n{}scrape_configs:\n",
        storing.setting()
    );
    for (name, address, interval, labels) in [
        ("sloprobe", address, "250ms", "region: here"),
        ("replica", &replica, "1s", "region: here"),
        ("elsewhere", address, "1s", "region: there, cluster: two"),
    ] {
        let _ = writeln!(
            text,
            "  - job_name: {name}\n    scrape_interval: {interval}\n    scrape_timeout: {interval}\n\
             \x20   relabel_configs: [{{ target_label: job, replacement: sloprobe }}]\n\
             \x20   static_configs: [{{ targets: ['{address}'], labels: {{ {labels} }} }}]"
        );
    }
    text
}

/// Three targets, all three kinds of workload and one of somebody's own, and objectives of each sort.
fn settings(steady: &str, secure: &str, telling: &str) -> String {
    let mut text = "[daemon]\nhistory = 'sloprobe.db'\n".to_owned();
    for (name, url, rate) in
        [("steady", steady, "9/s"), ("secure", secure, "9/s"), ("telling", telling, "2/s")]
    {
        let own = PLACES.iter().filter(|(target, _)| *target == name);
        let mix = own.map(|(_, workload)| format!("{workload} = 1")).collect::<Vec<_>>().join(", ");
        let _ = writeln!(
            text,
            "[[targets]]\nname = '{name}'\nurl = '{url}'\nmodel = 'sim-fast'\nrate = '{rate}'\nmix = {{ {mix} }}\n\
             labels = {{ gpu = 'none' }}"
        );
    }
    for (name, kind, more) in [
        ("chat", "chat", "input_tokens = 60\noutput_tokens = 12"),
        ("rag", "rag", "input_tokens = 400\noutput_tokens = 24"),
        ("story", "continuation", "input_tokens = 60\noutput_tokens = 24\nexact_output = true"),
        ("own", "file", "prompts = 'questions.jsonl'\noutput_tokens = 12"),
    ] {
        let _ = writeln!(text, "[[workloads]]\nname = '{name}'\nkind = '{kind}'\n{more}");
    }
    // Bounds that a busy machine keeps as well.
    for (metric, workload) in
        [("ttft", "chat"), ("tpot", "story"), ("itl_p99", "story"), ("stall", "story"), ("latency", "rag")]
    {
        let _ = writeln!(
            text,
            "[[slos]]\nname = 'good-{metric}'\nworkload = '{workload}'\nmetric = '{metric}'\nbelow = '5s'\nobjective = 90"
        );
    }
    text + "[[slos]]\nname = 'answers'\nmetric = 'availability'\nobjective = 99\n\
            [[slos]]\nname = 'rag-quality'\nworkload = 'rag'\nmetric = 'quality'\nobjective = 80\nwindow = '7d'\n"
}

async fn simulated() -> Handle {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    simulate::start(listener, Settings::of(Profile::Fast)).unwrap()
}

/// What a server says that tells where its time went, and what it is.
fn telling(request: &str) -> Script {
    let json = |body: &str| {
        let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n";
        vec![(Duration::ZERO, format!("{head}content-length: {}\r\n\r\n{body}", body.len()))]
    };
    if request.starts_with("GET /version") {
        return json(r#"{"version":"0.11.0"}"#);
    }
    if request.starts_with("GET /v1/models") {
        return json(
            r#"{"object":"list","data":[{"id":"sim-fast","owned_by":"vllm","max_model_len":4096}]}"#,
        );
    }
    let metrics = r#""metrics":{"queue_time_ms":2,"time_to_first_token_ms":38,"generation_time_ms":70}"#;
    let mut script = healthy(request);
    if let Some((_, last)) = script.last_mut() {
        *last = last.replace(r#"{"choices":[],"#, &format!(r#"{{"choices":[],{metrics},"#));
    }
    script
}

/// Puts TLS before an engine; its certificate, which vouches for itself, and where it listens.
async fn behind_tls(engine: &Handle) -> (String, u16) {
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(["localhost".to_owned()]).unwrap().self_signed(&key).unwrap();
    let secret = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], secret)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (port, inner) = (listener.local_addr().unwrap().port(), engine.address());
    tokio::spawn(async move {
        while let Ok((outer, _)) = listener.accept().await {
            let acceptor = acceptor.clone();
            tokio::spawn(async move {
                let mut outer = acceptor.accept(outer).await?;
                let mut inner = TcpStream::connect(inner).await?;
                copy_bidirectional(&mut outer, &mut inner).await
            });
        }
    });
    (certificate.pem(), port)
}

/// Makes samples of the past, given as OpenMetrics with their times, what a Prometheus on this folder remembers. They are
/// classic for all: whoever begins to store histograms otherwise has such a past.
async fn remember(samples: &str, folder: &Path) {
    fs::create_dir(folder).unwrap();
    let file = folder.with_extension("samples");
    fs::write(&file, samples).unwrap();
    let mut promtool = Command::new("promtool");
    promtool.args(["tsdb", "create-blocks-from", "openmetrics"]).args([&file, folder]);
    let made =
        Process::spawn(&mut promtool).unwrap_or_else(|error| panic!("promtool: {error}\n    {REMEDY}"));
    let made = made.ended(PATIENCE).await;
    assert_eq!(made.code, Some(0), "{made:?}");
}

/// What Prometheus remembers of the same time a week ago: first tokens of one target, for an hour and a bit.
fn last_week() -> String {
    let now = unix_seconds(wall_now()) as u64;
    let start = now - 7 * 86_400 - 4200;
    let mut text = String::new();
    for minute in 0..80 {
        for (le, share) in [("0.05", 1), ("0.1", 2), ("+Inf", 2)] {
            let labels = format!(
                r#"job="sloprobe",instance="before",region="here",target="steady",workload="chat",le="{le}""#
            );
            let (count, at) = (minute * share, start + 60 * minute);
            let _ = writeln!(text, "sloprobe_ttft_seconds_bucket{{{labels}}} {count} {at}");
        }
    }
    text + "# EOF\n"
}

/// The rules of this configuration; some groups are those of a faster drill.
async fn rules(folder: &TempDir) -> String {
    let mut groups = Vec::new();
    for (scale, is_faster) in [(TIME_SCALE, false), (FASTER, true)] {
        let ended = run(sloprobe(&["rules", "--time-scale", scale]).current_dir(folder)).await;
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
        let of_scale = ended.stdout.split("\n- name: ").skip(1).map(str::to_owned);
        let is_wanted = |group: &String| FASTER_GROUPS.contains(&group.lines().next().unwrap()) == is_faster;
        groups.extend(of_scale.filter(is_wanted));
    }
    assert!(groups.len() > FASTER_GROUPS.len(), "{groups:?}");
    groups.iter().fold("groups:".to_owned(), |text, group| format!("{text}\n- name: {}", group.trim_end()))
        + "\n"
}
