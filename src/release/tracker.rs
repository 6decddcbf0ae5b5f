//! Decides when a target's release changed: from what is seen of it, without I/O and without a clock of its own.
//!
//! What has not been seen before begins a release, and the one before stays current beside it until it has stayed
//! away long enough: behind one address, two versions may answer in turn for a while. What is measured meanwhile is
//! mixed. If it is the new one that stays away, it was rolled back. If neither does for hours, then that is how the
//! target is.

mod past;
mod settle;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::time::Instant;

use super::features::{Features, Field, Kind};
use super::noise::Noise;
use super::track::Track;
use crate::domain::{Identity, Makeup, Release, ReleaseId, Target};

/// How long it takes to be sure.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// A release that has not been seen for so long is gone,
    pub away: Duration,
    /// if so many sightings in a row showed another.
    pub run: u32,
    /// Those that still answer in turn after this always will.
    pub stubborn: Duration,
    /// One of those that answer in turn and has not been seen for so long is forgotten.
    pub forget: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        let hour = Duration::from_secs(3600);
        Self { away: Duration::from_secs(600), run: 3, stubborn: 6 * hour, forget: 24 * hour }
    }
}

/// The time of a sighting, by both clocks: one for durations, the other for the history.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    pub instant: Instant,
    pub wall: SystemTime,
}

impl Moment {
    /// What the wall clock would have said then.
    pub fn wall_at(self, then: Instant) -> SystemTime {
        self.wall - self.instant.saturating_duration_since(then)
    }
}

/// Something about a target's releases is other than before.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// It began, or is back after it had been rolled back. `was` is the newest one before it, if there was any.
    Began { release: Release, was: Option<Makeup> },
    /// More is known of a release that is current.
    Learned { release: Release, was: Makeup },
    /// One that was thought to be replaced answers still: seen for the first time since the newest began.
    InTurn { newest: Release, older: Release },
    /// It alone is current; so many members answer in turn.
    Settled { release: Release, members: usize },
    /// It goes on, and the other is gone.
    RolledBack { release: Release, gone: Release },
    /// The field changed far too often to mean anything.
    Muted { release: Release, field: Field },
}

/// Gives a new release its number.
pub type Begin<'a> = dyn FnMut(&Makeup, SystemTime) -> ReleaseId + 'a;

/// What one target runs.
#[derive(Debug)]
pub struct Tracker {
    target: Arc<str>,
    /// What the configuration says.
    configured: Makeup,
    patience: Patience,
    /// Those that are current, oldest first: several while they answer in turn, none before the first sighting of all.
    tracks: Vec<Track>,
    /// Those that were rolled back a short while ago.
    asleep: Vec<Track>,
    /// The newest that was settled before the current ones.
    before: Option<Release>,
    rolling_since: Option<Instant>,
    has_told_turns: bool,
    /// Probes that started earlier may have been answered by another release.
    pure_since: SystemTime,
    noise: Noise,
}

impl Tracker {
    /// Before anything is known.
    pub fn new(target: &Target, patience: Patience) -> Self {
        Self {
            target: Arc::clone(&target.name),
            configured: Makeup::of(&Identity::of(target.engine), &target.labels),
            patience,
            tracks: Vec::new(),
            asleep: Vec::new(),
            before: None,
            rolling_since: None,
            has_told_turns: false,
            pure_since: SystemTime::UNIX_EPOCH,
            noise: Noise::default(),
        }
    }

    /// Those that are current, oldest first.
    pub fn current(&self) -> impl DoubleEndedIterator<Item = &Release> {
        self.tracks.iter().map(|track| &track.release)
    }

    /// The newest release that had settled before the newest current one.
    pub fn previous(&self) -> Option<&Release> {
        let older = self.tracks.split_last().map_or(&[][..], |(_, older)| older);
        let settled = older.iter().rev().map(|track| &track.release).find(|it| it.settled.is_some());
        settled.or(self.before.as_ref())
    }

    /// Since when nothing but the newest was seen: what is measured from there on is probably its own, long before it
    /// is settled that the others are gone.
    pub fn alone_since(&self, now: Moment) -> Option<(&Release, SystemTime)> {
        let (newest, older) = self.tracks.split_last()?;
        let seen_last = older.iter().map(|track| now.wall_at(track.last_seen)).max();
        let since = seen_last.or(newest.release.settled).unwrap_or(newest.release.began);
        Some((&newest.release, since))
    }

