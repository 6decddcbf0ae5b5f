//! What is usual: learned from the release before, and then left alone.

use super::day::{DAY, Day, least_squares, median};
use super::evidence;
use super::outcome::Quantile;
use super::sorted::Sorted;
use super::wander::Wander;

/// Of a standard deviation: beyond this, how far a value lies out says no more about the middle.
const CLAMP: f64 = 1.5;

/// The standard deviation of a normal distribution in mean absolute deviations from the median.
const MAD: f64 = 1.4826;

/// How fast a service may change over the day, by hour, and how much in all, in logarithms: what is allowed for as
/// long as the shape of the day is not known. A wave of 30 % up and down is 8 % an hour where it is steepest; the
/// rest is for what wanders within the hour, of which a short baseline has not seen enough.
const LEAST_DRIFT: f64 = 0.08;
const DRIFT_PER_HOUR: f64 = 0.08;
const MOST_DRIFT: f64 = 0.6;

/// While the shape of the day is not known, what is nearest in time misleads least: what is usual is learned from the
/// last hour, and how it wanders from the last hours.
const HOUR: f64 = 3600.0;
const WIDE: f64 = 6.0 * HOUR;

/// One way to look at a distribution.
#[derive(Debug, Clone)]
pub(super) struct Lens {
    pub(super) kind: Kind,
    /// Values are looked at from here, in logarithms.
    pub(super) centre: f64,
    /// The mean and the variance of what is seen through it before.
    pub(super) usual: f64,
    pub(super) variance: f64,
    wander: Wander,
    /// The variance of `usual`, as it was learned, and what an error of the day's curve at one hour adds to it.
    doubt: f64,
    curve: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Kind {
    /// How far from the centre, but at most this far.
    Middle { clamp: f64 },
    /// Whether beyond the centre.
    Beyond,
}

/// What is usual for one metric of one workload. Values are logarithms.
#[derive(Debug, Clone)]
pub(super) struct Baseline {
    pub(super) day: Day,
    /// The middle first; a quantile that too few values speak of has none.
    pub(super) lenses: Vec<(Quantile, Lens)>,
    /// What the values deviate from the day by.
    pub(super) values: Sorted,
    /// The time of the newest value, and how long the stretch of values is.
    last: f64,
    span: f64,
}

/// Each with how many values there must be before one speaks of it.
const LENSES: [(Quantile, f64, usize); 4] = [
    (Quantile::Middle, 0.5, FEWEST),
    (Quantile::P50, 0.5, FEWEST),
    (Quantile::P90, 0.9, 100),
    (Quantile::P99, 0.99, 500),
];

/// What fewer values than this say is no baseline.
pub(super) const FEWEST: usize = 30;

impl Baseline {
    /// `at` rises; there are at least [`FEWEST`] values.
    pub(super) fn learn(at: &[f64], values: &[f64]) -> Self {
        let day = Day::learn(at, values);
        let rest: Vec<f64> = at.iter().zip(values).map(|(at, value)| value - day.expected(*at)).collect();
        let from = if day.is_known() { 0 } else { since(at, HOUR) };
        let wide = if day.is_known() { 0 } else { since(at, WIDE) };
        // What rises or falls slowly is allowed for as drift; it is not wandering, too.
        let level = if day.is_known() { rest.clone() } else { without_trend(&at[wide..], &rest[wide..]) };
        let values = Sorted::new(rest[from..].to_vec());
        let sorted = values.values();
        let centre = quantile(sorted, 0.5);
        let away: Vec<f64> = sorted.iter().map(|value| (value - centre).abs()).collect();
        // A clock has a resolution: values that are all alike have some width all the same.
        let clamp = (CLAMP * MAD * median(&away)).max(1e-3);
        let span = at[at.len() - 1] - at[from];
        let seen = Seen {
            at: &at[wide..],
            level: &level,
            recent: &rest[from..],
            span,
            parameters: day.parameters(),
        };
        let enough = LENSES.iter().filter(|(_, _, fewest)| sorted.len() >= *fewest);
        let lenses = enough.map(|(name, q, _)| {
            let kind = if *name == Quantile::Middle { Kind::Middle { clamp } } else { Kind::Beyond };
            (*name, Lens::learn(kind, quantile(sorted, *q), &seen))
        });
        let mut lenses: Vec<(Quantile, Lens)> = lenses.collect();
        add_the_doubt_of_the_day(&mut lenses, &values, &day, clamp / CLAMP);
        Self { lenses, values, day, last: at[at.len() - 1], span }
    }

