//! Two stretches of time of one target, held against each other: what got worse, what got better, and how sure that is.

pub mod outcome;

pub use outcome::{Amount, Change, Comparison, Metric, Need, Place, Quantile, Shift, Side, Summary, Verdict};
