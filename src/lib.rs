//! sloprobe watches LLM inference endpoints around the clock.

pub mod config;
pub mod domain;
pub mod probe;
pub mod protocol;
pub mod workload;
