//! Asks a target what it runs: a few GETs of pages that only tell and change nothing.
//!
//! [`Page`] is the list of all that is ever asked for. Some servers stop, or empty a cache, on a GET of
//! another page, so nothing outside this list may be requested.

mod recognise;

use std::time::Duration;

use tokio::time::timeout;
use url::Url;

use super::transport::{Broken, Lane, Transport};
use crate::domain::identity::presentable;
use crate::domain::{Api, Engine, Fields, Identity, Target};
use crate::protocol::Dialect;
use recognise::Findings;

/// A page that does not come within this is not waited for.
const PATIENCE: Duration = Duration::from_secs(2);

/// A page that is longer tells something else.
const MAX_PAGE_BYTES: usize = 64 << 10;

/// Everything that is ever requested besides the probes themselves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Page {
    /// What models there are, and whose: most engines write their name here.
    Models,
    /// vLLM's version.
    Version,
    /// SGLang's account of itself.
    ServerInfo,
    /// The same, by the name that it had before.
    GetServerInfo,
    /// llama.cpp's.
    Props,
    /// TGI's.
    Info,
    /// Ollama's version.
    ApiVersion,
    /// Xinference's version.
    ClusterVersion,
    /// Triton's name and version.
    Metadata,
}

impl Page {
    pub const ALL: [Self; 9] = [
        Self::Models,
        Self::Version,
        Self::ServerInfo,
        Self::GetServerInfo,
        Self::Props,
        Self::Info,
        Self::ApiVersion,
        Self::ClusterVersion,
        Self::Metadata,
    ];

    /// Below the root of the server.
    pub fn path(self) -> &'static str {
        match self {
            Self::Models => "/v1/models",
            Self::Version => "/version",
            Self::ServerInfo => "/server_info",
            Self::GetServerInfo => "/get_server_info",
            Self::Props => "/props",
            Self::Info => "/info",
            Self::ApiVersion => "/api/version",
            Self::ClusterVersion => "/v1/cluster/version",
            Self::Metadata => "/v2",
        }
    }

    /// Where it is on this target's server.
    fn of(self, target: &Target) -> Url {
        let (root, version) = root(target.url.path());
        let path = match (self, version) {
            // Triton's versions are of another API.
            (Self::Models, Some(version)) if target.api != Api::Triton => format!("{root}/{version}/models"),
            _ => format!("{root}{}", self.path()),
        };
        let mut url = target.url.clone();
        url.set_path(&path);
        url
    }
}

/// Finds out what the target runs, and notes it in the transport's knowledge. That nothing is found is no
/// error: many servers do not tell. A target whose engine is given as "other" is not asked at all.
pub async fn identify(transport: &Transport) -> Identity {
    hear(transport).await;
    transport.knowledge().identity()
}

/// The same, but gives only what the server told this time, and not what is known from earlier ones; none if it
/// told nothing.
pub async fn hear(transport: &Transport) -> Option<Identity> {
    let target = transport.target();
    let mut findings = Findings::of(target.api, target.engine);
    let is_settled = target.engine == Engine::Other || ask(transport, &mut findings).await;
    let identity = transport.knowledge().identity();
    tracing::debug!(target = &*target.name, %identity, "identified");
    if is_settled {
        tell_inexact(transport, &identity);
    }
    let heard = shown(target, &findings);
    let has_told = heard.version.is_some() || heard.model.is_some() || heard.context_tokens.is_some();
    (has_told || (target.engine == Engine::Auto && heard.engine != Engine::Auto)).then_some(heard)
}

/// Reads page after page; whether the server answered to the last of them.
async fn ask(transport: &Transport, findings: &mut Findings) -> bool {
    let target = transport.target();
    let Some(mut lane) = new_lane(transport) else { return false };
    let mut is_open = false;
    while let Some(page) = findings.next() {
        let mut fetched = fetch(transport, &lane, page).await;
        // A server may close after an answer without saying so, and the next request dies on the way.
        if matches!(fetched, Fetched::Broken) && is_open && lane.phases.unfinished().is_some() {
            let Some(new) = new_lane(transport) else { return false };
            lane = new;
            fetched = fetch(transport, &lane, page).await;
        }
        match fetched {
            Fetched::Page(status, body) => findings.add(page, status, &body, &target.model),
            Fetched::TooLong => {}
            Fetched::Broken | Fetched::Nothing => return false,
        }
        is_open = true;
        findings.asked(page);
        // Kept step by step: whoever gives up waiting still has what came until then.
        transport.knowledge().learn(target.engine, shown(target, findings));
    }
    true
}

fn new_lane(transport: &Transport) -> Option<Lane> {
    let told = |broken: &Broken| {
        let target = &*transport.target().name;
        tracing::debug!(target, detail = broken.detail, "cannot identify");
    };
    transport.new_lane().inspect_err(told).ok()
}

