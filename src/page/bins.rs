//! Probes of one side, gathered by time: a page stays small however many there are.

use crate::domain::Kept;

/// So many on each side at most; fewer if they would be nearly empty.
const MOST: usize = 64;
const FILLED: usize = 25;
/// So many values have a tail that can be told; so many bins are enough to see when something happened.
const TAILED: usize = 120;
const ENOUGH: usize = 24;

/// A stretch of time with what was measured in it.
#[derive(Debug, Clone, PartialEq)]
pub struct Bin {
    pub from: f64,
    pub to: f64,
    /// In order of size.
    pub values: Vec<f64>,
}

impl Bin {
    pub fn middle(&self) -> f64 {
        f64::midpoint(self.from, self.to)
    }

    pub fn mean(&self) -> f64 {
        self.values.iter().sum::<f64>() / self.values.len() as f64
    }
}

/// Bins of equal length; probes of which there is no value do not count.
pub fn gather(probes: &[&Kept], value: impl Fn(&Kept) -> Option<f64>) -> Vec<Bin> {
    let found: Vec<(f64, f64)> = probes.iter().filter_map(|kept| Some((kept.at, value(kept)?))).collect();
    let Some(first) = found.iter().map(|(at, _)| *at).reduce(f64::min) else { return Vec::new() };
    let last = found.iter().map(|(at, _)| *at).fold(first, f64::max);
    let full = found.len() / TAILED;
    let count = if full >= ENOUGH { full } else { found.len() / FILLED }.clamp(1, MOST);
    let long = ((last - first) / count as f64).max(1e-3);
    let mut bins: Vec<Bin> = (0..count)
        .map(|i| first + long * i as f64)
        .map(|from| Bin { from, to: from + long, values: Vec::new() })
        .collect();
    for (at, value) in found {
        bins[(((at - first) / long) as usize).min(count - 1)].values.push(value);
    }
    for bin in &mut bins {
        bin.values.sort_by(f64::total_cmp);
    }
    bins
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ReleaseId;

    fn kept(at: f64) -> Kept {
        Kept {
            at,
            target: "t".into(),
            workload: "w".into(),
            release: ReleaseId(1),
            mixed: false,
            suspect: false,
            failure: None,
            verdict: None,
            ttft: Some(at),
            answer_ttft: None,
            tpot: None,
            itl_p99: None,
            stall: None,
            latency: None,
        }
    }

    #[test]
    fn no_probe_is_lost_and_bins_stay_few() {
        for count in [1_u32, 30, 999, 20_000] {
            let probes: Vec<Kept> = (0..count).map(|i| kept(f64::from(i))).collect();
            let bins = gather(&probes.iter().collect::<Vec<_>>(), |kept| kept.ttft);
            assert!((1..=MOST).contains(&bins.len()));
            assert_eq!(bins.iter().map(|bin| bin.values.len()).sum::<usize>(), count as usize);
            for bin in bins {
                assert!(
                    bin.values.iter().all(|at| (bin.from - 1e-6..=bin.to + 1e-6).contains(at)),
                    "{bin:?}"
                );
            }
        }
        assert_eq!(gather(&[&kept(1.0)], |kept| kept.tpot), []);
    }
}
