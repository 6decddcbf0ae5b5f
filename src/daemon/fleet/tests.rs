//! The step from one plan to the next, held against what the schedules are told.

use super::*;
use crate::config::{self, Outside};
use crate::daemon::crew::Crew;
use crate::history::{History, Settings};
use crate::release::Patience;
use crate::schedule::desk::{Consumers, Desk};
use crate::schedule::{Change, Order, Schedule};

const A: &str = "[[targets]]\nname = 'a'\nurl = 'http://127.0.0.1:1'\nmodel = 'm'\nrate = '1/s'\n";
const B: &str =
    "[[targets]]\nname = 'b'\nurl = 'http://127.0.0.1:1'\nmodel = 'm'\napi_key = { env = 'KEY' }\n";
const V: &str = "[[workloads]]\nname = 'v'\nkind = 'chat'\n[[workloads]]\nname = 'w'\nkind = 'chat'\n";

fn plan(text: &str, key: &str) -> Plan {
    let none = |_: &std::path::Path| Err(std::io::ErrorKind::NotFound.into());
    let env = |_: &str| Some(key.to_owned());
    config::parse("t.toml", text, &Outside { env: &env, file: &none, text: &none }).unwrap()
}

/// A fleet whose schedules nobody runs.
struct Harbour {
    fleet: Fleet,
    crew: Crew,
}

impl Harbour {
    fn new(text: &str) -> Self {
        let plan = plan(text, "sk-1");
        let recorder = Arc::new(Recorder::new(&plan.targets, &plan.slos));
        let history = History::open(&Settings::default()).unwrap();
        let ledger = Box::new(history.clone());
        let releases =
            Arc::new(Releases::new(&plan.targets, ledger, Arc::clone(&recorder), Patience::default()));
        let (consumers, others) = ((Arc::clone(&releases), Arc::clone(&recorder)), Vec::new());
        let (_, inbox) =
            Desk::open(Consumers { releases: consumers.0, history, recorder: consumers.1, others }).unwrap();
        let stop = watch::channel(false).1;
        let common = Common { recorder, releases, inbox, pace: Pace::default(), stop };
        let trust = Trust::default();
        let transport = |target| Arc::new(Transport::new(target, &trust).unwrap());
        let transports = plan.targets.iter().map(transport).collect();
        let now = Instant::now();
        let (crew, foreman) = Crew::new(now);
        Self { fleet: Fleet::begin(plan, transports, trust, common, vec![foreman], now), crew }
    }

    fn adopt(&mut self, text: &str) -> String {
        self.fleet.adopt(plan(text, "sk-1")).unwrap().to_string()
    }

    /// The schedules that were begun since the last time.
    fn begun(&mut self) -> Vec<Schedule> {
        std::iter::from_fn(|| self.crew.newcomers.try_recv().ok()).collect()
    }
}

fn change(schedule: &mut Schedule) -> Change {
    match schedule.orders.try_recv() {
        Ok(Order::Change(change)) => change,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn what_did_not_change_is_not_touched() {
    let mut harbour = Harbour::new(&(A.to_owned() + B));
    let mut schedules = harbour.begun();
    assert_eq!(harbour.adopt(&(A.to_owned() + B)), "nothing changed");
    assert_eq!(harbour.adopt(&(A.to_owned() + B + "[limits]\nin_flight = 63\n")), "other limits");
    assert!(schedules.iter_mut().all(|schedule| schedule.orders.try_recv().is_err()));
    assert!(harbour.begun().is_empty());
    assert_eq!(harbour.fleet.askers.len(), 2);
}

#[tokio::test]
async fn a_new_key_keeps_places_turns_and_due_times() {
    let mut harbour = Harbour::new(&(A.to_owned() + B));
    let mut b = harbour.begun().remove(1);
    b.rotation.turn();
    let turns = |of: &Schedule| (0..30).scan(of.rotation.clone(), |r, _| Some(r.turn())).collect::<Vec<_>>();
    let (due, order) = (b.grid.due(), turns(&b));
    let changes = harbour.fleet.adopt(plan(&(A.to_owned() + B), "sk-2")).unwrap();
    assert_eq!(changes.to_string(), "changed b (api_key)");
    let change = change(&mut b);
    assert!(b.places.iter().zip(&change.places).all(|(old, new)| Arc::ptr_eq(old, new)));
    assert!(!Arc::ptr_eq(&b.trip.transport, &change.transport));
    b.adopt(change, Instant::now());
    assert_eq!((b.grid.due(), turns(&b)), (due, order));
    assert_eq!(b.trip.transport.target().api_key.as_ref().unwrap().expose(), "sk-2");
}

#[tokio::test]
async fn a_place_with_the_same_identity_goes_on_beside_new_ones() {
    let w =
        V.split_once("[[workloads]]\nname = 'w'").map(|(_, rest)| format!("[[workloads]]\nname = 'w'{rest}"));
    let mut harbour = Harbour::new(&(A.to_owned() + &w.unwrap()));
    let mut a = harbour.begun().remove(0);
    assert_eq!(harbour.adopt(&(A.to_owned() + V)), "changed a (workloads)");
    let change = change(&mut a);
    let names: Vec<_> = change.places.iter().map(|place| &*place.workload().name).collect();
    assert_eq!(names, ["v", "w"]);
    assert_eq!(change.places[1].id(), a.places[0].id());
    assert!(Arc::ptr_eq(change.places[1].metrics(), a.places[0].metrics()));
    assert_eq!(harbour.fleet.learners().borrow().len(), 2);
}

#[tokio::test]
async fn a_target_leaves_and_comes_back_with_its_limits_and_its_due_times() {
    let mut harbour = Harbour::new(&(A.to_owned() + B + "in_flight = 1\n"));
    let mut b = harbour.begun().remove(1);
    let held = b.guard.admit(Instant::now(), b.places[0].workload()).unwrap();
    assert_eq!(harbour.adopt(A), "removed b");
    assert!(matches!(b.orders.try_recv(), Ok(Order::Leave)));
    assert_eq!(harbour.fleet.crews[0].members, 1);
    assert_eq!(harbour.fleet.targets().borrow().len(), 1);

    assert_eq!(harbour.adopt(&(A.to_owned() + B + "in_flight = 1\n")), "added b");
    let again = harbour.begun().remove(0);
    assert!(again.guard.admit(Instant::now(), again.places[0].workload()).is_err(), "one is under way");
    drop(held);
    assert!(again.guard.admit(Instant::now(), again.places[0].workload()).is_ok());
    let apart = again.grid.due().saturating_duration_since(b.grid.due()).as_nanos();
    assert_eq!(apart % again.grid.interval().as_nanos(), 0, "on the grid that it had");
}

#[tokio::test]
async fn a_target_that_cannot_be_spoken_to_changes_nothing() {
    let mut harbour = Harbour::new(&(A.to_owned() + B));
    let mut plan = plan(A, "sk-1");
    let mut bad = (*plan.targets[0]).clone();
    bad.api_key = Some(crate::domain::Secret::new("with\na line break"));
    plan.targets = vec![Arc::new(bad)];
    assert!(harbour.fleet.adopt(plan).is_err());
    assert_eq!(harbour.adopt(&(A.to_owned() + B)), "nothing changed");
    assert!(harbour.begun().iter_mut().all(|schedule| schedule.orders.try_recv().is_err()));
}
