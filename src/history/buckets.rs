//! How often each duration came, in buckets of 0.1 %: an HDR histogram of microseconds with three digits.
//!
//! Many thousands of these are added up for one question, so they are small, and what is stored is added bucket by
//! bucket as it is read. The libraries of HdrHistogram read the stored form, too: it is their format V2.

/// Shorter durations have a bucket each; above, each power of two has half as many buckets.
const FINE: u64 = 2048;
const HALF: usize = 1024;

/// Fifty days: nothing takes longer, and a wild number must not take the memory of its buckets.
const MOST: u64 = 1 << 42;

const DIGITS: u32 = 3;
const COOKIE: u32 = 0x1c84_9313;
const HEAD_BYTES: usize = 40;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Buckets {
    /// By the number of the bucket, up to the last that is not empty.
    counts: Vec<u64>,
}

impl Buckets {
    pub(super) fn record(&mut self, micros: u64, count: u64) {
        if count > 0 {
            self.add(number(micros), count);
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        for (bucket, count) in other.counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            self.add(bucket, *count);
        }
    }

    /// The middle of the bucket in which the one lies that so many do not exceed, by nearest rank.
    pub(super) fn quantile(&self, share: f64) -> Option<u64> {
        let total: u64 = self.counts.iter().sum();
        let rank = ((total as f64 * share).ceil() as u64).clamp(1, total.max(1));
        let mut passed = 0;
        let found = self.counts.iter().position(|count| {
            passed += count;
            passed >= rank
        })?;
        let (lowest, width) = bounds(found);
        Some(lowest + width / 2)
    }

    /// How many were longer; what shares the bucket of the bound was not.
    pub(super) fn above(&self, micros: u64) -> u64 {
        self.counts.iter().skip(number(micros) + 1).sum()
    }

    /// The format V2 of the HdrHistogram libraries.
    pub(super) fn pack(&self) -> Vec<u8> {
        let highest = self.counts.len().checked_sub(1).map_or(FINE, |last| {
            let (lowest, width) = bounds(last);
            (lowest + width - 1).max(FINE)
        });
        let mut payload = Vec::new();
        let mut zeros = 0_i64;
        for count in &self.counts {
            if *count == 0 {
                zeros += 1;
                continue;
            }
            if zeros > 0 {
                // One empty bucket is a count of nothing; more are a negative number of them.
                write(&mut payload, if zeros == 1 { 0 } else { -zeros });
                zeros = 0;
            }
            write(&mut payload, i64::try_from(*count).unwrap_or(i64::MAX));
        }
        let mut bytes = Vec::with_capacity(HEAD_BYTES + payload.len());
        for part in [COOKIE, payload.len() as u32, 0, DIGITS] {
            bytes.extend(part.to_be_bytes());
        }
        for part in [1, highest, 1_f64.to_bits()] {
            bytes.extend(part.to_be_bytes());
        }
        bytes.extend(payload);
        bytes
    }

    /// Adds what was packed; none if that is something else.
    pub(super) fn add_packed(&mut self, bytes: &[u8]) -> Option<()> {
        let (head, mut payload) = bytes.split_at_checked(HEAD_BYTES)?;
        let word = |at: usize| Some(u32::from_be_bytes(head.get(at..at + 4)?.try_into().ok()?));
        let lowest = u64::from_be_bytes(head.get(16..24)?.try_into().ok()?);
        if word(0)? != COOKIE || word(4)? as usize != payload.len() || word(12)? != DIGITS || lowest != 1 {
            return None;
        }
        let mut bucket = 0_usize;
        while !payload.is_empty() {
            let number = read(&mut payload)?;
            if number < 0 {
                bucket = bucket.checked_add(usize::try_from(number.unsigned_abs()).ok()?)?;
                continue;
            }
            if bucket > self::number(MOST) {
                return None;
            }
            if number > 0 {
                self.add(bucket, number.unsigned_abs());
            }
            bucket += 1;
        }
        Some(())
    }

    fn add(&mut self, bucket: usize, count: u64) {
        if bucket >= self.counts.len() {
            self.counts.resize(bucket + 1, 0);
        }
        self.counts[bucket] = self.counts[bucket].saturating_add(count);
    }
}

/// The number of the bucket of a duration.
fn number(micros: u64) -> usize {
    let micros = micros.min(MOST);
    let shift = (micros | (FINE - 1)).ilog2() - (FINE - 1).ilog2();
    shift as usize * HALF + (micros >> shift) as usize
}

/// The shortest duration of a bucket, and how many microseconds it spans.
fn bounds(bucket: usize) -> (u64, u64) {
    let shift = (bucket / HALF).saturating_sub(1);
    (((bucket - shift * HALF) as u64) << shift, 1 << shift)
}

