//! The series of one target and workload, looked up once: a probe finds its counters without a label in hand.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use prometheus::core::{Atomic, GenericCounter, GenericCounterVec};
use prometheus::{Gauge, Histogram, HistogramVec, IntCounter};

use super::metrics::Families;
use crate::catalogue::{Direction, Label, Phase, ServerPhase};
use crate::domain::clock::unix_seconds;
use crate::domain::slo::Event;
use crate::domain::{Kind, Report, Skip, Slo, Target, Verdict, Workload};

/// Clones of its `Arc` go with every probe; it lives as long as somebody counts here, shown or not.
#[derive(Debug)]
pub struct PlaceMetrics {
    target: Arc<str>,
    workload: Arc<str>,
    probes: IntCounter,
    failures: ByLabel<IntCounter>,
    answers: ByLabel<IntCounter>,
    facts: Option<Facts>,
    cold_cached: IntCounter,
    skipped: ByLabel<IntCounter>,
    suspect: IntCounter,
    ttft: Histogram,
    answer_ttft: Histogram,
    tpot: Histogram,
    itl: Histogram,
    stall: Histogram,
    latency: Histogram,
    connection: ByLabel<Histogram>,
    server: ByLabel<Histogram>,
    speed: Histogram,
    tokens: ByLabel<IntCounter>,
    in_flight: Gauge,
    up: Gauge,
    last_success: Gauge,
    last_probe: Gauge,
    objectives: Vec<Counted>,
}

/// A probe under way; it counts as in flight until this is dropped, even if its task is aborted.
#[derive(Debug)]
pub struct Running(Arc<PlaceMetrics>);

impl Running {
    /// Where it is counted.
    pub fn place(&self) -> &Arc<PlaceMetrics> {
        &self.0
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.in_flight.dec();
    }
}

/// Of workloads that plant facts.
#[derive(Debug)]
struct Facts {
    asked: ByLabel<IntCounter>,
    found: ByLabel<IntCounter>,
}

/// What an objective counts here.
#[derive(Debug)]
struct Counted {
    slo: Arc<Slo>,
    events: IntCounter,
    bad: IntCounter,
}

