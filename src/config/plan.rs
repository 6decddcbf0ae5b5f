//! What the daemon is to do, in domain types: everything checked, nothing left to guess.

use std::net::SocketAddr;
use std::sync::Arc;

use crate::domain::{Limits, Target, Workload};

#[derive(Debug, Clone)]
pub struct Plan {
    pub listen: SocketAddr,
    pub limits: Limits,
    pub targets: Vec<Arc<Target>>,
    pub workloads: Vec<Arc<Workload>>,
}
