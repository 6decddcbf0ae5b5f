//! Traces and metrics that are pushed to an OpenTelemetry collector.

#[path = "otlp/collector.rs"]
mod collector;
mod common;
mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use collector::{Collector, Refusal, attributes};
use common::{Daemon, PATIENCE, config, eventually, sloprobe};
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::{HistogramDataPoint, NumberDataPoint, number_data_point};
use sloprobe::config::Outside;
use sloprobe::domain::{Exposure, Histograms};
use sloprobe::otlp::Exporter;
use sloprobe::record::Recorder;
use support::{PATIENT, Prober, Server, Step, answer, end, event, head, ms, plan, text};

const SECRET: &str = "hunter2-of-the-collector";

/// A server that takes 40 ms for its first token and 20 ms for its second.
async fn engine() -> Server {
    let steps = vec![
        head(),
        Step::At(ms(40)),
        Step::Send(event(r#"{"model":"m-0613","choices":[{"index":0,"delta":{"content":"a"}}]}"#)),
        Step::At(ms(60)),
        Step::Send(text("b")),
        end(2),
    ];
    Server::start(steps).await
}

/// A daemon that probes the server and pushes to an address.
async fn daemon(server: &Server, collector: &str, otlp: &str) -> Daemon {
    let folder = config(&format!(
        "[otlp]\nendpoint = 'http://{collector}/'\nheaders = {{ authorization = {{ env = 'OTLP_KEY' }} }}\n{otlp}\n\
         [[targets]]\nname = 't'\nurl = 'http://{}'\nmodel = 'm'\nrate = '20/s'\ntraceparent = true\n\
         [[workloads]]\nname = 'w'\nkind = 'chat'\n",
        server.address
    ));
    Daemon::start(sloprobe(&["run"]).env("OTLP_KEY", SECRET).current_dir(&folder)).await
}

/// The ids that the server was told: of the trace, and of the span.
fn told(server: &Server) -> BTreeSet<(String, String)> {
    let requests = server.requests();
    let headers = requests
        .iter()
        .filter_map(|request| request.lines().find_map(|line| line.strip_prefix("traceparent: ")));
    headers
        .map(|header| {
            let parts: Vec<_> = header.split('-').collect();
            assert_eq!((parts[0], parts[3]), ("00", "01"));
            (parts[1].to_owned(), parts[2].to_owned())
        })
        .collect()
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[tokio::test]
async fn each_probe_tells_the_target_a_trace_of_its_own_if_it_is_to() {
    let server = Server::start(vec![head(), Step::Send(text("a")), end(1)]).await;
    let url = format!("http://{}", server.address);
    for (more, count) in [("traceparent = true", 2), ("", 0)] {
        let prober = Prober::new(plan(&url, more, PATIENT));
        let before = told(&server);
        let reports = [prober.probe().await, prober.probe().await];
        let ids =
            reports.iter().filter_map(|report| Some((report.trace?.to_string(), report.id.to_string())));
        let ids: BTreeSet<_> = ids.collect();
        assert_eq!(&told(&server) - &before, ids);
        assert_eq!(ids.len(), count, "each probe is another trace");
    }
}

#[tokio::test]
async fn every_probe_is_one_span_that_says_what_happened_when() {
    let (server, collector) = (engine().await, Collector::start(Vec::new()).await);
    let address = collector.address.to_string();
    let daemon = daemon(&server, &address, "resource = { 'deployment.environment.name' = 'test' }").await;
    eventually("twenty probes", PATIENCE, async || {
        let count = told(&server).len();
        if count >= 20 { Ok(()) } else { Err(count.to_string()) }
    })
    .await;
    daemon.process.signal("TERM");
    let ended = daemon.process.ended(PATIENCE).await;
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);

    let spans = collector.spans();
    let ids: BTreeSet<_> = spans.iter().map(|span| (hex(&span.trace_id), hex(&span.span_id))).collect();
    assert_eq!(ids, told(&server), "those of the last second came, too");
    assert_eq!(ids.len(), spans.len(), "none came twice");
    for span in &spans {
        assert_eq!((span.name.as_str(), span.kind, span.flags), ("chat m", 3, 1));
        let lasted = span.end_time_unix_nano - span.start_time_unix_nano;
        assert!((60_000_000..30_000_000_000).contains(&lasted), "{lasted}");
        let stamps = span.events.iter().map(|event| event.time_unix_nano);
        assert!(stamps.clone().is_sorted(), "{:?}", span.events);
        assert!(stamps.clone().all(|at| (span.start_time_unix_nano..=span.end_time_unix_nano).contains(&at)));
        let at = |name: &str| span.events.iter().find(|event| event.name == name).map(|e| e.time_unix_nano);
        assert!(at("first_token").unwrap() - at("sent").unwrap() >= 39_000_000, "{:?}", span.events);
        let said = attributes(&span.attributes);
        assert_eq!(said["gen_ai.operation.name"], "chat");
        assert_eq!(said["gen_ai.response.model"], "m-0613");
        assert_eq!(said["gen_ai.usage.output_tokens"], "2");
        assert_eq!((&*said["sloprobe.target"], &*said["sloprobe.workload"]), ("t", "w"));
        assert_eq!(said["server.port"], server.address.port().to_string());
    }
    let request = &collector.traces()[0];
    let resource = attributes(&request.resource_spans[0].resource.as_ref().unwrap().attributes);
    assert_eq!((&*resource["service.name"], &*resource["deployment.environment.name"]), ("sloprobe", "test"));
    assert!(collector.headers().iter().all(|headers| headers["authorization"] == SECRET));
}

#[tokio::test]
async fn what_a_collector_cannot_take_now_is_sent_again_and_what_it_never_takes_is_not() {
    let later = |status| Refusal { status, retry_after: Some(0), body: Vec::new() };
    // A complaint as collectors write it: field 2 of google.rpc.Status. It quotes the key, as some do.
    let says = format!("bad key {SECRET}");
    let complaint = [&[0x12, says.len() as u8][..], says.as_bytes()].concat();
    let never = Refusal { status: 401, retry_after: None, body: complaint };
    let server = engine().await;
    for (refusals, is_lost) in [(vec![later(503), later(429)], false), (vec![never], true)] {
        let collector = Collector::start(refusals.clone()).await;
        let before = told(&server);
        let daemon =
            daemon(&server, &collector.address.to_string(), "metrics = false\ncompression = 'none'").await;
        eventually("spans after the refusals", PATIENCE, async || {
            let count = collector.spans().len();
            if count > 0 { Ok(()) } else { Err(format!("{} requests", collector.headers().len())) }
        })
        .await;
        daemon.process.signal("TERM");
        let log = daemon.process.ended(PATIENCE).await.stderr;
        let spans = collector.spans();
        let ids: BTreeSet<_> = spans.iter().map(|span| (hex(&span.trace_id), hex(&span.span_id))).collect();
        let probes = &told(&server) - &before;
        assert!(ids.is_subset(&probes));
        assert_eq!(ids != probes, is_lost, "{} of {}\n{log}", ids.len(), probes.len());
        assert_eq!(log.matches("does not take what is pushed").count(), 1, "{log}");
        assert_eq!(log.matches("takes what is pushed again").count(), 1, "{log}");
        assert_eq!(log.contains("401 Unauthorized: bad key [redacted]"), is_lost, "{log}");
        assert!(!log.contains(SECRET), "{log}");
    }
}

#[tokio::test]
async fn a_collector_that_is_away_holds_nothing_up_and_is_found_when_it_comes() {
    let server = engine().await;
    let address = Server::start(Vec::new()).await.address;
    let daemon = daemon(&server, &address.to_string(), "interval = '1s'").await;
    let probes = async |least: usize| {
        eventually("probes without a collector", PATIENCE, async || {
            let count = told(&server).len();
            if count >= least { Ok(()) } else { Err(count.to_string()) }
        })
        .await;
    };
    eventually("a word about each signal", PATIENCE, async || {
        let log = daemon.process.stderr();
        let told = log.matches("does not take what is pushed").count();
        if told == 2 { Ok(()) } else { Err(log) }
    })
    .await;
    probes(40).await;
    assert!(daemon.metrics().await.contains("sloprobe_up{target=\"t\"} 1\n"));
    let collector = Collector::at(address, Vec::new()).await;
    eventually("spans and metrics", PATIENCE, async || {
        let (spans, has_metrics) = (collector.spans().len(), collector.metrics().is_some());
        if spans >= 40 && has_metrics { Ok(()) } else { Err(format!("{spans} spans, {has_metrics}")) }
    })
    .await;
    daemon.process.signal("TERM");
    let log = daemon.process.ended(PATIENCE).await.stderr;
    assert_eq!(log.matches("does not take what is pushed").count(), 2, "one for each signal: {log}");
    assert!(!log.contains(SECRET), "{log}");
}

#[tokio::test]
async fn a_collector_that_never_answers_does_not_hold_up_the_end() {
    let server = engine().await;
    let silent = Server::start(vec![Step::Hang]).await;
    let daemon = daemon(&server, &silent.address.to_string(), "timeout = '60s'").await;
    eventually("a request that hangs", PATIENCE, async || {
        if silent.connections() > 0 { Ok(()) } else { Err("none".to_owned()) }
    })
    .await;
    daemon.process.signal("TERM");
    let ended = daemon.process.ended(Duration::from_secs(30)).await;
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.stderr.contains("the last push"), "{}", ended.stderr);
}

#[tokio::test]
async fn a_failed_probe_is_a_span_with_an_error() {
    let server = Server::start(answer("503 Service Unavailable", "", "{\"error\":\"no\"}")).await;
    let collector = Collector::start(Vec::new()).await;
    let daemon = daemon(&server, &collector.address.to_string(), "metrics = false").await;
    let span = eventually("a span", PATIENCE, async || {
        collector.spans().first().cloned().ok_or_else(|| "none".to_owned())
    })
    .await;
    drop(daemon);
    assert_eq!(attributes(&span.attributes)["error.type"], "server_error");
    let status = span.status.unwrap();
    assert_eq!(status.code, 2);
    assert!(status.message.starts_with("HTTP 503"), "{}", status.message);
}

/// Every series of a page in text, but those of the process, which never stand still.
fn shown(page: &str) -> BTreeMap<String, f64> {
    let lines = page.lines().filter(|line| !line.starts_with('#') && !line.starts_with("process_"));
    lines
        .map(|line| {
            let (series, value) = line.rsplit_once(' ').expect("a series and its value");
            (in_order(series), value.parse().expect("a number"))
        })
        .collect()
}

/// A series with its labels in the order of their names.
fn in_order(series: &str) -> String {
    let Some((name, labels)) = series.split_once('{') else { return series.to_owned() };
    let labels = labels.trim_end_matches("\"}");
    let mut labels: Vec<_> = labels.split("\",").map(|label| format!("{label}\"")).collect();
    labels.sort_unstable();
    format!("{name}{{{}}}", labels.join(","))
}

fn series(name: &str, attributes: &[KeyValue], le: Option<&str>) -> String {
    let own = collector::attributes(attributes);
    let labels = own.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let mut labels: Vec<_> =
        labels.chain(le.map(|le| ("le", le))).map(|(name, value)| format!("{name}=\"{value}\"")).collect();
    labels.sort_unstable();
    if labels.is_empty() { name.to_owned() } else { format!("{name}{{{}}}", labels.join(",")) }
}

/// What was pushed, as the text format would name it.
fn pushed(request: &ExportMetricsServiceRequest) -> BTreeMap<String, f64> {
    let mut found = BTreeMap::new();
    for metric in &request.resource_metrics[0].scope_metrics[0].metrics {
        let name = &*metric.name;
        if name.starts_with("process_") {
            continue;
        }
        match metric.data.as_ref().expect("points") {
            Data::Gauge(gauge) => {
                found.extend(
                    gauge
                        .data_points
                        .iter()
                        .map(|point| (series(name, &point.attributes, None), number(point))),
                );
            }
            Data::Sum(sum) => {
                assert!(sum.is_monotonic && sum.aggregation_temporality == 2, "{name}");
                for point in &sum.data_points {
                    assert!(
                        point.start_time_unix_nano > 0 && point.start_time_unix_nano <= point.time_unix_nano
                    );
                    found.insert(series(name, &point.attributes, None), number(point));
                }
            }
            Data::Histogram(histogram) => {
                assert_eq!(histogram.aggregation_temporality, 2);
                found.extend(histogram.data_points.iter().flat_map(|point| parts(name, point)));
            }
            other => panic!("{other:?}"),
        }
    }
    found
}

/// A histogram as the series of its buckets, its count and its sum.
fn parts(name: &str, point: &HistogramDataPoint) -> Vec<(String, f64)> {
    let named = |part: &str, le: Option<&str>| series(&format!("{name}_{part}"), &point.attributes, le);
    let bounds = point.explicit_bounds.iter().map(f64::to_string).chain(["+Inf".to_owned()]);
    let mut count = 0;
    let mut parts = Vec::new();
    for (bound, own) in bounds.zip(&point.bucket_counts) {
        count += own;
        parts.push((named("bucket", Some(&*bound)), count as f64));
    }
    parts.push((named("count", None), point.count as f64));
    parts.push((named("sum", None), point.sum.expect("a sum")));
    parts
}

fn number(point: &NumberDataPoint) -> f64 {
    match point.value {
        Some(number_data_point::Value::AsDouble(value)) => value,
        other => panic!("{other:?}"),
    }
}

/// Two probes of a plan, recorded; and what was pushed of them.
async fn recorded_and_pushed(otlp: &str, histograms: Histograms) -> (Arc<Recorder>, Collector) {
    let (server, collector) = (engine().await, Collector::start(Vec::new()).await);
    let plan = plan(&format!("http://{}", server.address), "traceparent = true", PATIENT);
    let recorder = Arc::new(Recorder::new(&plan.targets, &[]));
    recorder.expose_as(Exposure { histograms, ..Exposure::default() });
    let exporter = Exporter::new(&section(collector.address, otlp), Arc::clone(&recorder)).expect("usable");
    let (consumer, pushing) = (exporter.consumer(), exporter.start());
    let prober = Prober::new(plan);
    for _ in 0..2 {
        let report = prober.probe().await;
        recorder.record(&recorder.place("t", "w").expect("it was arranged"), &report);
        consumer.on_report(&report);
    }
    pushing.finish().await;
    (recorder, collector)
}

fn section(address: SocketAddr, more: &str) -> sloprobe::domain::Collector {
    let text = format!(
        "[otlp]\nendpoint = 'http://{address}'\n{more}\n[[targets]]\nname = 't'\nurl = 'http://a'\nmodel = 'm'\n"
    );
    let outside = Outside {
        env: &|_| None,
        file: &|_| Err(std::io::ErrorKind::NotFound.into()),
        text: &|_| Err(std::io::ErrorKind::NotFound.into()),
    };
    let plan = sloprobe::config::parse("test.toml", &text, &outside).expect("it is sound");
    plan.otlp.expect("it is there")
}

#[tokio::test]
async fn what_is_pushed_is_what_a_scrape_shows() {
    let (recorder, collector) = recorded_and_pushed("", Histograms::Classic).await;
    let (pushed, shown) = (pushed(&collector.metrics().unwrap()), shown(&recorder.text()));
    assert!(shown.len() > 100, "{shown:#?}");
    for (series, value) in &shown {
        assert_eq!(pushed.get(series), Some(value), "{series}");
    }
    assert_eq!(pushed.len(), shown.len());
}

#[tokio::test]
async fn traces_and_metrics_can_be_left_out() {
    for (otlp, has_spans, has_metrics) in
        [("traces = false", false, true), ("metrics = false", true, false), ("", true, true)]
    {
        let (_, collector) = recorded_and_pushed(otlp, Histograms::Both).await;
        assert_eq!(collector.spans().len(), if has_spans { 2 } else { 0 }, "{otlp}");
        assert_eq!(collector.metrics().is_some(), has_metrics, "{otlp}");
    }
}

#[tokio::test]
async fn native_histograms_are_pushed_as_exponential_ones_with_their_traces() {
    let (recorder, collector) = recorded_and_pushed("gen_ai_metrics = true", Histograms::Native).await;
    let request = collector.metrics().unwrap();
    let metrics = &request.resource_metrics[0].scope_metrics[0].metrics;
    let find = |name: &str| metrics.iter().find(|metric| metric.name == name).unwrap().data.clone().unwrap();
    let Data::ExponentialHistogram(ttft) = find("sloprobe_ttft_seconds") else { panic!("not exponential") };
    let point = &ttft.data_points[0];
    let sum = shown(&recorder.text())[r#"sloprobe_ttft_seconds_sum{target="t",workload="w"}"#];
    assert_eq!((point.count, point.sum), (2, Some(sum)));
    assert_eq!(point.positive.as_ref().unwrap().bucket_counts.iter().sum::<u64>() + point.zero_count, 2);
    let spans: BTreeSet<_> =
        collector.spans().iter().map(|span| (span.trace_id.clone(), span.span_id.clone())).collect();
    assert!(!point.exemplars.is_empty());
    for exemplar in &point.exemplars {
        assert!(spans.contains(&(exemplar.trace_id.clone(), exemplar.span_id.clone())), "it finds its span");
    }
    let Data::Histogram(duration) = find("gen_ai.client.operation.duration") else { panic!("not explicit") };
    assert_eq!((duration.data_points[0].count, duration.data_points[0].explicit_bounds.len()), (2, 14));
}
