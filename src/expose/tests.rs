//! The same two series as each text format writes them. Protobuf is read by real Prometheuses in `tests/formats.rs`.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::*;
use crate::catalogue as cat;
use crate::domain::{ProbeId, clock};
use crate::series::{Exemplar, Histogram, Labels, Layout, Value};

const CREATED: SystemTime = SystemTime::UNIX_EPOCH;

fn walk(writer: &mut dyn Writer) {
    let now = clock::wall_now();
    let exemplar = |value, at| Exemplar { probe: ProbeId::from_number(7), trace: None, value, at };
    let labels = Labels::new([("target", "t")]);
    writer.family((&cat::UP).into());
    writer.family((&cat::FAILURES).into());
    let newest = exemplar(1.0, now);
    let value = Value::Counter { count: 2.0, created: Some(CREATED), exemplar: Some(&newest) };
    writer.series(&[("reason", "tls")], &labels, value);
    writer.family((&cat::TTFT).into());
    let mut histogram = Histogram::new(&Arc::new(Layout::new(vec![0.5, 1.0])), CREATED);
    histogram.observe_probe(exemplar(0.25, now - Duration::from_secs(3600)));
    histogram.observe_probe(exemplar(0.75, now));
    writer.series(&[], &labels, Value::Histogram(&histogram));
}

/// The lines of a page that are no help, and of an exemplar all but its time.
fn lines(format: Format, created: bool) -> Vec<String> {
    let mut page = Vec::new();
    let exposure = Exposure { created, ..Exposure::default() };
    write(format, Packing::Plain, exposure, walk, |piece| page.extend_from_slice(&piece));
    let page = String::from_utf8(page).unwrap();
    let shown = page.lines().filter(|line| !line.starts_with("# HELP"));
    shown
        .map(|line| match line.split_once(" # ") {
            Some((sample, exemplar)) => format!("{sample} # {}", exemplar.rsplit_once(' ').unwrap().0),
            None => line.to_owned(),
        })
        .collect()
}

#[test]
fn text_has_what_every_scraper_reads_and_no_family_without_series() {
    let expected = [
        "# TYPE sloprobe_failures_total counter",
        r#"sloprobe_failures_total{reason="tls",target="t"} 2"#,
        "# TYPE sloprobe_ttft_seconds histogram",
        r#"sloprobe_ttft_seconds_bucket{target="t",le="0.5"} 1"#,
        r#"sloprobe_ttft_seconds_bucket{target="t",le="1"} 2"#,
        r#"sloprobe_ttft_seconds_bucket{target="t",le="+Inf"} 2"#,
        r#"sloprobe_ttft_seconds_sum{target="t"} 1"#,
        r#"sloprobe_ttft_seconds_count{target="t"} 2"#,
    ];
    assert_eq!(lines(Format::Text, true), expected);
}

#[test]
fn open_metrics_has_fresh_exemplars_whole_floats_an_end_and_created_times_if_wanted() {
    let expected = [
        "# TYPE sloprobe_failures counter",
        r#"sloprobe_failures_total{reason="tls",target="t"} 2 # {probe_id="0000000000000007"} 1"#,
        r#"sloprobe_failures_created{reason="tls",target="t"} 0.000"#,
        "# TYPE sloprobe_ttft_seconds histogram",
        r#"sloprobe_ttft_seconds_bucket{target="t",le="0.5"} 1"#,
        r#"sloprobe_ttft_seconds_bucket{target="t",le="1.0"} 2 # {probe_id="0000000000000007"} 0.75"#,
        r#"sloprobe_ttft_seconds_bucket{target="t",le="+Inf"} 2"#,
        r#"sloprobe_ttft_seconds_sum{target="t"} 1"#,
        r#"sloprobe_ttft_seconds_count{target="t"} 2"#,
        r#"sloprobe_ttft_seconds_created{target="t"} 0.000"#,
        "# EOF",
    ];
    assert_eq!(lines(Format::OpenMetrics, true), expected);
    let without: Vec<_> = expected.into_iter().filter(|line| !line.contains("_created")).collect();
    assert_eq!(lines(Format::OpenMetrics, false), without);
}
