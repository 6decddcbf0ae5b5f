//! The series of one target and workload: a probe carries them along and finds its counters without a label in hand.

use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use super::by_label::{ByLabel, Traced, one};
use super::layouts::Layouts;
use super::lock;
use super::measured::Measured;
use super::objectives::Objectives;
use super::page::Page;
use super::target::TargetMetrics;
use crate::catalogue::{self as cat, Direction, Family, Label};
use crate::domain::clock::unix_seconds;
use crate::domain::{PlaceId, Report, Share, Skip, Slo, Speculation, Target, Verdict};
use crate::series::{Counter, Gauge, Labels, Stated, Writer};

/// Clones of its `Arc` go with every probe; it lives as long as somebody counts here, shown or not.
#[derive(Debug)]
pub struct PlaceMetrics {
    id: PlaceId,
    target: Arc<TargetMetrics>,
    workload: Arc<str>,
    labels: Labels,
    created: SystemTime,
    probes: Counter,
    failures: ByLabel<Traced>,
    answers: ByLabel<Traced>,
    facts: ByLabel<Stated>,
    facts_found: ByLabel<Stated>,
    cold_cached: Counter,
    skipped: ByLabel<Counter>,
    suspect: Counter,
    tokens: ByLabel<Stated>,
    speculative: ByLabel<Stated>,
    in_flight: Gauge,
    last_success: Gauge,
    last_probe: Gauge,
    interval: Gauge,
    state: Mutex<State>,
}

/// What changes as a whole.
#[derive(Debug)]
struct State {
    layouts: Arc<Layouts>,
    measured: Measured,
    objectives: Objectives,
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
        self.0.in_flight.add(-1.0);
    }
}

impl PlaceMetrics {
    pub(super) fn new(
        id: PlaceId,
        target: &Arc<TargetMetrics>,
        workload: &Arc<str>,
        layouts: &Arc<Layouts>,
        created: SystemTime,
    ) -> Self {
        let tokens = ByLabel::<Stated>::new(Label::Direction);
        for direction in [Direction::Prompt, Direction::Output] {
            tokens.add(direction.label(), 0);
        }
        Self {
            id,
            target: Arc::clone(target),
            workload: Arc::clone(workload),
            labels: Labels::new([("target", &**target.name()), ("workload", workload)]),
            created,
            probes: Counter::default(),
            failures: ByLabel::new(Label::Failure),
            answers: ByLabel::new(Label::Verdict),
            facts: ByLabel::new(Label::Depth),
            facts_found: ByLabel::new(Label::Depth),
            cold_cached: Counter::default(),
            skipped: ByLabel::new(Label::Skip),
            suspect: Counter::default(),
            tokens,
            speculative: ByLabel::new(Label::Speculation),
            in_flight: Gauge::default(),
            last_success: Gauge::default(),
            last_probe: Gauge::default(),
            interval: Gauge::default(),
            state: Mutex::new(State {
                layouts: Arc::clone(layouts),
                measured: Measured::new(layouts, created),
                objectives: Objectives::default(),
            }),
        }
    }

    pub(super) fn id(&self) -> PlaceId {
        self.id
    }

    pub fn target(&self) -> &Arc<str> {
        self.target.name()
    }

    pub fn workload(&self) -> &Arc<str> {
        &self.workload
    }

    /// Takes what a configuration may change while the counting goes on.
    pub(super) fn arrange(&self, target: &Target, share: &Share, slos: &[Arc<Slo>], layouts: &Arc<Layouts>) {
        self.interval.set(target.interval_of(share).as_secs_f64());
        let mut state = lock(&self.state);
        state.objectives.arrange(target, &share.workload, slos);
        state.measured.lay_out(layouts);
        state.layouts = Arc::clone(layouts);
    }

    /// A probe is about to be sent.
    pub fn start(self: &Arc<Self>) -> Running {
        self.probes.add(1);
        self.in_flight.add(1.0);
        Running(Arc::clone(self))
    }

    pub(super) fn skip(&self, reason: Skip) {
        self.skipped.add(reason.label(), 1);
    }

    /// Events and bad events of an objective.
    pub(super) fn counted(&self, slo: &Slo) -> [u64; 2] {
        lock(&self.state).objectives.counted(&slo.name)
    }

