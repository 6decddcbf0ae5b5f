//! One workload of one target while it is watched: what is asked, who learns from it and where it is counted.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::time::Instant;

use super::trip::Errand;
use crate::domain::{PlaceId, Workload};
use crate::record::PlaceMetrics;
use crate::workload::{Learner, Source};

/// Goes on through every change of the configuration that leaves its identity as it is.
#[derive(Debug)]
pub struct Place {
    id: PlaceId,
    workload: Arc<Workload>,
    metrics: Arc<PlaceMetrics>,
    source: Arc<Mutex<Source>>,
    learner: Learner,
}

impl Place {
    pub fn new(id: PlaceId, metrics: Arc<PlaceMetrics>, source: Source) -> Self {
        Self {
            id,
            workload: Arc::clone(source.workload()),
            metrics,
            learner: source.learner(),
            source: Arc::new(Mutex::new(source)),
        }
    }

    /// The same place, counted there from now on.
    #[must_use]
    pub fn counted_at(&self, metrics: Arc<PlaceMetrics>) -> Self {
        Self {
            id: self.id,
            workload: Arc::clone(&self.workload),
            metrics,
            source: Arc::clone(&self.source),
            learner: self.learner.clone(),
        }
    }

    pub fn id(&self) -> PlaceId {
        self.id
    }

    pub fn workload(&self) -> &Arc<Workload> {
        &self.workload
    }

    pub fn metrics(&self) -> &Arc<PlaceMetrics> {
        &self.metrics
    }

    pub fn learner(&self) -> &Learner {
        &self.learner
    }

    /// What its next probe asks.
    pub fn next_errand(&self, due: Instant) -> Errand {
        let draft = self.source.lock().unwrap_or_else(PoisonError::into_inner).next_draft();
        Errand { workload: Arc::clone(&self.workload), draft, learner: self.learner.clone(), due }
    }
}
