//! What a target runs, when that changed, and what it ran before.
