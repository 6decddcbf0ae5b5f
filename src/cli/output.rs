//! Standard output, for results.

use std::io::Write as _;

/// Prints a text as it is. A reader that has gone away (`sloprobe check | head -1`) is no error.
pub(super) fn print(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
