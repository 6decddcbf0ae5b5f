//! Live values: what the recorder counts, and what a writer of any format is shown of it.

mod exemplar;
mod histogram;
mod labels;
mod native;
mod value;
mod writer;

pub use exemplar::Exemplar;
pub use histogram::{Histogram, Layout};
pub use labels::Labels;
pub(crate) use labels::push as push_label;
pub use native::{Native, Span, ZERO_THRESHOLD};
pub use value::{Counter, Gauge, Stated};
pub use writer::{Meta, Value, Writer};
