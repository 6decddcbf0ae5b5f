//! What is seen, minute by minute, and what comes of it.

use std::fmt::Write as _;

use super::*;
use crate::domain::fixture;

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: u64 = 60;

/// A tracker with its clock, and what it did in words.
struct Story {
    tracker: Tracker,
    start: Moment,
    minute: u64,
    begun: i64,
    told: String,
}

impl Story {
    fn new() -> Self {
        Self::after(&[], &fixture::target("t", &["w"]))
    }

    /// Goes on where the past ends.
    fn after(past: &[Release], target: &Target) -> Self {
        let tracker = Tracker::new(target, Patience::default());
        let wall = SystemTime::UNIX_EPOCH + Duration::from_secs(1_900_000_000);
        let start = Moment { instant: Instant::now(), wall };
        let begun = past.iter().map(|release| release.id.0).max().unwrap_or(0);
        let mut story = Self { tracker, start, minute: 0, begun, told: String::new() };
        story.work(|tracker, now, begin| tracker.resume(past, now, begin));
        story
    }

    fn now(&self) -> Moment {
        let passed = MINUTE * self.minute as u32;
        Moment { instant: self.start.instant + passed, wall: self.start.wall + passed }
    }

    fn work(&mut self, work: impl FnOnce(&mut Tracker, Moment, &mut Begin<'_>) -> Vec<Change>) {
        let now = self.now();
        let begun = &mut self.begun;
        let changes = work(&mut self.tracker, now, &mut |_, _| {
            *begun += 1;
            ReleaseId(*begun)
        });
        for change in changes {
            let said = match change {
                Change::Began { release, .. } => format!("+{}", release.id.0),
                Change::Learned { release, .. } => format!("~{}", release.id.0),
                Change::InTurn { newest, older } => format!("{}/{}", older.id.0, newest.id.0),
                Change::Settled { release, members: 1 } => format!("={}", release.id.0),
                Change::Settled { release, members } => format!("={}x{members}", release.id.0),
                Change::RolledBack { release, gone } => format!("{}<{}", release.id.0, gone.id.0),
                Change::Muted { field, .. } => format!("!{}", field.name()),
            };
            let _ = write!(self.told, "{}:{said} ", self.minute);
        }
    }

    /// One sighting: "v1" when asked, "#a" in an answer, "?" is asked without an answer about the version, "-" is
    /// nothing, "(text)" is a mark.
    fn see(&mut self, word: &str) {
        self.work(|tracker, now, begin| {
            if let Some(text) = word.strip_prefix('(').and_then(|word| word.strip_suffix(')')) {
                return tracker.mark(text, now, begin).unwrap_or_default();
            }
            let (kind, seen) = match word.strip_prefix('#') {
                Some(name) => (Kind::Probe, Features::named(Some(name))),
                None if word == "-" => (Kind::Probe, Features::named(None)),
                None => (Kind::Asking, Features::asked(&vllm((word != "?").then_some(word)))),
            };
            tracker.see(kind, seen, now, begin)
        });
    }

    /// Sees these words one minute after another, again and again, for so many minutes.
    fn for_minutes(&mut self, minutes: u64, words: &str) -> &mut Self {
        for word in words.split(' ').cycle().take(minutes as usize) {
            self.see(word);
            self.minute += 1;
        }
        self
    }

    fn current(&self) -> Vec<i64> {
        self.tracker.current().map(|release| release.id.0).collect()
    }

    fn newest(&self) -> Release {
        self.tracker.current().next_back().unwrap().clone()
    }
}

fn vllm(version: Option<&str>) -> Identity {
    let version = version.map(str::to_owned);
    Identity { version, model: Some("org/tiny".into()), ..Identity::of(crate::domain::Engine::Vllm) }
}

fn release(id: i64, version: &str, began: u64, settled: Option<u64>) -> Release {
    // Minutes before the story starts.
    let at = |ago: u64| {
        SystemTime::UNIX_EPOCH + Duration::from_secs(1_900_000_000) - Duration::from_secs(60 * ago)
    };
    let makeup = Makeup::of(&vllm(Some(version)), &BTreeMap::new());
    Release { id: ReleaseId(id), target: "t".into(), makeup, began: at(began), settled: settled.map(at) }
}

type Row = (&'static str, &'static [(u64, &'static str)], &'static str, &'static [i64]);

/// What is seen for how many minutes, then what happens at which minute, and what is current at the end.
const TABLE: &[Row] = &[
    ("nothing new", &[(600, "v1")], "0:+1", &[1]),
    ("nothing at all", &[(600, "-")], "0:+1", &[1]),
    ("unknown, then known", &[(5, "-"), (5, "v1"), (5, "#a")], "0:+1 5:~1 10:~1", &[1]),
    ("version known late", &[(5, "?"), (5, "v1")], "0:+1 5:~1", &[1]),
    ("upgrade at once", &[(5, "v1"), (15, "v2")], "0:+1 5:+2 15:=2", &[2]),
    ("upgrade, seen in the answers", &[(5, "#a"), (15, "#b")], "0:+1 5:+2 15:=2", &[2]),
    ("upgrade, not yet sure", &[(5, "v1"), (10, "v2")], "0:+1 5:+2", &[1, 2]),
    ("too few sightings", &[(5, "v1"), (2, "v2"), (30, "-")], "0:+1 5:+2", &[1, 2]),
    ("a third one", &[(5, "v1"), (2, "v2"), (30, "-"), (1, "v2")], "0:+1 5:+2 37:=2", &[2]),
    ("absent is no change", &[(5, "v1 #a"), (60, "? -")], "0:+1 1:~1", &[1]),
    ("absent shows neither", &[(5, "v1"), (1, "v2"), (30, "?")], "0:+1 5:+2", &[1, 2]),
    ("rolling for an hour", &[(5, "v1"), (60, "v2 v1"), (20, "v2")], "0:+1 5:+2 6:1/2 74:=2", &[2]),
    ("rollback", &[(5, "v1"), (4, "v2 v1"), (20, "v1")], "0:+1 5:+2 6:1/2 17:1<2", &[1]),
    (
        "rollback, then again",
        &[(5, "v1"), (2, "v2"), (20, "v1"), (15, "v2")],
        "0:+1 5:+2 7:1/2 16:1<2 27:+2 37:=2",
        &[2],
    ),
    (
        "rollback, then again a day later",
        &[(5, "v1"), (2, "v2"), (24 * HOUR, "v1"), (15, "v2")],
        "0:+1 5:+2 7:1/2 16:1<2 1447:+3 1457:=3",
        &[3],
    ),
    ("back after it had settled", &[(5, "v1"), (15, "v2"), (15, "v1")], "0:+1 5:+2 15:=2 20:+3 30:=3", &[3]),
    ("version and fingerprint are one", &[(6, "v1 #a"), (20, "v2 #b")], "0:+1 1:~1 6:+2 7:~2 16:=2", &[2]),
    ("in the other order", &[(6, "v1 #a"), (20, "#b v2")], "0:+1 1:~1 6:+2 7:~2 16:=2", &[2]),
    (
        "both in turn, then the new one",
        &[(6, "v1 #a"), (40, "v2 #b v1 #a"), (20, "v2 #b")],
        "0:+1 1:~1 6:+2 7:~2 8:1/2 55:=2",
        &[2],
    ),
    ("three in turn", &[(5, "v1"), (30, "v1 v2 v3")], "0:+1 6:+2 7:+3 8:1/3", &[1, 2, 3]),
    (
        "three in turn, the middle one stays",
        &[(5, "v1"), (30, "v1 v2 v3"), (20, "v2")],
        "0:+1 6:+2 7:+3 8:1/3 44:=2",
        &[2],
    ),
    (
        "in turn for ever",
        &[(5, "#a"), (12 * HOUR, "#b #c #a"), (2 * HOUR, "#a")],
        "0:+1 5:+2 6:+3 7:1/3 365:=3x3",
        &[3],
    ),
    (
        "in turn for ever, then an upgrade",
        &[(5, "#a"), (12 * HOUR, "#b #a"), (20, "v2 #c")],
        "0:+1 5:+2 6:1/2 365:=2x2 725:~2 726:+3 736:=3",
        &[3],
    ),
    ("a mark", &[(5, "v1"), (1, "(driver-580)"), (60, "v1")], "0:+1 5:+2", &[2]),
    ("a mark first", &[(1, "(driver-580)"), (60, "v1")], "0:+1 1:~1", &[1]),
    (
        "a mark while rolling",
        &[(5, "v1"), (4, "v2 v1"), (1, "(x)"), (15, "v2")],
        "0:+1 5:+2 6:1/2 9:+3",
        &[3],
    ),
];

#[test]
fn what_is_seen_becomes_releases() {
    for (name, seen, told, current) in TABLE {
        let mut story = Story::new();
        for (minutes, words) in *seen {
            story.for_minutes(*minutes, words);
        }
        assert_eq!(story.told.trim_end(), *told, "{name}");
        assert_eq!(story.current(), *current, "{name}");
    }
}

#[test]
fn probes_are_mixed_while_rolling_and_if_they_started_before_it_was_over() {
    let mut story = Story::new();
    story.for_minutes(5, "v1");
    assert!(!story.tracker.is_mixed(story.start.wall - MINUTE), "nothing came before the first");
    story.for_minutes(10, "v2");
    assert!(story.tracker.is_rolling() && story.tracker.is_mixed(story.now().wall));
    assert_eq!(story.tracker.alone_since(story.now()).unwrap().1, story.start.wall + 5 * MINUTE);
    assert_eq!(story.tracker.previous().map(|release| release.id.0), Some(1));
    story.for_minutes(2, "v2");
    let settled = story.newest().settled.unwrap();
    assert_eq!(
        settled,
        story.start.wall + 5 * MINUTE,
        "from when the other was gone, though nobody knew then"
    );
    let known = story.start.wall + 15 * MINUTE;
    assert!(story.tracker.is_mixed(known - MINUTE) && !story.tracker.is_mixed(known));
    let (newest, since) = story.tracker.alone_since(story.now()).unwrap();
    assert_eq!((newest.id.0, since), (2, settled));
    assert_eq!(story.tracker.previous().map(|release| release.id.0), Some(1));
    story.see("(driver-580)");
    assert!(story.tracker.is_mixed(story.now().wall - MINUTE) && !story.tracker.is_mixed(story.now().wall));
    assert_eq!(story.tracker.previous().map(|release| release.id.0), Some(2));
}

#[test]
fn a_rollback_leaves_what_was_before_as_it_was() {
    let mut story = Story::new();
    story.for_minutes(5, "v1").for_minutes(15, "v2").for_minutes(2, "v3");
    assert_eq!(story.tracker.previous().map(|release| release.id.0), Some(2));
    let before = story.newest();
    story.for_minutes(15, "v2");
    assert_eq!((story.current(), before.id.0), (vec![2], 3));
    assert_eq!(story.tracker.previous().map(|release| release.id.0), Some(1));
    assert!(story.tracker.is_mixed(story.now().wall - 10 * MINUTE));
}

#[test]
fn asking_more_often_helps_only_where_it_can_tell_them_apart() {
    let mut story = Story::new();
    let wants = |story: &Story| story.tracker.wants_asking(story.now().instant);
    assert!(!wants(story.for_minutes(5, "v1 #a")));
    assert!(wants(story.for_minutes(1, "#b")));
    assert!(!wants(story.for_minutes(15, "#a #b")), "only the answers differ");
    assert!(wants(story.for_minutes(1, "v2")));
    assert!(wants(story.for_minutes(60, "v1 #a v2 #b")));
    assert!(!wants(story.for_minutes(20, "v2 #b")));
}

#[test]
fn one_of_several_that_is_not_seen_for_a_day_is_forgotten() {
    let mut story = Story::new();
    story.for_minutes(5, "v1").for_minutes(7 * HOUR, "v2 v1");
    assert_eq!(story.current(), [2]);
    // A rollout that took longer than anybody waits: the new one is what stays,
    story.for_minutes(25 * HOUR, "v2");
    assert_eq!(story.current(), [2]);
    story.for_minutes(15, "v1");
    assert_eq!(story.current(), [3], "{}", story.told);
    // and one that was rolled back as slowly: a release may not go by a name that nothing has.
    story.for_minutes(7 * HOUR, "v2 v1");
    assert_eq!(story.newest().makeup.version.as_deref(), Some("v2"));
    story.for_minutes(25 * HOUR, "v1");
    assert_eq!(story.newest().makeup.version.as_deref(), Some("v1"), "{}", story.told);
}

#[test]
fn a_new_name_in_every_answer_is_soon_ignored() {
    let mut story = Story::new();
    story.for_minutes(2, "v1 #0");
    for number in 1..5000 {
        story.see(&format!("#{number}"));
        story.for_minutes(1, "v1");
    }
    assert_eq!((story.begun, story.current()), (21, vec![21]), "{}", story.told);
    assert_eq!(story.told.matches('!').count(), 1, "{}", story.told);
    assert_eq!(story.newest().makeup.fingerprint, None);
    assert!(story.newest().settled.is_some());
    // What is not noise is heard still.
    story.for_minutes(20, "v2 #x");
    assert_eq!(story.current(), [22]);
    assert_eq!(story.newest().makeup.version.as_deref(), Some("v2"));
}

#[test]
fn marks_without_end_are_refused() {
    let mut story = Story::new();
    story.for_minutes(1000, "(x)");
    assert_eq!(story.begun, 100);
    story.for_minutes(1, "v1");
    assert_eq!(story.newest().makeup.to_string(), "vllm v1 (x)");
}

/// The past, what is seen for how many minutes, what happens, and what is current and what was before at the end.
type Start = (&'static str, Vec<Release>, u64, &'static str, &'static str, &'static [i64], Option<i64>);

#[test]
fn after_a_restart_the_last_release_goes_on_unless_something_else_is_seen() {
    let day = 24 * HOUR;
    let two = [release(1, "v0", 9 * day, Some(9 * day)), release(2, "v1", 5 * day, Some(5 * day - 11))];
    let table: [Start; 7] = [
        ("the same", two.to_vec(), 30, "v1", "", &[2], Some(1)),
        ("nothing said", two.to_vec(), 30, "-", "", &[2], Some(1)),
        ("another", two.to_vec(), 30, "v2", "0:+3 10:=3", &[3], Some(2)),
        (
            "one that was rolled back long ago is not what goes on",
            [&two[..], &[release(3, "v2", 2 * day, None)]].concat(),
            30,
            "v1",
            "",
            &[2],
            Some(1),
        ),
        (
            "nor is it when it comes again",
            [&two[..], &[release(3, "v2", 2 * day, None)]].concat(),
            5,
            "v2",
            "0:+4",
            &[2, 4],
            Some(2),
        ),
        (
            "one that was under way goes on",
            [&two[..], &[release(3, "v2", 20, None)]].concat(),
            30,
            "v2",
            "0:+3 10:=3",
            &[3],
            Some(2),
        ),
        (
            "what always answers in turn is one",
            [&two[..], &[release(3, "v2", day, Some(day - 7 * HOUR))]].concat(),
            60,
            "v1 v2",
            "",
            &[3],
            Some(2),
        ),
    ];
    for (name, past, minutes, seen, told, current, previous) in table {
        let mut story = Story::after(&past, &fixture::target("t", &["w"]));
        story.for_minutes(minutes, seen);
        assert_eq!(story.told.trim_end(), told, "{name}");
        assert_eq!(story.current(), current, "{name}");
        assert_eq!(story.tracker.previous().map(|release| release.id.0), previous, "{name}");
    }
}

#[test]
fn other_labels_at_the_start_are_a_release_at_once_and_so_is_what_else_is_new_then() {
    let mut target = (*fixture::target("t", &["w"])).clone();
    target.labels.insert("gpu".into(), "H200".into());
    let past = [release(1, "v1", 100, Some(100))];
    let mut story = Story::after(&past, &target);
    assert!(story.newest().settled.is_some() && !story.tracker.is_rolling());
    story.for_minutes(20, "v2");
    assert_eq!((story.told.trim_end(), story.current()), ("0:+2 0:~2", vec![2]));
    assert_eq!(story.newest().makeup.labels, target.labels);
    // The next start finds nothing new.
    let again = Story::after(&[past[0].clone(), story.newest()], &target);
    assert_eq!((again.told.as_str(), again.current()), ("", vec![2]));
}

#[test]
fn what_a_person_said_outlives_an_upgrade_and_a_restart() {
    let mut story = Story::new();
    story.for_minutes(1, "v1").for_minutes(1, "(driver-580)").for_minutes(15, "v2");
    assert_eq!(story.newest().makeup.to_string(), "vllm v2 (driver-580)");
    let mut again = Story::after(&[story.newest()], &fixture::target("t", &["w"]));
    again.for_minutes(5, "v2");
    assert_eq!((again.told.as_str(), again.newest().makeup), ("", story.newest().makeup));
}

#[test]
fn restarts_do_not_make_room_for_more_noise() {
    let past: Vec<_> = (0..20).map(|n| release(n + 1, &format!("v{n}"), 100, Some(100))).collect();
    let mut story = Story::after(&past, &fixture::target("t", &["w"]));
    story.for_minutes(60, "a b c d e");
    assert_eq!(story.told.matches('+').count(), 1, "one more is the twentieth: {}", story.told);
    assert_eq!(story.told.matches("!version").count(), 1, "{}", story.told);
}

/// Whatever comes, in whatever order: what must hold always, does.
#[test]
fn any_sightings_leave_a_tracker_in_order() {
    for seed in 0..200 {
        let mut random = oorandom::Rand32::new(seed);
        let mut story = Story::new();
        let words = ["v1", "v2", "v3", "#a", "#b", "#c", "?", "-", "(x)"];
        // A few words for a while, then others.
        for _ in 0..60 {
            let some: Vec<_> = (0..3).map(|_| words[random.rand_range(0..9) as usize]).collect();
            story.for_minutes(u64::from(random.rand_range(1..90)), &some.join(" "));
            let current: Vec<_> = story.tracker.current().cloned().collect();
            let (newest, older) = current.split_last().expect("something is always current");
            assert_eq!(story.tracker.is_rolling(), !older.is_empty());
            assert!(newest.settled.is_some() || story.tracker.is_rolling(), "{seed}: {current:?}");
            let mut ids: Vec<_> = current.iter().map(|release| release.id).collect();
            ids.dedup();
            assert_eq!(ids.len(), current.len(), "{seed}");
            assert!(current.iter().filter(|release| release.settled.is_some()).count() <= 1, "{seed}");
            if let Some(previous) = story.tracker.previous() {
                assert!(previous.settled.is_some() && previous.id != newest.id, "{seed}");
            }
        }
        let days = story.minute / (24 * HOUR) + 1;
        let begun = story.told.matches('+').count() as u64;
        assert!(begun <= days * 120 + 80, "{seed}: {begun} in {days} days");
        // Once only one thing is seen for long, that is what it is.
        story.for_minutes(26 * HOUR, "v9 #z");
        let makeup = story.newest().makeup;
        assert_eq!(story.current().len(), 1, "{seed}: {}", story.told);
        let muted = |field: &str| story.told.contains(&format!("!{field}"));
        assert!(makeup.version.as_deref() == Some("v9") || muted("version"), "{seed}: {}", story.told);
        assert!(makeup.fingerprint.as_deref() == Some("z") || muted("fingerprint"), "{seed}: {}", story.told);
    }
}