/// Says once that an exact length, though configured, is not asked for; before it is known what the target
/// runs, that would be too early.
fn tell_inexact(transport: &Transport, identity: &Identity) {
    let target = transport.target();
    let is_wanted = target.mix.iter().any(|share| share.workload.exact_output);
    let fields = Fields::known_to(identity.engine, target.api);
    if is_wanted && !Dialect::of(target.api).has_exact_output(fields) && transport.knowledge().tell_inexact()
    {
        let (target, api, engine) = (&*target.name, target.api.name(), identity.engine.name());
        tracing::info!(
            target,
            api,
            engine,
            "exact_output is not asked for: no field for it is known here, so answers may be shorter"
        );
    }
}

/// What came of asking for one page.
enum Fetched {
    Page(u16, Vec<u8>),
    TooLong,
    /// The connection could not be made, or broke.
    Broken,
    /// The server is silent, wants to be left alone or refuses the key: other pages would not come either.
    Nothing,
}

async fn fetch(transport: &Transport, lane: &Lane, page: Page) -> Fetched {
    let target = transport.target();
    // Whatever is stamped from here on says that a connection was made for this page.
    lane.phases.reset();
    let read = async {
        let mut answer = transport.get(lane, page.of(target)).await?;
        // Whoever refuses the key for one page counts a failed attempt for each, and may ban us for them.
        if matches!(answer.status(), 401 | 403 | 429 | 503) {
            return Ok(Fetched::Nothing);
        }
        let mut body = Vec::new();
        while let Some(bytes) = answer.read().await? {
            body.extend_from_slice(&bytes);
            if body.len() > MAX_PAGE_BYTES {
                return Ok(Fetched::TooLong);
            }
        }
        Ok(Fetched::Page(answer.status(), body))
    };
    let (target, path) = (&*target.name, page.path());
    match timeout(PATIENCE, read).await {
        Ok(Ok(fetched)) => fetched,
        Ok(Err(Broken { detail, .. })) => {
            tracing::debug!(target, path, detail, "no answer about the engine");
            Fetched::Broken
        }
        Err(_) => {
            tracing::debug!(target, path, "no answer about the engine in time");
            Fetched::Nothing
        }
    }
}

/// What was found, in a form that may be shown.
fn shown(target: &Target, findings: &Findings) -> Identity {
    let text = |text: &Option<String>| text.as_ref().and_then(|text| presentable(&target.redact(text)));
    Identity {
        engine: findings.engine.unwrap_or(Engine::Auto),
        version: text(&findings.version),
        model: text(&findings.model),
        context_tokens: findings.context_tokens,
    }
}

/// The path of a server's root below a configured one, and the version of the API if the path names one.
pub(super) fn root(path: &str) -> (&str, Option<&str>) {
    let is_version =
        |part: &str| part.strip_prefix('v').is_some_and(|n| n.starts_with(|c: char| c.is_ascii_digit()));
    let mut start = 0;
    for part in path.split('/') {
        if is_version(part) {
            return (path[..start].trim_end_matches('/'), Some(part));
        }
        start += part.len() + 1;
    }
    let path = path.trim_end_matches('/');
    let calls = ["/generate_stream", "/generate", "/api/chat", "/api/generate", "/api"];
    let root = calls.iter().find_map(|call| path.strip_suffix(call));
    (root.unwrap_or(path), None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::fixture;

    #[test]
    fn pages_lie_below_the_root_of_the_server() {
        for (base, models, version) in [
            ("http://h:1", "http://h:1/v1/models", "http://h:1/version"),
            ("http://h:1/v1/", "http://h:1/v1/models", "http://h:1/version"),
            ("http://h:1/v1/chat/completions", "http://h:1/v1/models", "http://h:1/version"),
            ("http://h:1/gateway/v1", "http://h:1/gateway/v1/models", "http://h:1/gateway/version"),
            ("http://h:1/gateway", "http://h:1/gateway/v1/models", "http://h:1/gateway/version"),
            ("http://h:1/api/v3?x=1", "http://h:1/api/v3/models?x=1", "http://h:1/api/version?x=1"),
            ("http://h:1/generate_stream", "http://h:1/v1/models", "http://h:1/version"),
            ("http://h:1/v2/models/m/generate_stream", "http://h:1/v1/models", "http://h:1/version"),
        ] {
            let mut target = (*fixture::target("t", &["w"])).clone();
            if base.contains("/v2/") {
                target.api = Api::Triton;
            }
            target.url = Url::parse(base).unwrap();
            assert_eq!(Page::Models.of(&target).as_str(), models);
            assert_eq!(Page::Version.of(&target).as_str(), version);
            assert!(Page::Metadata.of(&target).path().ends_with("/v2"), "{base}");
        }
    }

    #[test]
    fn only_pages_that_tell_are_on_the_list() {
        let paths = Page::ALL.map(Page::path);
        for harmful in ["stop", "flush", "sleep", "reset", "shutdown", "generate", "health", "abort"] {
            assert!(!paths.iter().any(|path| path.contains(harmful)), "{harmful}");
        }
    }
}