    pub(super) fn record(&self, report: &Report, now: SystemTime) {
        let succeeded = report.succeeded();
        self.target.record(report);
        self.last_probe.set(unix_seconds(now));
        self.suspect.add(u64::from(report.suspect));
        self.cold_cached.add(u64::from(report.was_cold_but_cached()));
        self.record_tokens(report);
        if let Some(fault) = &report.fault {
            self.failures.add(fault.failure.label(), one(report, now));
        }
        if let Some(verdict) = report.verdict {
            self.record_verdict(report, verdict, now);
        }
        if succeeded {
            self.last_success.set(unix_seconds(now));
        }
        let State { layouts, measured, objectives } = &mut *lock(&self.state);
        objectives.take(report);
        // What was measured while this host was late may be the host's time, and alerts are made of these.
        if !report.suspect {
            measured.take_phases(report, layouts);
        }
        if succeeded {
            measured.take_server_times(report, layouts);
            if !report.suspect {
                measured.take_durations(report, now);
            }
        }
    }

    fn record_verdict(&self, report: &Report, verdict: Verdict, now: SystemTime) {
        self.answers.add(verdict.label(), one(report, now));
        if let Some(depth) = report.depth.filter(|_| verdict != Verdict::Unchecked) {
            self.facts.add(depth.band(), 1);
            self.facts_found.add(depth.band(), u64::from(verdict == Verdict::Right));
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
            if let Some(count) = count {
                self.tokens.add(direction.label(), count);
            }
        }
        if let Some(Speculation { drafted, accepted }) = tokens.speculation {
            self.speculative.add(cat::DRAFTED, drafted);
            self.speculative.add(cat::ACCEPTED, accepted);
        }
    }
}

/// How a place shows its part of a family.
type Show = fn(&PlaceMetrics, &mut Page<'_>);

/// Every family of a place. What ended comes before what began, and what was bad before all that was counted: what is
/// counted while a page is written must not make a part larger than its whole.
const FAMILIES: [(&Family, Show); 28] = [
    (&cat::FAILURES, |place, page| place.failures.show(page)),
    (&cat::ANSWERS, |place, page| place.answers.show(page)),
    (&cat::FACTS_FOUND, |place, page| place.facts_found.show(page)),
    (&cat::FACTS, |place, page| place.facts.show(page)),
    (&cat::COLD_CACHED, |place, page| page.counter(&[], place.cold_cached.get(), None)),
    (&cat::SKIPPED, |place, page| place.skipped.show(page)),
    (&cat::SUSPECT, |place, page| page.counter(&[], place.suspect.get(), None)),
    (&cat::PROBES, |place, page| page.counter(&[], place.probes.get(), None)),
    (&cat::TTFT, |place, page| page.histogram(&[], &lock(&place.state).measured.ttft)),
    (&cat::ANSWER_TTFT, |place, page| page.histogram(&[], &lock(&place.state).measured.answer_ttft)),
    (&cat::TPOT, |place, page| page.histogram(&[], &lock(&place.state).measured.tpot)),
    (&cat::ITL, |place, page| page.histogram(&[], &lock(&place.state).measured.itl)),
    (&cat::STALL, |place, page| page.histogram(&[], &lock(&place.state).measured.stall)),
    (&cat::LATENCY, |place, page| page.histogram(&[], &lock(&place.state).measured.latency)),
    (&cat::CONNECTION, |place, page| lock(&place.state).measured.connection.show(page)),
    (&cat::SERVER, |place, page| lock(&place.state).measured.server.show(page)),
    (&cat::TOKENS_PER_SECOND, |place, page| page.histogram(&[], &lock(&place.state).measured.speed)),
    (&cat::TOKENS, |place, page| place.tokens.show(page)),
    (&cat::SPECULATIVE_TOKENS, |place, page| place.speculative.show(page)),
    (&cat::IN_FLIGHT, |place, page| page.gauge(&[], place.in_flight.get())),
    (&cat::LAST_SUCCESS, |place, page| page.gauge(&[], place.last_success.get())),
    (&cat::LAST_PROBE, |place, page| page.gauge(&[], place.last_probe.get())),
    (&cat::INTERVAL, |place, page| page.gauge(&[], place.interval.get())),
    (&cat::SLO_BAD_EVENTS, |place, page| lock(&place.state).objectives.show_bad(page)),
    (&cat::SLO_EVENTS, |place, page| lock(&place.state).objectives.show_events(page)),
    (&cat::SLO_BUDGET, |place, page| lock(&place.state).objectives.show_budgets(page)),
    (&cat::SLO_WINDOW, |place, page| lock(&place.state).objectives.show_windows(page)),
    (&cat::SLO_THRESHOLD, |place, page| lock(&place.state).objectives.show_thresholds(page)),
];

/// Shows every family of these places.
pub(super) fn walk(places: &[Arc<PlaceMetrics>], writer: &mut dyn Writer) {
    for (family, show) in FAMILIES {
        writer.family(family.into());
        for place in places {
            show(place, &mut Page { writer, labels: &place.labels, created: place.created });
        }
    }
}
