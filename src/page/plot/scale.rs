//! From values to places in a picture.

/// How values are spread along an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spread {
    Linear,
    /// Equal ratios are equally far apart.
    Log,
    /// For probabilities: both tails get room.
    Logit,
}

/// One axis: the values from `low` to `high` lie between the places `start` and `end`.
#[derive(Debug, Clone, Copy)]
pub struct Scale {
    spread: Spread,
    pub low: f64,
    pub high: f64,
    pub start: f64,
    pub end: f64,
}

impl Scale {
    /// An empty or impossible range is widened to one that can be drawn.
    pub fn new(spread: Spread, (low, high): (f64, f64), (start, end): (f64, f64)) -> Self {
        let (low, high) = match spread {
            Spread::Linear if high > low => (low, high),
            Spread::Linear => (low - 0.5, low + 0.5),
            Spread::Log => {
                let low = low.max(f64::MIN_POSITIVE);
                if high > low * 1.0001 { (low, high) } else { (low / 1.1, low * 1.1) }
            }
            Spread::Logit => (low.max(1e-6), high.min(1.0 - 1e-6)),
        };
        Self { spread, low, high, start, end }
    }

    /// The place of a value; what lies outside the range is moved to its edge.
    pub fn place(&self, value: f64) -> f64 {
        let [low, high, value] =
            [self.low, self.high, value.clamp(self.low, self.high)].map(|v| self.bend(v));
        self.start + (value - low) / (high - low) * (self.end - self.start)
    }

    fn bend(&self, value: f64) -> f64 {
        match self.spread {
            Spread::Linear => value,
            Spread::Log => value.ln(),
            Spread::Logit => (value / (1.0 - value)).ln(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_spread_keeps_its_own_distances() {
        let of = |spread, range| Scale::new(spread, range, (100.0, 0.0));
        let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{a} is not {b}");
        near(of(Spread::Linear, (0.0, 10.0)).place(2.5), 75.0);
        near(of(Spread::Log, (0.01, 1.0)).place(0.1), 50.0);
        near(of(Spread::Logit, (0.01, 0.99)).place(0.5), 50.0);
        let logit = of(Spread::Logit, (0.01, 0.999));
        near(logit.place(0.9) - logit.place(0.5), logit.place(0.5) - logit.place(0.1));
    }

    #[test]
    fn what_lies_outside_is_drawn_at_the_edge() {
        let scale = Scale::new(Spread::Log, (0.1, 1.0), (0.0, 100.0));
        assert_eq!([0.0, 5.0, f64::INFINITY].map(|v| scale.place(v).round() as i32), [0, 100, 100]);
    }

    #[test]
    fn ranges_without_width_can_be_drawn() {
        for spread in [Spread::Linear, Spread::Log] {
            let place = Scale::new(spread, (0.3, 0.3), (0.0, 100.0)).place(0.3);
            assert!((49.0..51.0).contains(&place), "{spread:?} {place}");
        }
        assert!(Scale::new(Spread::Log, (0.0, 0.0), (0.0, 1.0)).place(0.0).is_finite());
    }
}
