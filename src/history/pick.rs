//! Which probes of a history one wants.

use std::time::{Duration, SystemTime};

use crate::domain::{Release, ReleaseId};

/// A change is noticed this late at worst: what was measured shortly before may be the next release's already.
const NOTICED_LATE: Duration = Duration::from_secs(300);

/// What was longer ago than this says less about today.
const LONGEST: Duration = Duration::from_secs(14 * 24 * 3600);

/// Which probes; what is not given does not restrict.
#[derive(Debug, Clone, Default)]
pub struct Pick {
    pub target: Option<String>,
    pub workload: Option<String>,
    /// Not before.
    pub from: Option<SystemTime>,
    /// Before.
    pub to: Option<SystemTime>,
    /// Of one of these; of any, if there are none.
    pub releases: Vec<ReleaseId>,
    /// Also those that nobody can assign to one release.
    pub with_mixed: bool,
}

impl Pick {
    /// What was measured of one release alone: since it had settled, and not after the next one began, if there is one;
    /// of a long time, the last two weeks.
    pub fn of_release(release: &Release, next: Option<&Release>) -> Self {
        let from = release.settled.unwrap_or(release.began);
        let to = next.map(|next| {
            let length = next.began.duration_since(from).unwrap_or_default();
            next.began - NOTICED_LATE.min(length / 10)
        });
        let from = to.map_or(from, |to| from.max(to - LONGEST));
        Self {
            target: Some(release.target.to_string()),
            from: Some(from),
            to,
            releases: vec![release.id],
            // Until it had settled nobody knew whose they were; the release says since when they were its own.
            with_mixed: true,
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Makeup;

    #[test]
    fn a_release_has_what_is_surely_its_own() {
        let at = |hours: u64| SystemTime::UNIX_EPOCH + Duration::from_secs(3600 * (100_000 + hours));
        let release = |id, began, settled: Option<u64>| Release {
            id: ReleaseId(id),
            target: "t".into(),
            makeup: Makeup::default(),
            began: at(began),
            settled: settled.map(at),
        };
        let (first, second) = (release(1, 0, Some(1)), release(2, 101, None));
        let pick = Pick::of_release(&first, Some(&second));
        assert_eq!((pick.from, pick.to), (Some(at(1)), Some(at(101) - NOTICED_LATE)));
        assert_eq!((pick.releases, pick.workload), (vec![ReleaseId(1)], None));
        let open = Pick::of_release(&second, None);
        assert_eq!((open.from, open.to), (Some(at(101)), None));
        // Of twenty minutes, two are left out rather than five.
        let mut soon = release(3, 1, None);
        soon.began = at(1) + Duration::from_secs(1200);
        assert_eq!(Pick::of_release(&first, Some(&soon)).to, Some(soon.began - Duration::from_secs(120)));
        let late = release(4, 1000, None);
        assert_eq!(Pick::of_release(&first, Some(&late)).from, Some(at(1000) - NOTICED_LATE - LONGEST));
    }
}
