//! Reports like those of real streams, for what keeps them.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use oorandom::Rand64;
use sloprobe::domain::sample::Itl;
use sloprobe::domain::{
    Answer, Api, Connection, Engine, Extra, Failure, Kind, Lesson, ProbeId, Rate, Report, Sample, Seed,
    ServerTimes, Share, Target, Timeline, TokenSource, Tokens, Verdict, Way, Workload,
};
use tokio::time::Instant;
use url::Url;

/// Between two probes of one target.
pub const INTERVAL: Duration = Duration::from_secs(5);

/// When the first of all was sent.
pub fn began() -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_763_180_000)
}

/// Makes them, always the same ones.
#[derive(Debug)]
pub struct Maker {
    random: Rand64,
    reports: Vec<Report>,
}

impl Maker {
    /// Of `target-0` and so on.
    pub fn new(targets: usize) -> Self {
        let reports = (0..targets).map(|n| report(&format!("target-{n}"))).collect();
        Self { random: Rand64::new(7), reports }
    }

    /// About 1 with a spread of about 0.12.
    fn about_one(&mut self) -> f64 {
        (0..4).map(|_| self.random.rand_float() - 0.5).sum::<f64>() * 0.2 + 1.0
    }

    /// The n-th of all: the targets in turn, evenly over time. One in ten is long, one in two hundred fails.
    pub fn next(&mut self, n: usize) -> &Report {
        let targets = self.reports.len();
        let tokens = if (n / targets).is_multiple_of(10) { 500 } else { 60 };
        let factor = self.about_one();
        let ttft = Duration::from_millis(180).mul_f64(factor * self.about_one());
        let itl: Vec<Itl> = (1..tokens)
            .map(|_| Itl {
                per_token: Duration::from_millis(20).mul_f64(factor * self.about_one()),
                tokens: 1,
            })
            .collect();
        let decode: Duration = itl.iter().map(|gap| gap.per_token).sum();
        let failed = self.random.rand_u64().is_multiple_of(200);
        let random = self.random.rand_u64();
        let report = &mut self.reports[n % targets];
        report.wall = began() + INTERVAL.mul_f64(n as f64 / targets as f64);
        report.seed = Seed { random, step: (n / targets) as u32, size: 260 };
        report.tokens.output = Some(tokens);
        report.answer.characters = tokens * 4 + random % 40;
        report.fault =
            failed.then(|| Failure::ServerError.because("503 Service Unavailable: the model is loading"));
        report.verdict = (!failed).then_some(Verdict::Right);
        report.sample = Sample {
            lag: Duration::from_micros(random % 1500),
            wait: Some(ttft.mul_f64(0.9)),
            ttft: Some(ttft),
            answer_ttft: Some(ttft),
            tpot: Some(decode / itl.len() as u32),
            stall: itl.iter().map(|gap| gap.per_token).max(),
            latency: Some(ttft + decode),
            itl,
            ..Sample::default()
        };
        report
    }
}

fn report(name: &str) -> Report {
    let workload = Arc::new(Workload::new("chat", Kind::Chat, 300, 60));
    let target = Target {
        name: name.into(),
        url: Url::parse("http://127.0.0.1:1").expect("it is one"),
        api: Api::OpenAiChat,
        model: "m".into(),
        api_key: None,
        engine: Engine::Auto,
        headers: Vec::new(),
        labels: std::collections::BTreeMap::new(),
        connection: Connection::Reuse,
        way: Way::default(),
        stream: true,
        rate: Rate { interval: INTERVAL },
        mix: vec![Share { workload: Arc::clone(&workload), weight: 1 }],
        in_flight: 16,
        tokens_per_hour: None,
        price: None,
        extra: Extra::default(),
    };
    let now = Instant::now();
    Report {
        id: ProbeId::next(began()),
        target: Arc::new(target),
        workload,
        wall: began(),
        seed: Seed::default(),
        depth: None,
        answer: Answer::default(),
        timeline: Timeline::new(now, now),
        sample: Sample::default(),
        times: ServerTimes::default(),
        fingerprint: None,
        tokens: Tokens {
            prompt: Some(312),
            cached: Some(0),
            source: Some(TokenSource::FinalUsage),
            ..Tokens::default()
        },
        verdict: None,
        fault: None,
        suspect: false,
        retry_after: None,
        certificate_expiry: None,
        lesson: Lesson::default(),
    }
}
