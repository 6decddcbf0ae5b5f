//! The catalogue as live series.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use prometheus::core::Collector;
use prometheus::{
    Error, Gauge, GaugeVec, Histogram, HistogramOpts, HistogramVec, IntCounterVec, Opts, Registry,
};

use super::info::TargetInfo;
use super::objectives::{self, Objectives};
use super::process::Process;
use crate::catalogue::{self as cat, Direction, Family, Kind, Phase, Scope, ServerPhase};
use crate::domain::clock::unix_seconds;
use crate::domain::{self, Makeup, Report, Skip, Slo, Target, Verdict, Workload};

#[derive(Debug)]
pub(super) struct Metrics {
    registry: Registry,
    probes: IntCounterVec,
    failures: IntCounterVec,
    answers: IntCounterVec,
    facts: IntCounterVec,
    facts_found: IntCounterVec,
    cold_cached: IntCounterVec,
    skipped: IntCounterVec,
    suspect: IntCounterVec,
    ttft: HistogramVec,
    answer_ttft: HistogramVec,
    tpot: HistogramVec,
    itl: HistogramVec,
    stall: HistogramVec,
    latency: HistogramVec,
    connection: HistogramVec,
    server: HistogramVec,
    speed: HistogramVec,
    tokens: IntCounterVec,
    in_flight: GaugeVec,
    up: GaugeVec,
    last_success: GaugeVec,
    last_probe: GaugeVec,
    interval: GaugeVec,
    objectives: Objectives,
    info: TargetInfo,
    release_time: GaugeVec,
    certificate_expiry: GaugeVec,
    lag: Histogram,
    loop_lag: Histogram,
    reload_ok: Gauge,
    reload_time: Gauge,
}

impl Metrics {
    pub(super) fn new(targets: &[Arc<Target>], slos: &[Arc<Slo>]) -> Result<Self, Error> {
        let registry = Registry::new();
        let places = Places::of(targets, slos);
        let r = &registry;
        let metrics = Self {
            probes: counter(r, &cat::PROBES, &places)?,
            failures: counter(r, &cat::FAILURES, &places)?,
            answers: counter(r, &cat::ANSWERS, &places)?,
            facts: counter(r, &cat::FACTS, &places)?,
            facts_found: counter(r, &cat::FACTS_FOUND, &places)?,
            cold_cached: counter(r, &cat::COLD_CACHED, &places)?,
            skipped: counter(r, &cat::SKIPPED, &places)?,
            suspect: counter(r, &cat::SUSPECT, &places)?,
            ttft: histogram(r, &cat::TTFT, &places)?,
            answer_ttft: histogram(r, &cat::ANSWER_TTFT, &places)?,
            tpot: histogram(r, &cat::TPOT, &places)?,
            itl: histogram(r, &cat::ITL, &places)?,
            stall: histogram(r, &cat::STALL, &places)?,
            latency: histogram(r, &cat::LATENCY, &places)?,
            connection: histogram(r, &cat::CONNECTION, &places)?,
            server: histogram(r, &cat::SERVER, &places)?,
            speed: histogram(r, &cat::TOKENS_PER_SECOND, &places)?,
            tokens: counter(r, &cat::TOKENS, &places)?,
            in_flight: gauge(r, &cat::IN_FLIGHT, &places)?,
            up: gauge(r, &cat::UP, &places)?,
            last_success: gauge(r, &cat::LAST_SUCCESS, &places)?,
            last_probe: gauge(r, &cat::LAST_PROBE, &places)?,
            interval: gauge(r, &cat::INTERVAL, &places)?,
            objectives: Objectives::new(r, &places, targets, slos)?,
            info: register(r, TargetInfo::new(options(&cat::TARGET_INFO), targets)?)?,
            release_time: gauge(r, &cat::RELEASE_TIME, &places)?,
            certificate_expiry: gauge(r, &cat::CERTIFICATE_EXPIRY, &places)?,
            lag: histogram(r, &cat::LAG, &places)?.with_label_values::<&str>(&[]),
            loop_lag: histogram(r, &cat::LOOP_LAG, &places)?.with_label_values::<&str>(&[]),
            reload_ok: gauge(r, &cat::RELOAD_OK, &places)?.with_label_values::<&str>(&[]),
            reload_time: gauge(r, &cat::RELOAD_TIME, &places)?.with_label_values::<&str>(&[]),
            registry,
        };
        metrics.describe(targets)?;
        Ok(metrics)
    }

    pub(super) fn registry(&self) -> &Registry {
        &self.registry
    }

    pub(super) fn started(&self, target: &Target, workload: &Workload) {
        let place = [&*target.name, &*workload.name];
        self.probes.with_label_values(&place).inc();
        self.in_flight.with_label_values(&place).inc();
    }

    pub(super) fn ended(&self, target: &Target, workload: &Workload) {
        self.in_flight.with_label_values(&[&*target.name, &*workload.name]).dec();
    }

