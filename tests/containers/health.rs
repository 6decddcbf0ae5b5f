//! `sloprobe health`, which is all that a container without a shell has to look after itself.

use std::time::Duration;

use tokio::net::TcpListener;
use tokio::time::Instant;

use crate::common::{Daemon, Ended, PATIENCE, Script, config, engine, eventually, run, sloprobe};
use crate::stack::Engine;

async fn health(address: &str) -> Ended {
    run(&mut sloprobe(&["health", "--url", &format!("http://{address}")])).await
}

async fn assert_ready(address: &str) {
    let said = health(address).await;
    assert_eq!(
        (said.code, said.stdout, said.stderr),
        (Some(0), format!("{address} is ready\n"), String::new())
    );
}

async fn assert_not_ready(address: &str, why: &str) {
    assert_says_why(address, &health(address).await, why);
}

/// Whether it says so in one line, and why.
fn assert_says_why(address: &str, said: &Ended, why: &str) {
    assert_eq!((said.code, said.stdout.as_str()), (Some(1), ""));
    let begins = format!("sloprobe: {address} is not ready: ");
    assert!(said.stderr.starts_with(&begins) && said.stderr.contains(why), "{}", said.stderr);
    assert_eq!(said.stderr.lines().count(), 1, "{}", said.stderr);
}

/// Begins an answer and never ends it.
fn endless(_request: &str) -> Script {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n".to_owned();
    vec![(Duration::ZERO, head), (PATIENCE, String::new())]
}

#[tokio::test]
async fn a_daemon_is_ready_until_it_is_asked_to_end() {
    let slow = engine(endless).await;
    let folder = config(&format!(
        "[[targets]]\nname = 't'\nurl = 'http://{slow}'\nmodel = 'm'\nengine = 'other'\nrate = '10/s'\n"
    ));
    let daemon = Daemon::start(sloprobe(&["run"]).current_dir(&folder)).await;
    eventually("a probe under way", PATIENCE, async || {
        let metrics = daemon.metrics().await;
        let busy =
            metrics.lines().any(|line| line.starts_with("sloprobe_in_flight") && !line.ends_with(" 0"));
        if busy { Ok(()) } else { Err(metrics) }
    })
    .await;
    assert_ready(&daemon.address).await;

    // The probes that never end hold it back for 10 s, in which it still answers.
    daemon.process.signal("TERM");
    let said = eventually("the end of readiness", PATIENCE, async || {
        let said = health(&daemon.address).await;
        if said.code == Some(0) { Err(said.stdout) } else { Ok(said) }
    })
    .await;
    assert_says_why(&daemon.address, &said, "starting or ending (status 503)");
}

#[tokio::test]
async fn an_engine_is_ready_too() {
    let engine = Engine::start(&["simulate", "--listen", "127.0.0.1:0"]).await;
    assert_ready(&engine.address).await;
}

#[tokio::test]
async fn nobody_and_somebody_else_are_not_ready() {
    let free = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    assert_not_ready(&free.to_string(), "refused").await;
    let other = engine(|_| vec![(Duration::ZERO, "HTTP/1.1 404 Not Found\r\n\r\n".to_owned())]).await;
    assert_not_ready(&other, "(status 404)").await;
    let broken = engine(|_| vec![(Duration::ZERO, "HTTP/1.1 500 Oops\r\n\r\n".to_owned())]).await;
    assert_not_ready(&broken, "status 500").await;
    let other = engine(|_| vec![(Duration::ZERO, "220 mail.example ESMTP\r\n".to_owned())]).await;
    assert_not_ready(&other, "does not speak HTTP").await;

    let said = run(&mut sloprobe(&["health", "--url", "https://probe"])).await;
    assert!(said.code == Some(2) && said.stderr.contains("write http://"), "{}", said.stderr);
}

#[tokio::test]
async fn one_that_never_answers_is_not_waited_for_for_long() {
    let mute = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let start = Instant::now();
    assert_not_ready(&mute.local_addr().unwrap().to_string(), "no answer within 2s").await;
    // 2 s, and whatever a busy machine adds to the start of a process.
    let took = Instant::now() - start;
    assert!(took < Duration::from_secs(10), "{took:?}");
}
