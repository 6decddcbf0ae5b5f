//! After a change, what it did: each target's present release is held against the one before, again and again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use tokio::sync::watch;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::compare::{Before, Comparison, Settings, Side, Verdict};
use crate::domain::{Kept, Release, ReleaseId, Target, clock};
use crate::history::{self, History, Pick};
use crate::page::sentence;
use crate::record::Recorder;
use crate::release::Releases;

/// How often one looks: nothing is lost by looking often, and nothing is gained by waiting.
pub(super) const EVERY: Duration = Duration::from_secs(60);

/// A release that is older is looked at only so often.
const YOUNG: Duration = Duration::from_secs(6 * 3600);
const SELDOM: Duration = Duration::from_secs(600);

/// Moments that are nearer to each other than this are the same.
const SAME_TIME: Duration = Duration::from_secs(1);

/// After so long the comparison is over: what it found stays until the next change.
const LONGEST: Duration = Duration::from_secs(14 * 24 * 3600);

/// The newest comparison of each target; clones see the same.
#[derive(Debug, Clone, Default)]
pub struct Found(Arc<Mutex<HashMap<Arc<str>, Comparison>>>);

impl Found {
    pub fn of(&self, target: &str) -> Option<Comparison> {
        self.lock().get(target).cloned()
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Arc<str>, Comparison>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug)]
pub(super) struct Verdicts {
    releases: Arc<Releases>,
    history: History,
    recorder: Arc<Recorder>,
    found: Found,
    /// By target.
    cases: HashMap<Arc<str>, Case>,
}

/// One release and the one before it.
#[derive(Debug)]
struct Case {
    before: Release,
    after: Release,
    /// Since when what is measured is its own.
    since: SystemTime,
    learned: Arc<Before>,
    side: Side,
    /// What came since, in order of time.
    probes: Vec<Kept>,
    verdict: Verdict,
    looked: SystemTime,
}

impl Verdicts {
    pub(super) fn new(
        releases: Arc<Releases>,
        history: History,
        recorder: Arc<Recorder>,
        found: Found,
    ) -> Self {
        Self { releases, history, recorder, found, cases: HashMap::new() }
    }

    /// Looks at every target again and again until `stop` becomes true.
    pub(super) async fn watch(
        mut self,
        targets: watch::Receiver<Vec<Arc<Target>>>,
        every: Duration,
        mut stop: watch::Receiver<bool>,
    ) {
        while timeout(every, stop.wait_for(|&stop| stop)).await.is_err() {
            let listed = targets.borrow().clone();
            self.forget_all_but(&listed);
            for target in &listed {
                if let Err(error) = self.look(target).await {
                    tracing::warn!(target = &*target.name, %error, "the release cannot be compared");
                }
            }
        }
    }

    /// Targets that left the configuration are not compared any more.
    fn forget_all_but(&mut self, listed: &[Arc<Target>]) {
        let is_listed = |name: &str| listed.iter().any(|target| *target.name == *name);
        for (name, _) in self.cases.extract_if(|name, _| !is_listed(name)) {
            self.recorder.uncompared(&name);
            self.found.lock().remove(&name);
        }
    }

    async fn look(&mut self, target: &Target) -> Result<(), history::Error> {
        let (Some((after, since)), Some(before)) =
            (self.releases.alone_since(&target.name), self.releases.previous(&target.name))
        else {
            // What was compared was rolled back, and nothing came before what runs again.
            if self.cases.remove(&target.name).is_some() {
                self.forget(target);
            }
            return Ok(());
        };
        let now = clock::wall_now();
        let case = match self.cases.remove(&target.name) {
            Some(case) if case.is_about(before.id, after.id, since) => case,
            old => {
                // A rollout that goes on is one story, of which the verdict has been told; another release is another.
                let told = old.filter(|old| old.after.id == after.id).map(|old| old.verdict);
                if told.is_none() {
                    self.forget(target);
                }
                let new = Case::new(self.history.clone(), before, after, since).await?;
                Case { verdict: told.unwrap_or(new.verdict), ..new }
            }
        };
        let case = if case.is_due(now) { self.judge(case, now).await? } else { case };
        self.cases.insert(Arc::clone(&target.name), case);
        Ok(())
    }

    /// Nothing is known of what it runs.
    fn forget(&self, target: &Target) {
        self.recorder.uncompared(&target.name);
        self.found.lock().remove(&target.name);
    }

    async fn judge(&self, mut case: Case, now: SystemTime) -> Result<Case, history::Error> {
        let history = self.history.clone();
        let (mut case, comparison) = blocking(move || {
            case.read(&history)?;
            let comparison = case.compare();
            Ok((case, comparison))
        })
        .await?;
        case.looked = now;
        if comparison.places.is_empty() {
            return Ok(case);
        }
        self.recorder.compared(&comparison);
        let verdict = comparison.verdict();
        if std::mem::replace(&mut case.verdict, verdict) != verdict {
            tell(&comparison, verdict);
        }
        self.found.lock().insert(Arc::clone(&comparison.target), comparison);
        Ok(case)
    }
}

