//! What is heard of targets, and what becomes of it in the log, the ledger and the metrics.

use std::time::Duration;

use super::*;
use crate::domain::{Engine, Sample, fixture};
use ledger::fixture::InMemory;

/// Releases that settle as soon as the third sighting shows them.
const HASTY: Patience = Patience {
    away: Duration::ZERO,
    run: 3,
    stubborn: Duration::from_secs(3600),
    forget: Duration::from_secs(7200),
};

fn releases(target: &Arc<Target>, ledger: &Arc<InMemory>) -> Releases {
    let targets = std::slice::from_ref(target);
    let recorder = Arc::new(Recorder::new(targets, &[]));
    Releases::new(targets, Box::new(Arc::clone(ledger)), recorder, HASTY)
}

fn found(version: &str) -> Identity {
    Identity { version: Some(version.into()), model: Some("org/tiny".into()), ..Identity::of(Engine::Vllm) }
}

fn report(target: &Arc<Target>, name: Option<&str>) -> Report {
    let mut report = fixture::report(target, Sample::default(), None);
    (report.fingerprint, report.wall) = (name.map(str::to_owned), clock::wall_now());
    report
}

/// What the log says while `work` is done.
fn log_of(work: impl FnOnce()) -> String {
    let (reader, writer) = std::io::pipe().unwrap();
    let log = tracing_subscriber::fmt().with_ansi(false).with_writer(Mutex::new(writer)).finish();
    tracing::subscriber::with_default(log, work);
    std::io::read_to_string(reader).unwrap()
}

#[test]
fn the_first_finding_is_no_change_and_the_next_one_is() {
    for configured in [Engine::Auto, Engine::Vllm] {
        let mut target = (*fixture::target("t", &["w"])).clone();
        target.engine = configured;
        let target = Arc::new(target);
        let releases = releases(&target, &Arc::default());
        let identified = |version: &str| log_of(|| releases.identified(&target, &found(version)));
        let first = identified("0.32.0");
        assert!(first.contains(" runs vllm 0.32.0 ") && first.contains("org/tiny"), "{first}");
        assert!(!first.contains("now") && !first.contains("was"), "{first}");
        assert_eq!(identified("0.32.0"), "");
        let second = identified("0.33.0");
        assert!(second.contains(" now runs vllm 0.33.0 "), "{second}");
        assert!(second.contains("was=vllm 0.32.0") && second.contains("release=2"), "{second}");
        assert_eq!(second.lines().count(), 1, "{second}");
        let in_turn = identified("0.32.0");
        assert!(in_turn.contains("vllm 0.33.0 and vllm 0.32.0 answer in turn"), "{in_turn}");
        assert_eq!(identified("0.33.0") + &identified("0.33.0"), "");
        let settled = identified("0.33.0");
        assert!(settled.contains("has settled on vllm 0.33.0") && settled.lines().count() == 1, "{settled}");
    }
}

#[test]
fn a_rollback_a_new_fingerprint_and_a_mark_are_told() {
    let target = fixture::target("t", &["w"]);
    let releases = releases(&target, &Arc::default());
    let reported = |name: &str| {
        log_of(|| {
            releases.reported(&report(&target, Some(name)));
        })
    };
    assert_eq!(reported("a"), "");
    let new = reported("b");
    assert!(new.contains("now answers as b") && new.contains("was=\"a\""), "{new}");
    let told = reported("a") + &reported("a") + &reported("a");
    assert!(told.contains("b and a answer in turn"), "{told}");
    assert!(told.contains("is back to a") && told.contains("gone=\"b\""), "{told}");
    let marked = log_of(|| {
        releases.marked("t", &Mark::new("driver 580").unwrap()).unwrap();
    });
    assert!(marked.contains("marked: driver 580") && marked.contains("release=3"), "{marked}");
}

#[test]
fn probes_know_their_release_and_whether_they_are_mixed() {
    let target = fixture::target("t", &["w"]);
    let ledger = Arc::new(InMemory::default());
    let releases = releases(&target, &ledger);
    let reported = |name| releases.reported(&report(&target, name));
    let unclear = releases.unclear("t");
    assert_eq!(reported(None), (ReleaseId(1), false));
    releases.identified(&target, &found("0.32.0"));
    assert_eq!(reported(Some("a")), (ReleaseId(1), false));
    assert_eq!((reported(Some("b")), *unclear.borrow()), ((ReleaseId(2), true), false));
    assert_eq!(releases.current("t").len(), 2);
    assert_eq!(reported(Some("b")), (ReleaseId(2), true));
    assert_eq!(reported(None), (ReleaseId(2), true));
    let late = report(&target, None);
    reported(Some("b"));
    assert_eq!(reported(Some("b")), (ReleaseId(2), false));
    assert_eq!(releases.reported(&late), (ReleaseId(2), true), "it started before that was clear");
    assert_eq!(releases.previous("t").unwrap().id, ReleaseId(1));

    let written = ledger.releases("t");
    let names: Vec<_> = written.iter().map(|release| release.makeup.fingerprint.as_deref()).collect();
    assert_eq!(names, [Some("a"), Some("b")]);
    assert_eq!(written[1].makeup.version.as_deref(), Some("0.32.0"));
    assert!(written.iter().all(|release| release.settled.is_some()), "{written:?}");
    releases.identified(&target, &found("0.33.0"));
    assert!(*unclear.borrow(), "asking tells these two apart");
}