/// Seven bits a byte, the lowest first; the sign is the lowest bit.
fn write(bytes: &mut Vec<u8>, number: i64) {
    let mut rest = ((number << 1) ^ (number >> 63)).cast_unsigned();
    for _ in 0..8 {
        if rest < 0x80 {
            break;
        }
        bytes.push(rest as u8 | 0x80);
        rest >>= 7;
    }
    bytes.push(rest as u8);
}

fn read(bytes: &mut &[u8]) -> Option<i64> {
    let mut number = 0_u64;
    for place in 0..9 {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        // The ninth byte has eight bits.
        let is_last = place == 8 || *byte < 0x80;
        number |= u64::from(if is_last { *byte } else { *byte & 0x7f }) << (7 * place);
        if is_last {
            break;
        }
    }
    Some((number >> 1).cast_signed() ^ -(number & 1).cast_signed())
}

#[cfg(test)]
mod tests {
    use hdrhistogram::Histogram;
    use hdrhistogram::serialization::{Deserializer, Serializer as _, V2Serializer};
    use oorandom::Rand64;

    use super::*;

    fn some(seed: u128) -> (Buckets, Vec<u64>) {
        let mut random = Rand64::new(seed);
        let values: Vec<u64> = (0..3000).map(|_| 10_f64.powf(random.rand_float() * 9.0) as u64).collect();
        let mut buckets = Buckets::default();
        for value in &values {
            buckets.record(*value, 1);
        }
        (buckets, values)
    }

    #[test]
    fn a_bucket_holds_its_bounds_and_is_a_thousandth_wide() {
        for value in [0, 1, 2047, 2048, 2049, 4095, 4096, 1_000_000, 123_456_789, MOST - 1] {
            let (lowest, width) = bounds(number(value));
            assert!((lowest..lowest + width).contains(&value), "{value}: {lowest} {width}");
            assert!(width as f64 <= 1.0_f64.max(lowest as f64 / 1000.0), "{value}: {width}");
            assert_eq!(number(lowest + width), number(value) + 1);
        }
        assert_eq!(number(u64::MAX), number(MOST));
    }

    #[test]
    fn quantiles_are_those_of_the_values_within_a_thousandth() {
        let (buckets, mut values) = some(1);
        values.sort_unstable();
        for (share, rank) in [(0.0, 1), (0.5, 1500), (0.99, 2970), (1.0, 3000)] {
            let (found, exact) = (buckets.quantile(share).unwrap() as f64, values[rank - 1] as f64);
            assert!((found - exact).abs() <= exact / 1000.0, "{share}: {found} {exact}");
        }
        assert_eq!(Buckets::default().quantile(0.5), None);
        let bound = 50_000;
        let (above, exact) = (buckets.above(bound), values.iter().filter(|value| **value > bound).count());
        assert!(above.abs_diff(exact as u64) <= 2, "{above} {exact}");
        assert_eq!(buckets.above(u64::MAX), 0);
    }

    #[test]
    fn what_is_packed_is_read_by_the_library_and_the_other_way_round() {
        let (mut buckets, values) = some(2);
        buckets.record(7_000_000_000, 1 << 40);
        let read: Histogram<u64> = Deserializer::new().deserialize(&mut buckets.pack().as_slice()).unwrap();
        let mut theirs = Histogram::<u64>::new_with_bounds(1, 10_000_000_000, 3).unwrap();
        for value in values {
            theirs.record(value).unwrap();
        }
        theirs.record_n(7_000_000_000, 1 << 40).unwrap();
        assert!(read.iter_recorded().eq(theirs.iter_recorded()));
        let mut bytes = Vec::new();
        V2Serializer::new().serialize(&theirs, &mut bytes).unwrap();
        let mut back = Buckets::default();
        assert_eq!((back.add_packed(&bytes), &back), (Some(()), &buckets));
        let empty = Buckets::default().pack();
        assert!(Deserializer::new().deserialize::<u64, _>(&mut empty.as_slice()).unwrap().is_empty());
    }

    #[test]
    fn adding_what_was_packed_is_merging_and_nonsense_is_refused() {
        let ((first, _), (second, _)) = (some(3), some(4));
        let (mut merged, mut added) = (first.clone(), first.clone());
        merged.merge(&second);
        added.add_packed(&second.pack()).unwrap();
        assert!(merged == added && merged != first);
        let good = second.pack();
        let mut longer = good.clone();
        longer.push(3);
        for bad in [&good[..30], &good[..good.len() - 1], &longer, b"nonsense", b""] {
            assert_eq!(Buckets::default().add_packed(bad), None, "{bad:?}");
        }
        let mut far = Buckets::default().pack();
        write(&mut far, -1_000_000);
        write(&mut far, 1);
        let length = (far.len() - HEAD_BYTES) as u32;
        far[4..8].copy_from_slice(&length.to_be_bytes());
        assert_eq!(Buckets::default().add_packed(&far), None);
    }
}
