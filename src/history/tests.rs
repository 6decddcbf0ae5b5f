//! What is written comes back.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::*;
use crate::domain::sample::Itl;
use crate::domain::{Failure, Kept, ProbeId, Sample, Seed, Speculation, TokenSource, Verdict, fixture};

const MS: Duration = Duration::from_millis(1);

pub(super) fn at(seconds: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_763_180_000 + seconds)
}

pub(super) fn in_folder(folder: &Path) -> Settings {
    Settings { path: Some(folder.join("history.db")), ..Settings::default() }
}

fn sample() -> Sample {
    Sample {
        lag: MS,
        connect: Some(3 * MS),
        wait: Some(70 * MS),
        ttft: Some(90 * MS),
        answer_ttft: Some(95 * MS),
        tpot: Some(20 * MS),
        itl: (0..60).map(|n| Itl { per_token: (20 * MS) + n * MS / 10, tokens: 1 }).collect(),
        stall: Some(26 * MS),
        latency: Some(1300 * MS),
        ..Sample::default()
    }
}

pub(super) fn report(target: &str, seconds: u64, failure: Option<Failure>) -> Report {
    let target = fixture::target(target, &["w"]);
    let mut report = fixture::report(&target, sample(), failure.map(|failure| failure.because("it said no")));
    report.wall = at(seconds);
    report.id = ProbeId::next(report.wall);
    report.seed = Seed { random: u64::MAX - 5, step: 17, size: 1523 };
    report.tokens.source = Some(TokenSource::FinalUsage);
    report
}

fn of(target: &str) -> Pick {
    Pick { target: Some(target.into()), ..Pick::default() }
}

#[test]
fn what_is_kept_comes_back_from_a_file_and_from_memory() {
    let folder = tempfile::tempdir().unwrap();
    for settings in [in_folder(folder.path()), Settings::default()] {
        let history = History::open(&settings).unwrap();
        let release = history.begin_release("a", &Makeup::default(), at(0));
        history.keep(&report("a", 2, None), release, false);
        history.keep(&report("a", 1, Some(Failure::Truncated)), release, false);
        history.flush().unwrap();
        let probes = history.reader().unwrap().probes(&of("a")).unwrap();
        let failed = Kept {
            at: 1_763_180_001.0,
            target: "a".into(),
            workload: "w".into(),
            release,
            mixed: false,
            suspect: false,
            failure: Some(Failure::Truncated),
            verdict: None,
            ttft: None,
            answer_ttft: None,
            tpot: None,
            itl_p99: None,
            stall: None,
            latency: None,
        };
        let good = Kept {
            at: 1_763_180_002.0,
            failure: None,
            verdict: Some(Verdict::Unchecked),
            ttft: Some(0.09),
            answer_ttft: Some(0.095),
            tpot: Some(0.02),
            itl_p99: Some(0.0259),
            stall: Some(0.026),
            latency: Some(1.3),
            ..failed.clone()
        };
        assert_eq!(probes, [failed, good]);
        let State { written, lost, bytes, failing } = history.state();
        assert_eq!((written, lost, failing), (2, 0, false));
        assert!(bytes > 50_000, "{bytes}");
    }
}

#[test]
fn hidden_tokens_guesses_and_tokens_per_arrival_stand_in_the_view() {
    let folder = tempfile::tempdir().unwrap();
    let settings = in_folder(folder.path());
    let history = History::open(&settings).unwrap();
    let mut full = report("a", 1, None);
    full.sample.tokens_per_arrival = Some(2.5);
    full.tokens.hidden = Some(450);
    full.tokens.speculation = Some(Speculation { drafted: 129, accepted: 10 });
    history.keep(&full, ReleaseId(1), false);
    history.keep(&report("a", 2, None), ReleaseId(1), false);
    history.flush().unwrap();
    let file = rusqlite::Connection::open(settings.path.as_ref().unwrap()).unwrap();
    let sql =
        "SELECT hidden_tokens, tokens_per_arrival, drafted_tokens, accepted_tokens FROM probe ORDER BY at";
    let mut select = file.prepare(sql).unwrap();
    let rows =
        select.query_map([], |row| Ok([0, 1, 2, 3].map(|n| row.get_unwrap::<_, Option<f64>>(n)))).unwrap();
    let rows: Vec<_> = rows.map(Result::unwrap).collect();
    assert_eq!(rows, [[Some(450.0), Some(2.5), Some(129.0), Some(10.0)], [None; 4]]);
}

