//! What a target shows of itself, field by field: some of it when it is asked, the rest in its answers.

use crate::domain::{Identity, Makeup};

/// How something came to be seen. Sightings of one kind are comparable with each other only: a server that is
/// asked does not give its fingerprint, and an answer does not give the version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Asking,
    Probe,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    Engine,
    Version,
    Model,
    Fingerprint,
}

/// The fields that are known.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Features([Option<String>; 4]);

impl Kind {
    pub const ALL: [Self; 2] = [Self::Asking, Self::Probe];
}

impl Field {
    pub const ALL: [Self; 4] = [Self::Engine, Self::Version, Self::Model, Self::Fingerprint];

    pub fn kind(self) -> Kind {
        if self == Self::Fingerprint { Kind::Probe } else { Kind::Asking }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Engine => "engine",
            Self::Version => "version",
            Self::Model => "model",
            Self::Fingerprint => "fingerprint",
        }
    }
}

impl Features {
    /// What an answer shows.
    pub fn named(fingerprint: Option<&str>) -> Self {
        Self([None, None, None, fingerprint.map(str::to_owned)])
    }

    /// What the server tells when asked.
    pub fn asked(identity: &Identity) -> Self {
        Self::of(&Makeup::of(identity, &std::collections::BTreeMap::new()))
    }

    pub fn of(makeup: &Makeup) -> Self {
        let engine = Some(makeup.engine.clone()).filter(|engine| !engine.is_empty());
        Self([engine, makeup.version.clone(), makeup.model.clone(), makeup.fingerprint.clone()])
    }

    pub fn get(&self, field: Field) -> Option<&str> {
        self.0[field as usize].as_deref()
    }

    pub fn forget(&mut self, field: Field) {
        self.0[field as usize] = None;
    }

    pub fn is_empty(&self) -> bool {
        self.0.iter().all(Option::is_none)
    }

    /// Only what sightings of this kind show.
    #[must_use]
    pub fn part(&self, kind: Kind) -> Self {
        let mut part = self.clone();
        Field::ALL.into_iter().filter(|field| field.kind() != kind).for_each(|field| part.forget(field));
        part
    }

    /// Whether nothing that was seen speaks against it. What was not said this time does not, nor does what was
    /// not known before.
    pub fn agrees(&self, seen: &Self) -> bool {
        let mut pairs = self.0.iter().zip(&seen.0);
        pairs.all(|(own, seen)| own.is_none() || seen.is_none() || own == seen)
    }

    /// Whether everything that was seen is known of it.
    pub fn shows(&self, seen: &Self) -> bool {
        let mut pairs = self.0.iter().zip(&seen.0);
        pairs.all(|(own, seen)| seen.is_none() || own == seen)
    }

    /// Takes what was not known; whether there was any.
    pub fn learn(&mut self, seen: &Self) -> bool {
        let mut has_learned = false;
        for (own, seen) in self.0.iter_mut().zip(&seen.0) {
            if own.is_none() && seen.is_some() {
                own.clone_from(seen);
                has_learned = true;
            }
        }
        has_learned
    }

    /// What was seen, and for what was not said this time, what was known: of the same engine only.
    #[must_use]
    pub fn completed(&self, known: &Self) -> Self {
        let mut whole = self.clone();
        if self.0[0].is_none() || known.0[0].is_none() || self.0[0] == known.0[0] {
            whole.learn(known);
        }
        whole
    }

    /// The first field in which something seen is another than before.
    pub fn first_difference(&self, seen: &Self) -> Option<Field> {
        Field::ALL.into_iter().find(|&field| seen.get(field).is_some() && seen.get(field) != self.get(field))
    }

    /// Writes what sightings of this kind show into a makeup.
    pub fn write(&self, kind: Kind, makeup: &mut Makeup) {
        let [engine, version, model, fingerprint] = self.0.clone();
        match kind {
            Kind::Asking => {
                makeup.engine = engine.unwrap_or_default();
                (makeup.version, makeup.model) = (version, model);
            }
            Kind::Probe => makeup.fingerprint = fingerprint,
        }
    }
}
