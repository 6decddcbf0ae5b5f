//! The schedule over minutes, on a stopped clock: hours of waiting pass in no time.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

mod support;

use std::time::Duration;

use sloprobe::config::Plan;
use sloprobe::daemon::{Daemon, Measuring};
use support::{PATIENT, Server, Step, in_time, plan, punctually};
use tokio::net::TcpListener;
use tokio::time::sleep;

const TEN_MINUTES: Duration = Duration::from_secs(600);
const BACK_OFF: &str = r#"sloprobe_skipped_total{reason="back_off",target="t",workload="w"}"#;

/// Runs a daemon for so long by its own clock, and gives what it exposes at the end.
async fn run_for(plan: Plan, time: Duration) -> Vec<String> {
    run_daemon_for(Daemon::new(plan).unwrap(), time).await
}

async fn run_daemon_for(mut daemon: Daemon, time: Duration) -> Vec<String> {
    // A stopped clock does not reach other threads.
    daemon.measuring = Measuring::Here;
    let recorder = daemon.recorder();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    daemon.run(listener, sleep(time), Duration::ZERO).await.unwrap();
    recorder.text().lines().map(str::to_owned).collect()
}

/// The sum of all series whose text begins so.
fn sum(exposed: &[String], series: &str) -> f64 {
    let values = exposed.iter().filter(|line| line.starts_with(series));
    values.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum()
}

#[tokio::test(start_paused = true)]
async fn six_a_minute_are_sixty_in_ten_minutes_while_every_answer_hangs() {
    let server = Server::start(vec![Step::Hang]).await;
    let exposed =
        run_for(plan(&format!("http://{}", server.address), "rate = '6/min'", PATIENT), TEN_MINUTES).await;
    let probes = sum(&exposed, "sloprobe_probes_total");
    assert!((59.0..=61.0).contains(&probes), "{probes}");
    assert!(sum(&exposed, "sloprobe_failures_total") >= 57.0);
    assert!(sum(&exposed, "sloprobe_skipped_total") <= f64::from(u8::from(probes < 61.0)));
    assert!(sum(&exposed, "sloprobe_lag_seconds_sum") < 0.1 * probes);
}

#[tokio::test(start_paused = true)]
async fn a_due_time_is_either_sent_or_counted() {
    let server = Server::start(vec![Step::Hang]).await;
    let more = "rate = '6/min'\nin_flight = 1";
    let exposed = run_for(plan(&format!("http://{}", server.address), more, PATIENT), TEN_MINUTES).await;
    let sent = sum(&exposed, "sloprobe_probes_total");
    let skipped = sum(&exposed, "sloprobe_skipped_total");
    assert!((59.0..=61.0).contains(&(sent + skipped)), "{sent} sent, {skipped} skipped");
    assert!(sent <= 31.0, "{sent} sent, though each hung for two intervals");
    let in_flight = r#"sloprobe_skipped_total{reason="in_flight",target="t",workload="w"}"#;
    assert!(sum(&exposed, in_flight) >= 29.0, "{exposed:#?}");
}

#[tokio::test(start_paused = true)]
async fn a_budget_thins_the_probes_out_and_says_so() {
    let server = Server::start(vec![Step::Hang]).await;
    let more = "rate = '6/min'\ntokens_per_hour = 3000";
    let hour = Duration::from_secs(3600);
    let exposed = run_for(plan(&format!("http://{}", server.address), more, PATIENT), hour).await;
    let sent = sum(&exposed, "sloprobe_probes_total");
    assert!((55.0..=60.0).contains(&sent), "{sent} probes of 50 tokens");
    let budget = r#"sloprobe_skipped_total{reason="budget",target="t",workload="w"}"#;
    assert!(sum(&exposed, budget) >= 299.0, "{exposed:#?}");
}

#[tokio::test]
async fn a_server_that_asks_for_rest_is_left_alone() {
    let limited = support::answer("429 Too Many Requests", "retry-after: 60\r\n", "later");
    punctually(async || {
        let server = Server::start(limited.clone()).await;
        let more = "rate = '20/s'";
        let exposed =
            run_for(plan(&format!("http://{}", server.address), more, PATIENT), Duration::from_secs(1)).await;
        // A late host hears the refusal only after more probes have been sent, and misses due times.
        let (requests, rests) = (server.requests().len(), sum(&exposed, BACK_OFF));
        in_time(requests <= 3 && rests >= 10.0, &(requests, rests, &exposed))
    })
    .await;
}

#[tokio::test]
async fn a_server_that_refuses_the_key_is_not_pestered_by_probes_nor_by_questions() {
    punctually(async || {
        let server = Server::start(support::answer("401 Unauthorized", "", "no")).await;
        let mut daemon =
            Daemon::new(plan(&format!("http://{}", server.address), "rate = '20/s'", PATIENT)).unwrap();
        daemon.pace.every = Duration::from_millis(20);
        let exposed = run_daemon_for(daemon, Duration::from_secs(2)).await;
        // What was under way when the first refusal came may be refused as well; that is more on a late host,
        // which also misses due times.
        let (requests, rests) = (server.requests().len(), sum(&exposed, BACK_OFF));
        in_time(requests <= 6 && rests >= 30.0, &(requests, rests, &exposed))
    })
    .await;
}