#[test]
fn dropping_or_closing_the_last_handle_writes_what_is_queued() {
    let folder = tempfile::tempdir().unwrap();
    let settings = in_folder(folder.path());
    for (round, close) in [false, true].into_iter().enumerate() {
        let history = History::open(&settings).unwrap();
        let second = history.clone();
        for n in 0..1500 {
            history.keep(&report("a", n, None), ReleaseId(1), false);
        }
        if close {
            history.close();
            second.keep(&report("a", 0, None), ReleaseId(1), false);
            assert_eq!((second.state().written, second.state().lost), (1500, 1));
        } else {
            drop(history);
            drop(second);
        }
        let reader = Reader::open(settings.path.as_ref().unwrap()).unwrap();
        assert_eq!(reader.probes(&Pick::default()).unwrap().len(), 1500 * (round + 1));
    }
}

#[test]
fn picks_are_by_target_workload_time_release_and_mixture() {
    let history = History::open(&Settings::default()).unwrap();
    let [first, second] = [1, 2].map(ReleaseId);
    for n in 0..10 {
        history.keep(&report("a", 2 * n, None), if n < 5 { first } else { second }, n == 5);
        history.keep(&report("b", 2 * n + 1, None), first, false);
    }
    history.flush().unwrap();
    let reader = history.reader().unwrap();
    let count = |pick: &Pick| reader.probes(pick).unwrap().len();
    assert_eq!((count(&of("a")), count(&of("b")), count(&of("c"))), (9, 10, 0));
    assert_eq!(count(&Pick { with_mixed: true, ..of("a") }), 10);
    assert_eq!(count(&Pick { releases: vec![second], ..of("a") }), 4);
    assert_eq!(count(&Pick { releases: vec![first, second], ..of("a") }), 9);
    assert_eq!(count(&Pick { workload: Some("w".into()), ..of("a") }), 9);
    assert_eq!(count(&Pick { workload: Some("v".into()), ..of("a") }), 0);
    let some = Pick { from: Some(at(2)), to: Some(at(8)), ..of("a") };
    assert_eq!((count(&some), reader.span(&some)), (3, Some((at(2), at(6)))));
    let all = Pick { with_mixed: true, ..Pick::default() };
    let times: Vec<f64> = reader.probes(&all).unwrap().iter().map(|kept| kept.at).collect();
    assert!(times.len() == 20 && times.is_sorted(), "{times:?}");
    assert_eq!((reader.span(&all), reader.span(&of("c"))), (Some((at(0), at(19))), None));
    assert_eq!(reader.targets().unwrap(), ["a", "b"]);
}

#[test]
fn releases_and_marks_come_back_oldest_first() {
    let history = History::open(&Settings::default()).unwrap();
    let makeup = Makeup {
        engine: "vllm".into(),
        version: Some("0.33.0".into()),
        model: None,
        fingerprint: Some("fp".into()),
        labels: [("gpu".to_owned(), "h100".to_owned())].into(),
        mark: Some("driver 580".into()),
    };
    let second = history.begin_release("a", &Makeup::default(), at(20));
    let first = history.begin_release("a", &Makeup::default(), at(10));
    assert_ne!(history.begin_release("b", &makeup, at(20)), second);
    history.amend(second, &makeup);
    history.settle(first, at(11));
    history.mark("a", "second word", at(6));
    history.mark("a", "first word", at(5));
    history.flush().unwrap();
    let reader = history.reader().unwrap();
    let target: Arc<str> = "a".into();
    let release = |id, makeup: &Makeup, began, settled| crate::domain::Release {
        id,
        target: Arc::clone(&target),
        makeup: makeup.clone(),
        began,
        settled,
    };
    assert_eq!(
        reader.releases("a").unwrap(),
        [release(first, &Makeup::default(), at(10), Some(at(11))), release(second, &makeup, at(20), None)]
    );
    let marks: Vec<_> = reader.marks("a").unwrap().into_iter().map(|mark| (mark.at, mark.text)).collect();
    assert_eq!(marks, [(at(5), "first word".to_owned()), (at(6), "second word".to_owned())]);
    assert!(reader.releases("c").unwrap().is_empty() && reader.marks("b").unwrap().is_empty());
}

