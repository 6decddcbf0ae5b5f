//! How much is asked of a client, and how long it is watched.

#![allow(dead_code, reason = "each bench uses a part of this")]

use std::time::Duration;

use crate::script::Script;

#[derive(Debug, Clone, Copy)]
pub struct Load {
    /// Streams under way at any time.
    pub streams: usize,
    pub targets: usize,
    /// Between two probes of one target.
    pub interval: Duration,
    pub script: Script,
    pub window: Duration,
}

/// Long enough for a few hundred answers; and one more for processor time, which Linux counts in hundredths of a second.
const WINDOW: Duration = Duration::from_secs(4);
const LONG_WINDOW: Duration = Duration::from_secs(6);

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

impl Load {
    /// Every load of the bench, by its streams.
    pub const ALL: [Self; 4] = [Self::ONE, Self::STEADY, Self::MANY, Self::MOST];

    const ONE: Self = Self {
        streams: 1,
        targets: 1,
        interval: ms(40),
        script: Script { ttft: ms(20), itl: ms(4), tokens: 4 },
        window: WINDOW,
    };

    /// 64 probes a second of 64 tokens each: here the processor time is judged.
    pub const STEADY: Self = Self {
        streams: 32,
        targets: 128,
        interval: ms(2000),
        script: Script { ttft: ms(200), itl: ms(5), tokens: 64 },
        window: LONG_WINDOW,
    };

    const MANY: Self = Self {
        streams: 128,
        script: Script { itl: ms(28), ..Self::STEADY.script },
        window: WINDOW,
        ..Self::STEADY
    };

    const MOST: Self = Self {
        streams: 512,
        interval: ms(1000),
        script: Script { itl: ms(60), ..Self::STEADY.script },
        window: WINDOW,
        ..Self::STEADY
    };

    /// Between two probes of any target.
    pub fn step(&self) -> Duration {
        self.interval / self.targets as u32
    }

    /// Until every target has its connections and as many streams are under way as there will ever be.
    pub fn warm_up(&self) -> Duration {
        self.interval + self.script.duration() + ms(500)
    }

    /// Probes that start within the window.
    pub fn probes(&self) -> usize {
        (self.window.as_secs_f64() / self.step().as_secs_f64()) as usize
    }
}
