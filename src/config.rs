//! `load(path)` gives a [`Plan`], or every problem found in the file.

pub mod plan;

pub use plan::Plan;
