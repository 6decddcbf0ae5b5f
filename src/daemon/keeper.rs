//! The history, opened with what the configuration says of it, and how its keeping goes.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::timeout;

use crate::config::Keep;
use crate::history::{self, History, Settings, State};
use crate::record::{Keeping, Recorder};

/// How often the metrics follow.
const EVERY: Duration = Duration::from_secs(1);

/// Clones keep in the same place.
#[derive(Debug, Clone)]
pub(super) struct Keeper {
    history: History,
    recorder: Arc<Recorder>,
    /// The file could not be opened: what is kept is in memory, and stays there.
    is_makeshift: bool,
}

impl Keeper {
    /// A path that cannot be right is an error. A disk that is full or broken is not: then the last hours are kept in
    /// memory, and a metric says so, because a daemon that does not start watches nothing.
    pub(super) fn open(keep: &Keep, recorder: Arc<Recorder>) -> Result<Self, history::Error> {
        let settings = Settings { path: keep.path.clone(), keep: keep.age, max_bytes: keep.bytes };
        let (history, is_makeshift) = match History::open(&settings) {
            Ok(history) => (history, false),
            Err(error) if error.may_pass() => {
                tracing::error!(%error, "the last hours are kept in memory instead, until the next start");
                (History::open(&Settings { path: None, ..settings })?, true)
            }
            Err(error) => return Err(error),
        };
        let keeper = Self { history, recorder, is_makeshift };
        keeper.show();
        Ok(keeper)
    }

    pub(super) fn history(&self) -> History {
        self.history.clone()
    }

    /// Shows how it goes, until `stop` becomes true.
    pub(super) async fn watch(self, mut stop: watch::Receiver<bool>) {
        while timeout(EVERY, stop.wait_for(|&stop| stop)).await.is_err() {
            self.show();
        }
        self.show();
    }

    fn show(&self) {
        let State { written, lost, bytes, failing } = self.history.state();
        self.recorder.keeping(Keeping { written, lost, bytes, failing: failing || self.is_makeshift });
    }
}
