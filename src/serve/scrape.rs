//! The text of the metrics, written once for all who ask at the same time.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::Mutex;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep_until};

use crate::expose;
use crate::record::Recorder;

/// Writing takes at most one part in so many of a processor's time: however often somebody scrapes, it does not keep
/// what is measured waiting.
const PARTS: u32 = 4;

/// Writes one text at a time. Whoever asks while one is being written waits for the next, and shares it with all others
/// who wait.
#[derive(Debug, Default)]
pub struct Exposition(Arc<Mutex<Option<Written>>>);

#[derive(Debug)]
struct Written {
    /// When the writing began: what was measured later is not in it.
    began: Instant,
    took: Duration,
    text: Bytes,
}

/// The text could not be written; the log says why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotWritten;

impl Exposition {
    /// A text that was begun after this was called.
    pub async fn text(&self, recorder: &Arc<Recorder>) -> Result<Bytes, NotWritten> {
        let asked = Instant::now();
        let mut newest = Arc::clone(&self.0).lock_owned().await;
        if let Some(written) = newest.as_ref() {
            if written.began >= asked {
                return Ok(written.text.clone());
            }
            sleep_until(written.began + PARTS * written.took).await;
        }
        let (recorder, began) = (Arc::clone(recorder), Instant::now());
        // The thread that writes holds the lock: whoever asks and goes away at once does not start another beside it.
        let writing = spawn_blocking(move || {
            let text = expose::text(recorder.registry()).map(Bytes::from);
            if let Ok(text) = &text {
                *newest = Some(Written { began, took: Instant::now() - began, text: text.clone() });
            }
            text
        });
        match writing.await {
            Ok(Ok(text)) => Ok(text),
            Ok(Err(error)) => {
                tracing::error!(%error, "cannot write the metrics");
                Err(NotWritten)
            }
            Err(error) => {
                tracing::error!(%error, "cannot write the metrics; please report it");
                Err(NotWritten)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::timeout;

    use super::*;
    use crate::domain::{Sample, fixture};

    #[tokio::test]
    async fn those_who_ask_together_share_a_text_and_who_asks_later_gets_a_newer_one() {
        let target = fixture::target("t", &["w"]);
        let recorder = Arc::new(Recorder::new(std::slice::from_ref(&target), &[]).unwrap());
        let exposition = Exposition::default();
        let ask = || exposition.text(&recorder);
        // The first writes; the others asked before the second text was begun, and get the same.
        let (first, second, third) = tokio::join!(ask(), ask(), ask());
        let [first, second, third] = [first, second, third].map(Result::unwrap);
        assert_ne!(first.as_ptr(), second.as_ptr());
        assert_eq!(second.as_ptr(), third.as_ptr());
        let place = recorder.place("t", "w").unwrap();
        recorder.record(&place, &fixture::report(&target, Sample::default(), None));
        let later = String::from_utf8(ask().await.unwrap().to_vec()).unwrap();
        assert!(later.contains("sloprobe_up{target=\"t\"} 1"), "{later}");
    }

    #[tokio::test]
    async fn who_asks_and_goes_away_leaves_no_second_writer_behind() {
        let recorder = Arc::new(Recorder::new(&[fixture::target("t", &["w"])], &[]).unwrap());
        let exposition = Exposition::default();
        // Asked once, which starts the writing, and dropped.
        let gone = timeout(Duration::ZERO, exposition.text(&recorder)).await;
        let written = exposition.0.lock().await.is_some();
        assert!(written || gone.is_ok(), "the lock was free before the text was there");
    }

    #[tokio::test]
    async fn the_next_text_is_not_begun_before_the_last_has_paid_for_itself() {
        let recorder = Arc::new(Recorder::new(&[fixture::target("t", &["w"])], &[]).unwrap());
        let exposition = Exposition::default();
        exposition.text(&recorder).await.unwrap();
        let (began, took) = exposition.0.lock().await.as_ref().map(|last| (last.began, last.took)).unwrap();
        exposition.text(&recorder).await.unwrap();
        let next = exposition.0.lock().await.as_ref().map(|last| last.began).unwrap();
        assert!(next >= began + PARTS * took, "{:?} after the last, which took {took:?}", next - began);
    }
}
