//! The daemon among healthy and broken targets, and the demo, as their users start them.

mod common;
mod support;

use std::fmt::Write as _;
use std::time::Duration;

use common::{Daemon, PATIENCE, Process, config, eventually, get, sloprobe};
use support::{Server, Step, answer, end, head, in_time, punctually, text};
use tokio::time::{Instant, sleep};

/// The value of the one series whose text begins so.
fn value(metrics: &str, series: &str) -> f64 {
    let line = metrics.lines().find(|line| line.starts_with(series));
    line.and_then(|line| line.rsplit(' ').next()?.parse().ok()).unwrap_or_else(|| panic!("no {series}"))
}

#[tokio::test]
async fn broken_targets_are_counted_and_logged_once_and_the_daemon_goes_on() {
    let healthy = Server::start(vec![head(), Step::Send(text("a")), end(1)]).await;
    let page = Server::start(answer("200 OK", "content-type: text/html\r\n", "<html>hello</html>")).await;
    let silent = Server::start(vec![Step::Close]).await;
    let closed = Server::start(vec![]).await.address;
    let mut text = "[[workloads]]\nname = 'w'\nkind = 'chat'\n".to_owned();
    for (name, address) in
        [("healthy", healthy.address), ("page", page.address), ("silent", silent.address), ("closed", closed)]
    {
        let _ = write!(
            text,
            "[[targets]]\nname = '{name}'\nurl = 'http://{address}'\nmodel = 'm'\nrate = '10/s'\n"
        );
    }
    let folder = config(&text);
    let daemon = Daemon::start(sloprobe(&["run"]).current_dir(&folder)).await;

    let broken = [("page", "malformed"), ("silent", "truncated"), ("closed", "connect")];
    eventually("five failures of each broken target", PATIENCE, async || {
        let metrics = daemon.metrics().await;
        for (target, reason) in broken {
            let series =
                format!(r#"sloprobe_failures_total{{reason="{reason}",target="{target}",workload="w"}}"#);
            if value(&metrics, &series) < 5.0 {
                return Err(series);
            }
        }
        let served = value(&metrics, r#"sloprobe_ttft_seconds_count{target="healthy",workload="w"}"#);
        if served < 5.0 { Err("too few answers".to_owned()) } else { Ok(()) }
    })
    .await;

    let metrics = daemon.metrics().await;
    assert!(metrics.contains("sloprobe_up{target=\"healthy\"} 1\n"), "{metrics}");
    assert!(metrics.contains("sloprobe_up{target=\"closed\"} 0\n"), "{metrics}");
    daemon.process.signal("TERM");
    let ended = daemon.process.ended(PATIENCE).await;
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    for (target, reason) in broken {
        let lines = ended.stderr.lines().filter(|line| line.contains(&format!("target=\"{target}\"")));
        let lines: Vec<_> = lines.collect();
        assert_eq!(lines.len(), 1, "{lines:#?}");
        assert!(lines[0].contains(reason), "{lines:?}");
    }
    assert!(!ended.stderr.contains("panicked"), "{}", ended.stderr);
}

#[tokio::test]
async fn the_pages_say_what_they_should() {
    let healthy = Server::start(vec![head(), Step::Send(text("a")), end(1)]).await;
    let folder = config(&format!(
        "[[targets]]\nname = 'a<b'\nurl = 'http://{}'\nmodel = 'm'\nrate = '10/s'\n",
        healthy.address
    ));
    let daemon = Daemon::start(sloprobe(&["run"]).current_dir(&folder)).await;
    assert_eq!(get(&daemon.address, "/-/healthy").await.unwrap(), "sloprobe is healthy\n");
    assert_eq!(get(&daemon.address, "/-/ready").await.unwrap(), "sloprobe is probing\n");
    let page = get(&daemon.address, "/").await.unwrap();
    assert!(page.contains("href=\"/metrics\"") && page.contains("<td>a&lt;b</td>"), "{page}");
    assert!(get(&daemon.address, "/nowhere").await.is_err());
}

#[tokio::test]
async fn a_busy_machine_is_told_once_however_many_samples_are_suspect() {
    let healthy = Server::start(vec![head(), Step::Send(text("a")), end(1)]).await;
    let folder = config(&format!(
        "[[targets]]\nname = 't'\nurl = 'http://{}'\nmodel = 'm'\nrate = '50/s'\n\
         [[workloads]]\nname = 'w'\nkind = 'chat'\n",
        healthy.address
    ));
    let daemon = Daemon::start(sloprobe(&["run"]).current_dir(&folder)).await;
    eventually("five suspect samples", PATIENCE, async || {
        // A process that stands still is what a busy machine makes of it.
        daemon.process.signal("STOP");
        sleep(Duration::from_millis(50)).await;
        daemon.process.signal("CONT");
        let suspect = value(&daemon.metrics().await, r#"sloprobe_suspect_total{target="t",workload="w"}"#);
        if suspect >= 5.0 { Ok(()) } else { Err(suspect.to_string()) }
    })
    .await;
    daemon.process.signal("TERM");
    let log = daemon.process.ended(PATIENCE).await.stderr;
    let lines: Vec<_> = log.lines().filter(|line| line.contains("this machine is busy")).collect();
    assert_eq!(lines.len(), 1, "{log}");
    assert!(lines[0].contains("WARN"), "{lines:?}");
}

#[tokio::test]
async fn probes_are_measured_on_as_many_threads_as_asked_for() {
    let healthy = Server::start(vec![head(), Step::Send(text("a")), end(1)]).await;
    let mut settings = "[daemon]\nthreads = 2\n[[workloads]]\nname = 'w'\nkind = 'chat'\n".to_owned();
    for name in ["a", "b", "c"] {
        let target = format!("name = '{name}'\nurl = 'http://{}'\nmodel = 'm'", healthy.address);
        let _ = write!(settings, "[[targets]]\n{target}\nrate = '10/s'\n");
    }
    let folder = config(&settings);
    let daemon = Daemon::start(sloprobe(&["run"]).current_dir(&folder)).await;
    eventually("an answer for each target", PATIENCE, async || {
        let metrics = daemon.metrics().await;
        let up = |target| value(&metrics, &format!("sloprobe_up{{target=\"{target}\"}}"));
        if ["a", "b", "c"].map(up).iter().sum::<f64>() > 2.5 { Ok(()) } else { Err(metrics) }
    })
    .await;
    assert_eq!(daemon.process.threads("measure-"), ["measure-0", "measure-1"]);
    assert_eq!(daemon.process.threads("desk"), ["desk"]);
}

/// The column of a row of the demo's newest table.
fn cell(output: &str, target: &str, workload: &str, column: usize) -> Option<String> {
    let row = output.lines().rfind(|line| {
        let mut words = line.split_whitespace();
        words.next() == Some(target) && words.next() == Some(workload)
    })?;
    row.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).nth(column).map(str::to_owned)
}

/// Waits until the demo shows something: on a busy host its probes are suspect, and no objective counts those.
async fn shown(demo: &Process, what: &str, is_there: impl Fn(&str) -> bool) -> Result<(), String> {
    let end = Instant::now() + Duration::from_secs(45);
    while !is_there(&demo.stdout()) {
        if Instant::now() > end {
            return Err(format!("no {what}: {}", demo.stdout()));
        }
        sleep(Duration::from_millis(50)).await;
    }
    Ok(())
}

#[tokio::test]
async fn the_demo_shows_probes_at_once_an_upgrade_an_alert_and_a_quick_end() {
    punctually(async || {
        let times = ["--upgrade-after", "8s", "--rollback-after", "20s"];
        let command = &mut sloprobe(&["demo", "--listen", "127.0.0.1:0"]);
        let demo = Process::spawn(command.args(times)).unwrap();
        let first = Instant::now();
        let probes = |output: &str| cell(output, "steady", "short-chat", 2)?.parse::<u32>().ok();
        shown(&demo, "probes", |output| probes(output) > Some(0)).await?;
        let after = Instant::now() - first;
        in_time(after < Duration::from_secs(5), &after)?;
        assert!(demo.stdout().contains("- targets: [\"127.0.0.1:"), "{}", demo.stdout());
        let grown = |output: &str| {
            let change = |target| cell(output, target, "rag", 7)?.strip_suffix(" %")?.parse::<f64>().ok();
            change("steady") > Some(25.0) && change("fast") < Some(20.0)
        };
        shown(&demo, "TTFT that grew", grown).await?;
        for change in ["FIRING   SloprobeFastDegradation", "resolved SloprobeFastDegradation"] {
            shown(&demo, change, |output| output.contains(change)).await?;
        }
        check_alerts(&demo.stdout());
        let asked = Instant::now();
        demo.signal("INT");
        let ended = demo.ended(PATIENCE).await;
        let took = Instant::now() - asked;
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        assert!(ended.stdout.contains("steady was upgraded to 0.33.0"), "{}", ended.stdout);
        in_time(took < Duration::from_secs(2), &took)
    })
    .await;
}

/// Only what was upgraded alerts, and only after that; what was not answers well.
fn check_alerts(output: &str) {
    let alerts = output.lines().filter(|line| line.contains("FIRING"));
    let elsewhere: Vec<_> =
        alerts.filter(|line| !line.ends_with("chat-ttft of short-chat on steady")).collect();
    assert_eq!(elsewhere, Vec::<&str>::new());
    let (upgrade, alert) = (output.find("was upgraded"), output.find("FIRING"));
    assert!(upgrade < alert, "an alert before anything was wrong: {output}");
    let right = cell(output, "fast", "short-chat", 4).unwrap_or_default();
    assert!(right.split_once('/').is_some_and(|(right, judged)| right == judged), "{output}");
}