    /// How much of a difference may be the hour of the day, over so long a stretch after the change, that began at
    /// `start`: nothing once the shape of the day is known.
    pub(super) fn drift(&self, start: f64, length: f64) -> f64 {
        if self.day.is_known() {
            return 0.0;
        }
        let apart = (start - self.last).max(0.0) + f64::midpoint(self.span, length);
        (LEAST_DRIFT + DRIFT_PER_HOUR * apart / HOUR).min(MOST_DRIFT)
    }
}

/// The curve of the day is known less well than its level, by as many times as it has numbers more; an error of the
/// curve shows in a lens by as much as what it sees changes with a shift. The first lens is the middle.
fn add_the_doubt_of_the_day(lenses: &mut [(Quantile, Lens)], values: &Sorted, day: &Day, deviation: f64) {
    let slope = |lens: &Lens| {
        (values.mean(lens, -deviation / 4.0) - values.mean(lens, deviation / 4.0)) * 2.0 / deviation
    };
    let Some((_, middle)) = lenses.first() else { return };
    // The curve is fitted to medians, which are less exact than the middle by this.
    let curve = (day.parameters() - 1) as f64 * std::f64::consts::FRAC_PI_2;
    let shift = curve * middle.doubt / slope(middle).powi(2).max(1e-6);
    for (_, lens) in lenses {
        lens.curve = shift * slope(lens).powi(2);
    }
}

/// What a lens learns from.
#[derive(Debug)]
struct Seen<'a> {
    /// What shows how the service wanders, and when it was.
    at: &'a [f64],
    level: &'a [f64],
    /// What shows what is usual, and over how long.
    recent: &'a [f64],
    span: f64,
    /// How many numbers were fitted.
    parameters: usize,
}

/// Where the last so many seconds begin, or the last sixty values if that is earlier.
fn since(at: &[f64], seconds: f64) -> usize {
    let start = at[at.len() - 1] - seconds;
    at.partition_point(|at| *at < start).min(at.len().saturating_sub(60))
}

/// What is left of the values when a parabola through them is taken off and their mean put back.
fn without_trend(at: &[f64], values: &[f64]) -> Vec<f64> {
    let (start, span) = (at[0], (at[at.len() - 1] - at[0]).max(1.0));
    let rows = || at.iter().map(|at| (at - start) / span).map(|x| [1.0, x, x * x]);
    let Some(trend) = least_squares(rows().map(|row| row.to_vec()).zip(values.iter().copied())) else {
        return values.to_vec();
    };
    let expected: Vec<f64> =
        rows().map(|row| row.iter().zip(&trend).map(|(one, factor)| one * factor).sum()).collect();
    let mean = expected.iter().sum::<f64>() / expected.len() as f64;
    values.iter().zip(&expected).map(|(value, expected)| value - expected + mean).collect()
}

impl Lens {
    fn learn(kind: Kind, centre: f64, from: &Seen<'_>) -> Self {
        let mut lens = Self {
            kind,
            centre,
            usual: 0.0,
            variance: 0.0,
            wander: Wander::learn(&[], &[], 0),
            doubt: 0.0,
            curve: 0.0,
        };
        let count = from.recent.len() as f64;
        let scores: Vec<f64> = from.recent.iter().map(|value| lens.sees(*value, 0.0)).collect();
        lens.usual = scores.iter().sum::<f64>() / count;
        lens.variance = scores.iter().map(|score| (score - lens.usual).powi(2)).sum::<f64>() / count;
        lens.variance = lens.variance.max(1e-12);
        if kind == Kind::Beyond {
            // Where equal values stand at the quantile none may lie beyond it; that none was seen is not that none comes.
            lens.usual = lens.usual.clamp(1.0 / (count + 2.0), 1.0 - 1.0 / (count + 2.0));
        }
        let mut level: Vec<f64> = from.level.iter().map(|value| lens.sees(*value, 0.0)).collect();
        let mean = level.iter().sum::<f64>() / level.len() as f64;
        for score in &mut level {
            *score -= mean;
        }
        lens.wander = Wander::learn(from.at, &level, from.parameters);
        lens.doubt = lens.wander.at(from.span) / count;
        lens
    }

    /// What a value is worth if all values moved by `shift`.
    pub(super) fn sees(&self, value: f64, shift: f64) -> f64 {
        let apart = value - self.centre - shift;
        match self.kind {
            Kind::Middle { clamp } => apart.clamp(-clamp, clamp),
            Kind::Beyond => f64::from(u8::from(apart > 0.0)),
        }
    }

    /// The evidence that the values moved by more than was allowed for when they were seen with this mean: `count`
    /// values in `length` seconds.
    pub(super) fn higher(&self, mean: f64, count: f64, length: f64) -> f64 {
        let worth = self.worth(count, length);
        match self.kind {
            Kind::Middle { .. } => evidence::above((mean - self.usual) / self.variance.sqrt(), worth),
            Kind::Beyond => evidence::more(mean, self.usual, worth),
        }
    }

    /// The evidence that they moved by less.
    pub(super) fn lower(&self, mean: f64, count: f64, length: f64) -> f64 {
        let worth = self.worth(count, length);
        match self.kind {
            Kind::Middle { .. } => evidence::above((self.usual - mean) / self.variance.sqrt(), worth),
            Kind::Beyond => evidence::fewer(mean, self.usual, worth),
        }
    }

    /// How many independent values so many within such a time are worth, given how the service wanders and how well
    /// the baseline is known.
    fn worth(&self, count: f64, length: f64) -> f64 {
        // Over whole days the errors of the curve's waves cancel out, of the longest one last.
        let left = (DAY / (std::f64::consts::PI * length.max(1.0))).powi(2).min(1.0);
        let variance = self.wander.at(length) / count + self.doubt + self.curve * left;
        (self.variance / variance).min(count)
    }
}

/// Of sorted values; the one at or above which `1 - q` of them lie.
pub(super) fn quantile(sorted: &[f64], q: f64) -> f64 {
    let rank = (q * sorted.len() as f64).ceil() as usize;
    sorted[rank.clamp(1, sorted.len()) - 1]
}
