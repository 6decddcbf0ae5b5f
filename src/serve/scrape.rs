//! The metrics, written once for all who ask for the same at the same time, and sent while they are written.

use std::collections::HashMap;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use axum::body::Body;
use bytes::Bytes;
use http_body::Frame;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep_until};

use crate::expose::{self, Format, Packing};
use crate::record::Recorder;

/// Writing takes at most one part in so many of a processor's time: however often somebody scrapes, it does not keep
/// what is measured waiting.
const PARTS: u32 = 4;

/// Writes one page at a time. Whoever asks while one is being written waits for the next, and shares it with all others
/// who wait for the same.
#[derive(Debug, Clone, Default)]
pub struct Exposition(Arc<Mutex<Desk>>);

#[derive(Debug, Default)]
struct Desk {
    waiting: HashMap<(Format, Packing), Vec<UnboundedSender<Bytes>>>,
    is_writing: bool,
    /// When the next page may be begun.
    rested: Option<Instant>,
}

/// A page that is on its way, piece by piece.
#[derive(Debug)]
struct Pieces(UnboundedReceiver<Bytes>);

impl Exposition {
    /// A page that is begun after this was called.
    pub fn page(&self, recorder: &Arc<Recorder>, format: Format, packing: Packing) -> Body {
        let (sender, receiver) = unbounded_channel();
        let mut desk = self.desk();
        desk.waiting.entry((format, packing)).or_default().push(sender);
        if !std::mem::replace(&mut desk.is_writing, true) {
            tokio::spawn(self.clone().write_all(Arc::clone(recorder)));
        }
        drop(desk);
        Body::new(Pieces(receiver))
    }

    /// Writes until nobody waits any more.
    async fn write_all(self, recorder: Arc<Recorder>) {
        loop {
            let rested = self.desk().rested;
            if let Some(rested) = rested {
                sleep_until(rested).await;
            }
            let waiting = {
                let mut desk = self.desk();
                let waiting = std::mem::take(&mut desk.waiting);
                desk.is_writing = !waiting.is_empty();
                waiting
            };
            if waiting.is_empty() {
                return;
            }
            let (began, recorder) = (Instant::now(), Arc::clone(&recorder));
            let written = spawn_blocking(move || {
                for ((format, packing), readers) in waiting {
                    write(&recorder, format, packing, &readers);
                }
            });
            if let Err(error) = written.await {
                tracing::error!(%error, "cannot write the metrics; please report it");
            }
            self.desk().rested = Some(began + PARTS * (Instant::now() - began));
        }
    }

    fn desk(&self) -> MutexGuard<'_, Desk> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn write(recorder: &Recorder, format: Format, packing: Packing, readers: &[UnboundedSender<Bytes>]) {
    let send = |piece: Bytes| {
        for reader in readers {
            // Who went away misses nothing.
            let _ = reader.send(piece.clone());
        }
    };
    expose::write(format, packing, recorder.exposure(), |writer| recorder.walk(writer), send);
}

impl http_body::Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(context).map(|piece| piece.map(|piece| Ok(Frame::data(piece))))
    }
}

#[cfg(test)]
mod tests {
    use axum::body::to_bytes;

    use super::*;
    use crate::domain::{Sample, fixture};

    async fn read(page: Body) -> String {
        String::from_utf8(to_bytes(page, usize::MAX).await.unwrap().to_vec()).unwrap()
    }

    #[tokio::test]
    async fn who_asks_later_gets_a_newer_page() {
        let target = fixture::target("t", &["w"]);
        let recorder = Arc::new(Recorder::new(std::slice::from_ref(&target), &[]));
        let exposition = Exposition::default();
        let ask = || read(exposition.page(&recorder, Format::Text, Packing::Plain));
        assert!(ask().await.contains("sloprobe_up{target=\"t\"} 0"));
        let place = recorder.place("t", "w").unwrap();
        recorder.record(&place, &fixture::report(&target, Sample::default(), None));
        let later = ask().await;
        assert!(later.contains("sloprobe_up{target=\"t\"} 1"), "{later}");
    }

    #[tokio::test]
    async fn those_who_wait_for_the_same_share_a_page() {
        let recorder = Arc::new(Recorder::new(&[fixture::target("t", &["w"])], &[]));
        let exposition = Exposition::default();
        let formats = [Format::Text, Format::Text, Format::OpenMetrics];
        let mut pages: Vec<Pieces> = Vec::new();
        let mut senders = HashMap::<_, Vec<_>>::new();
        for format in formats {
            let (sender, receiver) = unbounded_channel();
            senders.entry((format, Packing::Plain)).or_default().push(sender);
            pages.push(Pieces(receiver));
        }
        exposition.desk().waiting = senders;
        exposition.desk().is_writing = true;
        exposition.clone().write_all(recorder).await;
        let first = pages[0].0.recv().await.unwrap();
        let second = pages[1].0.recv().await.unwrap();
        assert_eq!(first.as_ptr(), second.as_ptr());
        assert_ne!(first, pages[2].0.recv().await.unwrap());
    }

    #[tokio::test]
    async fn the_next_page_is_not_begun_before_the_last_has_paid_for_itself() {
        let recorder = Arc::new(Recorder::new(&[fixture::target("t", &["w"])], &[]));
        let exposition = Exposition::default();
        let began = Instant::now();
        read(exposition.page(&recorder, Format::Text, Packing::Plain)).await;
        while exposition.desk().is_writing {
            tokio::task::yield_now().await;
        }
        let rested = exposition.desk().rested.unwrap();
        assert!(rested > began);
        read(exposition.page(&recorder, Format::Text, Packing::Plain)).await;
        assert!(Instant::now() >= rested, "a page was written before {rested:?}");
    }

    #[tokio::test]
    async fn who_asks_and_goes_away_does_not_hold_up_others() {
        let recorder = Arc::new(Recorder::new(&[fixture::target("t", &["w"])], &[]));
        let exposition = Exposition::default();
        drop(exposition.page(&recorder, Format::Protobuf, Packing::Gzip));
        let page = read(exposition.page(&recorder, Format::OpenMetrics, Packing::Plain)).await;
        assert!(page.ends_with("# EOF\n"), "{page}");
    }
}
