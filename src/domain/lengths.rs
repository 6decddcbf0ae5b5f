//! A length in tokens, or several that are walked in turn.

/// Never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lengths(Vec<u32>);

/// A range is walked in so many equal steps.
const STEPS: u32 = 8;

impl Lengths {
    pub fn one(length: u32) -> Self {
        Self(vec![length])
    }

    /// `None` for an empty list.
    pub fn list(lengths: Vec<u32>) -> Option<Self> {
        (!lengths.is_empty()).then_some(Self(lengths))
    }

    /// Both ends and what lies evenly between them. `None` if the range is empty.
    pub fn range(from: u32, to: u32) -> Option<Self> {
        let width = to.checked_sub(from)?;
        let steps = STEPS.min(width);
        let at = |step: u32| from + (u64::from(width) * u64::from(step) / u64::from(steps.max(1))) as u32;
        Some(Self((0..=steps).map(at).collect()))
    }

    pub fn iter(&self) -> impl Iterator<Item = u32> {
        self.0.iter().copied()
    }

    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// Whose turn it is.
    pub fn at(&self, step: usize) -> u32 {
        self.0[step % self.0.len()]
    }

    pub fn longest(&self) -> u32 {
        self.iter().max().unwrap_or_default()
    }

    pub fn mean(&self) -> f64 {
        self.iter().map(f64::from).sum::<f64>() / self.0.len() as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_ranges_are_walked_evenly() {
        let grid = Lengths::list(vec![100, 500, 1000]).unwrap();
        assert_eq!((0..4).map(|step| grid.at(step)).collect::<Vec<_>>(), [100, 500, 1000, 100]);
        assert_eq!((grid.longest(), grid.count()), (1000, 3));
        let range = Lengths::range(100, 4100).unwrap();
        assert_eq!(range.iter().collect::<Vec<_>>(), [100, 600, 1100, 1600, 2100, 2600, 3100, 3600, 4100]);
        assert!((range.mean() - 2100.0).abs() < 1e-9);
        assert_eq!(Lengths::range(7, 7).unwrap().iter().collect::<Vec<_>>(), [7]);
        assert_eq!(Lengths::range(7, 9).unwrap().iter().collect::<Vec<_>>(), [7, 8, 9]);
        assert_eq!((Lengths::range(2, 1), Lengths::list(vec![])), (None, None));
    }
}
