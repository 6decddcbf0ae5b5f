//! The rooms of sloprobe that are fuzzed, and no others: all of it would be minutes of building.

#[path = "../../src"]
mod rooms {
    pub mod domain;
    pub mod protocol;
}

pub use rooms::{domain, protocol};
