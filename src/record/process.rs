//! The usual metrics of a process, with its CPU time to a hundredth of a second: the library's own counter
//! has whole seconds only, of which a daemon that mostly waits takes one in minutes.

use std::fs;

use prometheus::core::Collector as _;
use prometheus::process_collector::ProcessCollector;
use prometheus::proto::MetricType;

use crate::catalogue::Kind;
use crate::series::{Labels, Meta, Value, Writer};

const CPU: &str = "process_cpu_seconds_total";

/// How Linux counts CPU time for users, whatever the kernel's own tick is.
const TICKS_PER_SECOND: f64 = 100.0;

#[derive(Debug)]
pub(super) struct Process(ProcessCollector);

impl Process {
    pub(super) fn new() -> Self {
        Self(ProcessCollector::for_self())
    }

    pub(super) fn show(&self, writer: &mut dyn Writer) {
        for family in self.0.collect() {
            let is_counter = family.get_field_type() == MetricType::COUNTER;
            let kind = if is_counter { Kind::Counter } else { Kind::Gauge };
            writer.family(Meta { name: family.name(), kind, help: family.help() });
            let cpu = if family.name() == CPU { cpu_now() } else { None };
            for metric in family.get_metric() {
                let value = if is_counter {
                    let count = cpu.unwrap_or_else(|| metric.get_counter().get_value());
                    Value::Counter { count, created: None, exemplar: None }
                } else {
                    Value::Gauge(metric.get_gauge().get_value())
                };
                writer.series(&[], &Labels::default(), value);
            }
        }
    }
}

fn cpu_now() -> Option<f64> {
    cpu_seconds(&fs::read_to_string("/proc/self/stat").ok()?)
}

/// The time in user mode and in the kernel: fields 14 and 15 of the line, of which the second, the name of
/// the program, may hold anything.
fn cpu_seconds(stat: &str) -> Option<f64> {
    let (_, from_third) = stat.rsplit_once(')')?;
    let mut fields = from_third.split_whitespace().skip(14 - 3);
    let (user, system): (u64, u64) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    Some((user + system) as f64 / TICKS_PER_SECOND)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_times_are_found_behind_any_name() {
        let stat = "7 (a) b (c) S 1 7 7 0 -1 4194560 900 0 0 0 123 45 0 0 20 0 3 0 99 1000 200";
        assert_eq!(cpu_seconds(stat), Some(1.68));
        assert_eq!(cpu_seconds("7 (a) S 1 7"), None);
    }

    #[test]
    fn cpu_time_is_shown_with_its_fraction() {
        // Until there is a fraction to show.
        let before = std::iter::repeat_with(|| cpu_now().unwrap()).find(|seconds| seconds.fract() > 0.005);
        let text = crate::expose::text(|writer| Process::new().show(writer));
        let shown = text.lines().find_map(|line| line.strip_prefix(CPU)?.trim().parse().ok()).unwrap();
        assert!(Some(shown) >= before && Some(shown) <= cpu_now(), "{shown}, {before:?} before");
    }
}
