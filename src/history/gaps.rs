//! The gaps between the tokens of one answer: quantiles, and a small histogram.

use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Serializer as _, V2DeflateSerializer};

use super::units::micros;
use crate::domain::sample::Itl;

/// Two digits: a gap is told within one percent. The quantiles of the row are exact.
const DIGITS: u8 = 2;

/// One gap per token, with the number of tokens it stands for; half as large as what was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Gap {
    pub(super) micros: u32,
    pub(super) tokens: u32,
}

impl From<&Itl> for Gap {
    fn from(gap: &Itl) -> Self {
        Self { micros: u32::try_from(micros(gap.per_token)).unwrap_or(u32::MAX), tokens: gap.tokens }
    }
}

/// The gap that so many percent of the tokens do not exceed, by nearest rank; the gaps are sorted.
pub(super) fn quantile(sorted: &[Gap], percent: u64) -> Option<i64> {
    let total: u64 = sorted.iter().map(|gap| u64::from(gap.tokens)).sum();
    let rank = (total * percent).div_ceil(100);
    let mut passed = 0;
    let found = sorted.iter().find(|gap| {
        passed += u64::from(gap.tokens);
        passed >= rank
    });
    found.map(|gap| i64::from(gap.micros))
}

/// Makes histograms of gaps, and needs memory for that only once.
pub(super) struct Packer {
    histogram: Histogram<u64>,
    serializer: V2DeflateSerializer,
    bytes: Vec<u8>,
}

impl Packer {
    pub(super) fn new() -> Self {
        let histogram = Histogram::new_with_bounds(1, u64::from(u32::MAX), DIGITS)
            .expect("the bounds and the digits are within what the library takes");
        Self { histogram, serializer: V2DeflateSerializer::new(), bytes: Vec::new() }
    }

    /// None without gaps.
    pub(super) fn pack(&mut self, gaps: &[Gap]) -> Option<&[u8]> {
        if gaps.is_empty() {
            return None;
        }
        self.histogram.reset();
        for gap in gaps {
            self.histogram.saturating_record_n(u64::from(gap.micros), u64::from(gap.tokens));
        }
        self.bytes.clear();
        self.serializer.serialize(&self.histogram, &mut self.bytes).ok()?;
        Some(&self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use hdrhistogram::serialization::Deserializer;

    use super::*;

    fn gap(micros: u32, tokens: u32) -> Gap {
        Gap { micros, tokens }
    }

    #[test]
    fn quantiles_are_by_token_and_nearest_rank() {
        let gaps = [gap(10, 1), gap(20, 4), gap(30, 94), gap(900, 1)];
        assert_eq!([1, 5, 50, 99, 100].map(|p| quantile(&gaps, p)), [10, 20, 30, 30, 900].map(Some));
        assert_eq!(quantile(&[], 50), None);
    }

    #[test]
    fn a_histogram_is_small_and_true_within_a_percent() {
        let mut packer = Packer::new();
        assert_eq!(packer.pack(&[]), None);
        for _ in 0..2 {
            let gaps: Vec<Gap> = (0..60).map(|n| gap(20_000 + 37 * n * n % 5000, 1)).collect();
            let bytes = packer.pack(&gaps).unwrap().to_owned();
            assert!(bytes.len() < 110, "{}", bytes.len());
            let back: Histogram<u64> = Deserializer::new().deserialize(&mut bytes.as_slice()).unwrap();
            assert_eq!(back.len(), 60);
            let largest = f64::from(gaps.iter().max().unwrap().micros);
            assert!((back.max() as f64 / largest - 1.0).abs() < 0.01, "{} {largest}", back.max());
        }
        let wild = packer.pack(&[gap(0, 1), gap(u32::MAX, u32::MAX)]).unwrap();
        assert!(Deserializer::new().deserialize::<u64, _>(&mut &*wild).is_ok());
    }
}
