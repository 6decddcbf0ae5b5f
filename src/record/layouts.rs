//! The bounds of every histogram, made once and shared by all places.

use std::sync::Arc;

use crate::catalogue::{self as cat, Family};
use crate::domain::{Buckets, Slo};
use crate::series::Layout;

#[derive(Debug, Clone)]
pub(super) struct Layouts {
    pub(super) ttft: Arc<Layout>,
    pub(super) answer_ttft: Arc<Layout>,
    pub(super) tpot: Arc<Layout>,
    pub(super) itl: Arc<Layout>,
    pub(super) stall: Arc<Layout>,
    pub(super) latency: Arc<Layout>,
    pub(super) speed: Arc<Layout>,
    pub(super) connection: Arc<Layout>,
    pub(super) server: Arc<Layout>,
    pub(super) lag: Arc<Layout>,
}

impl Layouts {
    pub(super) fn new(buckets: Buckets, slos: &[Arc<Slo>]) -> Self {
        let of = |family: &Family| Arc::new(Layout::new(family.bounds(buckets, slos)));
        Self {
            ttft: of(&cat::TTFT),
            answer_ttft: of(&cat::ANSWER_TTFT),
            tpot: of(&cat::TPOT),
            itl: of(&cat::ITL),
            stall: of(&cat::STALL),
            latency: of(&cat::LATENCY),
            speed: of(&cat::TOKENS_PER_SECOND),
            connection: of(&cat::CONNECTION),
            server: of(&cat::SERVER),
            lag: of(&cat::LAG),
        }
    }
}
