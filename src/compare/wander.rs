//! How a service wanders: how much less a long stretch tells than as many independent probes would.
//!
//! For independent values the sum over a stretch of `n` has the variance `n` times that of one. Where slow and quick
//! minutes come in a row, it has more. This is that factor, times the variance of one value, for stretches of every
//! length, as the release before showed it.

use super::block::each;

/// The shortest stretch that is looked at, and how many of them at least a length must have.
const SHORTEST: f64 = 30.0;
const FEWEST: usize = 16;

/// How unlikely it shall be that the truth is above what is used: the normal quantile of 95 %.
const CAUTION: f64 = 1.645;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Wander {
    /// Length of a stretch in seconds, and the variance of a sum over it, by value. Both rise.
    scales: Vec<(f64, f64)>,
    /// How long was watched.
    span: f64,
}

impl Wander {
    /// Of `scores`, whose mean is 0, after `parameters` numbers were fitted to them.
    pub(super) fn learn(at: &[f64], scores: &[f64], parameters: usize) -> Self {
        let span = at.last().zip(at.first()).map_or(0.0, |(last, first)| last - first);
        let own = scores.iter().map(|score| score * score).sum::<f64>() / scores.len().max(1) as f64;
        let mut sums = vec![0.0; scores.len() + 1];
        for (index, score) in scores.iter().enumerate() {
            sums[index + 1] = sums[index] + score;
        }
        let mut scales = vec![(SHORTEST / 2.0, own)];
        let mut length = SHORTEST;
        while length * FEWEST as f64 <= span {
            let (mut squares, mut blocks) = (0.0, 0_usize);
            each(at, length, |_, from, to| {
                let sum: f64 = sums[to] - sums[from];
                squares += sum * sum;
                blocks += 1;
            });
            let free = blocks.saturating_sub(parameters);
            if free >= FEWEST / 2 {
                let seen = squares / scores.len() as f64 * blocks as f64 / free as f64;
                let (_, below) = *scales.last().expect("it begins with one");
                scales.push((length, below.max(seen * caution(free))));
            }
            length *= 2.0;
        }
        Self { scales, span }
    }

    /// The variance of a sum over a stretch, by value. A length between two that were seen is taken as the longer;
    /// beyond the longest it stays, and beyond all that was watched it grows with the length: nobody has seen how the
    /// service wanders over longer times, so a longer look shall not make us surer.
    pub(super) fn at(&self, length: f64) -> f64 {
        let next = self.scales.partition_point(|(scale, _)| *scale < length);
        let (_, value) = self.scales[next.min(self.scales.len() - 1)];
        value * (length / self.span.max(SHORTEST)).max(1.0)
    }
}

/// What a variance that was estimated from so many free values is multiplied by, so that it is hardly ever too small:
/// the chi-square quantile of Wilson and Hilferty.
fn caution(free: usize) -> f64 {
    let spread = 2.0 / (9.0 * free as f64);
    (1.0 - spread - CAUTION * spread.sqrt()).max(0.2).powi(-3)
}

#[cfg(test)]
mod tests {
    use super::*;

    const COUNT: usize = 40_000;

    /// Ten seconds apart, of variance 1, each kept by this much from the one before.
    fn noise(stays: f64) -> (Vec<f64>, Vec<f64>) {
        let mut chance = oorandom::Rand64::new(7);
        let mut level = 0.0;
        let values = (0..COUNT).map(|index| {
            let push = (chance.rand_float() - 0.5) * 12_f64.sqrt();
            level = stays * level + (1.0_f64 - stays * stays).sqrt() * push;
            (index as f64 * 10.0, level)
        });
        values.unzip()
    }

    #[test]
    fn independent_values_do_not_wander() {
        let (at, values) = noise(0.0);
        let wander = Wander::learn(&at, &values, 1);
        for length in [10.0, 60.0, 600.0, 3600.0, 20_000.0] {
            assert!((0.95..3.0).contains(&wander.at(length)), "{length}: {}", wander.at(length));
        }
    }

    #[test]
    fn values_that_stay_wander_as_the_formula_says() {
        let (at, values) = noise(0.9);
        let wander = Wander::learn(&at, &values, 1);
        // The variance of a long sum grows by (1 + 0.9) / (1 - 0.9) a value.
        assert!((17.0..60.0).contains(&wander.at(10_000.0)), "{}", wander.at(10_000.0));
        assert!(wander.at(15.0) < 2.5, "{}", wander.at(15.0));
    }

    #[test]
    fn beyond_what_was_watched_longer_looks_tell_no_more() {
        let (at, values) = noise(0.0);
        let wander = Wander::learn(&at, &values, 1);
        let span = COUNT as f64 * 10.0;
        let ratio = wander.at(4.0 * span) / wander.at(span * 0.9);
        assert!((3.9..4.1).contains(&ratio), "{ratio}");
    }

    #[test]
    fn nothing_is_no_trouble() {
        assert!(Wander::learn(&[], &[], 1).at(60.0) >= 0.0);
        assert!(Wander::learn(&[5.0], &[1.0], 1).at(60.0) >= 1.0);
    }
}
