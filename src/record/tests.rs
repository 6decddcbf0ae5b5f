//! What becomes of reports, read as Prometheus reads it.

use super::*;
use crate::domain::sample::Itl;
use crate::domain::{Failure, Goal, Kind, Measure, Objective, Sample, Secret, Speculation, Tokens, fixture};

const MS: Duration = Duration::from_millis(1);

/// What Prometheus would read of one series.
fn value(recorder: &Recorder, series: &str) -> f64 {
    let text = recorder.text();
    let line = text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
    line.unwrap_or_else(|| panic!("no {series} in {text}")).parse().unwrap()
}

/// Records a report where it belongs.
fn put(recorder: &Recorder, report: &Report) {
    let place = recorder.place(&report.target.name, &report.workload.name).unwrap();
    recorder.record(&place, report);
}

fn close(left: f64, right: f64) -> bool {
    (left - right).abs() < 1e-9
}

fn sample() -> Sample {
    Sample {
        lag: MS,
        connect: Some(2 * MS),
        wait: Some(3 * MS),
        ttft: Some(100 * MS),
        answer_ttft: Some(150 * MS),
        tpot: Some(20 * MS),
        itl: vec![Itl { per_token: 20 * MS, tokens: 3 }, Itl { per_token: 30 * MS, tokens: 1 }],
        stall: Some(60 * MS),
        latency: Some(500 * MS),
        tokens_per_second: Some(50.0),
        ..Sample::default()
    }
}

