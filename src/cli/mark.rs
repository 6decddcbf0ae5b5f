//! `sloprobe mark`: tell the running daemon that something about a target is new.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use serde_json::{Value, json};
use url::Url;

use super::peer::{self, Answer};
use super::{ConfigArgs, FAILED, MISUSED, output};
use crate::config;

/// The daemon answers at once, or is in trouble.
const PATIENCE: Duration = Duration::from_secs(5);

/// Tell the running daemon that something about a target is new, though no server shows it
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sloprobe mark --target chat-prod \"driver 580\"
  sloprobe mark --target chat-prod \"chunked prefill on\" --url http://probe:9788
  curl -H 'content-type: application/json' -d '{\"target\": \"chat-prod\", \"text\": \"driver 580\"}' \\
    http://127.0.0.1:9788/api/v1/marks          the same without sloprobe

From then on the target runs a release of its own, to be compared with the one before. There are no passwords: whoever
reaches the daemon's port can mark. Secrets that the configuration names are not read.")]
pub(super) struct MarkArgs {
    #[command(flatten)]
    config: ConfigArgs,

    /// The target's name in the configuration
    #[arg(long, value_name = "NAME")]
    target: String,

    /// Where the daemon listens, instead of the configuration's daemon.listen
    #[arg(long, value_name = "URL", value_parser = peer::address)]
    url: Option<Url>,

    /// What is new, in one line of at most 200 characters
    #[arg(value_name = "TEXT")]
    text: String,
}

pub(super) async fn run(args: &MarkArgs) -> Result<ExitCode> {
    let url = match &args.url {
        Some(url) => url.clone(),
        None => match config::load_without_secrets(&args.config.config) {
            Ok(plan) => Url::parse(&format!("http://{}", reachable(plan.listen)))?,
            Err(problems) => {
                eprintln!("{problems}");
                return Ok(ExitCode::from(MISUSED));
            }
        },
    };
    let place = peer::place(&url);
    let body = json!({ "target": args.target, "text": args.text }).to_string();
    let answer = peer::post(&url, "/api/v1/marks", &body, PATIENCE).await;
    let answer = match answer {
        Ok(answer) => answer,
        Err(error) => {
            eprintln!(
                "sloprobe: cannot mark at {place}: {error}\n    is the daemon running there? `sloprobe run` starts it, --url names another address"
            );
            return Ok(ExitCode::from(FAILED));
        }
    };
    Ok(show(&args.target, &place, answer))
}

/// Says what the daemon answered.
fn show(target: &str, place: &str, answer: Option<Answer>) -> ExitCode {
    let answer = answer.unwrap_or(Answer { status: 0, body: String::new() });
    let body: Value = serde_json::from_str(&answer.body).unwrap_or_default();
    match (answer.status, &body["release"], body["began"].as_str(), body["error"].as_str()) {
        (201, Value::Number(release), Some(began), _) => {
            output::print(&format!("{target} runs release {release} since {began}\n"));
            ExitCode::SUCCESS
        }
        (400..=499, .., Some(error)) => {
            eprintln!("sloprobe: {error}");
            ExitCode::from(MISUSED)
        }
        _ => {
            eprintln!("sloprobe: {place} answers, but not as this version of sloprobe does");
            ExitCode::from(FAILED)
        }
    }
}

/// Where a daemon that listens there is reached from this machine.
fn reachable(listen: SocketAddr) -> SocketAddr {
    let ip = match listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, listen.port())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everywhere_is_reached_here() {
        for (listen, reached) in
            [("0.0.0.0:9788", "127.0.0.1:9788"), ("[::]:9788", "[::1]:9788"), ("10.0.0.1:80", "10.0.0.1:80")]
        {
            assert_eq!(reachable(listen.parse().unwrap()).to_string(), reached);
        }
    }
}
