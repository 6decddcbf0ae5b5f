//! Two releases held against each other, for the terminal and for programs.
#![cfg_attr(not(test), expect(dead_code, reason = "the command comes next"))]

pub(super) mod json;
pub(super) mod table;
