//! Bare reqwest: what a good engineer writes in an afternoon. A client for each target, read, split, parse, stamp.

use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::time::Instant;

use crate::client::{Answer, Ask, open_loop};
use crate::trip::Trip;

/// The leaner of two ways to run it is the one to beat.
pub fn runtime(threads: &str) -> std::io::Result<Runtime> {
    match threads {
        "one" => Builder::new_current_thread().enable_all().build(),
        _ => Builder::new_multi_thread().enable_all().build(),
    }
}

pub fn run(threads: &str, ask: &Ask, interval: Duration) {
    let runtime = runtime(threads).expect("a runtime can be built");
    let clients: Vec<_> = (0..ask.targets).map(|_| client()).collect();
    let url = format!("http://{}/v1/chat/completions", ask.address);
    runtime.block_on(open_loop(interval, |number, ended| {
        let request = clients[number % clients.len()]
            .post(&url)
            .header("content-type", "application/json")
            .header("accept", "text/event-stream")
            .body(ask.body.clone());
        tokio::spawn(async move {
            if let Ok(Some(trip)) = travel(request).await {
                let _ = ended.send(trip);
            }
        });
    }));
}

async fn travel(request: reqwest::RequestBuilder) -> reqwest::Result<Option<Trip>> {
    let mut answer = Answer::begin();
    let mut response = request.send().await?.error_for_status()?;
    while let Some(bytes) = response.chunk().await? {
        answer.feed(Instant::now(), &bytes);
    }
    Ok(answer.trip())
}

fn client() -> reqwest::Client {
    let provider = rustls::crypto::ring::default_provider().into();
    let tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("ring has them")
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
    reqwest::Client::builder()
        .no_proxy()
        .tcp_nodelay(true)
        .tls_backend_preconfigured(tls)
        .build()
        .expect("a client can be built")
}
