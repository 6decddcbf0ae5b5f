//! Threads that do nothing but measure, so that nothing else the daemon does can make a stamp late.

use std::io;
use std::num::NonZeroUsize;
use std::thread;

use tokio::runtime;
use tokio::sync::oneshot;

/// One thread reads so many streams without making any of them wait.
const PROBES_PER_THREAD: usize = 200;

/// Work on a thread of its own, with a runtime of its own. Dropping this abandons the work.
#[derive(Debug)]
pub struct MeasuringThread<T> {
    ended: oneshot::Receiver<T>,
    abandon: oneshot::Sender<()>,
}

/// The work panicked; the panic itself is on standard error.
#[derive(Debug, thiserror::Error)]
#[error("a measuring thread ended by a defect; please report it")]
pub struct Defect;

impl<T: Send + 'static> MeasuringThread<T> {
    /// `work` makes its future on the thread itself, so that the future may stay there.
    pub fn spawn<F>(name: &str, work: impl FnOnce() -> F + Send + 'static) -> io::Result<Self>
    where
        F: Future<Output = T>,
    {
        let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
        let (tell, ended) = oneshot::channel();
        let (abandon, abandoned) = oneshot::channel();
        thread::Builder::new().name(name.to_owned()).spawn(move || {
            let done = runtime.block_on(async {
                tokio::select! {
                    biased;
                    done = work() => Some(done),
                    _ = abandoned => None,
                }
            });
            // A name server that hangs would hold up the end: its threads are left behind.
            runtime.shutdown_background();
            if let Some(done) = done {
                // Nobody may be waiting any more.
                let _ = tell.send(done);
            }
        })?;
        Ok(Self { ended, abandon })
    }

    /// Waits for the work to end.
    pub async fn ended(self) -> Result<T, Defect> {
        let Self { ended, abandon } = self;
        let done = ended.await.map_err(|_| Defect);
        drop(abandon);
        done
    }
}

/// How many threads measure so many probes at a time: no more than there are cores.
pub fn threads_for(under_way: usize) -> NonZeroUsize {
    let cores = thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let wanted = under_way.div_ceil(PROBES_PER_THREAD).clamp(1, cores);
    NonZeroUsize::new(wanted).unwrap_or(NonZeroUsize::MIN)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use tokio::time::{Instant, sleep_until};

    use super::*;
    use crate::schedule::pulse::Pulse;

    #[tokio::test]
    async fn work_runs_on_a_thread_of_its_own_and_hands_over_its_result() {
        let here = thread::current().id();
        let thread = MeasuringThread::spawn("measure-0", move || async move {
            let name = thread::current().name().map(str::to_owned);
            (thread::current().id() != here, name)
        });
        assert_eq!(thread.unwrap().ended().await.unwrap(), (true, Some("measure-0".to_owned())));
    }

    #[tokio::test]
    async fn a_panic_is_an_error_of_whoever_waits() {
        let thread = MeasuringThread::spawn("measure-0", || async { panic!("on purpose") });
        assert!(thread.unwrap().ended().await.is_err());
    }

    #[tokio::test]
    async fn work_that_nobody_waits_for_any_more_is_abandoned() {
        let alive = Arc::new(());
        let watched = Arc::downgrade(&alive);
        let (started, is_started) = oneshot::channel();
        let thread = MeasuringThread::spawn("measure-0", move || async move {
            let _ = started.send(());
            std::future::pending::<()>().await;
            drop(alive);
        });
        is_started.await.unwrap();
        drop(thread);
        while watched.strong_count() > 0 {
            tokio::task::yield_now().await;
        }
    }

    /// Beats on a thread of its own for some time, of which the thread is blocked for a part; whether it was late.
    async fn was_late(name: &str, blocked: Duration) -> bool {
        let thread = MeasuringThread::spawn(name, move || async move {
            let start = Instant::now();
            let pulse = Pulse::new(start);
            let work = async {
                sleep_until(start + Duration::from_millis(40)).await;
                while Instant::now() < start + Duration::from_millis(40) + blocked {
                    std::hint::spin_loop();
                }
                sleep_until(start + Duration::from_millis(200)).await;
            };
            tokio::select! {
                () = pulse.beat(|_| {}) => {}
                () = work => {}
            }
            pulse.was_late_since(start, Instant::now())
        });
        thread.unwrap().ended().await.unwrap()
    }

    #[tokio::test]
    async fn a_blocked_thread_is_late_and_the_one_beside_it_is_not() {
        // A busy host may hold up the other one as well, but not each time.
        for _ in 0..20 {
            let blocked = Duration::from_millis(80);
            let (late, other) = tokio::join!(was_late("a", blocked), was_late("b", Duration::ZERO));
            assert!(late, "a thread that does something else for {blocked:?} is late");
            if !other {
                return;
            }
        }
        panic!("the thread beside a blocked one was late each time");
    }

    #[test]
    fn two_hundred_probes_share_a_thread() {
        let cores = thread::available_parallelism().unwrap().get();
        for (under_way, threads) in [(0, 1), (1, 1), (200, 1), (201, 2), (100_000, 500)] {
            assert_eq!(threads_for(under_way).get(), threads.min(cores), "{under_way}");
        }
    }
}
