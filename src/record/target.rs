//! The series of one target: whether it answers, what it runs, and what became of it with its release.

use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use super::info::Info;
use super::lock;
use super::page::Page;
use super::releases::{self, Series};
use crate::catalogue as cat;
use crate::domain::clock::unix_seconds;
use crate::domain::{Makeup, Report, Target};
use crate::series::{Gauge, Labels, Writer};

#[derive(Debug)]
pub(super) struct TargetMetrics {
    name: Arc<str>,
    labels: Labels,
    created: SystemTime,
    up: Gauge,
    state: Mutex<State>,
}

/// What changes as a whole: every reading is of one state of things.
#[derive(Debug)]
struct State {
    info: Info,
    release_time: Option<f64>,
    certificate_expiry: Option<f64>,
    is_unverified: bool,
    compared: Vec<Series>,
}

impl TargetMetrics {
    pub(super) fn new(target: &Arc<Target>, created: SystemTime) -> Self {
        Self {
            name: Arc::clone(&target.name),
            labels: Labels::new([("target", &*target.name)]),
            created,
            up: Gauge::default(),
            state: Mutex::new(State {
                info: Info::new(target),
                release_time: None,
                certificate_expiry: None,
                is_unverified: target.skips_verification(),
                compared: Vec::new(),
            }),
        }
    }

    pub(super) fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// Takes what a configuration may change.
    pub(super) fn arrange(&self, target: &Arc<Target>) {
        let mut state = lock(&self.state);
        state.info.arrange(target);
        state.is_unverified = target.skips_verification();
    }

    pub(super) fn record(&self, report: &Report) {
        self.up.set(f64::from(u8::from(report.succeeded())));
        if let Some(expiry) = report.certificate_expiry {
            lock(&self.state).certificate_expiry = Some(unix_seconds(expiry));
        }
    }

    /// What the target is now, and since when the newest of that.
    pub(super) fn runs(&self, makeups: &[&Makeup], began: SystemTime) {
        let mut state = lock(&self.state);
        state.info.show(makeups);
        state.release_time = Some(unix_seconds(began));
    }

    /// What the newest comparison found, in place of all before.
    pub(super) fn compared(&self, series: Vec<Series>) {
        lock(&self.state).compared = series;
    }
}

/// Shows every family of these targets.
pub(super) fn walk(targets: &[Arc<TargetMetrics>], writer: &mut dyn Writer) {
    writer.family((&cat::UP).into());
    for target in targets {
        target.page(writer).gauge(&[], target.up.get());
    }
    writer.family((&cat::TARGET_INFO).into());
    for target in targets {
        lock(&target.state).info.write(writer);
    }
    for (family, value) in [
        (&cat::RELEASE_TIME, (|state| state.release_time) as fn(&State) -> Option<f64>),
        (&cat::CERTIFICATE_EXPIRY, |state| state.certificate_expiry),
        (&cat::CERTIFICATE_UNVERIFIED, |state| state.is_unverified.then_some(1.0)),
    ] {
        writer.family(family.into());
        for target in targets {
            if let Some(value) = value(&lock(&target.state)) {
                target.page(writer).gauge(&[], value);
            }
        }
    }
    // One comparison of a target is many families: a newer one must not come in between.
    let compared: Vec<_> = targets.iter().map(|target| lock(&target.state).compared.clone()).collect();
    for family in releases::FAMILIES {
        writer.family(family.into());
        for series in compared.iter().flatten().filter(|series| series.family == family.name) {
            series.show(writer);
        }
    }
}

impl TargetMetrics {
    fn page<'a>(&'a self, writer: &'a mut dyn Writer) -> Page<'a> {
        Page { writer, labels: &self.labels, created: self.created }
    }
}
