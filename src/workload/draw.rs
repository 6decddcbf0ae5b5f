//! Chance that can be repeated.

use oorandom::Rand64;

#[derive(Debug)]
pub(super) struct Draw(Rand64);

impl Draw {
    pub(super) fn new(seed: u64) -> Self {
        Self(Rand64::new(u128::from(seed)))
    }

    /// A whole number of `low..high`.
    pub(super) fn number(&mut self, low: u64, high: u64) -> u64 {
        self.0.rand_range(low..high)
    }

    pub(super) fn index(&mut self, count: usize) -> usize {
        self.number(0, count as u64) as usize
    }

    pub(super) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.index(from.len())]
    }

    pub(super) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.index(last + 1));
        }
    }

    /// So many different ones, in an order of chance.
    pub(super) fn some<T: Copy>(&mut self, from: &[T], count: usize) -> Vec<T> {
        let mut all = from.to_vec();
        self.shuffle(&mut all);
        all.truncate(count);
        all
    }
}

/// A fixed, well-mixing step from one seed to the next (splitmix64's finaliser).
pub(super) fn scramble(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// FNV-1a: stable between versions, unlike the standard library's hasher.
pub(super) fn hash(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(b)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shuffle_loses_nothing_and_can_be_repeated() {
        let shuffled = |seed| Draw::new(seed).some(&[1, 2, 3, 4, 5, 6, 7, 8], 8);
        assert_eq!(shuffled(3), shuffled(3));
        assert_ne!(shuffled(3), shuffled(4));
        let mut sorted = shuffled(5);
        sorted.sort_unstable();
        assert_eq!(sorted, [1, 2, 3, 4, 5, 6, 7, 8]);
    }
}
