//! What makes a target's workload the same one before and after a change of the configuration.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use super::{Target, Workload};

/// A number for what is asked of whom: with another one, what was counted and learned before belongs to something else.
/// Keys, headers, rates, labels and objectives are not part of it: they may change while the counting goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PlaceId(u64);

impl PlaceId {
    pub fn of(target: &Target, workload: &Workload) -> Self {
        let mut hasher = DefaultHasher::new();
        (&target.name, target.url.as_str(), target.api.name(), &target.model).hash(&mut hasher);
        target.stream.hash(&mut hasher);
        // The whole of it, so that a setting that is added later counts by itself.
        format!("{workload:?}").hash(&mut hasher);
        Self(hasher.finish())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::domain::{Rate, Secret, fixture};

    #[test]
    fn keys_and_rates_may_change_and_prompts_may_not() {
        let target = fixture::target("t", &["w"]);
        let workload = &target.mix[0].workload;
        let place = PlaceId::of(&target, workload);

        let mut changed = (*target).clone();
        changed.api_key = Some(Secret::new("another"));
        changed.rate = Rate { interval: Duration::from_secs(1) };
        assert_eq!(PlaceId::of(&changed, workload), place);
        changed.model = "other".into();
        assert_ne!(PlaceId::of(&changed, workload), place);

        let mut longer = (**workload).clone();
        longer.timeouts.total *= 2;
        assert_ne!(PlaceId::of(&target, &longer), place);
    }
}
