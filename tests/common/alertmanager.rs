//! A real Alertmanager, and the webhook that it sends to.

use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::State;
use axum::routing::post;
use axum::{Json, Router};
use serde_json::Value;
use tokio::net::TcpListener;

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
        let files = [("alertmanager.yml", settings.as_str())];
        // Without an address for its peers it looks for none.
        let args = ["--config.file=alertmanager.yml", "--storage.path=data", "--cluster.listen-address="];
        Self { service: Service::start("prometheus-alertmanager", &files, &args).await }
    }

    /// The part of Prometheus' configuration by which it sends its alerts here.
    pub fn receiving(&self) -> String {
        let address = &self.service.address;
        format!("alerting:\n  alertmanagers:\n    - static_configs:\n        - targets: ['{address}']\n")
    }

    /// What it has logged: warnings and errors.
    pub fn log(&self) -> String {
        self.service.log()
    }
}

type Inbox = Arc<Mutex<Vec<Value>>>;

/// A server that keeps what it is told; it ends with the runtime of the test.
#[derive(Debug)]
pub struct Webhook {
    url: String,
    inbox: Inbox,
}

impl Webhook {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        let url = format!("http://{}/alerts", listener.local_addr().expect("it has an address"));
        let inbox = Inbox::default();
        let router = Router::new().route("/alerts", post(keep)).with_state(Arc::clone(&inbox));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url, inbox }
    }

    /// Every alert of every notification, in order: each has its `status`, `labels` and `annotations`.
    pub fn alerts(&self) -> Vec<Value> {
        let inbox = self.inbox.lock().unwrap_or_else(PoisonError::into_inner);
        inbox.iter().filter_map(|notification| notification["alerts"].as_array()).flatten().cloned().collect()
    }
}

async fn keep(State(inbox): State<Inbox>, Json(notification): Json<Value>) {
    inbox.lock().unwrap_or_else(PoisonError::into_inner).push(notification);
}
