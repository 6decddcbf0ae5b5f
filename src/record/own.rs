//! The series of the daemon itself: its lateness, its configuration, its build.

use std::sync::Mutex;
use std::time::{Duration, SystemTime};

use super::layouts::Layouts;
use super::lock;
use super::page::Page;
use crate::catalogue as cat;
use crate::domain::clock::unix_seconds;
use crate::series::{Gauge, Histogram};

#[derive(Debug)]
pub(super) struct Own {
    lag: Mutex<Histogram>,
    loop_lag: Mutex<Histogram>,
    reload_ok: Gauge,
    reload_time: Gauge,
}

impl Own {
    pub(super) fn new(layouts: &Layouts, now: SystemTime) -> Self {
        let lag = || Mutex::new(Histogram::new(&layouts.lag, now));
        Self {
            lag: lag(),
            loop_lag: lag(),
            reload_ok: Gauge::new(1.0),
            reload_time: Gauge::new(unix_seconds(now)),
        }
    }

    pub(super) fn arrange(&self, layouts: &Layouts) {
        for histogram in [&self.lag, &self.loop_lag] {
            lock(histogram).lay_out(&layouts.lag);
        }
    }

    /// A probe started this much after its due time.
    pub(super) fn lag(&self, lag: Duration) {
        lock(&self.lag).observe(lag.as_secs_f64(), 1);
    }

    pub(super) fn loop_lag(&self, lag: Duration) {
        lock(&self.loop_lag).observe(lag.as_secs_f64(), 1);
    }

    pub(super) fn reloaded(&self, successful: bool, now: SystemTime) {
        self.reload_ok.set(f64::from(u8::from(successful)));
        if successful {
            self.reload_time.set(unix_seconds(now));
        }
    }

    pub(super) fn show(&self, page: &mut Page<'_>) {
        for (family, histogram) in [(&cat::LAG, &self.lag), (&cat::LOOP_LAG, &self.loop_lag)] {
            page.writer.family(family.into());
            page.histogram(&[], &lock(histogram));
        }
        for (family, gauge) in [(&cat::RELOAD_OK, &self.reload_ok), (&cat::RELOAD_TIME, &self.reload_time)] {
            page.writer.family(family.into());
            page.gauge(&[], gauge.get());
        }
        page.writer.family((&cat::BUILD_INFO).into());
        let revision = option_env!("SLOPROBE_REVISION").unwrap_or("unknown");
        page.gauge(&[("revision", revision), ("version", env!("CARGO_PKG_VERSION"))], 1.0);
    }
}