#[test]
fn a_success_is_counted_measured_and_up() {
    let target = fixture::target("t", &["w"]);
    let recorder = Recorder::new(std::slice::from_ref(&target), &[]);
    put(&recorder, &fixture::report(&target, sample(), None));
    for (series, expected) in [
        (r#"sloprobe_up{target="t"}"#, 1.0),
        (r#"sloprobe_answers_total{verdict="unchecked",target="t",workload="w"}"#, 1.0),
        (r#"sloprobe_ttft_seconds_sum{target="t",workload="w"}"#, 0.1),
        (r#"sloprobe_answer_ttft_seconds_sum{target="t",workload="w"}"#, 0.15),
        (r#"sloprobe_tpot_seconds_sum{target="t",workload="w"}"#, 0.02),
        (r#"sloprobe_itl_seconds_count{target="t",workload="w"}"#, 4.0),
        (r#"sloprobe_itl_seconds_sum{target="t",workload="w"}"#, 0.09),
        (r#"sloprobe_stall_seconds_sum{target="t",workload="w"}"#, 0.06),
        (r#"sloprobe_latency_seconds_sum{target="t",workload="w"}"#, 0.5),
        (r#"sloprobe_output_tokens_per_second_sum{target="t",workload="w"}"#, 50.0),
        (r#"sloprobe_connection_seconds_sum{phase="connect",target="t",workload="w"}"#, 0.002),
        (r#"sloprobe_tokens_total{direction="prompt",target="t",workload="w"}"#, 10.0),
        (r#"sloprobe_tokens_total{direction="output",target="t",workload="w"}"#, 20.0),
        ("sloprobe_lag_seconds_sum", 0.001),
    ] {
        assert!(close(value(&recorder, series), expected), "{series}: {}", value(&recorder, series));
    }
    let last = value(&recorder, r#"sloprobe_last_success_timestamp_seconds{target="t",workload="w"}"#);
    assert!(last > 1.7e9, "{last}");
}

#[test]
fn a_suspect_probe_is_counted_and_measures_nothing() {
    let target = fixture::target("t", &["w"]);
    let slo = Arc::new(fixture::slo("fast", Goal::Below(Measure::Ttft, MS)));
    let recorder = Recorder::new(std::slice::from_ref(&target), &[slo]);
    let mut report = fixture::report(&target, sample(), None);
    report.suspect = true;
    put(&recorder, &report);
    for (series, expected) in [
        (r#"sloprobe_up{target="t"}"#, 1.0),
        (r#"sloprobe_suspect_total{target="t",workload="w"}"#, 1.0),
        (r#"sloprobe_answers_total{verdict="unchecked",target="t",workload="w"}"#, 1.0),
        (r#"sloprobe_tokens_total{direction="output",target="t",workload="w"}"#, 20.0),
        (r#"sloprobe_ttft_seconds_count{target="t",workload="w"}"#, 0.0),
        (r#"sloprobe_itl_seconds_count{target="t",workload="w"}"#, 0.0),
        (r#"sloprobe_stall_seconds_count{target="t",workload="w"}"#, 0.0),
        (r#"sloprobe_slo_events_total{slo="fast",target="t",workload="w"}"#, 0.0),
    ] {
        assert!(close(value(&recorder, series), expected), "{series}: {}", value(&recorder, series));
    }
}

#[test]
fn a_family_whose_source_never_spoke_has_no_series() {
    let target = fixture::target("t", &["w"]);
    let recorder = Recorder::new(std::slice::from_ref(&target), &[]);
    let silent = [
        "connection_seconds",
        "server_seconds",
        "facts",
        "cached_prompt",
        "reasoning",
        "speculative",
        "certificate",
    ];
    let said = |name: &str| recorder.text().lines().any(|line| !line.starts_with('#') && line.contains(name));
    assert!(silent.iter().all(|name| !said(name)), "{}", recorder.text());
    let mut report = fixture::report(&target, sample(), None);
    report.tokens.cached = Some(0);
    put(&recorder, &report);
    assert!(
        said("cached_prompt") && said("connection_seconds") && !said("phase=\"tls\"") && !said("reasoning")
    );
}

#[test]
fn a_failure_is_counted_by_its_reason_and_measures_nothing_but_its_connection() {
    let target = fixture::target("t", &["w"]);
    let recorder = Recorder::new(std::slice::from_ref(&target), &[]);
    let mut report = fixture::report(&target, sample(), Some(Failure::Truncated.because("cut")));
    report.tokens = Tokens::default();
    put(&recorder, &report);
    for (series, expected) in [
        (r#"sloprobe_up{target="t"}"#, 0.0),
        (r#"sloprobe_failures_total{reason="truncated",target="t",workload="w"}"#, 1.0),
        (r#"sloprobe_failures_total{reason="empty",target="t",workload="w"}"#, 0.0),
        (r#"sloprobe_suspect_total{target="t",workload="w"}"#, 0.0),
        (r#"sloprobe_ttft_seconds_count{target="t",workload="w"}"#, 0.0),
        (r#"sloprobe_itl_seconds_count{target="t",workload="w"}"#, 0.0),
        (r#"sloprobe_latency_seconds_count{target="t",workload="w"}"#, 0.0),
        (r#"sloprobe_last_success_timestamp_seconds{target="t",workload="w"}"#, 0.0),
        (r#"sloprobe_connection_seconds_count{phase="connect",target="t",workload="w"}"#, 1.0),
        (r#"sloprobe_tokens_total{direction="output",target="t",workload="w"}"#, 0.0),
    ] {
        assert!(close(value(&recorder, series), expected), "{series}: {}", value(&recorder, series));
    }
}

#[test]
fn objectives_count_the_probes_that_they_cover() {
    let target = fixture::target("t", &["w", "v"]);
    let quick = Goal::Below(Measure::Ttft, 5 * MS);
    let everywhere = [fixture::slo("fast", quick), fixture::slo("up", Goal::Availability)];
    let elsewhere = Slo { workload: Some("v".into()), ..fixture::slo("v-up", Goal::Availability) };
    let slos: Vec<_> = everywhere.into_iter().chain([elsewhere]).map(Arc::new).collect();
    let recorder = Recorder::new(std::slice::from_ref(&target), &slos);
    put(&recorder, &fixture::report(&target, sample(), None));
    put(&recorder, &fixture::report(&target, sample(), None));
    put(&recorder, &fixture::report(&target, Sample::default(), Some(Failure::Connect.because("x"))));

    let of = |name: &str, workload: &str, slo: &str| {
        let labels = format!("{{slo=\"{slo}\",target=\"t\",workload=\"{workload}\"}}");
        value(&recorder, &format!("sloprobe_slo_{name}{labels}"))
    };
    for (workload, slo, events, bad) in
        [("w", "fast", 3.0, 3.0), ("w", "up", 3.0, 1.0), ("v", "up", 0.0, 0.0), ("v", "v-up", 0.0, 0.0)]
    {
        assert!(close(of("events_total", workload, slo), events), "{slo} of {workload}");
        assert!(close(of("bad_events_total", workload, slo), bad), "{slo} of {workload}");
    }
    let up = slos.iter().find(|slo| &*slo.name == "up").unwrap();
    assert_eq!(recorder.counted(&target, &target.mix[0].workload, up), [3, 1]);
    assert!(close(of("error_budget_ratio", "w", "up"), 0.01));
    assert!(close(of("window_seconds", "w", "up"), 2_592_000.0));
}

#[test]
fn guesses_have_series_once_a_server_states_them() {
    let target = fixture::target("t", &["w"]);
    let recorder = Recorder::new(std::slice::from_ref(&target), &[]);
    let text = || recorder.text();
    let mut report = fixture::report(&target, sample(), None);
    put(&recorder, &report);
    assert!(!text().contains("speculative"), "{}", text());
    report.tokens.speculation = Some(Speculation { drafted: 48, accepted: 39 });
    put(&recorder, &report);
    put(&recorder, &report);
    for (kind, count) in [("drafted", 96.0), ("accepted", 78.0)] {
        let series = format!(r#"sloprobe_speculative_tokens_total{{kind="{kind}",target="t",workload="w"}}"#);
        assert!(close(value(&recorder, &series), count), "{kind}");
    }
}

#[test]
fn a_target_whose_certificate_is_not_verified_is_shown() {
    const SERIES: &str = r#"sloprobe_certificate_unverified{target="t"}"#;
    let mut target = (*fixture::target("t", &["w"])).clone();
    target.url = "https://localhost".parse().unwrap();
    let recorder = |target: &Target| Recorder::new(&[Arc::new(target.clone())], &[]);
    let text = recorder(&target).text();
    assert!(!text.contains("unverified"));
    target.way.insecure_skip_verify = true;
    assert!(close(value(&recorder(&target), SERIES), 1.0));
}

#[test]
fn the_end_of_a_certificate_has_a_series_once_it_is_known() {
    const SERIES: &str = r#"sloprobe_certificate_expiry_timestamp_seconds{target="t"}"#;
    let target = fixture::target("t", &["w"]);
    let recorder = Recorder::new(std::slice::from_ref(&target), &[]);
    let text = || recorder.text();
    let mut report = fixture::report(&target, sample(), None);
    put(&recorder, &report);
    assert!(!text().contains("certificate"), "{}", text());
    report.certificate_expiry = Some(SystemTime::UNIX_EPOCH + Duration::from_secs(1_900_000_000));
    report.fault = Some(Failure::Tls.because("expired"));
    put(&recorder, &report);
    assert!(close(value(&recorder, SERIES), 1.9e9));
    report.certificate_expiry = None;
    put(&recorder, &report);
    assert!(close(value(&recorder, SERIES), 1.9e9));
}

#[test]
fn a_probe_is_in_flight_until_its_guard_is_dropped() {
    let target = fixture::target("t", &["w"]);
    let recorder = Arc::new(Recorder::new(std::slice::from_ref(&target), &[]));
    let in_flight = || value(&recorder, r#"sloprobe_in_flight{target="t",workload="w"}"#);
    let running = recorder.place("t", "w").unwrap().start();
    assert!(close(in_flight(), 1.0));
    drop(running);
    assert!(close(in_flight(), 0.0));
    assert!(close(value(&recorder, r#"sloprobe_probes_total{target="t",workload="w"}"#), 1.0));
}

#[test]
fn labels_of_the_user_stand_on_the_info_metric_alone() {
    let mut target = (*fixture::target("t", &["w"])).clone();
    target.labels.insert("gpu".into(), "H200".into());
    let targets = [Arc::new(target), fixture::target("u", &["w"])];
    let recorder = Recorder::new(&targets, &[]);
    let of = |target: &str, gpu: &str| {
        format!(
            r#"sloprobe_target_info{{api="openai-chat",engine="auto",fingerprint="",{gpu}model="tiny",served_model="",target="{target}",version=""}}"#
        )
    };
    assert!(close(value(&recorder, &of("t", r#"gpu="H200","#)), 1.0));
    assert!(close(value(&recorder, &of("u", "")), 1.0));
}

/// The labels of the series of the only target.
fn infos(recorder: &Recorder) -> Vec<String> {
    let text = recorder.text();
    text.lines().filter(|line| line.starts_with("sloprobe_target_info{")).map(str::to_owned).collect()
}

fn vllm(version: &str, fingerprint: Option<&str>) -> Makeup {
    Makeup {
        engine: "vllm".into(),
        version: Some(version.into()),
        model: Some("/models/tiny".into()),
        fingerprint: fingerprint.map(str::to_owned),
        ..Makeup::default()
    }
}

#[test]
fn a_target_has_an_info_series_for_everything_that_it_is_and_the_time_of_the_newest() {
    let target = fixture::target("t", &["w"]);
    let recorder = Recorder::new(std::slice::from_ref(&target), &[]);
    let series = r#"sloprobe_release_timestamp_seconds{target="t"}"#;
    let text = recorder.text();
    assert!(!text.contains("release_timestamp"), "no series before anything is known: {text}");
    let (old, new) = (vllm("0.32.0", None), vllm("0.33.0", Some("fp_1")));
    let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);

    recorder.runs(&target, &[&old], at(1_900_000_000));
    assert_eq!(infos(&recorder).len(), 1);
    assert!(
        infos(&recorder)[0]
            .contains(r#"engine="vllm",fingerprint="",model="tiny",served_model="/models/tiny""#)
    );
    assert!(close(value(&recorder, series), 1.9e9));

    recorder.runs(&target, &[&old, &new], at(1_900_000_060));
    let both = infos(&recorder);
    assert_eq!(both.len(), 2, "{both:#?}");
    assert!(both.iter().any(|info| info.contains(r#"version="0.32.0""#)), "{both:#?}");
    assert!(both.iter().any(|info| info.contains(r#"fingerprint="fp_1""#)), "{both:#?}");
    assert!(close(value(&recorder, series), 1.900_000_06e9));

    recorder.runs(&target, &[&new], at(1_900_000_060));
    let one = infos(&recorder);
    assert!(one.len() == 1 && one[0].contains(r#"version="0.33.0""#), "{one:#?}");
}

#[test]
fn what_differs_by_a_mark_alone_has_one_series() {
    let target = fixture::target("t", &["w"]);
    let recorder = Recorder::new(std::slice::from_ref(&target), &[]);
    let plain = vllm("0.32.0", None);
    let marked = Makeup { mark: Some("driver 580".into()), ..plain.clone() };
    for shown in [&[&plain][..], &[&plain, &marked], &[&marked]] {
        recorder.runs(&target, shown, SystemTime::UNIX_EPOCH);
        assert_eq!(infos(&recorder).len(), 1, "{shown:?}");
    }
}

#[test]
fn a_target_with_a_new_name_in_every_answer_does_not_fill_the_database() {
    let target = fixture::target("t", &["w"]);
    let recorder = Recorder::new(std::slice::from_ref(&target), &[]);
    let names: std::collections::BTreeSet<_> = (0..1000)
        .map(|number| {
            let makeup = vllm("0.32.0", Some(&format!("fp_{number}")));
            recorder.runs(&target, &[&makeup], SystemTime::UNIX_EPOCH);
            let shown = infos(&recorder);
            assert_eq!(shown.len(), 1, "{shown:#?}");
            shown
        })
        .collect();
    assert!((90..=100).contains(&names.len()), "{}", names.len());
}

#[test]
fn what_stays_keeps_counting_and_what_left_has_no_series() {
    let (stays, leaves) = (fixture::target("stays", &["w"]), fixture::target("leaves", &["w"]));
    let recorder = Recorder::new(&[Arc::clone(&stays), leaves], &[]);
    put(&recorder, &fixture::report(&stays, sample(), None));
    let place = recorder.place("stays", "w").unwrap();

    let mut changed = (*stays).clone();
    changed.api_key = Some(Secret::new("another"));
    changed.labels.insert("gpu".into(), "H200".into());
    let slo = Arc::new(fixture::slo("fast", Goal::Below(Measure::Ttft, 77 * MS)));
    let comes = fixture::target("comes", &["w"]);
    let places = recorder.arrange(&[Arc::new(changed), comes], &[slo]);
    assert!(Arc::ptr_eq(&places[0][0], &place));
    let text = recorder.text();
    assert!(
        !text.contains("leaves") && text.contains(r#"target="comes""#) && text.contains("H200"),
        "{text}"
    );
    assert!(close(value(&recorder, r#"sloprobe_ttft_seconds_count{target="stays",workload="w"}"#), 1.0));
    assert!(close(
        value(&recorder, r#"sloprobe_slo_events_total{slo="fast",target="stays",workload="w"}"#),
        0.0
    ));
    let bound = r#"sloprobe_ttft_seconds_bucket{target="stays",workload="w",le="0.077"}"#;
    assert!(close(value(&recorder, bound), 0.0));
}

#[test]
fn a_workload_that_asks_something_else_starts_at_0() {
    let target = fixture::target("t", &["w"]);
    let recorder = Recorder::new(std::slice::from_ref(&target), &[]);
    let old = recorder.place("t", "w").unwrap();
    put(&recorder, &fixture::report(&target, sample(), None));
    let mut changed = (*target).clone();
    changed.mix[0].workload = Arc::new(Workload::new("w", Kind::Chat, 999, 50));
    recorder.arrange(&[Arc::new(changed)], &[]);
    assert!(close(value(&recorder, r#"sloprobe_ttft_seconds_count{target="t",workload="w"}"#), 0.0));
    // A probe that was under way is counted where it began.
    recorder.record(&old, &fixture::report(&target, sample(), None));
    assert!(close(value(&recorder, r#"sloprobe_ttft_seconds_count{target="t",workload="w"}"#), 0.0));
}

#[test]
fn an_objective_whose_promise_changes_keeps_its_counts_and_one_that_asks_something_else_does_not() {
    let target = fixture::target("t", &["w"]);
    let slo = |bound: Duration, percent| {
        let goal = Goal::Below(Measure::Ttft, bound);
        [Arc::new(Slo { objective: Objective::percent(percent), ..fixture::slo("fast", goal) })]
    };
    let targets = std::slice::from_ref(&target);
    let recorder = Recorder::new(targets, &slo(MS, 99.0));
    put(&recorder, &fixture::report(&target, sample(), None));
    let events = || value(&recorder, r#"sloprobe_slo_events_total{slo="fast",target="t",workload="w"}"#);
    recorder.arrange(targets, &slo(MS, 95.0));
    assert!(close(events(), 1.0));
    recorder.arrange(targets, &slo(2 * MS, 95.0));
    assert!(close(events(), 0.0));
}