impl Case {
    async fn new(
        history: History,
        before: Release,
        after: Release,
        since: SystemTime,
    ) -> Result<Self, history::Error> {
        blocking(move || {
            let pick = Pick::of_release(&before, Some(&after));
            let probes = history.reader()?.probes(&pick)?;
            let (from, to) = (pick.from.unwrap_or(before.began), pick.to.unwrap_or(after.began));
            let side = Side { name: before.to_string(), from, to, probes: probes.len() };
            let learned = Arc::new(Before::learn(&probes));
            let (verdict, looked) = (Verdict::Undecided, SystemTime::UNIX_EPOCH);
            Ok(Self { before, after, since, learned, side, probes: Vec::new(), verdict, looked })
        })
        .await
    }

    /// While a rollout goes on its time is reckoned anew at each look, from two clocks that differ by a hair.
    fn is_about(&self, before: ReleaseId, after: ReleaseId, since: SystemTime) -> bool {
        let later = since.duration_since(self.since).unwrap_or_default();
        let earlier = self.since.duration_since(since).unwrap_or_default();
        self.before.id == before && self.after.id == after && later.max(earlier) < SAME_TIME
    }

    fn is_due(&self, now: SystemTime) -> bool {
        let age = now.duration_since(self.since).unwrap_or_default();
        let waited = now.duration_since(self.looked).unwrap_or_default();
        age <= YOUNG || (waited >= SELDOM && age <= LONGEST) || self.looked == SystemTime::UNIX_EPOCH
    }

    /// Reads what came since it was alone: all of it, as a probe is kept when it ends, and may have started before
    /// others that were read already.
    fn read(&mut self, history: &History) -> Result<(), history::Error> {
        let pick = Pick { from: Some(self.since), ..Pick::of_release(&self.after, None) };
        self.probes = history.reader()?.probes(&pick)?;
        Ok(())
    }

    fn compare(&self) -> Comparison {
        let settings = Settings::default();
        let places = self.learned.against(&self.probes, settings);
        let to = self.probes.last().map_or(self.since, |last| clock::from_unix_seconds(last.at));
        let (name, probes) = (self.after.to_string(), self.probes.len());
        Comparison {
            target: Arc::clone(&self.after.target),
            before: self.side.clone(),
            after: Side { name, from: self.since, to, probes },
            confidence: settings.confidence,
            margin: settings.margin,
            places,
        }
    }
}

/// Reading and reckoning take a while, and must not make the event loop late.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, history::Error> + Send + 'static,
) -> Result<T, history::Error> {
    spawn_blocking(work).await.unwrap_or_else(|error| Err(history::Error::Write(error.to_string())))
}

/// One line when it is decided, or decided otherwise.
fn tell(comparison: &Comparison, verdict: Verdict) {
    let target = &*comparison.target;
    let (was, now) = (comparison.before.name.as_str(), comparison.after.name.as_str());
    let found = sentence::overall(comparison);
    if verdict == Verdict::Regressed {
        tracing::warn!(target, was, now, "the release was compared: {found}");
    } else {
        tracing::info!(target, was, now, "the release was compared: {found}");
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;
    use crate::compare::{Amount, Change, Metric, Place, Summary};
    use crate::domain::{Engine, Identity, fixture};
    use crate::history::Settings as Keeping;
    use crate::release::Patience;

    const AWAY: Duration = Duration::from_secs(600);

    fn runs(version: &str) -> Identity {
        Identity { version: Some(version.to_owned()), ..Identity::of(Engine::Vllm) }
    }

    /// One that got worse, made up.
    fn worse(case: &Case) -> Comparison {
        let nothing = Summary { samples: 0, amount: Amount::Nothing };
        let (metric, verdict) = (Metric::Ttft, Verdict::Regressed);
        let change =
            Change { metric, before: nothing, after: nothing, shifts: Vec::new(), verdict, need: None };
        Comparison { places: vec![Place { workload: "w".into(), changes: vec![change] }], ..case.compare() }
    }

    fn shown(recorder: &Recorder) -> bool {
        recorder.text().contains("\nsloprobe_release_verdict{")
    }

    #[tokio::test(start_paused = true)]
    async fn a_rollout_is_one_case_and_a_rollback_leaves_nothing_shown() {
        let target = fixture::target("t", &["w"]);
        let targets = std::slice::from_ref(&target);
        let recorder = Arc::new(Recorder::new(targets, &[]));
        let history = History::open(&Keeping::default()).unwrap();
        let patience = Patience { away: AWAY, ..Patience::default() };
        let ledger = Box::new(history.clone());
        let releases = Arc::new(Releases::new(targets, ledger, Arc::clone(&recorder), patience));
        let mut verdicts =
            Verdicts::new(Arc::clone(&releases), history, Arc::clone(&recorder), Found::default());

        releases.identified(&target, &runs("0.32.0"));
        verdicts.look(&target).await.unwrap();
        assert!(verdicts.cases.is_empty(), "nothing came before");
        releases.identified(&target, &runs("0.33.0"));
        verdicts.look(&target).await.unwrap();
        let learned = Arc::clone(&verdicts.cases["t"].learned);
        for _ in 0..3 {
            verdicts.look(&target).await.unwrap();
            assert!(Arc::ptr_eq(&learned, &verdicts.cases["t"].learned), "nothing is learned twice");
        }
        recorder.compared(&worse(&verdicts.cases["t"]));
        assert!(shown(&recorder));

        for _ in 0..4 {
            advance(AWAY).await;
            releases.identified(&target, &runs("0.32.0"));
        }
        assert_eq!(releases.current("t").len(), 1, "it is rolled back");
        verdicts.look(&target).await.unwrap();
        assert!(verdicts.cases.is_empty() && !shown(&recorder), "what is gone cannot be worse");
    }
}
