//! Asks again and again what a target runs, beside its schedule: an upgrade explains a change in the numbers.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

use super::standing::Standing;
use crate::probe::{self, Transport};
use crate::record::Recorder;

/// An upgrade is known this soon.
pub const EVERY: Duration = Duration::from_secs(300);

/// Asks at `first` and then at fixed intervals, until `stop` becomes true. A round that took too long loses
/// the next one, so that no two are under way together; so does a target that refuses the key.
pub async fn watch(
    transport: Arc<Transport>,
    recorder: Arc<Recorder>,
    standing: Arc<Standing>,
    first: Instant,
    every: Duration,
    mut stop: watch::Receiver<bool>,
) {
    let rounds = async {
        let mut due = first;
        loop {
            sleep_until(due).await;
            if !standing.is_shut_out() {
                let identity = probe::identify(&transport).await;
                recorder.identified(transport.target(), &identity);
            }
            while due <= Instant::now() {
                due += every;
            }
        }
    };
    tokio::select! {
        () = rounds => {}
        _ = stop.wait_for(|&stop| stop) => {}
    }
}
