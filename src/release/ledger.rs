//! Where releases are written down.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use crate::domain::{Makeup, Release, ReleaseId};

/// Why a release could not be written down.
pub type Error = Box<dyn std::error::Error + Send + Sync>;

/// What [`super::Releases`] needs of a history.
pub trait Ledger: fmt::Debug + Send + Sync {
    /// A release began; gives its number.
    fn begin(&self, target: &str, makeup: &Makeup, began: SystemTime) -> Result<ReleaseId, Error>;

    /// More is known of it than when it began.
    fn amend(&self, id: ReleaseId, makeup: &Makeup);

    /// From then on, what is measured is this one's alone.
    fn settle(&self, id: ReleaseId, at: SystemTime);

    /// A person said something about the target.
    fn mark(&self, target: &str, text: &str, at: SystemTime);

    /// All releases of a target, oldest first.
    fn releases(&self, target: &str) -> Vec<Release>;
}

/// Remembers until the daemon ends.
#[derive(Debug, Default)]
pub struct InMemory(Mutex<Vec<Release>>);

impl InMemory {
    fn all(&self) -> MutexGuard<'_, Vec<Release>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, id: ReleaseId, work: impl FnOnce(&mut Release)) {
        if let Some(release) = self.all().iter_mut().find(|release| release.id == id) {
            work(release);
        }
    }
}

impl Ledger for InMemory {
    fn begin(&self, target: &str, makeup: &Makeup, began: SystemTime) -> Result<ReleaseId, Error> {
        let mut all = self.all();
        let id = ReleaseId(all.last().map_or(1, |last| last.id.0 + 1));
        all.push(Release { id, target: target.into(), makeup: makeup.clone(), began, settled: None });
        Ok(id)
    }

    fn amend(&self, id: ReleaseId, makeup: &Makeup) {
        self.change(id, |release| release.makeup = makeup.clone());
    }

    fn settle(&self, id: ReleaseId, at: SystemTime) {
        self.change(id, |release| release.settled = Some(at));
    }

    /// The makeup of the release that begins with it has the text.
    fn mark(&self, _: &str, _: &str, _: SystemTime) {}

    fn releases(&self, target: &str) -> Vec<Release> {
        self.all().iter().filter(|release| *release.target == *target).cloned().collect()
    }
}

/// Several may write into one.
impl<L: Ledger + ?Sized> Ledger for Arc<L> {
    fn begin(&self, target: &str, makeup: &Makeup, began: SystemTime) -> Result<ReleaseId, Error> {
        (**self).begin(target, makeup, began)
    }

    fn amend(&self, id: ReleaseId, makeup: &Makeup) {
        (**self).amend(id, makeup);
    }

    fn settle(&self, id: ReleaseId, at: SystemTime) {
        (**self).settle(id, at);
    }

    fn mark(&self, target: &str, text: &str, at: SystemTime) {
        (**self).mark(target, text, at);
    }

    fn releases(&self, target: &str) -> Vec<Release> {
        (**self).releases(target)
    }
}
