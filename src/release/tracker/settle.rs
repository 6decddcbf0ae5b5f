//! When several releases are current: who is gone, who stays, and what is one and the same.

use tokio::time::Instant;

use super::{Change, Moment, Patience, Tracker};
use crate::domain::Release;
use crate::release::features::Field;
use crate::release::track::Track;

impl Tracker {
    /// Ends what has stayed away, and what has gone on for too long.
    pub(super) fn resolve(&mut self, now: Moment, changes: &mut Vec<Change>) {
        let mut gone = None;
        let mut last_seen = None;
        while let Some(at) = self.find_gone(now.instant) {
            last_seen = last_seen.max(Some(self.tracks[at].last_seen));
            gone = Some(self.retire(at));
        }
        let is_stubborn =
            self.rolling_since.is_some_and(|since| now.instant - since >= self.patience.stubborn);
        match (self.tracks.len(), gone) {
            (1, Some(gone)) if self.tracks[0].release.settled.is_some() => {
                let release = self.tracks[0].release.clone();
                changes.push(Change::RolledBack { release, gone });
                self.calm(now);
            }
            (1, Some(_)) => self.settle(last_seen.unwrap_or(now.instant), now, changes),
            (2.., _) if is_stubborn => {
                self.gather(|_, _| true);
                self.settle(now.instant, now, changes);
            }
            _ => {}
        }
    }

    /// One that has not been seen for long, while sightings in a row showed another.
    fn find_gone(&self, now: Instant) -> Option<usize> {
        let Patience { away, run, .. } = self.patience;
        let is_replaced = |track: &Track| {
            let by = |kind: usize| self.tracks.iter().any(|other| other.run[kind] >= run);
            (0..2).any(|kind| track.run[kind] == 0 && by(kind))
        };
        self.tracks.iter().position(|track| now - track.last_seen >= away && is_replaced(track))
    }

    /// Takes one off the current ones.
    fn retire(&mut self, at: usize) -> Release {
        let track = self.tracks.remove(at);
        let release = track.release.clone();
        if release.settled.is_some() {
            self.before = Some(release.clone());
        } else {
            self.asleep.push(track);
        }
        release
    }

    /// Makes the newest of all that it may be gathered with: its members.
    fn gather(&mut self, belongs: impl Fn(&Track, &Track) -> bool) {
        let Some(mut newest) = self.tracks.pop() else { return };
        let (members, others): (Vec<_>, Vec<_>) =
            self.tracks.drain(..).partition(|track| belongs(track, &newest));
        for track in members {
            newest.absorb(&track);
            if track.release.settled.is_some() {
                self.before = Some(track.release);
            }
        }
        self.tracks = others;
        self.tracks.push(newest);
    }

    /// The only one that is left is what the target runs, and has been since another was seen last.
    fn settle(&mut self, since: Instant, now: Moment, changes: &mut Vec<Change>) {
        let Some(track) = self.tracks.last_mut() else { return };
        track.release.settled = Some(now.wall_at(since).max(track.release.began));
        let (release, members) = (track.release.clone(), track.members());
        changes.push(Change::Settled { release, members });
        self.calm(now);
    }

    pub(super) fn calm(&mut self, now: Moment) {
        self.rolling_since = None;
        self.pure_since = now.wall;
        self.tracks.iter_mut().for_each(|track| (track.own, track.run) = ([true; 2], [0; 2]));
    }

    /// The field is no longer part of any release; those that differed in it alone are one.
    pub(super) fn mute(&mut self, field: Field, now: Moment, changes: &mut Vec<Change>) {
        self.tracks.iter_mut().chain(&mut self.asleep).for_each(|track| track.mute(field));
        self.gather(Track::looks_like);
        let Some(newest) = self.tracks.last() else { return };
        changes.push(Change::Muted { release: newest.release.clone(), field });
        if self.tracks.len() == 1 && self.rolling_since.is_some() {
            self.settle(now.instant, now, changes);
        }
    }
}
