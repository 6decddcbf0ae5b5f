//! Two stretches of time of one target, held against each other: what got worse, what got better, and how sure that is.
//!
//! # The question
//!
//! A target changed at a known moment. Probes of the release before, days of them perhaps, are the *baseline*; probes
//! of the release after arrive one by one, and somebody, or an alert rule, looks every minute. For each workload and
//! metric: did it get worse? The answer must hold at every look, not only at one chosen beforehand, and must not take
//! the hour of the day, or a bad quarter of an hour, for the release.
//!
//! # The method
//!
//! 1. **Logarithms.** Durations are compared by ratio, so all is done with their logarithms. Failed probes have no
//!    durations, and those measured while our own host was late are left out. Failures are compared on their own, as a
//!    share.
//! 2. **The day.** Where every two hours of the day were seen on two days or more, a level with waves of 24 h, 12 h …
//!    is fitted by least squares to the medians of ten minutes, and taken off both sides (`day.rs`): one or two waves, with
//!    five days up to four, as many as Schwarz's criterion finds worth it. Where they were not, only the last hour before
//!    the change is the baseline, and a shift is counted only beyond an allowance for what the hour of the day may do:
//!    8 %, and 8 % more for each hour between the middles of both stretches.
//! 3. **Lenses.** What is left is seen through bounded scores (`baseline.rs`): the *middle*, the deviation from the
//!    median clamped at 1.5 standard deviations (Huber's location, nearly as efficient as the mean for what is nearly
//!    log-normal, and deaf to outliers), and for the quantiles 0.5, 0.9 and 0.99 whether a value lies beyond that
//!    quantile of the baseline. That the q-quantile moved by more than a factor is that more than `1 - q` of the values
//!    lie beyond the factor times the old quantile; so bounds of the factor are found by moving it until the evidence
//!    ends, as the confidence sequences for quantiles of Howard and Ramdas (2022) do, and the lenses together are a
//!    test of stochastic order as in Lindon, Sanden and Shirikian (2022).
//! 4. **Wandering.** Slow minutes come in a row. How much more the sum over a stretch of length T varies than a sum of
//!    independent scores is measured on the baseline, for T doubling from half a minute to a sixteenth of it, and
//!    raised to its upper 95 % bound (`wander.rs`). Scores over T then count for as many independent ones as have that
//!    variance. The baseline's own doubt is added to that variance, and that of each parameter of the day
//!    until whole days have been seen, over which its waves cancel; so the evidence stops growing where the baseline
//!    ends to be exact.
//! 5. **Evidence.** Against each hypothesis "it did not move by more than this" stands a mixture of likelihood ratios
//!    over nine alternatives, normal for the middle and Bernoulli for the quantiles and shares (`evidence.rs`). For
//!    independent scores each is a non-negative martingale of mean 1 at most, if the hypothesis is true, and by
//!    Ville's inequality exceeds `1/a` ever with probability `a` at most: one may look at any time and stop at any time.
//! 6. **Many questions.** The error of `1 - confidence` is divided evenly by Bonferroni over both directions of all
//!    lenses of all metrics of all workloads.
//!
//! The verdict for a lens is *regressed* if the lower bound lies above no change and the estimate beyond the margin of
//! practical importance; *improved* the other way; *same* if both bounds lie within the margin; *undecided* otherwise.
//! The margin is doubled for the quantile 0.9 and taken four times for 0.99; of a share it is one percentage point. A metric
//! regressed if one of its lenses did. It is the same if its middle is and no other estimate lies beyond its margin: to be
//! sure of a tail takes many times as long, and the verdict on the tail itself stays open until then.
//!
//! # What is assumed
//!
//! - Given the day, what the release before showed is stationary, and its wandering over a stretch shows in sixteen
//!   stretches of that length. Beyond a sixteenth of the baseline it is taken to vary as it did at that length, and
//!   beyond all of the baseline a longer look makes nothing surer.
//! - The release after wanders like the one before, if it did not change.
//! - Step 5 is exact for independent scores of known distribution. With counts scaled for wandering it is an
//!   approximation: that of a Brownian motion whose clock is the information so far, which is what the sequence of an
//!   efficient estimator looks like in the limit (independent increments, Jennison and Turnbull 1997). `cargo bench --bench releases`
//!   simulates what that costs, and prints how many of a thousand unchanged pairs were ever called.
//! - A week has no shape of its own: a change on a Monday after a quiet weekend may be blamed on the release.
//! - Whatever else changes at the same moment (the load, the network, the prober's host) is taken for the release.

mod baseline;
mod block;
mod day;
mod evidence;
mod judge;
mod look;
pub mod outcome;
mod share;
mod sorted;
#[cfg(test)]
mod tests;
mod vigil;
mod wander;

pub use judge::{Before, Settings};
pub use outcome::{Amount, Change, Comparison, Metric, Need, Place, Quantile, Shift, Side, Summary, Verdict};
pub use vigil::Vigil;
