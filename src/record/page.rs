//! What a place, a target or the daemon itself shows of one family, with the labels that it shares with its others.

use std::time::SystemTime;

use crate::series::{Exemplar, Histogram, Labels, Value, Writer};

pub(super) struct Page<'a> {
    pub(super) writer: &'a mut dyn Writer,
    pub(super) labels: &'a Labels,
    /// When its counters were 0.
    pub(super) created: SystemTime,
}

impl Page<'_> {
    pub(super) fn counter(&mut self, own: &[(&str, &str)], count: u64, exemplar: Option<&Exemplar>) {
        let value = Value::Counter { count: count as f64, created: Some(self.created), exemplar };
        self.writer.series(own, self.labels, value);
    }

    pub(super) fn gauge(&mut self, own: &[(&str, &str)], value: f64) {
        self.writer.series(own, self.labels, Value::Gauge(value));
    }

    pub(super) fn histogram(&mut self, own: &[(&str, &str)], histogram: &Histogram) {
        self.writer.series(own, self.labels, Value::Histogram(histogram));
    }
}
