//! Text 0.0.4 and OpenMetrics 1.0, which differ in little.

use std::fmt::Write as _;
use std::time::SystemTime;

use bytes::Bytes;

use super::compress::Packer;
use crate::catalogue::Kind;
use crate::domain::clock::{self, unix_seconds};
use crate::series::{Exemplar, Histogram, Labels, Meta, Value, Writer};

pub(super) struct Text<S: FnMut(Bytes)> {
    is_open_metrics: bool,
    has_created: bool,
    packer: Packer<S>,
    now: SystemTime,
    /// The header of the family, until its first series comes.
    header: String,
    /// The name of the family's samples.
    name: String,
    /// The labels of the present series.
    labels: String,
    /// What is written and not packed yet.
    page: String,
}

impl<S: FnMut(Bytes)> Text<S> {
    pub(super) fn new(is_open_metrics: bool, has_created: bool, packer: Packer<S>) -> Self {
        let [header, name, labels, page] = Default::default();
        let has_created = is_open_metrics && has_created;
        let now = clock::wall_now();
        Self { is_open_metrics, has_created, packer, now, header, name, labels, page }
    }

    pub(super) fn finish(mut self) {
        if self.is_open_metrics {
            self.page.push_str("# EOF\n");
        }
        self.packer.push(self.page.as_bytes());
        self.packer.finish();
    }

    /// The name of a counter's family in OpenMetrics, whose samples alone end in `_total`.
    fn base(&self) -> &str {
        self.name.strip_suffix("_total").unwrap_or(&self.name)
    }

    /// Begins a line: name, suffix and labels. In OpenMetrics, `le` is a float always.
    fn begin(&mut self, suffix: &str, le: Option<f64>) {
        self.page.push_str(&self.name);
        self.page.push_str(suffix);
        if self.labels.is_empty() && le.is_none() {
            return self.page.push(' ');
        }
        self.page.push('{');
        self.page.push_str(&self.labels);
        if let Some(bound) = le {
            let comma = if self.labels.is_empty() { "" } else { "," };
            let _ = write!(self.page, "{comma}le=\"");
            if bound.is_infinite() {
                self.page.push_str("+Inf");
            } else if self.is_open_metrics {
                let _ = write!(self.page, "{bound:?}");
            } else {
                let _ = write!(self.page, "{bound}");
            }
            self.page.push('"');
        }
        self.page.push_str("} ");
    }

    fn value(&mut self, value: f64) {
        if value.is_finite() {
            let _ = write!(self.page, "{value}");
        } else {
            let infinite = if value > 0.0 { "+Inf" } else { "-Inf" };
            self.page.push_str(if value.is_nan() { "NaN" } else { infinite });
        }
    }

    /// Ends a line, with the probe that it is about where the format has words for that.
    fn end(&mut self, exemplar: Option<&Exemplar>) {
        if let Some(exemplar) =
            exemplar.filter(|exemplar| self.is_open_metrics && exemplar.is_fresh(self.now))
        {
            self.page.push_str(" # {");
            for (nth, (name, value)) in exemplar.labels().iter().enumerate() {
                let comma = if nth == 0 { "" } else { "," };
                let _ = write!(self.page, "{comma}{name}=\"{value}\"");
            }
            let _ = write!(self.page, "}} {} {:.3}", exemplar.value, unix_seconds(exemplar.at));
        }
        self.page.push('\n');
    }

    fn histogram(&mut self, histogram: &Histogram) {
        for (bound, count, exemplar) in histogram.cumulative() {
            self.begin("_bucket", Some(bound));
            let _ = write!(self.page, "{count}");
            self.end(exemplar);
        }
        self.begin("_sum", None);
        self.value(histogram.sum());
        self.end(None);
        self.begin("_count", None);
        let _ = write!(self.page, "{}", histogram.count());
        self.end(None);
        self.created(Some(histogram.created()));
    }

    fn created(&mut self, created: Option<SystemTime>) {
        if let Some(created) = created.filter(|_| self.has_created) {
            let name = self.base().to_owned();
            let name = std::mem::replace(&mut self.name, name);
            self.begin("_created", None);
            self.name = name;
            let _ = writeln!(self.page, "{:.3}", unix_seconds(created));
        }
    }
}

impl<S: FnMut(Bytes)> Writer for Text<S> {
    fn family(&mut self, family: Meta<'_>) {
        self.name.clear();
        self.name.push_str(family.name);
        let name = if self.is_open_metrics { self.base() } else { family.name };
        let kind = match family.kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram(_) => "histogram",
        };
        let help = family.help.replace('\\', "\\\\").replace('\n', "\\n");
        self.header = format!("# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }

    fn series(&mut self, own: &[(&str, &str)], shared: &Labels, value: Value<'_>) {
        self.page.push_str(&self.header);
        self.header.clear();
        self.labels.clear();
        for (name, value) in own {
            crate::series::push_label(&mut self.labels, name, value);
        }
        if !shared.text().is_empty() {
            if !self.labels.is_empty() {
                self.labels.push(',');
            }
            self.labels.push_str(shared.text());
        }
        match value {
            Value::Counter { count, created, exemplar } => {
                self.begin("", None);
                self.value(count);
                self.end(exemplar);
                self.created(created);
            }
            Value::Gauge(value) => {
                self.begin("", None);
                self.value(value);
                self.end(None);
            }
            Value::Histogram(histogram) => self.histogram(histogram),
        }
        self.packer.push(self.page.as_bytes());
        self.page.clear();
    }
}
