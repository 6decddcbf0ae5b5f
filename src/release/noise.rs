//! Against servers that call themselves something new in every answer: a bound on new releases.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::time::Instant;

use super::features::{Features, Field};

/// So many releases may begin within [`WINDOW`] by what a server says.
pub const MOST_RELEASES: usize = 20;

/// So many may begin within it by what people say: enough for a pipeline that marks each of its deployments, too
/// few to fill a disk with.
pub const MOST_MARKS: usize = 100;

pub const WINDOW: Duration = Duration::from_secs(24 * 3600);

/// What began lately, and what is no longer listened to.
#[derive(Debug, Default)]
pub struct Noise {
    begun: VecDeque<(Instant, Field)>,
    marks: VecDeque<Instant>,
    muted: Vec<Field>,
}

impl Noise {
    /// What was seen without the fields that mean nothing here.
    pub fn listen(&self, mut seen: Features) -> Features {
        self.muted.iter().for_each(|&field| seen.forget(field));
        seen
    }

    /// A release is about to begin by this field. If there were too many, none begins, and the field that most of
    /// them began by is listened to no longer: it is given back.
    pub fn begin(&mut self, field: Field, now: Instant) -> Result<(), Field> {
        while self.begun.front().is_some_and(|(at, _)| *at + WINDOW <= now) {
            self.begun.pop_front();
        }
        if self.begun.len() < MOST_RELEASES {
            self.begun.push_back((now, field));
            return Ok(());
        }
        let count = |field: &Field| self.begun.iter().filter(|(_, of)| of == field).count();
        let noisy = Field::ALL.into_iter().max_by_key(count).unwrap_or(field);
        self.begun.retain(|(_, of)| *of != noisy);
        self.muted.push(noisy);
        Err(noisy)
    }

    /// A release of an earlier run began then; whether there were too many is for the next one to tell.
    pub fn recall(&mut self, field: Field, at: Instant) {
        self.begun.push_back((at, field));
    }

    /// A person speaks: whether that may begin a release.
    pub fn mark(&mut self, now: Instant) -> bool {
        while self.marks.front().is_some_and(|at| *at + WINDOW <= now) {
            self.marks.pop_front();
        }
        let may = self.marks.len() < MOST_MARKS;
        if may {
            self.marks.push_back(now);
        }
        may
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_field_that_most_began_by_is_muted_and_the_others_are_heard() {
        let (mut noise, now) = (Noise::default(), Instant::now());
        assert_eq!(noise.begin(Field::Version, now), Ok(()));
        for _ in 1..MOST_RELEASES {
            assert_eq!(noise.begin(Field::Fingerprint, now), Ok(()));
        }
        assert_eq!(noise.begin(Field::Version, now), Err(Field::Fingerprint));
        assert_eq!(noise.begin(Field::Version, now), Ok(()));
        assert!(noise.listen(Features::named(Some("fp"))).is_empty());
    }

    #[test]
    fn a_day_later_there_is_room_again() {
        let (mut noise, now) = (Noise::default(), Instant::now());
        for hour in 0..100 {
            let at = now + Duration::from_secs(3600 * 2 * hour);
            assert_eq!(noise.begin(Field::Version, at), Ok(()));
        }
        assert_eq!((0..1000).filter(|_| noise.mark(now)).count(), MOST_MARKS);
        assert!(noise.mark(now + WINDOW));
    }
}
