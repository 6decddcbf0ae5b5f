//! Loads for the model: many requests on virtual time, and the figures that a benchmark would report.

use std::collections::HashMap;
use std::time::Duration;

use oorandom::Rand64;

use super::model::{Engine, EngineSettings, Next, Request, RequestId, Token};

/// How long prompts or answers are.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Lengths {
    /// All alike.
    Fixed(u32),
    /// Skewed as real ones are: log-normal, cut to a range, scaled until the mean is met.
    Skewed {
        /// Mean, in tokens.
        mean: f64,
        /// Deviation of the logarithm.
        sigma: f64,
        /// Shortest.
        from: u32,
        /// Longest.
        to: u32,
    },
}

/// A benchmark: so many requests, so many at a time.
#[derive(Debug, Clone, PartialEq)]
pub struct Load {
    /// Requests in all.
    pub requests: usize,
    /// Requests under way at any time; all of them for a load sent at once.
    pub at_a_time: usize,
    /// Prompts.
    pub prompt: Lengths,
    /// Answers.
    pub output: Lengths,
    /// What each request allows for its answer, if more than it uses.
    pub max_tokens: u32,
    /// Seed of the lengths.
    pub seed: u64,
}

/// A set of durations, sorted.
#[derive(Debug, Clone, Default)]
pub struct Spread {
    sorted: Vec<Duration>,
}

/// What a benchmark reports.
#[derive(Debug, Clone)]
pub struct Figures {
    /// From arrival to first token.
    pub ttft: Spread,
    /// Mean time per token after the first, one for each request.
    pub tpot: Spread,
    /// Every gap between tokens.
    pub gap: Spread,
    /// The longest gap of each request.
    pub longest_gap: Spread,
    /// From arrival to last token.
    pub request: Spread,
    /// From first arrival to last token.
    pub lasted: Duration,
    /// Tokens written.
    pub tokens: u64,
    /// Requests without a complete answer.
    pub failed: usize,
}

impl Figures {
    /// Tokens written per second of the whole run.
    pub fn tokens_per_second(&self) -> f64 {
        self.tokens as f64 / self.lasted.as_secs_f64().max(f64::MIN_POSITIVE)
    }
}

impl Spread {
    fn of(mut values: Vec<Duration>) -> Self {
        values.sort_unstable();
        Self { sorted: values }
    }

    /// How many.
    pub fn count(&self) -> usize {
        self.sorted.len()
    }

    /// How many exceed a bound.
    pub fn count_longer_than(&self, bound: Duration) -> usize {
        self.sorted.len() - self.sorted.partition_point(|value| *value <= bound)
    }

    /// The mean in seconds, 0 of nothing.
    pub fn mean(&self) -> f64 {
        let sum: f64 = self.sorted.iter().map(Duration::as_secs_f64).sum();
        sum / (self.sorted.len().max(1) as f64)
    }

    /// A quantile in seconds, 0 of nothing.
    pub fn quantile(&self, q: f64) -> f64 {
        let last = self.sorted.len().saturating_sub(1) as f64;
        self.sorted.get((last * q).round() as usize).map_or(0.0, Duration::as_secs_f64)
    }
}

impl Lengths {
    /// A single length.
    pub fn one(self, random: &mut Rand64) -> u32 {
        match self {
            Self::Fixed(length) => length,
            Self::Skewed { mean, sigma, from, to } => {
                let drawn = mean * (sigma * normal(random) - sigma * sigma / 2.0).exp();
                drawn.round().clamp(f64::from(from), f64::from(to)) as u32
            }
        }
    }

    /// `count` lengths, the same for the same seed.
    pub fn draw(self, count: usize, seed: u64) -> Vec<u32> {
        let (mean, sigma, from, to) = match self {
            Self::Fixed(length) => return vec![length; count],
            Self::Skewed { mean, sigma, from, to } => (mean, sigma, from, to),
        };
        let mut random = Rand64::new(u128::from(seed));
        let shape: Vec<f64> = (0..count).map(|_| (sigma * normal(&mut random)).exp()).collect();
        let cut = |scale: f64| {
            shape
                .iter()
                .map(move |x| ((x * scale).round()).clamp(f64::from(from), f64::from(to)) as u32)
                .collect::<Vec<u32>>()
        };
        // The cuts move the mean, so the scale that meets it is searched for.
        let (mut low, mut high) = (0.0, 50.0 * mean);
        for _ in 0..60 {
            let middle = f64::midpoint(low, high);
            let total: u64 = cut(middle).iter().copied().map(u64::from).sum();
            if (total as f64) < mean * count as f64 { low = middle } else { high = middle }
        }
        cut(high)
    }
}

/// One draw of the standard normal distribution.
pub fn normal(random: &mut Rand64) -> f64 {
    let radius = (-2.0 * (1.0 - random.rand_float()).max(f64::MIN_POSITIVE).ln()).sqrt();
    radius * (std::f64::consts::TAU * random.rand_float()).cos()
}