/// Of one row, each column as text.
fn texts(file: &rusqlite::Connection, sql: &str) -> Vec<String> {
    file.query_row(sql, [], |row| {
        let columns = row.as_ref().column_count();
        (0..columns).map(|column| row.get::<_, rusqlite::types::Value>(column)).collect::<Result<Vec<_>, _>>()
    })
    .unwrap()
    .into_iter()
    .map(|value| match value {
        rusqlite::types::Value::Null => "-".to_owned(),
        rusqlite::types::Value::Integer(number) => number.to_string(),
        rusqlite::types::Value::Real(number) => number.to_string(),
        rusqlite::types::Value::Text(text) => text,
        rusqlite::types::Value::Blob(bytes) => format!("{} bytes", bytes.len()),
    })
    .collect()
}

#[test]
fn the_view_shows_words_and_seconds_and_of_a_failure_no_more_than_is_true() {
    let folder = tempfile::tempdir().unwrap();
    let settings = in_folder(folder.path());
    let history = History::open(&settings).unwrap();
    history.keep(&report("a", 0, None), ReleaseId(1), true);
    let broken = report("a", 1, Some(Failure::TimeoutStall));
    history.keep(&broken, ReleaseId(1), false);
    history.close();
    let file = rusqlite::Connection::open(settings.path.unwrap()).unwrap();
    let columns =
        "time, at, target, workload, mixed, outcome, verdict, lag, connect, wait, ttft, answer_ttft, tpot,
        itl_p50, itl_p99, stall, latency, prompt_tokens, cached_tokens, token_source, seed";
    let good = texts(&file, &format!("SELECT {columns} FROM probe ORDER BY at LIMIT 1"));
    let wanted = "2025-11-15T04:13:20.000Z 1763180000 a w 1 ok unchecked 0.001 0.003 0.07 0.09 0.095 0.02 0.0229 \
        0.0259 0.026 1.3 10 - final_usage fffffffffffffffa-17-1523";
    assert_eq!(good.join(" "), wanted);
    let failed = texts(&file, &format!("SELECT {columns} FROM probe ORDER BY at DESC LIMIT 1"));
    let wanted = "2025-11-15T04:13:21.000Z 1763180001 a w 0 timeout_stall - 0.001 0.003 - - - - - - - 1.3 10 - \
        final_usage fffffffffffffffa-17-1523";
    assert_eq!(failed.join(" "), wanted);
    let by_id = format!("SELECT at, detail, text, thought FROM probe WHERE id = '{}'", broken.id);
    assert_eq!(texts(&file, &by_id), ["1763180001", "it said no", "-", "-"]);
    let gaps = "SELECT count(*), max(outcome) FROM gaps JOIN probe ON number = gaps.probe";
    assert_eq!(texts(&file, gaps), ["1", "ok"]);
}

#[test]
fn texts_are_kept_of_bad_answers_alone_and_are_short() {
    let folder = tempfile::tempdir().unwrap();
    let settings = in_folder(folder.path());
    let history = History::open(&settings).unwrap();
    for (n, verdict) in Verdict::ALL.into_iter().enumerate() {
        let mut report = report("a", n as u64, None);
        report.verdict = Some(verdict);
        report.answer.text = "é".repeat(3000);
        history.keep(&report, ReleaseId(1), false);
    }
    history.close();
    let file = rusqlite::Connection::open(settings.path.unwrap()).unwrap();
    let kept = "SELECT group_concat(verdict), max(octet_length(text)) FROM probe WHERE text IS NOT NULL";
    assert_eq!(texts(&file, kept), ["wrong,degenerate,short", "2048"]);
}

#[test]
fn nobody_waits_for_a_reader_that_takes_its_time() {
    let folder = tempfile::tempdir().unwrap();
    for settings in [in_folder(folder.path()), Settings::default()] {
        let history = History::open(&settings).unwrap();
        let fill = || (0..500).for_each(|n| history.keep(&report("a", n, None), ReleaseId(1), false));
        fill();
        history.flush().unwrap();
        let slow = history.open.store.read().unwrap();
        let mut select = slow.prepare("SELECT at FROM probes").unwrap();
        let mut rows = select.query([]).unwrap();
        assert!(rows.next().unwrap().is_some());
        fill();
        history.flush().unwrap();
        assert_eq!(history.state().written, 1000);
        assert!(slow.execute("DELETE FROM probes", []).is_err());
    }
}