/// The series of one family, by the value of a label with a closed set of values.
#[derive(Debug)]
struct ByLabel<T>(Vec<(&'static str, T)>);

impl<T> ByLabel<T> {
    fn new(label: Label, series: impl Fn(&str) -> T) -> Self {
        Self(label.values().into_iter().map(|value| (value, series(value))).collect())
    }

    fn of(&self, value: &str) -> Option<&T> {
        self.0.iter().find(|(known, _)| *known == value).map(|(_, series)| series)
    }
}

impl ByLabel<IntCounter> {
    fn count(&self, value: &str, by: u64) {
        if let Some(counter) = self.of(value) {
            counter.inc_by(by);
        }
    }
}

impl ByLabel<Histogram> {
    fn observe(&self, value: &str, duration: Option<Duration>) {
        if let (Some(histogram), Some(duration)) = (self.of(value), duration) {
            histogram.observe(duration.as_secs_f64());
        }
    }
}

impl PlaceMetrics {
    pub(super) fn new(families: &Families, target: &Target, workload: &Workload, slos: &[Arc<Slo>]) -> Self {
        let place = [&*target.name, &*workload.name];
        let histogram = |vec: &HistogramVec| vec.with_label_values(&place);
        let phases = |vec: &HistogramVec, label| {
            ByLabel::new(label, |phase| vec.with_label_values(&[place[0], place[1], phase]))
        };
        let covering = slos.iter().filter(|slo| slo.covers(target, workload));
        let rag = workload.kind == Kind::Rag;
        Self {
            target: Arc::clone(&target.name),
            workload: Arc::clone(&workload.name),
            probes: families.probes.with_label_values(&place),
            failures: by_label(&families.failures, place, Label::Failure),
            answers: by_label(&families.answers, place, Label::Verdict),
            facts: rag.then(|| Facts {
                asked: by_label(&families.facts, place, Label::Depth),
                found: by_label(&families.facts_found, place, Label::Depth),
            }),
            cold_cached: families.cold_cached.with_label_values(&place),
            skipped: by_label(&families.skipped, place, Label::Skip),
            suspect: families.suspect.with_label_values(&place),
            ttft: histogram(&families.ttft),
            answer_ttft: histogram(&families.answer_ttft),
            tpot: histogram(&families.tpot),
            itl: histogram(&families.itl),
            stall: histogram(&families.stall),
            latency: histogram(&families.latency),
            connection: phases(&families.connection, Label::Phase),
            server: phases(&families.server, Label::ServerPhase),
            speed: histogram(&families.speed),
            tokens: by_label(&families.tokens, place, Label::Direction),
            in_flight: families.in_flight.with_label_values(&place),
            up: families.up.with_label_values(&[place[0]]),
            last_success: families.last_success.with_label_values(&place),
            last_probe: families.last_probe.with_label_values(&place),
            objectives: covering
                .map(|slo| families.objectives.counted(place, slo))
                .map(Counted::from)
                .collect(),
        }
    }

    pub fn target(&self) -> &Arc<str> {
        &self.target
    }

    pub fn workload(&self) -> &Arc<str> {
        &self.workload
    }

    /// A probe is about to be sent.
    pub fn start(self: &Arc<Self>) -> Running {
        self.probes.inc();
        self.in_flight.inc();
        Running(Arc::clone(self))
    }

    pub(super) fn skip(&self, reason: Skip) {
        self.skipped.count(reason.label(), 1);
    }

    /// Events and bad events of an objective.
    pub(super) fn counted(&self, slo: &Slo) -> [u64; 2] {
        let counted = self.objectives.iter().find(|counted| counted.slo.name == slo.name);
        counted.map_or([0; 2], |counted| [counted.events.get(), counted.bad.get()])
    }

    pub(super) fn record(&self, report: &Report, now: SystemTime) {
        let succeeded = report.succeeded();
        self.up.set(f64::from(u8::from(succeeded)));
        self.last_probe.set(unix_seconds(now));
        self.suspect.inc_by(u64::from(report.suspect));
        self.cold_cached.inc_by(u64::from(report.was_cold_but_cached()));
        self.record_tokens(report);
        if let Some(fault) = &report.fault {
            self.failures.count(fault.failure.label(), 1);
        }
        if let Some(verdict) = report.verdict {
            self.record_verdict(report, verdict);
        }
        self.record_objectives(report);
        if !report.suspect {
            self.record_phases(report);
        }
        if succeeded {
            self.last_success.set(unix_seconds(now));
            self.record_server(report);
            // What was measured while this host was late may be the host's time, and alerts are made of these.
            if !report.suspect {
                self.record_durations(report);
            }
        }
    }

    fn record_verdict(&self, report: &Report, verdict: Verdict) {
        self.answers.count(verdict.label(), 1);
        let depth = report.depth.filter(|_| verdict != Verdict::Unchecked);
        if let (Some(depth), Some(facts)) = (depth, &self.facts) {
            facts.asked.count(depth.band(), 1);
            facts.found.count(depth.band(), u64::from(verdict == Verdict::Right));
        }
    }

    /// Only whole answers count: half an answer has a short latency and may have a fine TTFT, and would
    /// make a failing target look fast.
    fn record_durations(&self, report: &Report) {
        let sample = &report.sample;
        for (histogram, duration) in [
            (&self.ttft, sample.ttft),
            (&self.answer_ttft, sample.answer_ttft),
            (&self.tpot, sample.tpot),
            (&self.stall, sample.stall),
            (&self.latency, sample.latency),
        ] {
            if let Some(duration) = duration {
                histogram.observe(duration.as_secs_f64());
            }
        }
        let itl = self.itl.local();
        for gap in &sample.itl {
            for _ in 0..gap.tokens {
                itl.observe(gap.per_token.as_secs_f64());
            }
        }
        itl.flush();
        if let Some(speed) = sample.tokens_per_second {
            self.speed.observe(speed);
        }
    }

    fn record_phases(&self, report: &Report) {
        let sample = &report.sample;
        for (phase, duration) in [
            (Phase::Resolve, sample.resolve),
            (Phase::Connect, sample.connect),
            (Phase::Tls, sample.tls),
            (Phase::Wait, sample.wait),
        ] {
            self.connection.observe(phase.label(), duration);
        }
    }

    fn record_server(&self, report: &Report) {
        let times = &report.times;
        for (phase, duration) in [
            (ServerPhase::Queue, times.queue),
            (ServerPhase::Prefill, times.prefill),
            (ServerPhase::Decode, times.decode),
            (ServerPhase::Load, times.load),
        ] {
            self.server.observe(phase.label(), duration);
        }
    }

    fn record_tokens(&self, report: &Report) {
        let tokens = &report.tokens;
        for (direction, count) in [
            (Direction::Prompt, tokens.prompt),
            (Direction::CachedPrompt, tokens.cached),
            (Direction::Reasoning, tokens.reasoning),
            (Direction::Output, tokens.output),
        ] {
            self.tokens.count(direction.label(), count.unwrap_or(0));
        }
    }

    fn record_objectives(&self, report: &Report) {
        for Counted { slo, events, bad } in &self.objectives {
            if let Some(event) = slo.judge(report) {
                // In this order, so that a scrape in between does not see more bad events than events.
                events.inc();
                bad.inc_by(u64::from(event == Event::Bad));
            }
        }
    }
}

impl From<(Arc<Slo>, [IntCounter; 2])> for Counted {
    fn from((slo, [events, bad]): (Arc<Slo>, [IntCounter; 2])) -> Self {
        Self { slo, events, bad }
    }
}

fn by_label<P: Atomic>(
    vec: &GenericCounterVec<P>,
    [target, workload]: [&str; 2],
    label: Label,
) -> ByLabel<GenericCounter<P>> {
    ByLabel::new(label, |value| vec.with_label_values(&[target, workload, value]))
}
