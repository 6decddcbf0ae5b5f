//! Where releases are written down.

use std::fmt;
use std::time::SystemTime;

use crate::domain::{Makeup, Release, ReleaseId};
use crate::history::History;

/// What [`super::Releases`] needs of a history.
pub trait Ledger: fmt::Debug + Send + Sync {
    /// A release began; gives its number.
    fn begin(&self, target: &str, makeup: &Makeup, began: SystemTime) -> ReleaseId;

    /// More is known of it than when it began.
    fn amend(&self, id: ReleaseId, makeup: &Makeup);

    /// From then on, what is measured is this one's alone.
    fn settle(&self, id: ReleaseId, at: SystemTime);

    /// A person said something about the target.
    fn mark(&self, target: &str, text: &str, at: SystemTime);

    /// All releases of a target, oldest first.
    fn releases(&self, target: &str) -> Vec<Release>;
}

/// The file where probes are kept, too. What cannot be read is not known: then a release begins.
impl Ledger for History {
    fn begin(&self, target: &str, makeup: &Makeup, began: SystemTime) -> ReleaseId {
        self.begin_release(target, makeup, began)
    }

    fn amend(&self, id: ReleaseId, makeup: &Makeup) {
        Self::amend(self, id, makeup);
    }

    fn settle(&self, id: ReleaseId, at: SystemTime) {
        Self::settle(self, id, at);
    }

    fn mark(&self, target: &str, text: &str, at: SystemTime) {
        Self::mark(self, target, text, at);
    }

    fn releases(&self, target: &str) -> Vec<Release> {
        self.reader().and_then(|reader| reader.releases(target)).unwrap_or_else(|error| {
            tracing::warn!(target, %error, "earlier releases of the target cannot be read");
            Vec::new()
        })
    }
}

#[cfg(test)]
pub(super) mod fixture {
    //! A ledger that a test can look into.

    use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

    use super::*;

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
        fn begin(&self, target: &str, makeup: &Makeup, began: SystemTime) -> ReleaseId {
            let mut all = self.all();
            let id = ReleaseId(all.last().map_or(1, |last| last.id.0 + 1));
            all.push(Release { id, target: target.into(), makeup: makeup.clone(), began, settled: None });
            id
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
        fn begin(&self, target: &str, makeup: &Makeup, began: SystemTime) -> ReleaseId {
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
}