    pub(super) fn skipped(&self, target: &Target, workload: &Workload, reason: Skip) {
        self.skipped.with_label_values(&[&*target.name, &*workload.name, reason.label()]).inc();
    }

    pub(super) fn loop_lag(&self, lag: Duration) {
        self.loop_lag.observe(lag.as_secs_f64());
    }

    pub(super) fn reloaded(&self, now: SystemTime) {
        self.reload_ok.set(1.0);
        self.reload_time.set(unix_seconds(now));
    }

    pub(super) fn counted(&self, target: &Target, workload: &Workload, slo: &Slo) -> [u64; 2] {
        self.objectives.counted(target, workload, slo)
    }

    /// What a target is now, and since when the newest of that.
    pub(super) fn runs(&self, target: &Target, makeups: &[&Makeup], began: SystemTime) {
        self.info.show(target, makeups);
        self.release_time.with_label_values(&[&*target.name]).set(unix_seconds(began));
    }

    pub(super) fn record(&self, report: &Report, now: SystemTime) {
        let (target, workload) = (&*report.target.name, &*report.workload.name);
        let place = [target, workload];
        let succeeded = report.succeeded();
        self.lag.observe(report.sample.lag.as_secs_f64());
        self.up.with_label_values(&[target]).set(f64::from(u8::from(succeeded)));
        self.last_probe.with_label_values(&place).set(unix_seconds(now));
        if report.suspect {
            self.suspect.with_label_values(&place).inc();
        }
        if let Some(expiry) = report.certificate_expiry {
            self.certificate_expiry.with_label_values(&[target]).set(unix_seconds(expiry));
        }
        self.record_phases(report);
        self.record_tokens(report);
        if let Some(fault) = &report.fault {
            self.failures.with_label_values(&[target, workload, fault.failure.label()]).inc();
        }
        if let Some(verdict) = report.verdict {
            self.record_verdict(report, verdict);
        }
        self.objectives.record(report);
        if report.was_cold_but_cached() {
            self.cold_cached.with_label_values(&place).inc();
        }
        if succeeded {
            self.last_success.with_label_values(&place).set(unix_seconds(now));
            self.record_durations(report);
            self.record_server(report);
        }
    }

    fn record_verdict(&self, report: &Report, verdict: Verdict) {
        let (target, workload) = (&*report.target.name, &*report.workload.name);
        self.answers.with_label_values(&[target, workload, verdict.label()]).inc();
        if let Some(depth) = report.depth.filter(|_| verdict != Verdict::Unchecked) {
            let place = [target, workload, depth.band()];
            self.facts.with_label_values(&place).inc();
            self.facts_found.with_label_values(&place).inc_by(u64::from(verdict == Verdict::Right));
        }
    }

    /// Only whole answers count: half an answer has a short latency and may have a fine TTFT, and would
    /// make a failing target look fast.
    fn record_durations(&self, report: &Report) {
        let place = [&*report.target.name, &*report.workload.name];
        let sample = &report.sample;
        for (histogram, duration) in [
            (&self.ttft, sample.ttft),
            (&self.answer_ttft, sample.answer_ttft),
            (&self.tpot, sample.tpot),
            (&self.stall, sample.stall),
            (&self.latency, sample.latency),
        ] {
            if let Some(duration) = duration {
                histogram.with_label_values(&place).observe(duration.as_secs_f64());
            }
        }
        let itl = self.itl.with_label_values(&place).local();
        for gap in &sample.itl {
            for _ in 0..gap.tokens {
                itl.observe(gap.per_token.as_secs_f64());
            }
        }
        itl.flush();
        if let Some(speed) = sample.tokens_per_second {
            self.speed.with_label_values(&place).observe(speed);
        }
    }

    fn record_phases(&self, report: &Report) {
        let sample = &report.sample;
        let phases = [
            (Phase::Resolve, sample.resolve),
            (Phase::Connect, sample.connect),
            (Phase::Tls, sample.tls),
            (Phase::Wait, sample.wait),
        ];
        observe_phases(&self.connection, report, phases.map(|(phase, time)| (phase.label(), time)));
    }

    fn record_server(&self, report: &Report) {
        let times = &report.times;
        let phases = [
            (ServerPhase::Queue, times.queue),
            (ServerPhase::Prefill, times.prefill),
            (ServerPhase::Decode, times.decode),
            (ServerPhase::Load, times.load),
        ];
        observe_phases(&self.server, report, phases.map(|(phase, time)| (phase.label(), time)));
    }

    fn record_tokens(&self, report: &Report) {
        let (target, workload) = (&*report.target.name, &*report.workload.name);
        let tokens = &report.tokens;
        for (direction, count) in [
            (Direction::Prompt, tokens.prompt),
            (Direction::CachedPrompt, tokens.cached),
            (Direction::Reasoning, tokens.reasoning),
            (Direction::Output, tokens.output),
        ] {
            let series = self.tokens.with_label_values(&[target, workload, direction.label()]);
            series.inc_by(count.unwrap_or(0));
        }
    }