    pub fn is_rolling(&self) -> bool {
        self.tracks.len() > 1
    }

    /// Whether nobody knows which release answered a probe that started then.
    pub fn is_mixed(&self, started: SystemTime) -> bool {
        self.is_rolling() || started < self.pure_since
    }

    /// Whether asking more often helps to tell the current releases apart. Where only the answers differ it does
    /// not, but that is not known at once.
    pub fn wants_asking(&self, now: Instant) -> bool {
        let Some((newest, older)) = self.tracks.split_last() else { return false };
        let is_young = self.rolling_since.is_some_and(|since| now - since < self.patience.away);
        is_young || older.iter().any(|track| track.differs_when_asked(newest))
    }

    /// Takes what one sighting showed; what it did not show is as it was.
    pub fn see(&mut self, kind: Kind, seen: Features, now: Moment, begin: &mut Begin<'_>) -> Vec<Change> {
        let mut changes = Vec::new();
        let seen = self.noise.listen(seen);
        if self.tracks.is_empty() {
            self.begin_first(kind, &seen, now, begin, &mut changes);
        } else if !seen.is_empty() {
            self.take(kind, &seen, now, begin, &mut changes);
        }
        self.resolve(now, &mut changes);
        changes
    }

    /// A person says that something is new: that is a release, and nobody waits for the one before to stay away.
    /// None if too many have been said.
    pub fn mark(&mut self, text: &str, now: Moment, begin: &mut Begin<'_>) -> Option<Vec<Change>> {
        if !self.noise.mark(now.instant) {
            return None;
        }
        let known = self.tracks.last().map_or(&self.configured, |newest| &newest.release.makeup);
        let makeup = Makeup { mark: Some(text.to_owned()), ..known.clone() };
        Some(vec![self.replace(makeup, now, begin)])
    }

    fn begin_first(
        &mut self,
        kind: Kind,
        seen: &Features,
        now: Moment,
        begin: &mut Begin<'_>,
        changes: &mut Vec<Change>,
    ) {
        let mut makeup = self.configured.clone();
        seen.completed(&Features::of(&makeup).part(kind)).write(kind, &mut makeup);
        changes.push(self.replace(makeup, now, begin));
        // Nothing came before it.
        self.pure_since = SystemTime::UNIX_EPOCH;
    }

    fn take(
        &mut self,
        kind: Kind,
        seen: &Features,
        now: Moment,
        begin: &mut Begin<'_>,
        changes: &mut Vec<Change>,
    ) {
        let of = |shows: fn(&Track, Kind, &Features) -> bool| -> Vec<bool> {
            self.tracks.iter().map(|track| shows(track, kind, seen)).collect()
        };
        let mut matching = of(Track::shows);
        if !matching.contains(&true) {
            matching = of(Track::agrees);
        }
        if !matching.contains(&true) {
            self.meet(kind, seen, now, begin, changes);
        } else if self.tracks.len() == 1 {
            self.meet_again(kind, seen, now, begin, changes);
        } else if matching.contains(&false) {
            self.tell_apart(kind, seen, &matching, now, changes);
        }
    }

    /// The only current release was seen.
    fn meet_again(
        &mut self,
        kind: Kind,
        seen: &Features,
        now: Moment,
        begin: &mut Begin<'_>,
        changes: &mut Vec<Change>,
    ) {
        let track = &mut self.tracks[0];
        track.last_seen = now.instant;
        let was = track.release.makeup.clone();
        if track.recognise(kind, seen, now.instant) {
            changes.push(Change::Learned { release: track.release.clone(), was });
        }
        if let Some(makeup) = track.forget(kind, self.patience.forget, now.instant) {
            changes.push(self.replace(makeup, now, begin));
        }
    }

    /// Some of the current releases were seen, and others were not.
    fn tell_apart(
        &mut self,
        kind: Kind,
        seen: &Features,
        matching: &[bool],
        now: Moment,
        changes: &mut Vec<Change>,
    ) {
        for (track, &is_seen) in self.tracks.iter_mut().zip(matching) {
            let run = &mut track.run[kind as usize];
            *run = if is_seen { *run + 1 } else { 0 };
            if is_seen {
                track.last_seen = now.instant;
                let was = track.release.makeup.clone();
                if track.recognise(kind, seen, now.instant) {
                    changes.push(Change::Learned { release: track.release.clone(), was });
                }
            }
        }
        let (Some(newest), Some(at)) = (self.tracks.last(), matching.iter().position(|&is_seen| is_seen))
        else {
            return;
        };
        if at + 1 < self.tracks.len() && !std::mem::replace(&mut self.has_told_turns, true) {
            let (newest, older) = (newest.release.clone(), self.tracks[at].release.clone());
            changes.push(Change::InTurn { newest, older });
        }
    }

