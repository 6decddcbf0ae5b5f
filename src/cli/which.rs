//! Which release of a target is meant.

use crate::domain::{Release, ReleaseId};
use crate::history::{Error, Pick, Reader};

/// All releases of a target, oldest first, and the one that its newest probe belongs to: one that was rolled back is
/// younger than the one that runs.
#[derive(Debug)]
pub(super) struct Known {
    pub(super) releases: Vec<Release>,
    newest: Option<ReleaseId>,
}

impl Known {
    pub(super) fn read(reader: &Reader, target: &str) -> Result<Self, Error> {
        Ok(Self { releases: reader.releases(target)?, newest: reader.newest_release(target)? })
    }

    /// Where the release of this name is: the newest that fits.
    pub(super) fn find(&self, name: &str) -> Option<usize> {
        match name {
            "latest" => self.latest(),
            "previous" => self.releases[..self.latest()?].iter().rposition(|it| it.settled.is_some()),
            _ => self.releases.iter().rposition(|release| is_called(release, name)),
        }
    }

    /// What was measured of one of them alone.
    pub(super) fn pick(&self, at: usize) -> Pick {
        let replaces = |release: &&Release| release.settled.is_some() || Some(release.id) == self.newest;
        Pick::of_release(&self.releases[at], self.releases[at + 1..].iter().find(replaces))
    }

    fn latest(&self) -> Option<usize> {
        let newest = self.releases.iter().position(|release| Some(release.id) == self.newest);
        newest.or(self.releases.len().checked_sub(1))
    }
}

/// By its number, its version, its mark, its fingerprint or its whole name.
fn is_called(release: &Release, name: &str) -> bool {
    let makeup = &release.makeup;
    let number = format!("#{}", release.id.0);
    let names = [
        Some(number.as_str()),
        makeup.version.as_deref(),
        makeup.mark.as_deref(),
        makeup.fingerprint.as_deref(),
    ];
    names.into_iter().flatten().any(|own| own == name) || makeup.to_string() == name
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::*;
    use crate::domain::Makeup;

    fn release(id: i64, version: &str, mark: Option<&str>, is_settled: bool) -> Release {
        let began = SystemTime::UNIX_EPOCH + Duration::from_secs(100_000 * id.unsigned_abs());
        let (version, mark) = (Some(version.to_owned()), mark.map(str::to_owned));
        Release {
            id: ReleaseId(id),
            target: "t".into(),
            makeup: Makeup { engine: "vllm".into(), version, mark, ..Makeup::default() },
            began,
            settled: is_settled.then_some(began),
        }
    }

    #[test]
    fn a_release_is_found_by_what_people_call_it() {
        let releases = vec![
            release(4, "0.32.0", None, true),
            release(7, "0.33.0", Some("driver 580"), true),
            release(9, "0.32.0", None, true),
        ];
        let mut known = Known { releases, newest: None };
        let found = |text: &str| known.find(text).map(|at| known.releases[at].id.0);
        assert_eq!((found("latest"), found("previous"), found("0.32.0")), (Some(9), Some(7), Some(9)));
        for text in ["0.33.0", "driver 580", "vllm 0.33.0 (driver 580)", "#7"] {
            assert_eq!(found(text), Some(7), "{text}");
        }
        assert_eq!(found("0.34.0"), None);
        known.releases.truncate(1);
        assert_eq!(known.find("previous"), None);
    }

    #[test]
    fn what_was_rolled_back_is_neither_the_latest_nor_an_end() {
        let releases = vec![
            release(1, "0.31.0", None, true),
            release(2, "0.32.0", None, true),
            release(3, "0.33.0", None, false),
        ];
        let mut known = Known { releases, newest: Some(ReleaseId(2)) };
        assert_eq!((known.find("latest"), known.find("previous")), (Some(1), Some(0)));
        assert_eq!(known.pick(1).to, None, "it goes on");
        // While it is being rolled out it is the latest, and what comes before it ends.
        known.newest = Some(ReleaseId(3));
        assert_eq!((known.find("latest"), known.find("previous")), (Some(2), Some(1)));
        assert!(known.pick(1).to.is_some());
    }
}
