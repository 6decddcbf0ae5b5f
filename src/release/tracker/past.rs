//! Where the last run of the daemon left off.

use std::time::{Duration, SystemTime};

use tokio::time::Instant;

use super::{Begin, Change, Moment, Tracker};
use crate::domain::{Identity, Makeup, Release, Target};
use crate::release::features::Features;
use crate::release::noise::WINDOW;
use crate::release::track::Track;

impl Tracker {
    /// Goes on with the last release of the history (oldest first), until something else is seen. Other labels in
    /// the configuration are a release at once: whoever changed them says so.
    pub fn resume(&mut self, past: &[Release], now: Moment, begin: &mut Begin<'_>) -> Vec<Change> {
        let Some(last) = past.len().checked_sub(1) else { return Vec::new() };
        let at = past.iter().rposition(|release| release.settled.is_some()).unwrap_or(last);
        let (older, newer) = (&past[..at], &past[at + 1..]);
        let mut track = recall(&past[at], now);
        track.release.settled = track.release.settled.or(Some(track.release.began));
        if self.was_stubborn(&past[at]) {
            members(older).for_each(|member| track.absorb(&recall(member, now)));
        }
        // It may have been under way when the last run ended.
        let young = newer.iter().filter(|release| age(release.began, now.wall) < self.patience.stubborn);
        self.asleep = young.map(|release| recall(release, now)).collect();
        self.before = older.iter().rev().find(|release| release.settled.is_some()).cloned();
        self.tracks = vec![track];
        self.recall_noise(past, now);
        self.compare_labels(now, begin)
    }

    /// Takes what the configuration says now. Other labels are a release, as after a restart.
    pub fn reconfigure(&mut self, target: &Target, now: Moment, begin: &mut Begin<'_>) -> Vec<Change> {
        self.configured = Makeup::of(&Identity::of(target.engine), &target.labels);
        self.compare_labels(now, begin)
    }

    /// What the server and people said stays; what the server says need not be the same any more.
    fn compare_labels(&mut self, now: Moment, begin: &mut Begin<'_>) -> Vec<Change> {
        let Some(track) = self.tracks.last() else { return Vec::new() };
        if track.release.makeup.labels == *self.labels() {
            return Vec::new();
        }
        let makeup = Makeup { labels: self.labels().clone(), ..track.release.makeup.clone() };
        let change = self.replace(makeup, now, begin);
        self.tracks.iter_mut().for_each(|track| track.own = [false; 2]);
        vec![change]
    }

    /// Whether it settled only because nothing stayed away.
    fn was_stubborn(&self, release: &Release) -> bool {
        release.settled.is_some_and(|settled| age(release.began, settled) >= self.patience.stubborn)
    }

    fn recall_noise(&mut self, past: &[Release], now: Moment) {
        for pair in past.windows(2) {
            let [old, new] = [&pair[0], &pair[1]].map(|release| Features::of(&release.makeup));
            let (field, age) = (old.first_difference(&new), age(pair[1].began, now.wall));
            if let Some(field) = field.filter(|_| age < WINDOW) {
                self.noise.recall(field, before(now, age));
            }
        }
    }
}

/// A release of the past, with its age.
fn recall(release: &Release, now: Moment) -> Track {
    let mut track = Track::new(release.clone(), now.instant);
    track.born = before(now, age(release.began, now.wall));
    track
}

/// Those that answered in turn with the one after them: back to the last that had settled.
fn members(older: &[Release]) -> impl Iterator<Item = &Release> {
    let first = older.iter().rposition(|release| release.settled.is_some()).unwrap_or(0);
    older[first..].iter()
}

fn age(began: SystemTime, now: SystemTime) -> Duration {
    now.duration_since(began).unwrap_or_default()
}

/// As long ago as the clock reaches.
fn before(now: Moment, age: Duration) -> Instant {
    now.instant.checked_sub(age).unwrap_or(now.instant)
}