    /// Something was seen that no current release shows.
    fn meet(
        &mut self,
        kind: Kind,
        seen: &Features,
        now: Moment,
        begin: &mut Begin<'_>,
        changes: &mut Vec<Change>,
    ) {
        let Some(newest) = self.tracks.last_mut() else { return };
        let known = newest.newest_features(kind);
        let whole = seen.completed(&known);
        let was = newest.release.makeup.clone();
        if !newest.own[kind as usize] {
            whole.write(kind, &mut newest.release.makeup);
            newest.become_own(kind, now.instant);
            changes.push(Change::Learned { release: newest.release.clone(), was });
            return self.see_newest(kind, now.instant);
        }
        let long = self.patience.stubborn;
        self.asleep.retain(|track| now.instant - track.born < long);
        if let Some(at) = self.asleep.iter().position(|track| track.shows(kind, seen)) {
            let back = self.asleep.remove(at);
            changes.push(Change::Began { release: back.release.clone(), was: Some(was) });
            return self.roll(back, kind, now.instant);
        }
        let field = known.first_difference(seen).unwrap_or(Field::Fingerprint);
        if let Err(noisy) = self.noise.begin(field, now.instant) {
            self.mute(noisy, now, changes);
            let seen = self.noise.listen(seen.clone());
            if !seen.is_empty() {
                // Each time around, one field less is listened to.
                self.take(kind, &seen, now, begin, changes);
            }
            return;
        }
        let mut makeup = was.clone();
        whole.write(kind, &mut makeup);
        let release = self.release(makeup, None, now, begin);
        let Some(newest) = self.tracks.last() else { return };
        let new = newest.successor(release.clone(), kind, now.instant);
        changes.push(Change::Began { release, was: Some(was) });
        self.roll(new, kind, now.instant);
    }

    /// Another release is current from now on. How long the others stay away counts from here: nobody looked as
    /// closely before.
    fn roll(&mut self, new: Track, kind: Kind, now: Instant) {
        self.tracks.iter_mut().for_each(|track| track.last_seen = now);
        self.rolling_since = Some(self.rolling_since.unwrap_or(now).min(new.born));
        self.has_told_turns = false;
        self.tracks.push(new);
        self.see_newest(kind, now);
    }

    /// Counts a sighting of the newest that showed no other.
    fn see_newest(&mut self, kind: Kind, now: Instant) {
        self.tracks.iter_mut().for_each(|track| track.run[kind as usize] = 0);
        if let Some(newest) = self.tracks.last_mut() {
            newest.run[kind as usize] = 1;
            newest.last_seen = now;
        }
    }

    /// Begins a release that replaces all others at once.
    fn replace(&mut self, makeup: Makeup, now: Moment, begin: &mut Begin<'_>) -> Change {
        let release = self.release(makeup, Some(now.wall), now, begin);
        let replaced = std::mem::take(&mut self.tracks);
        let newest = replaced.last();
        let track = match newest {
            Some(newest) => newest.renamed(release.clone(), now.instant),
            None => Track::new(release.clone(), now.instant),
        };
        let was = newest.map(|newest| newest.release.makeup.clone());
        let settled = replaced.into_iter().rev().map(|track| track.release).find(|it| it.settled.is_some());
        self.before = settled.or(self.before.take());
        self.tracks.push(track);
        self.asleep.clear();
        self.calm(now);
        Change::Began { release, was }
    }

    fn release(
        &self,
        makeup: Makeup,
        settled: Option<SystemTime>,
        now: Moment,
        begin: &mut Begin<'_>,
    ) -> Release {
        let id = begin(&makeup, now.wall);
        Release { id, target: Arc::clone(&self.target), makeup, began: now.wall, settled }
    }

    fn labels(&self) -> &BTreeMap<String, String> {
        &self.configured.labels
    }
}
