//! Takes new plans while the daemon runs: when somebody asks, and when files change. One after the other.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep_until};

use super::files::{Again, Files, changed};
use super::fleet::Fleet;
use crate::config::{Input, Reading};
use crate::record::Recorder;
use crate::serve::reload::Request;

/// How often the files are looked at. Looking works where news of files do not arrive: with network file systems and with
/// the links of Kubernetes.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// A file that changed is looked at again after this, to see that nobody is still writing.
const SETTLE: Duration = Duration::from_millis(500);

const NO_FILE: &str = "this daemon was not started from a configuration file";

pub(super) struct Follower {
    pub(super) fleet: Fleet,
    pub(super) files: Option<Files>,
    pub(super) requests: mpsc::Receiver<Request>,
    pub(super) recorder: Arc<Recorder>,
}

/// When the files are looked at next, and how they looked if they are about to change.
struct Look {
    next: Instant,
    unsettled: Option<Vec<Input>>,
}

impl Follower {
    /// Until `stop` becomes true.
    pub(super) async fn run(self, mut stop: watch::Receiver<bool>) {
        let Self { mut fleet, mut files, mut requests, recorder } = self;
        let mut look = Look { next: Instant::now() + LOOK_EVERY, unsettled: None };
        loop {
            let request = tokio::select! {
                biased;
                _ = stop.wait_for(|&stop| stop) => return,
                Some(ended) = fleet.asker_ended() => {
                    ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                    continue;
                }
                Some(request) = requests.recv() => Some(request),
                () = sleep_until(look.next), if files.is_some() => None,
            };
            let again = if request.is_some() { Some(Again::All) } else { look.take(files.as_ref()).await };
            let Some(again) = again else { continue };
            let answer = match &mut files {
                Some(files) => {
                    let reading = blocking(files.reader(again)).await;
                    let answer;
                    (fleet, answer) = adopt(fleet, files, reading, again).await;
                    tell(&recorder, files, again, &answer);
                    answer.map(|changes| changes.unwrap_or_else(|| "nothing changed".to_owned()))
                }
                None => Err(NO_FILE.to_owned()),
            };
            if let Some(request) = request {
                // Whoever asked may have gone.
                let _ = request.send(answer);
            }
        }
    }
}

impl Look {
    /// Looks at the files: what is to be read again, once they have settled.
    async fn take(&mut self, files: Option<&Files>) -> Option<Again> {
        let followed = files.map(Files::followed).unwrap_or_default();
        let inputs = followed.clone();
        let now = blocking(move || inputs.iter().map(|(_, input)| input.again()).collect::<Vec<_>>()).await;
        let again = changed(&followed, &now);
        let is_settled = again.is_none() || self.unsettled.as_ref() == Some(&now);
        self.next = Instant::now() + if is_settled { LOOK_EVERY } else { SETTLE };
        self.unsettled = (!is_settled).then_some(now);
        again.filter(|_| is_settled)
    }
}

/// What changed, if anything did, or every problem.
type Outcome = Result<Option<String>, String>;

async fn adopt(mut fleet: Fleet, files: &mut Files, reading: Reading, again: Again) -> (Fleet, Outcome) {
    let Reading { outcome, inputs } = reading;
    let loaded = match outcome {
        Ok(loaded) => loaded,
        Err(problems) => {
            files.rejected(inputs, again);
            return (fleet, Err(problems.to_string()));
        }
    };
    let plan = loaded.plan.clone();
    let (fleet, changes) = blocking(move || {
        let changes = fleet.adopt(plan);
        (fleet, changes)
    })
    .await;
    match changes {
        Ok(changes) => {
            files.adopted(loaded, again);
            (fleet, Ok((!changes.is_empty()).then(|| changes.to_string())))
        }
        Err(unusable) => {
            files.rejected(inputs, again);
            (fleet, Err(unusable.to_string()))
        }
    }
}

/// Tells the metrics and the log.
fn tell(recorder: &Recorder, files: &Files, again: Again, outcome: &Outcome) {
    match outcome {
        Ok(changes) => {
            if !files.is_behind() {
                recorder.reloaded(true);
            }
            match (changes, again) {
                (Some(changes), _) => tracing::info!("the configuration was reloaded: {changes}"),
                (None, Again::All) => tracing::info!("the configuration was reloaded: nothing changed"),
                (None, Again::Credentials) => {}
            }
        }
        Err(problems) => {
            recorder.reloaded(false);
            tracing::error!("the configuration cannot be reloaded; the one in use stays:\n{problems}");
        }
    }
}

/// Reading files and making connections ready must not make anything else late.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let done = spawn_blocking(work).await;
    done.unwrap_or_else(|error| std::panic::resume_unwind(error.into_panic()))
}