impl Load {
    /// Puts the load through an engine with these settings.
    pub fn run(&self, settings: &EngineSettings) -> Figures {
        let mut run = Run::new(self, settings);
        run.submit_next(self.at_a_time.min(self.requests), Duration::ZERO);
        loop {
            match run.engine.next_step() {
                Next::Idle => break,
                Next::WaitUntil(until) => run.engine.advance(until),
                Next::Step(step) => {
                    for given_up in &step.given_up {
                        run.open.remove(&given_up.id);
                        run.failed += 1;
                        run.submit_next(1, given_up.at);
                    }
                    for token in &step.tokens {
                        run.take(token);
                    }
                }
            }
        }
        run.figures()
    }

    fn requests(&self) -> impl Iterator<Item = Request> + use<> {
        let prompts = self.prompt.draw(self.requests, self.seed);
        let outputs = self.output.draw(self.requests, self.seed.wrapping_add(1));
        let max_tokens = self.max_tokens;
        (0u64..).zip(prompts.into_iter().zip(outputs)).map(move |(id, (prompt_tokens, output_tokens))| {
            Request {
                id: RequestId(id),
                prompt_tokens,
                output_tokens,
                max_tokens,
                prefix: Vec::new(),
                stall: None,
                first_token_factor: 1.0,
            }
        })
    }
}

#[derive(Debug, Clone, Copy)]
struct Open {
    arrived: Duration,
    first: Duration,
    last: Duration,
    longest: Duration,
}

struct Run<'a> {
    engine: Engine,
    left: Box<dyn Iterator<Item = Request> + 'a>,
    open: HashMap<RequestId, Open>,
    ttft: Vec<Duration>,
    tpot: Vec<Duration>,
    gap: Vec<Duration>,
    longest_gap: Vec<Duration>,
    request: Vec<Duration>,
    tokens: u64,
    failed: usize,
    ended: Duration,
}

impl<'a> Run<'a> {
    fn new(load: &'a Load, settings: &EngineSettings) -> Self {
        Self {
            engine: Engine::new(settings.clone()),
            left: Box::new(load.requests()),
            open: HashMap::new(),
            ttft: Vec::new(),
            tpot: Vec::new(),
            gap: Vec::new(),
            longest_gap: Vec::new(),
            request: Vec::new(),
            tokens: 0,
            failed: 0,
            ended: Duration::ZERO,
        }
    }

    /// A refused request counts as failed, and its place goes to the next.
    fn submit_next(&mut self, mut count: usize, now: Duration) {
        while count > 0 {
            let Some(request) = self.left.next() else { return };
            let id = request.id;
            if self.engine.submit(request, now).is_err() {
                self.failed += 1;
                continue;
            }
            self.open.insert(id, Open { arrived: now, first: now, last: now, longest: Duration::ZERO });
            count -= 1;
        }
    }

    fn take(&mut self, token: &Token) {
        let Some(open) = self.open.get_mut(&token.id) else { return };
        self.tokens += 1;
        if token.index == 0 {
            open.first = token.at;
            self.ttft.push(token.at.saturating_sub(open.arrived));
        } else {
            let gap = token.at.saturating_sub(open.last);
            open.longest = open.longest.max(gap);
            self.gap.push(gap);
        }
        open.last = token.at;
        if token.last {
            let open = *open;
            self.open.remove(&token.id);
            self.request.push(token.at.saturating_sub(open.arrived));
            if token.index > 0 {
                self.tpot.push(token.at.saturating_sub(open.first) / token.index);
                self.longest_gap.push(open.longest);
            }
            self.ended = self.ended.max(token.at);
            self.submit_next(1, token.at);
        }
    }

    fn figures(self) -> Figures {
        Figures {
            ttft: Spread::of(self.ttft),
            tpot: Spread::of(self.tpot),
            gap: Spread::of(self.gap),
            longest_gap: Spread::of(self.longest_gap),
            request: Spread::of(self.request),
            lasted: self.ended,
            tokens: self.tokens,
            failed: self.failed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn skewed_lengths_meet_their_mean_and_their_bounds() {
        let drawn = Lengths::Skewed { mean: 217.0, sigma: 1.1, from: 4, to: 1024 }.draw(1000, 3);
        let total: u64 = drawn.iter().copied().map(u64::from).sum();
        assert!((216_900..=217_400).contains(&total), "{total}");
        assert!(drawn.iter().all(|length| (4..=1024).contains(length)));
        let shorter = drawn.iter().filter(|&&length| length < 217).count();
        assert!(shorter > 600, "skewed to the short side, {shorter} are below the mean");
    }

    #[test]
    fn quantiles_of_nothing_are_zero() {
        assert!(Spread::default().quantile(0.99).abs() < f64::EPSILON);
        assert!(Spread::default().mean().abs() < f64::EPSILON);
    }
}
