//! One release that is current, and what is known of whether it still answers.

use std::time::Duration;

use tokio::time::Instant;

use super::features::{Features, Field, Kind};
use crate::domain::{Makeup, Release};

#[derive(Debug, Clone)]
pub struct Track {
    pub release: Release,
    /// What it shows in sightings of each kind: one way, or several if those go on in turn for ever.
    variants: [Vec<Variant>; 2],
    /// By kind: whether this is its own. Otherwise it is the release's before it, until something else is seen: a
    /// change of the version and one of the fingerprint are one release, though one is seen before the other.
    pub own: [bool; 2],
    pub last_seen: Instant,
    pub born: Instant,
    /// By kind: how many sightings in a row showed it, rather than another that is current as well.
    pub run: [u32; 2],
}

#[derive(Debug, Clone)]
struct Variant {
    features: Features,
    last_seen: Instant,
}

impl Track {
    pub fn new(release: Release, now: Instant) -> Self {
        let features = Features::of(&release.makeup);
        let variants = Kind::ALL.map(|kind| vec![Variant { features: features.part(kind), last_seen: now }]);
        Self { release, variants, own: [true; 2], last_seen: now, born: now, run: [0; 2] }
    }

    /// The same thing under another release.
    pub fn renamed(&self, release: Release, now: Instant) -> Self {
        Self { release, own: [true; 2], last_seen: now, born: now, run: [0; 2], ..self.clone() }
    }

    /// What began with this sighting; what it does not show is taken from this one.
    pub fn successor(&self, release: Release, kind: Kind, now: Instant) -> Self {
        let mut new = self.renamed(release, now);
        new.own = Kind::ALL.map(|other| other == kind);
        new.become_own(kind, now);
        new
    }

    /// From now on it shows what its makeup says, and nothing else.
    pub fn become_own(&mut self, kind: Kind, now: Instant) {
        let features = Features::of(&self.release.makeup).part(kind);
        self.variants[kind as usize] = vec![Variant { features, last_seen: now }];
        self.own[kind as usize] = true;
    }

    pub fn newest_features(&self, kind: Kind) -> Features {
        Features::of(&self.release.makeup).part(kind)
    }

    /// Whether everything seen is known of it.
    pub fn shows(&self, kind: Kind, seen: &Features) -> bool {
        self.variants[kind as usize].iter().any(|variant| variant.features.shows(seen))
    }

    /// Whether nothing seen speaks against it.
    pub fn agrees(&self, kind: Kind, seen: &Features) -> bool {
        self.variants[kind as usize].iter().any(|variant| variant.features.agrees(seen))
    }

    /// It was seen as it is known; whether something was learned of it. That goes into the makeup, too.
    pub fn recognise(&mut self, kind: Kind, seen: &Features, now: Instant) -> bool {
        let shown = self.newest_features(kind);
        let variants = &mut self.variants[kind as usize];
        let known = variants.iter().position(|variant| variant.features.shows(seen));
        let known = known.or_else(|| variants.iter().position(|variant| variant.features.agrees(seen)));
        let Some(variant) = known.map(|at| &mut variants[at]) else { return false };
        variant.last_seen = now;
        self.own[kind as usize] = true;
        let is_shown = variant.features == shown;
        let has_learned = variant.features.learn(seen);
        if has_learned && is_shown {
            variant.features.write(kind, &mut self.release.makeup);
        }
        has_learned && is_shown
    }

    /// Forgets the ways in which it has not been seen for long; gives another makeup if the one it goes by was
    /// among them.
    pub fn forget(&mut self, kind: Kind, long: Duration, now: Instant) -> Option<Makeup> {
        let shown = self.newest_features(kind);
        let variants = &mut self.variants[kind as usize];
        let newest = variants.iter().map(|variant| variant.last_seen).max()?;
        variants.retain(|variant| variant.last_seen == newest || now - variant.last_seen < long);
        if variants.iter().any(|variant| variant.features == shown) {
            return None;
        }
        let seen_last = variants.iter().max_by_key(|variant| variant.last_seen)?;
        let mut makeup = self.release.makeup.clone();
        seen_last.features.write(kind, &mut makeup);
        Some(makeup)
    }

    /// Takes over the ways of another.
    pub fn absorb(&mut self, other: &Self) {
        for (own, others) in self.variants.iter_mut().zip(&other.variants) {
            for variant in others {
                if !own.iter().any(|known| known.features == variant.features) {
                    own.push(variant.clone());
                }
            }
        }
    }

    /// A field that means nothing is no longer part of it.
    pub fn mute(&mut self, field: Field) {
        let mut features = self.newest_features(field.kind());
        features.forget(field);
        features.write(field.kind(), &mut self.release.makeup);
        let variants = &mut self.variants[field.kind() as usize];
        for variant in variants.iter_mut() {
            variant.features.forget(field);
        }
        variants.dedup_by(|a, b| a.features == b.features);
    }

    /// Whether no sighting can tell the two apart.
    pub fn looks_like(&self, other: &Self) -> bool {
        Kind::ALL.into_iter().all(|kind| {
            let (own, others) = (&self.variants[kind as usize], &other.variants[kind as usize]);
            own.iter().all(|variant| others.iter().any(|other| other.features == variant.features))
        })
    }

    /// Whether asking could tell the two apart.
    pub fn differs_when_asked(&self, other: &Self) -> bool {
        self.newest_features(Kind::Asking) != other.newest_features(Kind::Asking)
    }

    /// In how many ways it answers.
    pub fn members(&self) -> usize {
        self.variants.iter().map(Vec::len).max().unwrap_or(1)
    }
}
