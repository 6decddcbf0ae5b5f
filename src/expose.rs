//! The metrics as text for Prometheus.

use prometheus::{Registry, TextEncoder};

/// The content type of [`text`].
pub const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Prometheus text format 0.0.4.
pub fn text(registry: &Registry) -> Result<String, prometheus::Error> {
    TextEncoder::new().encode_to_string(&registry.gather())
}
