//! What a target runs, when that changed, and what it ran before.
//!
//! [`Releases`] hears what is seen of each target, lets a [`tracker::Tracker`] decide what that means, and writes it
//! down: into the [`ledger::Ledger`], onto the metrics and into the log.

pub mod features;
pub mod ledger;
pub mod mark;
mod noise;
mod tell;
#[cfg(test)]
mod tests;
mod track;
pub mod tracker;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use tokio::sync::watch;
use tokio::time::Instant;

use crate::domain::{Identity, Makeup, Release, ReleaseId, Report, Target, clock};
use crate::record::Recorder;
use features::{Features, Kind};
use ledger::Ledger;
use mark::{Mark, Marked, Refused};
pub use tracker::Patience;
use tracker::{Change, Moment, Tracker};

/// A target that left is remembered for so long: its last probes may still be under way, and it may come back.
const REMEMBERED: Duration = Duration::from_secs(3600);

/// The releases of all targets.
#[derive(Debug)]
pub struct Releases {
    places: RwLock<Vec<Arc<Place>>>,
    ledger: Box<dyn Ledger>,
    recorder: Arc<Recorder>,
    patience: Patience,
}

/// One target's.
#[derive(Debug)]
struct Place {
    name: Arc<str>,
    state: Mutex<State>,
    /// Whether asking more often helps to see what goes on.
    unclear: watch::Sender<bool>,
}

#[derive(Debug)]
struct State {
    target: Arc<Target>,
    /// When it was taken out of the configuration: nothing of it is shown any more.
    left: Option<Instant>,
    tracker: Tracker,
    /// The metrics show what it runs, which the history alone does not tell: it may be something else by now.
    is_shown: bool,
    /// The log says what it runs.
    is_told: bool,
}

impl Releases {
    /// Goes on where the ledger ends.
    pub fn new(
        targets: &[Arc<Target>],
        ledger: Box<dyn Ledger>,
        recorder: Arc<Recorder>,
        patience: Patience,
    ) -> Self {
        let releases = Self { places: RwLock::default(), ledger, recorder, patience };
        releases.arrange(targets);
        releases
    }

    /// From now on these are the targets. One that stays goes on; a new one goes on where the ledger ends.
    pub fn arrange(&self, targets: &[Arc<Target>]) {
        let now = Instant::now();
        let old = self.all();
        let is_listed = |place: &Place| targets.iter().any(|target| target.name == place.name);
        let mut places: Vec<_> = old.iter().filter(|place| !is_listed(place)).cloned().collect();
        places.retain(|place| now - *place.state().left.get_or_insert(now) < REMEMBERED);
        for target in targets {
            let known = old.iter().find(|place| place.name == target.name);
            places.push(known.map_or_else(|| self.begin(target), |place| self.go_on(place, target)));
        }
        *self.places.write().unwrap_or_else(PoisonError::into_inner) = places;
    }

    fn begin(&self, target: &Arc<Target>) -> Arc<Place> {
        let place = Arc::new(Place::new(target, self.patience));
        let past = self.ledger.releases(&target.name);
        self.change(&place, None, |tracker, now, begin| tracker.resume(&past, now, begin));
        place.state().is_shown = false;
        place
    }

    fn go_on(&self, place: &Arc<Place>, target: &Arc<Target>) -> Arc<Place> {
        let mut state = place.state();
        let is_back = state.left.take().is_some();
        let is_changed = *state.target != **target;
        let was_shown = std::mem::replace(&mut state.is_shown, true) && !is_back;
        state.target = Arc::clone(target);
        drop(state);
        if is_changed {
            self.change(place, None, |tracker, now, begin| tracker.reconfigure(target, now, begin));
        }
        let mut state = place.state();
        state.is_shown = was_shown;
        if was_shown && is_changed {
            self.show(&state);
        }
        drop(state);
        Arc::clone(place)
    }

    /// What a target told when it was asked: that, and not what is remembered of earlier times.
    pub fn identified(&self, target: &Target, identity: &Identity) {
        let Some(place) = self.place(&target.name) else { return };
        let seen = Features::asked(identity);
        let told = self.change(&place, identity.context_tokens, |tracker, now, begin| {
            tracker.see(Kind::Asking, seen, now, begin)
        });
        let mut state = place.state();
        let is_news = *identity != Identity::of(target.engine) && !state.is_told;
        if let Some(newest) = state.tracker.current().next_back().filter(|_| is_news && !told) {
            tell::tell_first(&target.name, &newest.makeup, identity.context_tokens);
        }
        state.is_told |= is_news || told;
    }