#[test]
fn the_next_run_goes_on_with_the_last_release_and_says_what_runs() {
    let target = fixture::target("t", &["w"]);
    let ledger = Arc::new(InMemory::default());
    releases(&target, &ledger).identified(&target, &found("0.32.0"));
    let next = releases(&target, &ledger);
    let exposed = |releases: &Releases| releases.recorder.text();
    assert!(!exposed(&next).contains("release_timestamp"), "nobody has looked yet");
    let told = log_of(|| next.identified(&target, &found("0.32.0")));
    assert!(told.contains(" runs vllm 0.32.0 ") && !told.contains("now"), "{told}");
    assert!(exposed(&next).contains("release_timestamp"));
    assert_eq!((next.current("t")[0].id, ledger.releases("t").len()), (ReleaseId(1), 1));
    let last = releases(&target, &ledger);
    let told = log_of(|| last.identified(&target, &found("0.33.0")));
    assert!(told.contains("now runs vllm 0.33.0") && told.contains("was=vllm 0.32.0"), "{told}");
}

#[test]
fn a_mark_names_the_targets_that_there_are() {
    let target = fixture::target("t", &["w"]);
    let releases = releases(&target, &Arc::default());
    let mark = Mark::new("driver 580").unwrap();
    let refused = releases.marked("u", &mark).unwrap_err();
    assert_eq!(refused.to_string(), "no target is called \"u\": there is t");
    let release = releases.marked("t", &mark).unwrap();
    assert_eq!(release.makeup.mark.as_deref(), Some("driver 580"));
    assert!(release.settled.is_some());
}

#[test]
fn a_key_that_a_server_repeats_is_kept_nowhere() {
    let mut target = (*fixture::target("t", &["w"])).clone();
    target.api_key = Some(crate::domain::Secret::new("sk-very-secret"));
    let target = Arc::new(target);
    let ledger = Arc::new(InMemory::default());
    let releases = releases(&target, &ledger);
    releases.reported(&report(&target, Some("fp-sk-very-secret")));
    let kept = ledger.releases("t")[0].makeup.fingerprint.clone().unwrap();
    assert!(kept.starts_with("fp-") && !kept.contains("very-secret"), "{kept}");
}

#[test]
fn a_target_that_left_keeps_its_release_for_its_last_probes_and_when_it_comes_back() {
    let target = fixture::target("t", &["w"]);
    let ledger = Arc::default();
    let releases = releases(&target, &ledger);
    releases.identified(&target, &found("0.32.0"));
    let (release, _) = releases.reported(&report(&target, None));
    let mark = Mark::new("driver 580").unwrap();

    releases.arrange(&[fixture::target("u", &["w"])]);
    assert_eq!(releases.reported(&report(&target, None)).0, release, "it was under way");
    let refused = releases.marked("t", &mark).unwrap_err();
    assert!(matches!(&refused, Refused::NoSuchTarget { known, .. } if known == &["u"]), "{refused}");

    releases.arrange(std::slice::from_ref(&target));
    releases.identified(&target, &found("0.32.0"));
    assert_eq!(releases.reported(&report(&target, None)).0, release);
    assert_eq!(ledger.releases("t").len(), 1);
}

#[test]
fn other_labels_begin_a_release_and_another_key_does_not() {
    let target = fixture::target("t", &["w"]);
    let ledger = Arc::default();
    let releases = releases(&target, &ledger);
    releases.identified(&target, &found("0.32.0"));
    let mut changed = (*target).clone();
    changed.api_key = Some(crate::domain::Secret::new("another"));
    releases.arrange(&[Arc::new(changed.clone())]);
    assert_eq!(ledger.releases("t").len(), 1);
    changed.labels.insert("gpu".into(), "H200".into());
    releases.arrange(&[Arc::new(changed)]);
    let all = ledger.releases("t");
    assert_eq!(all.len(), 2);
    assert_eq!(all[1].makeup.version.as_deref(), Some("0.32.0"), "what the server said stays");
    assert_eq!(all[1].makeup.labels["gpu"], "H200");
}
