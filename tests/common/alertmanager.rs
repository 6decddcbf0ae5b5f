//! A real Alertmanager, and the webhook that it sends to.

use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::State;
use axum::http::Uri;
use axum::{Json, Router};
use serde_json::Value;
use tokio::net::TcpListener;

use super::get;
use super::service::Service;

#[derive(Debug)]
pub struct Alertmanager {
    service: Service,
}

impl Alertmanager {
    /// Starts one that tells this webhook of every alert by itself, at once, and of its end.
    pub async fn sending_to(webhook: &Webhook) -> Self {
        let settings = format!(
            "route:\n  receiver: webhook\n  group_by: ['...']\n  group_wait: 100ms\n  group_interval: 1s\n\
             receivers:\n  - name: webhook\n    webhook_configs:\n      - url: '{}'\n        send_resolved: true\n",
            webhook.url
        );
        Self::start(&[("alertmanager.yml", settings.as_str())]).await
    }

    /// Starts one with these files, of which `alertmanager.yml` is its configuration.
    pub async fn start(files: &[(&str, &str)]) -> Self {
        // Without an address for its peers it looks for none.
        let args = ["--config.file=alertmanager.yml", "--storage.path=data", "--cluster.listen-address="];
        Self { service: Service::start("prometheus-alertmanager", files, &args).await }
    }

    /// The part of Prometheus' configuration by which it sends its alerts here.
    pub fn receiving(&self) -> String {
        let address = &self.service.address;
        format!("alerting:\n  alertmanagers:\n    - static_configs:\n        - targets: ['{address}']\n")
    }

    /// Where it listens, such as "127.0.0.1:40123".
    pub fn address(&self) -> &str {
        &self.service.address
    }

    /// Every alert that it holds: `labels`, `annotations` and, as `status`, whether another inhibits it.
    pub async fn alerts(&self) -> Result<Vec<Value>, String> {
        let body = get(&self.service.address, "/api/v2/alerts").await?;
        serde_json::from_str(&body).map_err(|error| format!("{error}: {body}"))
    }

    /// What it has logged: warnings and errors.
    pub fn log(&self) -> String {
        self.service.log()
    }
}

/// Each with the path that it was sent to.
type Inbox = Arc<Mutex<Vec<(String, Value)>>>;

/// A server that keeps what it is told, on whatever path; it ends with the runtime of the test.
#[derive(Debug)]
pub struct Webhook {
    /// Such as "127.0.0.1:40123".
    pub address: String,
    url: String,
    inbox: Inbox,
}

impl Webhook {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        let address = listener.local_addr().expect("it has an address").to_string();
        let inbox = Inbox::default();
        let router = Router::new().fallback(keep).with_state(Arc::clone(&inbox));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url: format!("http://{address}/alerts"), address, inbox }
    }

    /// Every alert of every notification, in order: each has its `status`, `labels` and `annotations`.
    pub fn alerts(&self) -> Vec<Value> {
        let sent = self.sent_to("/alerts");
        sent.iter().filter_map(|notification| notification["alerts"].as_array()).flatten().cloned().collect()
    }

    /// What was sent to this path, in order.
    pub fn sent_to(&self, path: &str) -> Vec<Value> {
        let inbox = self.inbox.lock().unwrap_or_else(PoisonError::into_inner);
        inbox.iter().filter(|(to, _)| to == path).map(|(_, sent)| sent.clone()).collect()
    }
}

async fn keep(State(inbox): State<Inbox>, uri: Uri, Json(sent): Json<Value>) {
    inbox.lock().unwrap_or_else(PoisonError::into_inner).push((uri.path().to_owned(), sent));
}
