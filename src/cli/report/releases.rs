//! Which release is meant.

use anyhow::Result;

use crate::cli::compare::is_called;
use crate::domain::Release;
use crate::history::{Pick, Reader};
use crate::page::words;

/// What was measured of the release of this name, as a comparison takes it: of the newest that fits. The releases are
/// oldest first.
pub(super) fn find(releases: &[Release], name: &str) -> Option<Pick> {
    let at = match name {
        "latest" => releases.len().checked_sub(1),
        "previous" => releases.len().checked_sub(2),
        _ => releases.iter().rposition(|release| is_called(release, name)),
    }?;
    Some(Pick::of_release(&releases[at], releases.get(at + 1)))
}

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

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use super::*;
    use crate::domain::{Makeup, ReleaseId};

    #[test]
    fn a_release_is_found_by_what_people_call_it() {
        let release = |id, version: &str, mark: Option<&str>| Release {
            id: ReleaseId(id),
            target: "t".into(),
            makeup: Makeup {
                engine: "vllm".into(),
                version: Some(version.into()),
                mark: mark.map(str::to_owned),
                ..Makeup::default()
            },
            began: SystemTime::UNIX_EPOCH,
            settled: None,
        };
        let releases = [
            release(4, "0.32.0", None),
            release(7, "0.33.0", Some("driver 580")),
            release(9, "0.32.0", None),
        ];
        let found = |text: &str| find(&releases, text).map(|pick| pick.releases[0].0);
        assert_eq!((found("latest"), found("previous"), found("0.32.0")), (Some(9), Some(7), Some(9)));
        for text in ["0.33.0", "driver 580", "vllm 0.33.0 (driver 580)", "#7"] {
            assert_eq!(found(text), Some(7), "{text}");
        }
        assert_eq!(found("0.34.0"), None);
        assert!(find(&releases[..1], "previous").is_none());
    }
}
