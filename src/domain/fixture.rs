//! Values for unit tests: a target, a workload and reports about them.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::time::Instant;
use url::Url;

use super::*;

pub(crate) fn workload(name: &str) -> Arc<Workload> {
    Arc::new(Workload::new(name, Kind::Chat, 50, 50))
}

pub(crate) fn target(name: &str, workloads: &[&str]) -> Arc<Target> {
    Arc::new(Target {
        name: name.into(),
        url: Url::parse("http://127.0.0.1:1").unwrap(),
        api: Api::OpenAiChat,
        model: "tiny".into(),
        api_key: None,
        engine: Engine::Auto,
        headers: Vec::new(),
        labels: std::collections::BTreeMap::new(),
        connection: Connection::Reuse,
        way: Way::default(),
        stream: true,
        rate: Rate { interval: Duration::from_secs(10) },
        mix: workloads.iter().map(|name| Share { workload: workload(name), weight: 1 }).collect(),
        in_flight: 16,
        tokens_per_hour: None,
        price: None,
        extra: Extra::default(),
    })
}

/// An objective of 99 % over 30 days, for everything.
pub(crate) fn slo(name: &str, goal: Goal) -> Slo {
    Slo {
        name: name.into(),
        workload: None,
        targets: None,
        goal,
        objective: Objective::percent(99.0),
        window: Duration::from_secs(30 * 24 * 3600),
        forgives_rate_limits: false,
    }
}

/// A report about the first workload of a target.
pub(crate) fn report(target: &Arc<Target>, sample: Sample, fault: Option<Fault>) -> Report {
    let now = Instant::now();
    Report {
        id: ProbeId::next(SystemTime::UNIX_EPOCH),
        target: Arc::clone(target),
        workload: Arc::clone(&target.mix[0].workload),
        wall: SystemTime::UNIX_EPOCH,
        seed: Seed::default(),
        depth: None,
        answer: Answer::default(),
        timeline: Timeline::new(now, now),
        sample,
        times: ServerTimes::default(),
        fingerprint: None,
        tokens: Tokens { prompt: Some(10), output: Some(20), ..Tokens::default() },
        verdict: fault.is_none().then_some(Verdict::Unchecked),
        fault,
        suspect: false,
        retry_after: None,
        certificate_expiry: None,
        lesson: Lesson::default(),
    }
}
