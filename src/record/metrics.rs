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
use super::place::PlaceMetrics;
use super::process::Process;
use crate::catalogue::{self as cat, Family, Kind, Scope};
use crate::domain::clock::unix_seconds;
use crate::domain::{self, Makeup, Report, Share, Slo, Speculation, Target, Workload};

#[derive(Debug)]
pub(super) struct Metrics {
    registry: Registry,
    /// By target, then by workload.
    places: HashMap<Arc<str>, HashMap<Arc<str>, Arc<PlaceMetrics>>>,
    info: TargetInfo,
    release_time: GaugeVec,
    certificate_expiry: GaugeVec,
    speculative_tokens: IntCounterVec,
    lag: Histogram,
    loop_lag: Histogram,
    reload_ok: Gauge,
    reload_time: Gauge,
}

/// The families whose series belong to a target and a workload.
#[derive(Debug)]
pub(super) struct Families {
    pub(super) probes: IntCounterVec,
    pub(super) failures: IntCounterVec,
    pub(super) answers: IntCounterVec,
    pub(super) facts: IntCounterVec,
    pub(super) facts_found: IntCounterVec,
    pub(super) cold_cached: IntCounterVec,
    pub(super) skipped: IntCounterVec,
    pub(super) suspect: IntCounterVec,
    pub(super) ttft: HistogramVec,
    pub(super) answer_ttft: HistogramVec,
    pub(super) tpot: HistogramVec,
    pub(super) itl: HistogramVec,
    pub(super) stall: HistogramVec,
    pub(super) latency: HistogramVec,
    pub(super) connection: HistogramVec,
    pub(super) server: HistogramVec,
    pub(super) speed: HistogramVec,
    pub(super) tokens: IntCounterVec,
    pub(super) in_flight: GaugeVec,
    pub(super) up: GaugeVec,
    pub(super) last_success: GaugeVec,
    pub(super) last_probe: GaugeVec,
    pub(super) objectives: Objectives,
}

impl Families {
    fn new(r: &Registry, places: &Places, targets: &[Arc<Target>], slos: &[Arc<Slo>]) -> Result<Self, Error> {
        Ok(Self {
            probes: counter(r, &cat::PROBES, places)?,
            failures: counter(r, &cat::FAILURES, places)?,
            answers: counter(r, &cat::ANSWERS, places)?,
            facts: counter(r, &cat::FACTS, places)?,
            facts_found: counter(r, &cat::FACTS_FOUND, places)?,
            cold_cached: counter(r, &cat::COLD_CACHED, places)?,
            skipped: counter(r, &cat::SKIPPED, places)?,
            suspect: counter(r, &cat::SUSPECT, places)?,
            ttft: histogram(r, &cat::TTFT, places)?,
            answer_ttft: histogram(r, &cat::ANSWER_TTFT, places)?,
            tpot: histogram(r, &cat::TPOT, places)?,
            itl: histogram(r, &cat::ITL, places)?,
            stall: histogram(r, &cat::STALL, places)?,
            latency: histogram(r, &cat::LATENCY, places)?,
            connection: histogram(r, &cat::CONNECTION, places)?,
            server: histogram(r, &cat::SERVER, places)?,
            speed: histogram(r, &cat::TOKENS_PER_SECOND, places)?,
            tokens: counter(r, &cat::TOKENS, places)?,
            in_flight: gauge(r, &cat::IN_FLIGHT, places)?,
            up: gauge(r, &cat::UP, places)?,
            last_success: gauge(r, &cat::LAST_SUCCESS, places)?,
            last_probe: gauge(r, &cat::LAST_PROBE, places)?,
            objectives: Objectives::new(r, places, targets, slos)?,
        })
    }
}

