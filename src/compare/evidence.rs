//! Evidence against "it is not so": a number that is large only if that is wrong, at whatever moment one looks.
//!
//! Each is a mixture of likelihood ratios: what would be won by betting at fair odds that the mean lies above what the
//! hypothesis says, with the stake spread over bets from timid to bold. By Ville's inequality fair bets ever multiply
//! the stake by 1/alpha with probability alpha at most. The logarithm is given.

/// The bets, in standard deviations for numbers and in log odds for shares: from what takes hours to show, to what
/// shows in a minute.
const BETS: [f64; 9] = [0.05, 0.08, 0.13, 0.21, 0.34, 0.55, 0.9, 1.5, 2.5];

/// That the mean of values with mean 0 and variance 1 is above 0: `mean` over what is worth `count` independent ones.
pub(super) fn above(mean: f64, count: f64) -> f64 {
    mix(|bet| count * (bet * mean - bet * bet / 2.0))
}

/// That a share is above `usual`: `share` of what is worth `count` independent ones.
pub(super) fn more(share: f64, usual: f64, count: f64) -> f64 {
    mix(|bet| tilt(share, usual, count, bet))
}

/// That a share is below `usual`.
pub(super) fn fewer(share: f64, usual: f64, count: f64) -> f64 {
    mix(|bet| tilt(share, usual, count, -bet))
}

/// The log likelihood ratio of a share whose odds differ from the usual ones by a factor.
fn tilt(share: f64, usual: f64, count: f64, log_factor: f64) -> f64 {
    let grown = usual * log_factor.exp_m1();
    count * (share * log_factor - grown.ln_1p())
}

fn mix(bet: impl Fn(f64) -> f64) -> f64 {
    let logs = BETS.map(bet);
    let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    most + (logs.iter().map(|log| (log - most).exp()).sum::<f64>() / BETS.len() as f64).ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// In how many of 2000 runs of 300 draws the evidence ever reaches 20 to 1, when each draw is 1 with this chance.
    fn ever(chance_of_one: f64, evidence: impl Fn(f64, f64) -> f64) -> usize {
        let mut chance = oorandom::Rand64::new(3);
        let mut runs = 0;
        for _ in 0..2000 {
            let mut ones = 0.0;
            let reached = (1..=300).any(|count| {
                ones += f64::from(u8::from(chance.rand_float() < chance_of_one));
                evidence(ones / f64::from(count), f64::from(count)) >= 20_f64.ln()
            });
            runs += usize::from(reached);
        }
        runs
    }

    #[test]
    fn what_is_true_is_refuted_as_rarely_as_promised_however_often_one_looks() {
        assert!(ever(0.1, |share, count| more(share, 0.1, count)) <= 100);
        assert!(ever(0.1, |share, count| fewer(share, 0.1, count)) <= 100);
        // A fair coin as a number of mean 0 and variance 1.
        assert!(ever(0.5, |share, count| above(2.0 * share - 1.0, count)) <= 100);
    }

    #[test]
    fn what_is_false_is_refuted() {
        assert!(ever(0.2, |share, count| more(share, 0.1, count)) > 1900);
        assert!(ever(0.02, |share, count| fewer(share, 0.1, count)) > 1900);
        assert!(ever(0.65, |share, count| above(2.0 * share - 1.0, count)) > 1900);
    }

    #[test]
    fn nothing_says_nothing() {
        assert!(above(1.0, 0.0).abs() < 1e-12 && more(1.0, 0.1, 0.0).abs() < 1e-12);
    }
}