    /// A probe has ended: the release that it belongs to, and whether it may be another's as well.
    pub fn reported(&self, report: &Report) -> (ReleaseId, bool) {
        let Some(place) = self.place(&report.target.name) else { return (ReleaseId(0), true) };
        // A server may repeat what it was sent, and this goes into a file.
        let name = report.fingerprint.as_ref().map(|name| report.target.redact(name));
        let seen = Features::named(name.as_deref());
        self.change(&place, None, |tracker, now, begin| tracker.see(Kind::Probe, seen, now, begin));
        let state = place.state();
        let newest = state.tracker.current().next_back();
        (newest.map_or(ReleaseId(0), |newest| newest.id), state.tracker.is_mixed(report.wall))
    }

    /// A person says that something about the target is new.
    pub fn marked(&self, target: &str, mark: &Mark) -> Marked {
        let Some(place) = self.place(target).filter(|place| place.is_listed()) else {
            let listed = self.all().into_iter().filter(|place| place.is_listed());
            let known = listed.map(|place| place.name.to_string()).collect();
            return Err(Refused::NoSuchTarget { name: target.to_owned(), known });
        };
        let mut began = None;
        self.change(&place, None, |tracker, now, begin| {
            let changes = tracker.mark(mark.text(), now, begin).unwrap_or_default();
            if !changes.is_empty() {
                self.ledger.mark(target, mark.text(), now.wall);
                began = tracker.current().next_back().cloned();
            }
            changes
        });
        began.ok_or(Refused::TooMany)
    }

    /// What the target runs, oldest first: several while they answer in turn, none before anything is known.
    pub fn current(&self, target: &str) -> Vec<Release> {
        self.place(target).map(|place| place.state().tracker.current().cloned().collect()).unwrap_or_default()
    }

    /// The newest current release, and since when it alone was seen.
    pub fn alone_since(&self, target: &str) -> Option<(Release, SystemTime)> {
        let now = Moment { instant: Instant::now(), wall: clock::wall_now() };
        let place = self.place(target)?;
        let state = place.state();
        state.tracker.alone_since(now).map(|(release, since)| (release.clone(), since))
    }

    /// The newest release that had settled before the newest current one.
    pub fn previous(&self, target: &str) -> Option<Release> {
        self.place(target)?.state().tracker.previous().cloned()
    }

    /// Whether asking a target more often helps to see what goes on.
    pub fn unclear(&self, target: &str) -> watch::Receiver<bool> {
        self.place(target).map_or_else(|| watch::channel(false).1, |place| place.unclear.subscribe())
    }

    fn place(&self, target: &str) -> Option<Arc<Place>> {
        let places = self.places.read().unwrap_or_else(PoisonError::into_inner);
        places.iter().find(|place| *place.name == *target).cloned()
    }

    fn all(&self) -> Vec<Arc<Place>> {
        self.places.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Lets a tracker work, and writes down what changed; whether the log was told what the target runs.
    fn change(
        &self,
        place: &Place,
        context_tokens: Option<u32>,
        work: impl FnOnce(&mut Tracker, Moment, &mut tracker::Begin<'_>) -> Vec<Change>,
    ) -> bool {
        let now = Moment { instant: Instant::now(), wall: clock::wall_now() };
        let name = &place.name;
        let mut state = place.state();
        let changes = work(&mut state.tracker, now, &mut |makeup: &Makeup, began| {
            self.ledger.begin(name, makeup, began)
        });
        let mut told = false;
        for change in &changes {
            self.write(change);
            told |= tell::tell(name, change, context_tokens);
        }
        let has_current = state.tracker.current().next().is_some();
        if has_current && state.left.is_none() && (!changes.is_empty() || !state.is_shown) {
            state.is_shown = true;
            self.show(&state);
        }
        let unclear = state.tracker.wants_asking(now.instant);
        place.unclear.send_if_modified(|was| std::mem::replace(was, unclear) != unclear);
        told
    }

    fn write(&self, change: &Change) {
        match change {
            Change::Began { release, .. } | Change::Settled { release, .. } => {
                if let Some(at) = release.settled {
                    self.ledger.settle(release.id, at);
                }
            }
            Change::Learned { release, .. } | Change::Muted { release, .. } => {
                self.ledger.amend(release.id, &release.makeup);
            }
            Change::InTurn { .. } | Change::RolledBack { .. } => {}
        }
    }

    fn show(&self, state: &State) {
        let makeups: Vec<&Makeup> = state.tracker.current().map(|release| &release.makeup).collect();
        if let Some(newest) = state.tracker.current().next_back() {
            self.recorder.runs(&state.target, &makeups, newest.began);
        }
    }
}

impl Place {
    fn new(target: &Arc<Target>, patience: Patience) -> Self {
        let tracker = Tracker::new(target, patience);
        let state = State { target: Arc::clone(target), left: None, tracker, is_shown: true, is_told: false };
        Self { name: Arc::clone(&target.name), state: Mutex::new(state), unclear: watch::channel(false).0 }
    }

    fn is_listed(&self) -> bool {
        self.state().left.is_none()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
