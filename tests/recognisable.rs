//! Every request tells whose it is, so that gateways can keep probes out of users' statistics.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should panic")]

mod support;

use std::path::Path;

use sloprobe::config::{self, Outside, Plan};
use sloprobe::domain::Prompt;
use sloprobe::probe::{Transport, Trust, count_tokens, identify};
use support::{PATIENT, Prober, Server, Step, answer, end, head, plan, text};

const USER_AGENT: &str =
    concat!("sloprobe/", env!("CARGO_PKG_VERSION"), " (+https://github.com/sloprobe/sloprobe)");

/// Answers probes with a stream, and everything else as a server that is asked what it runs.
async fn server() -> Server {
    Server::answering(|request| match request.split(' ').nth(1) {
        Some("/v1/chat/completions") => vec![head(), Step::Send(text("a")), end(1)],
        Some("/tokenize") => answer("200 OK", "", r#"{"count":7,"max_model_len":4096,"tokens":[]}"#),
        Some("/version") => answer("200 OK", "", r#"{"version":"0.33.0"}"#),
        _ => answer("404 Not Found", "", "{}"),
    })
    .await
}

/// The values of a header in one request.
fn values<'a>(request: &'a str, name: &str) -> Vec<&'a str> {
    let head = request.split("\r\n\r\n").next().unwrap_or_default();
    let named = head.lines().filter_map(|line| line.split_once(": ")).filter(|(key, _)| *key == name);
    named.map(|(_, value)| value).collect()
}

fn parsed(file: &str) -> Plan {
    let nothing = |_: &Path| Err(std::io::ErrorKind::NotFound.into());
    let outside = Outside { env: &|_| None, file: &nothing, text: &nothing };
    config::parse("test.toml", file, &outside).unwrap_or_else(|problems| panic!("{problems}"))
}

#[tokio::test]
async fn probes_questions_and_counts_all_tell_whose_they_are() {
    let server = server().await;
    let plan = plan(&format!("http://{}", server.address), "engine = 'vllm'", PATIENT);
    let transport = Transport::new(&plan.targets[0], &Trust::default()).unwrap();
    identify(&transport).await;
    assert!(count_tokens(&transport, &Prompt::of_user("hello", 20)).await.is_some());
    assert_eq!(Prober::new(plan).probe().await.fault, None);
    let requests = server.requests();
    for path in ["GET /version ", "POST /tokenize ", "POST /v1/chat/completions "] {
        assert!(requests.iter().any(|request| request.starts_with(path)), "{path}: {requests:?}");
    }
    for request in &requests {
        assert_eq!(values(request, "user-agent"), [USER_AGENT], "{request}");
        assert_eq!(values(request, "x-synthetic"), ["sloprobe"], "{request}");
    }
}

#[tokio::test]
async fn the_header_is_the_daemons_unless_the_target_says_another() {
    let (team, none) = ("synthetic_header = 'X-Probe:  team a '", "synthetic_header = false");
    let own = "headers = { 'X-Synthetic' = 'mine', 'user-agent' = 'me/1' }";
    for (daemon, target, probe, synthetic) in [
        ("", "", &[][..], &["sloprobe"][..]),
        (team, "", &["team a"], &[]),
        (team, none, &[], &[]),
        (none, "", &[], &[]),
        (none, team, &["team a"], &[]),
        ("", own, &[], &["mine"]),
    ] {
        let server = server().await;
        let plan = parsed(&format!(
            "[daemon]\n{daemon}\n[[targets]]\nname = 't'\nurl = 'http://{}'\nmodel = 'm'\n{target}\n",
            server.address
        ));
        assert_eq!(Prober::new(plan).probe().await.fault, None);
        let requests = server.requests();
        let [request] = requests.as_slice() else { panic!("{requests:?}") };
        assert_eq!(values(request, "x-probe"), probe, "{daemon}; {target}");
        assert_eq!(values(request, "x-synthetic"), synthetic, "{daemon}; {target}");
        let agent = if target == own { "me/1" } else { USER_AGENT };
        assert_eq!(values(request, "user-agent"), [agent], "{daemon}; {target}");
    }
}
