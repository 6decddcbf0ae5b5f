//! All that is needed to make a prompt again.

use std::fmt;
use std::num::ParseIntError;
use std::str::FromStr;

/// Written as `9f3c0a55d0e7b2f1-17-1523`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Seed {
    /// What is drawn, is drawn from this.
    pub random: u64,
    /// How many prompts of the workload came before: lengths and depths are walked by it.
    pub step: u32,
    /// How long the text is, by the writer's own count; it follows from what the server has reported.
    pub size: u32,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a seed; one looks like 9f3c0a55d0e7b2f1-17-1523")]
pub struct NotASeed;

impl fmt::Display for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}-{}-{}", self.random, self.step, self.size)
    }
}

impl FromStr for Seed {
    type Err = NotASeed;

    fn from_str(text: &str) -> Result<Self, NotASeed> {
        let mut parts = text.trim().split('-');
        let (Some(random), Some(step), Some(size), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(NotASeed);
        };
        let random = u64::from_str_radix(random, 16)?;
        Ok(Self { random, step: step.parse()?, size: size.parse()? })
    }
}

impl From<ParseIntError> for NotASeed {
    fn from(_: ParseIntError) -> Self {
        Self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_is_read_as_it_is_written() {
        let seed = Seed { random: 0x9f3c, step: 17, size: 1523 };
        assert_eq!(seed.to_string(), "0000000000009f3c-17-1523");
        assert_eq!(seed.to_string().parse(), Ok(seed));
        for wrong in ["", "9f3c", "9f3c-1", "9f3c-1-2-3", "xyz-1-2", "9f3c-1--2"] {
            assert_eq!(wrong.parse::<Seed>(), Err(NotASeed), "{wrong}");
        }
    }
}
