//! `sloprobe once` in a process of its own, watched while it is under attack.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;
use tokio::process::{Child, Command};
use tokio::sync::OnceCell;
use tokio::time::{Instant, interval, timeout};

use super::server::{Hostile, PLAIN, answer};

/// Waits that a test can sit out: no attack outlives them.
pub const SHORT: &str = "connect = '1500ms'\nfirst_token = '700ms'\nstall = '500ms'\ntotal = '1500ms'";
/// For floods, whose bound is their size: no busy machine makes a timeout of them.
pub const LONG: &str = "connect = '20s'\nfirst_token = '20s'\nstall = '20s'\ntotal = '20s'";

/// What an attack may cost, beyond what a probe costs anyway.
const MAX_EXTRA_KIB: u64 = 60 << 10;

/// How an attack ended.
#[derive(Debug)]
pub struct Ended {
    /// The one outcome of the one probe.
    pub outcome: String,
    pub detail: String,
    pub report: Value,
    pub took: Duration,
    peak_kib: u64,
}

/// A probe of this address, with what else the target says and its waits.
#[derive(Debug, Clone, Copy)]
pub struct Victim<'a> {
    pub url: &'a str,
    pub more: &'a str,
    /// "other" asks nothing but the probe itself.
    pub engine: &'a str,
    pub timeouts: &'a str,
    pub trusted: Option<&'a Path>,
}

impl<'a> Victim<'a> {
    pub fn of(url: &'a str, timeouts: &'a str) -> Self {
        Self { url, more: "", engine: "other", timeouts, trusted: None }
    }

    /// Probes once; the memory it takes is bounded by what a harmless answer takes.
    pub async fn probe(self) -> Ended {
        let ended = self.run().await;
        let harmless = harmless_kib().await;
        println!(
            "{} after {:?}, {} KiB more: {}",
            ended.outcome,
            ended.took,
            ended.peak_kib.saturating_sub(harmless),
            ended.detail
        );
        assert!(
            ended.peak_kib < harmless + MAX_EXTRA_KIB,
            "{} KiB, {harmless} without an attack: {ended:?}",
            ended.peak_kib
        );
        ended
    }

    async fn run(self) -> Ended {
        let folder = tempfile::tempdir().expect("there is room for a file");
        let path = folder.path().join("sloprobe.toml");
        let Self { url, more, engine, timeouts, trusted } = self;
        let plan = format!(
            "[[targets]]\nname = 't'\nurl = '{url}'\nmodel = 'tiny'\nengine = '{engine}'\n{more}\n\
             [[workloads]]\nname = 'w'\nkind = 'chat'\ninput_tokens = 30\noutput_tokens = 20\n\
             [workloads.timeouts]\n{timeouts}\n"
        );
        fs::write(&path, plan).expect("there is room for a file");
        let mut command = Command::new(env!("CARGO_BIN_EXE_sloprobe"));
        command.args(["once", "--json", "-c"]).arg(&path).env("KEY", "sk-very-secret");
        if let Some(trusted) = trusted {
            command.env("SSL_CERT_FILE", trusted);
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
        let started = Instant::now();
        let child = command.spawn().expect("the binary was built");
        let watch = timeout(Duration::from_secs(30), watched(child));
        let (output, peak_kib) = watch.await.expect("no attack outlives every timeout");
        let (stdout, stderr) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(matches!(output.status.code(), Some(0 | 1)), "{:?} {stderr}", output.status);
        assert!(!stderr.contains("panicked"), "{stderr}");
        let report: Value = serde_json::from_str(stdout.trim_end()).expect("one report, on one line");
        let text = |key: &str| report[key].as_str().unwrap_or_default().to_owned();
        let (outcome, detail) = (text("outcome"), text("error"));
        assert_eq!(output.status.code() == Some(0), outcome == "ok", "{report}");
        Ended { outcome, detail, report, took: Instant::now() - started, peak_kib }
    }
}

/// Waits for the end of a process and gives the most memory it was seen to have had.
async fn watched(child: Child) -> (std::process::Output, u64) {
    let status = format!("/proc/{}/status", child.id().expect("it was just started"));
    let mut output = std::pin::pin!(child.wait_with_output());
    let mut tick = interval(Duration::from_millis(3));
    let mut peak = 0;
    loop {
        tokio::select! {
            output = &mut output => return (output.expect("a child can be waited for"), peak),
            _ = tick.tick() => peak = peak.max(high_water_kib(&status)),
        }
    }
}

/// The kernel keeps the peak itself, so that looking now and then misses next to nothing.
fn high_water_kib(status: &str) -> u64 {
    let text = fs::read_to_string(status).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0)
}

/// What a probe takes when nobody means harm.
async fn harmless_kib() -> u64 {
    static HARMLESS: OnceCell<u64> = OnceCell::const_new();
    *HARMLESS
        .get_or_init(|| async {
            let server = Hostile::saying(format!("{PLAIN}{}", answer())).await;
            let ended = Victim::of(&server.url(), LONG).run().await;
            assert_eq!(ended.outcome, "ok", "{ended:?}");
            ended.peak_kib
        })
        .await
}

/// One probe of a server with these waits, and its outcome.
pub async fn attacked(server: &Hostile, timeouts: &str) -> Ended {
    Victim::of(&server.url(), timeouts).probe().await
}

/// The probe of an attack that must end so, and no later than its waits allow.
pub async fn expect(server: Hostile, timeouts: &str, outcome: &str) -> Ended {
    let ended = attacked(&server, timeouts).await;
    assert_eq!(ended.outcome, outcome, "{ended:?}");
    ended
}
