//! Where measured probes go: judged, learned from and told to everybody who wants to know, on one thread that
//! measures nothing.

use std::fmt::Debug;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};

use super::standing::Standing;
use super::trip::Measured;
use crate::domain::Report;
use crate::history::History;
use crate::record::{Recorder, Running};
use crate::release::Releases;

/// While more reports than this wait, no probe is sent: the desk would fall further and further behind, and what
/// waits takes memory.
const MOST_WAITING: usize = 4096;

/// Is told of every finished probe.
pub trait Consumer: Debug + Send + Sync {
    fn on_report(&self, report: &Report);
}

/// Those who are told of every finished probe, in the order in which they are told.
#[derive(Debug)]
pub struct Consumers {
    pub releases: Arc<Releases>,
    pub history: History,
    pub recorder: Arc<Recorder>,
    pub others: Vec<Arc<dyn Consumer>>,
}

/// A measured probe on its way to the desk.
#[derive(Debug)]
pub struct Delivery {
    pub measured: Measured,
    pub standing: Arc<Standing>,
    /// The probe counts as under way until it has been told to everybody.
    pub running: Running,
}

/// Takes deliveries; clones lead to the same desk.
#[derive(Debug, Clone)]
pub struct Inbox {
    sender: Sender<Delivery>,
    waiting: Arc<AtomicUsize>,
}

/// The thread behind an [`Inbox`]. It ends when the last inbox is gone and everything has been told.
#[derive(Debug)]
pub struct Desk {
    thread: JoinHandle<()>,
}

impl Inbox {
    /// Never waits.
    pub fn put(&self, delivery: Delivery) {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        // The desk outlives every inbox: it cannot be gone.
        let _ = self.sender.send(delivery);
    }

    /// Whether the desk keeps up.
    pub fn has_room(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) < MOST_WAITING
    }
}

impl Desk {
    pub fn open(consumers: Consumers) -> io::Result<(Self, Inbox)> {
        let (sender, receiver) = channel();
        let waiting = Arc::new(AtomicUsize::new(0));
        let inbox = Inbox { sender, waiting: Arc::clone(&waiting) };
        let thread = thread::Builder::new()
            .name("desk".into())
            .spawn(move || consumers.work_through(&receiver, &waiting))?;
        Ok((Self { thread }, inbox))
    }

    /// Waits until everything has been told. All inboxes must be gone, or on their way.
    pub fn close(self) {
        // A panic of one report has been caught; of the loop around it there is nothing to tell.
        let _ = self.thread.join();
    }
}

impl Consumers {
    fn work_through(&self, deliveries: &Receiver<Delivery>, waiting: &AtomicUsize) {
        for delivery in deliveries {
            waiting.fetch_sub(1, Ordering::Relaxed);
            // A defect that one report reveals must not end the watch over all targets.
            if catch_unwind(AssertUnwindSafe(|| self.tell(delivery))).is_err() {
                tracing::error!("a report was lost by a defect; please report it");
            }
        }
    }

    fn tell(&self, delivery: Delivery) {
        let Delivery { measured, standing, running } = delivery;
        let report = measured.finish();
        standing.hear(&report);
        let (release, mixed) = self.releases.reported(&report);
        self.history.keep(&report, release, mixed);
        self.recorder.record(running.place(), &report);
        for consumer in &self.others {
            consumer.on_report(&report);
        }
        drop(running);
    }
}