impl Metrics {
    pub(super) fn new(targets: &[Arc<Target>], slos: &[Arc<Slo>]) -> Result<Self, Error> {
        let registry = Registry::new();
        let places = Places::of(targets, slos);
        let r = &registry;
        let families = Families::new(r, &places, targets, slos)?;
        let metrics = Self {
            places: targets
                .iter()
                .map(|target| (target.name.clone(), of_target(&families, target, slos)))
                .collect(),
            info: register(r, TargetInfo::new(options(&cat::TARGET_INFO), targets)?)?,
            release_time: gauge(r, &cat::RELEASE_TIME, &places)?,
            certificate_expiry: gauge(r, &cat::CERTIFICATE_EXPIRY, &places)?,
            speculative_tokens: counter(r, &cat::SPECULATIVE_TOKENS, &places)?,
            lag: histogram(r, &cat::LAG, &places)?.with_label_values::<&str>(&[]),
            loop_lag: histogram(r, &cat::LOOP_LAG, &places)?.with_label_values::<&str>(&[]),
            reload_ok: gauge(r, &cat::RELOAD_OK, &places)?.with_label_values::<&str>(&[]),
            reload_time: gauge(r, &cat::RELOAD_TIME, &places)?.with_label_values::<&str>(&[]),
            registry,
        };
        metrics.describe(targets, &places)?;
        Ok(metrics)
    }

    pub(super) fn registry(&self) -> &Registry {
        &self.registry
    }

    /// The series of a target's workload; none of what is not configured.
    pub(super) fn place(&self, target: &str, workload: &str) -> Option<&Arc<PlaceMetrics>> {
        self.places.get(target)?.get(workload)
    }

    pub(super) fn loop_lag(&self, lag: Duration) {
        self.loop_lag.observe(lag.as_secs_f64());
    }

    pub(super) fn reloaded(&self, successful: bool, now: SystemTime) {
        self.reload_ok.set(f64::from(u8::from(successful)));
        if successful {
            self.reload_time.set(unix_seconds(now));
        }
    }

    /// What a target is now, and since when the newest of that.
    pub(super) fn runs(&self, target: &Target, makeups: &[&Makeup], began: SystemTime) {
        self.info.show(target, makeups);
        self.release_time.with_label_values(&[&*target.name]).set(unix_seconds(began));
    }

    pub(super) fn record(&self, place: &PlaceMetrics, report: &Report, now: SystemTime) {
        self.lag.observe(report.sample.lag.as_secs_f64());
        if let Some(expiry) = report.certificate_expiry {
            let series = self.certificate_expiry.with_label_values(&[&*report.target.name]);
            series.set(unix_seconds(expiry));
        }
        if let Some(Speculation { drafted, accepted }) = report.tokens.speculation {
            let [target, workload] = [&*report.target.name, &*report.workload.name];
            for (kind, count) in [(cat::DRAFTED, drafted), (cat::ACCEPTED, accepted)] {
                self.speculative_tokens.with_label_values(&[target, workload, kind]).inc_by(count);
            }
        }
        place.record(report, now);
    }

    /// What does not change: intervals, information about the build, the process.
    fn describe(&self, targets: &[Arc<Target>], places: &Places) -> Result<(), Error> {
        let intervals: GaugeVec = gauge(&self.registry, &cat::INTERVAL, places)?;
        for target in targets {
            for share in &target.mix {
                let interval = intervals.with_label_values(&[&*target.name, &*share.workload.name]);
                interval.set(target.interval_of(share).as_secs_f64());
            }
        }
        let unverified: GaugeVec = gauge(&self.registry, &cat::CERTIFICATE_UNVERIFIED, places)?;
        for target in targets.iter().filter(|target| target.skips_verification()) {
            unverified.with_label_values(&[&*target.name]).set(1.0);
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

fn of_target(
    families: &Families,
    target: &Target,
    slos: &[Arc<Slo>],
) -> HashMap<Arc<str>, Arc<PlaceMetrics>> {
    let place = |share: &Share| {
        (share.workload.name.clone(), Arc::new(PlaceMetrics::new(families, target, &share.workload, slos)))
    };
    target.mix.iter().map(place).collect()
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
            Scope::Secure
            | Scope::Released
            | Scope::Stated
            | Scope::Unverified
            | Scope::Compared(_)
            | Scope::Changed
            | Scope::Bounded => Vec::new(),
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
