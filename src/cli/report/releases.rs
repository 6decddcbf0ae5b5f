//! What to say when a release is meant that is not there.

use anyhow::Result;

use crate::history::Reader;
use crate::page::words;

/// For those who asked for one that no target has.
pub(super) fn none(reader: &Reader, targets: &[String], name: &str) -> Result<String> {
    let mut lines = vec![format!("there is no release {name:?}")];
    for target in targets {
        let releases = reader.releases(target)?;
        let known =
            releases.iter().map(|known| format!("#{} {}", known.id.0, words::name(&known.to_string())));
        let known: Vec<String> = known.collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        lines.push(format!("{target} has {known}"));
    }
    Ok(lines.join("\n    "))
}
