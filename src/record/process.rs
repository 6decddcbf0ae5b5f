//! The usual metrics of a process, with its CPU time to a hundredth of a second: the library's own counter
//! has whole seconds only, of which a daemon that mostly waits takes one in minutes.

use std::fs;

use prometheus::core::{Collector, Desc};
use prometheus::process_collector::ProcessCollector;
use prometheus::proto::{Counter, MetricFamily};

const CPU: &str = "process_cpu_seconds_total";

/// How Linux counts CPU time for users, whatever the kernel's own tick is.
const TICKS_PER_SECOND: f64 = 100.0;

#[derive(Debug)]
pub(super) struct Process(ProcessCollector);

impl Process {
    pub(super) fn new() -> Self {
        Self(ProcessCollector::for_self())
    }
}

impl Collector for Process {
    fn desc(&self) -> Vec<&Desc> {
        self.0.desc()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        let mut families = self.0.collect();
        if let Some(seconds) = cpu_now() {
            let cpu = families.iter_mut().filter(|family| family.name() == CPU);
            for metric in cpu.flat_map(MetricFamily::mut_metric) {
                let mut counter = Counter::default();
                counter.set_value(seconds);
                metric.set_counter(counter);
            }
        }
        families
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
        let families = Process::new().collect();
        let shown = families.iter().find(|family| family.name() == CPU).unwrap();
        let shown = shown.get_metric()[0].get_counter().get_value();
        assert!(Some(shown) >= before && Some(shown) <= cpu_now(), "{shown}, {before:?} before");
    }
}
