//! Chance that is the same in every run of the tests.

use std::f64::consts::TAU;

use oorandom::Rand64;

#[derive(Debug)]
pub struct Chance(Rand64);

impl Chance {
    pub fn new(seed: u128) -> Self {
        Self(Rand64::new(seed))
    }

    /// Between 0 and 1.
    pub fn share(&mut self) -> f64 {
        self.0.rand_float()
    }

    pub fn happens(&mut self, probability: f64) -> bool {
        self.share() < probability
    }

    /// One of 0 to below this.
    pub fn below(&mut self, end: u32) -> u32 {
        self.0.rand_range(0..u64::from(end)) as u32
    }

    /// Of the normal distribution with mean 0 and standard deviation 1, by Box and Muller.
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.share()).ln()).sqrt();
        radius * (TAU * self.share()).cos()
    }
}
