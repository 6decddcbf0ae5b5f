//! Upper bounds of classic histograms, in seconds unless said: fine where people set their limits, coarse elsewhere.
//!
//! Few are for a fleet: each bucket is a series, for every target and workload. Quantiles between two of them are guessed.
//! Many are for a handful of targets; they reach as far as the longest timeout that the configuration takes (an hour).

use crate::domain::Buckets;

/// A histogram never has more bounds of the few kind than these, those that objectives add included.
pub const MOST_FEW: usize = 14;

/// The bounds of one family.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounds {
    few: &'static [f64],
    many: &'static [f64],
    /// What rules ask for: always among them.
    always: &'static [f64],
}

impl Bounds {
    /// With the bounds that objectives ask for, so that queries can ask for exactly that.
    pub fn with(self, buckets: Buckets, asked: impl IntoIterator<Item = f64>) -> Vec<f64> {
        let mut wanted: Vec<f64> = self.always.to_vec();
        for bound in asked {
            if !wanted.contains(&bound) {
                wanted.push(bound);
            }
        }
        match buckets {
            Buckets::Many => merge(self.many, &wanted),
            Buckets::Few => few(self.few, &wanted),
        }
    }
}

fn merge(own: &[f64], asked: &[f64]) -> Vec<f64> {
    let mut all = [own, asked].concat();
    all.sort_by(f64::total_cmp);
    all.dedup();
    all
}

/// Where there would be too many, those of our own go that are nearest to one that was asked for, and at last the last of
/// those that were asked for: objectives are judged by counters of their own, so no alert depends on them.
fn few(own: &[f64], asked: &[f64]) -> Vec<f64> {
    let asked = &asked[..asked.len().min(MOST_FEW)];
    let distance = |bound: f64| {
        let distances = asked.iter().map(|asked| (bound / asked).ln().abs());
        distances.min_by(f64::total_cmp).unwrap_or(f64::INFINITY)
    };
    let mut own: Vec<f64> = own.iter().copied().filter(|bound| !asked.contains(bound)).collect();
    while own.len() + asked.len() > MOST_FEW {
        let Some(nearest) = (0..own.len()).min_by(|&a, &b| distance(own[a]).total_cmp(&distance(own[b])))
        else {
            break;
        };
        own.remove(nearest);
    }
    merge(&own, asked)
}

/// Whole requests and first tokens: a dozen bounds per decade from 100 ms to 10 s.
const REQUEST: &[f64] = &[
    0.001, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.07, 0.1, 0.12, 0.15, 0.18, 0.22, 0.27, 0.33, 0.4, 0.5,
    0.6, 0.7, 0.85, 1.0, 1.2, 1.5, 1.8, 2.2, 2.7, 3.3, 4.0, 5.0, 6.0, 7.0, 8.5, 10.0, 15.0, 20.0, 30.0, 45.0,
    60.0, 90.0, 120.0, 240.0, 600.0, 1200.0, 3600.0,
];

/// Times to a first token.
pub(super) const FIRST: Bounds = Bounds {
    few: &[0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0, 1.5, 2.5, 5.0, 10.0, 60.0],
    many: REQUEST,
    always: &[],
};

/// Whole answers.
pub(super) const WHOLE: Bounds = Bounds {
    few: &[0.1, 0.25, 0.5, 1.0, 2.0, 3.5, 6.0, 10.0, 15.0, 30.0, 60.0, 300.0],
    many: REQUEST,
    always: &[],
};

/// Longest gaps.
pub(super) const STALL: Bounds = Bounds {
    few: &[0.01, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 1.0, 2.2, 5.0, 15.0, 60.0],
    many: REQUEST,
    always: &[2.2],
};

/// Single tokens: about eleven bounds per decade from 5 to 200 ms.
pub(super) const TOKEN: Bounds = Bounds {
    few: &[0.002, 0.005, 0.01, 0.015, 0.02, 0.03, 0.045, 0.07, 0.1, 0.2, 0.5, 2.0],
    many: &[
        0.001, 0.002, 0.003, 0.004, 0.005, 0.006, 0.0075, 0.009, 0.011, 0.0135, 0.0165, 0.02, 0.025, 0.03,
        0.037, 0.045, 0.055, 0.067, 0.08, 0.1, 0.12, 0.15, 0.2, 0.3, 0.5, 1.0, 2.0, 5.0, 10.0, 60.0, 600.0,
        3600.0,
    ],
    always: &[],
};

/// Names, handshakes and headers; some servers hold their headers back until the first token.
pub(super) const CONNECTION: Bounds = Bounds {
    few: &[0.001, 0.005, 0.02, 0.1, 0.5, 2.0],
    many: &[
        0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0, 2.0,
        5.0, 10.0, 30.0, 120.0, 3600.0,
    ],
    always: &[],
};

/// Where servers say their time went.
pub(super) const SERVER: Bounds =
    Bounds { few: &[0.02, 0.1, 0.35, 1.0, 2.5, 10.0], many: REQUEST, always: &[] };

/// Tokens per second.
pub(super) const SPEED: Bounds = Bounds {
    few: &[5.0, 10.0, 20.0, 30.0, 50.0, 75.0, 100.0, 150.0, 300.0],
    many: &[
        1.0, 2.0, 5.0, 7.5, 10.0, 13.0, 16.0, 20.0, 25.0, 30.0, 37.0, 45.0, 55.0, 67.0, 80.0, 100.0, 120.0,
        150.0, 200.0, 300.0, 500.0, 1000.0, 2000.0, 5000.0,
    ],
    always: &[],
};

/// The daemon's own lateness: two histograms in all, so there is one set.
pub(super) const LAG: Bounds = Bounds {
    few: &[0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0],
    many: &[0.0005, 0.001, 0.002, 0.003, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 60.0],
    always: &[],
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_bounds_stay_few_and_keep_what_was_asked_for() {
        let own: Vec<f64> = (1..=13).map(f64::from).collect();
        let asked = [2.1, 5.5, 7.0, 7.2];
        let bounds = few(&own, &asked);
        assert_eq!(bounds.len(), MOST_FEW);
        assert!(asked.iter().all(|bound| bounds.contains(bound)), "{bounds:?}");
        assert!(!bounds.contains(&2.0), "the nearest goes first: {bounds:?}");
        assert_eq!(few(&own, &(1..40).map(|n| f64::from(n) / 7.0).collect::<Vec<_>>()).len(), MOST_FEW);
    }

    #[test]
    fn what_a_rule_asks_for_stays_whatever_objectives_ask_for() {
        let asked: Vec<f64> = (1..20).map(|n| 2.0 + f64::from(n) / 100.0).collect();
        for buckets in [Buckets::Few, Buckets::Many] {
            assert!(STALL.with(buckets, asked.iter().copied()).contains(&2.2));
        }
    }

    #[test]
    fn a_bound_that_was_asked_for_twice_or_is_there_anyway_stands_once() {
        assert_eq!(
            Bounds { few: &[1.0, 2.0], many: &[], always: &[] }.with(Buckets::Few, [2.0, 1.5, 1.5]),
            [1.0, 1.5, 2.0]
        );
    }
}
