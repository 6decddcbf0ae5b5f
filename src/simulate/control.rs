//! The handle by which faults and the version are changed while the engine runs.

use std::sync::{Arc, Mutex, PoisonError};

use super::cost::Slowdown;
use super::faults::{Fault, Faults, Strikes};

/// Clones share the same state.
#[derive(Debug, Clone)]
pub struct Control {
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    faults: Faults,
    version: String,
}

impl Control {
    /// Begins with these.
    pub fn new(version: String, faults: Vec<Fault>, seed: u64) -> Self {
        Self { state: Arc::new(Mutex::new(State { faults: Faults::new(faults, seed), version })) }
    }

    /// Replaces all faults.
    pub fn set_faults(&self, faults: Vec<Fault>) {
        self.with(|state| state.faults.set(faults));
    }

    /// Healthy again.
    pub fn clear_faults(&self) {
        self.set_faults(Vec::new());
    }

    /// The faults in force, with what is left of their counts.
    pub fn faults(&self) -> Vec<Fault> {
        self.with(|state| state.faults.all().to_vec())
    }

    /// Changes the version that the server reports.
    pub fn set_version(&self, version: impl Into<String>) {
        let version = version.into();
        self.with(|state| state.version = version);
    }

    /// The version that the server reports now: a fault's, or its own.
    pub fn version(&self) -> String {
        self.with(|state| state.faults.version().map_or_else(|| state.version.clone(), str::to_owned))
    }

    pub(super) fn slowdown(&self) -> Slowdown {
        self.with(|state| state.faults.slowdown())
    }

    pub(super) fn strike_request(&self) -> Strikes {
        self.with(|state| state.faults.strike_request())
    }

    pub(super) fn strikes_connection(&self) -> bool {
        self.with(|state| state.faults.strikes_connection())
    }

    fn with<T>(&self, work: impl FnOnce(&mut State) -> T) -> T {
        work(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