    /// What does not change: intervals, information about the build, the process.
    fn describe(&self, targets: &[Arc<Target>]) -> Result<(), Error> {
        for target in targets {
            for share in &target.mix {
                let interval = self.interval.with_label_values(&[&*target.name, &*share.workload.name]);
                interval.set(target.interval_of(share).as_secs_f64());
            }
        }
        let build = HashMap::from([
            ("version".into(), env!("CARGO_PKG_VERSION").into()),
            ("revision".into(), option_env!("SLOPROBE_REVISION").unwrap_or("unknown").into()),
        ]);
        let info = Gauge::with_opts(options(&cat::BUILD_INFO).const_labels(build))?;
        info.set(1.0);
        self.registry.register(Box::new(info))?;
        self.registry.register(Box::new(Process::new()))
    }
}

fn observe_phases(histogram: &HistogramVec, report: &Report, phases: [(&str, Option<Duration>); 4]) {
    for (phase, duration) in phases {
        if let Some(duration) = duration {
            let place = [&*report.target.name, &*report.workload.name, phase];
            histogram.with_label_values(&place).observe(duration.as_secs_f64());
        }
    }
}

/// The label values of every series that exists from the start, and what histograms are asked to show.
pub(super) struct Places {
    workloads: Vec<Vec<String>>,
    /// Those of them that plant facts.
    rag: Vec<Vec<String>>,
    /// Each with the objective that covers it.
    slos: Vec<Vec<String>>,
    targets: Vec<Vec<String>>,
    objectives: Vec<Arc<Slo>>,
}

impl Places {
    fn of(targets: &[Arc<Target>], slos: &[Arc<Slo>]) -> Self {
        let of = |wanted: fn(&Workload) -> bool| {
            let pairs = targets.iter().flat_map(|target| target.mix.iter().map(move |share| (target, share)));
            let pairs = pairs.filter(|(_, share)| wanted(&share.workload));
            pairs.map(|(t, share)| vec![t.name.to_string(), share.workload.name.to_string()]).collect()
        };
        Self {
            workloads: of(|_| true),
            rag: of(|workload| workload.kind == domain::Kind::Rag),
            slos: objectives::places(targets, slos)
                .map(|(target, workload, slo)| {
                    [&*target.name, &*workload.name, &*slo.name].map(str::to_owned).into()
                })
                .collect(),
            targets: targets.iter().map(|t| vec![t.name.to_string()]).collect(),
            objectives: slos.to_vec(),
        }
    }

    fn of_family(&self, family: &Family) -> Vec<Vec<String>> {
        let scope = match family.scope {
            Scope::Workload => self.workloads.clone(),
            Scope::Rag => self.rag.clone(),
            Scope::Slo => self.slos.clone(),
            Scope::Target => self.targets.clone(),
            // The last with the objectives, which know their metric.
            Scope::Secure | Scope::Released | Scope::Compared(_) | Scope::Changed | Scope::Bounded => {
                Vec::new()
            }
            Scope::Daemon => vec![Vec::new()],
        };
        let Some(label) = family.label else { return scope };
        let values = label.values();
        scope
            .iter()
            .flat_map(|place| values.iter().map(|&value| [place.as_slice(), &[value.into()]].concat()))
            .collect()
    }
}

pub(super) fn options(family: &Family) -> Opts {
    Opts::new(family.name, family.help)
}

pub(super) fn counter(registry: &Registry, family: &Family, places: &Places) -> Result<IntCounterVec, Error> {
    let vec = IntCounterVec::new(options(family), &family.labels())?;
    for place in places.of_family(family) {
        vec.get_metric_with_label_values(&place)?;
    }
    register(registry, vec)
}

pub(super) fn gauge(registry: &Registry, family: &Family, places: &Places) -> Result<GaugeVec, Error> {
    let vec = GaugeVec::new(options(family), &family.labels())?;
    for place in places.of_family(family) {
        vec.get_metric_with_label_values(&place)?;
    }
    register(registry, vec)
}

fn histogram(registry: &Registry, family: &Family, places: &Places) -> Result<HistogramVec, Error> {
    if !matches!(family.kind, Kind::Histogram(_)) {
        return Err(Error::Msg(format!("{} is not declared as a histogram", family.name)));
    }
    let options = HistogramOpts::from(options(family)).buckets(family.bounds(&places.objectives));
    let vec = HistogramVec::new(options, &family.labels())?;
    for place in places.of_family(family) {
        vec.get_metric_with_label_values(&place)?;
    }
    register(registry, vec)
}

pub(super) fn register<C: Collector + Clone + 'static>(
    registry: &Registry,
    collector: C,
) -> Result<C, Error> {
    registry.register(Box::new(collector.clone()))?;
    Ok(collector)
}
