//! The durations that were measured at one place, as histograms.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::by_label::ByLabel;
use super::layouts::Layouts;
use super::page::Page;
use crate::catalogue::{Label, Phase, ServerPhase};
use crate::domain::Report;
use crate::series::{Exemplar, Histogram, Layout};

#[derive(Debug)]
pub(super) struct Measured {
    pub(super) ttft: Histogram,
    pub(super) answer_ttft: Histogram,
    pub(super) tpot: Histogram,
    pub(super) itl: Histogram,
    pub(super) stall: Histogram,
    pub(super) latency: Histogram,
    pub(super) speed: Histogram,
    pub(super) connection: ByLabel<Sometimes>,
    pub(super) server: ByLabel<Sometimes>,
    created: SystemTime,
}

/// A histogram of what not every target has: without values there is none.
#[derive(Debug, Default)]
pub(super) struct Sometimes(Option<Box<Histogram>>);

impl Measured {
    pub(super) fn new(layouts: &Layouts, created: SystemTime) -> Self {
        let empty = |layout: &Arc<Layout>| Histogram::new(layout, created);
        Self {
            ttft: empty(&layouts.ttft),
            answer_ttft: empty(&layouts.answer_ttft),
            tpot: empty(&layouts.tpot),
            itl: empty(&layouts.itl),
            stall: empty(&layouts.stall),
            latency: empty(&layouts.latency),
            speed: empty(&layouts.speed),
            connection: ByLabel::new(Label::Phase),
            server: ByLabel::new(Label::ServerPhase),
            created,
        }
    }

    /// Takes other bounds and goes on.
    pub(super) fn lay_out(&mut self, layouts: &Layouts) {
        for (histogram, layout) in [
            (&mut self.ttft, &layouts.ttft),
            (&mut self.answer_ttft, &layouts.answer_ttft),
            (&mut self.tpot, &layouts.tpot),
            (&mut self.itl, &layouts.itl),
            (&mut self.stall, &layouts.stall),
            (&mut self.latency, &layouts.latency),
            (&mut self.speed, &layouts.speed),
        ] {
            histogram.lay_out(layout);
        }
        for (family, layout) in
            [(&mut self.connection, &layouts.connection), (&mut self.server, &layouts.server)]
        {
            for histogram in family.iter_mut().filter_map(|sometimes| sometimes.0.as_mut()) {
                histogram.lay_out(layout);
            }
        }
    }

    /// Only whole answers count: half an answer has a short latency and may have a fine TTFT, and would
    /// make a failing target look fast.
    pub(super) fn take_durations(&mut self, report: &Report, now: SystemTime) {
        let sample = &report.sample;
        for (histogram, duration) in [
            (&mut self.ttft, sample.ttft),
            (&mut self.answer_ttft, sample.answer_ttft),
            (&mut self.tpot, sample.tpot),
            (&mut self.stall, sample.stall),
            (&mut self.latency, sample.latency),
        ] {
            if let Some(duration) = duration {
                histogram.observe_probe(Exemplar::of(report, duration.as_secs_f64(), now));
            }
        }
        for gap in &sample.itl {
            self.itl.observe(gap.per_token.as_secs_f64(), gap.tokens.into());
        }
        if let Some(speed) = sample.tokens_per_second {
            self.speed.observe_probe(Exemplar::of(report, speed, now));
        }
    }

    pub(super) fn take_phases(&mut self, report: &Report, layouts: &Layouts) {
        let sample = &report.sample;
        for (phase, duration) in [
            (Phase::Resolve, sample.resolve),
            (Phase::Connect, sample.connect),
            (Phase::Tls, sample.tls),
            (Phase::Wait, sample.wait),
        ] {
            self.connection.observe(phase.label(), duration, &layouts.connection, self.created);
        }
    }

    pub(super) fn take_server_times(&mut self, report: &Report, layouts: &Layouts) {
        let times = &report.times;
        for (phase, duration) in [
            (ServerPhase::Queue, times.queue),
            (ServerPhase::Prefill, times.prefill),
            (ServerPhase::Decode, times.decode),
            (ServerPhase::Load, times.load),
        ] {
            self.server.observe(phase.label(), duration, &layouts.server, self.created);
        }
    }
}

impl ByLabel<Sometimes> {
    fn observe(
        &mut self,
        value: &str,
        duration: Option<Duration>,
        layout: &Arc<Layout>,
        created: SystemTime,
    ) {
        if let (Some(Sometimes(histogram)), Some(duration)) = (self.get_mut(value), duration) {
            let histogram = histogram.get_or_insert_with(|| Box::new(Histogram::new(layout, created)));
            histogram.observe(duration.as_secs_f64(), 1);
        }
    }

    pub(super) fn show(&self, page: &mut Page<'_>) {
        for (label, Sometimes(histogram)) in self.iter() {
            if let Some(histogram) = histogram {
                page.histogram(&[label], histogram);
            }
        }
    }
}
