//! sloprobe watches LLM inference endpoints around the clock.

pub mod config;
pub mod domain;
pub mod simulate;

pub mod cli {
    pub mod simulate;
}
