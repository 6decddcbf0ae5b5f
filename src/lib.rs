//! sloprobe watches LLM inference endpoints around the clock.

pub mod catalogue;
pub mod cli;
pub mod config;
pub mod daemon;
pub mod domain;
pub mod expose;
pub mod probe;
pub mod protocol;
pub mod record;
pub mod schedule;
pub mod serve;
pub mod workload;
