//! What was measured, kept in a file that any SQLite client reads.
