//! The shape of a day: how a service is usually a little slower at three in the afternoon than at three at night.
//!
//! Fitted by least squares to the medians of short blocks, as a level and a few waves of 24 hours, 12 hours and so on.
//! Medians, because one stall of a minute must not bend the day.

use super::block::Blocks;

pub(super) const DAY: f64 = 86_400.0;

/// One median for each of these stretches is what the curve is fitted to.
const BLOCK: f64 = 600.0;

/// A curve is only as good as its emptiest hour: each of these parts of the day must have been seen on two days.
const PARTS: usize = 12;

/// Most waves in a day.
const MAX_WAVES: usize = 4;

/// A level with waves on it, in the unit of the values.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Day {
    level: f64,
    /// Amplitudes of cosine and sine, longest wave first.
    waves: Vec<[f64; 2]>,
}

impl Day {
    /// What two days or more tell; of less, the level alone.
    pub(super) fn learn(at: &[f64], values: &[f64]) -> Self {
        let blocks = Blocks::medians(at, values, BLOCK);
        let flat = Self { level: median(&blocks.value), waves: Vec::new() };
        let fits = (1..=most_waves(&blocks.at)).filter_map(|waves| fit(&blocks, waves));
        fits.min_by(|a, b| a.cost(&blocks).total_cmp(&b.cost(&blocks))).unwrap_or(flat)
    }

    /// Whether the hour of the day is accounted for.
    pub(super) fn is_known(&self) -> bool {
        !self.waves.is_empty()
    }

    /// How many numbers were fitted.
    pub(super) fn parameters(&self) -> usize {
        1 + 2 * self.waves.len()
    }

    /// What is left over, with a fine for each number that was fitted (Schwarz's criterion): a wave more must be worth it.
    fn cost(&self, blocks: &Blocks) -> f64 {
        let count = blocks.at.len() as f64;
        let left =
            blocks.at.iter().zip(&blocks.value).map(|(at, value)| (value - self.expected(*at)).powi(2));
        count * (left.sum::<f64>() / count).max(1e-18).ln() + self.parameters() as f64 * count.ln()
    }

    pub(super) fn expected(&self, at: f64) -> f64 {
        let terms = self.waves.iter().zip(angles(at)).map(|([cos, sin], (c, s))| cos * c + sin * s);
        self.level + terms.sum::<f64>()
    }
}

/// The cosine and the sine of each wave at a time, by the recurrence of multiple angles.
fn angles(at: f64) -> impl Iterator<Item = (f64, f64)> {
    let (s, c) = (std::f64::consts::TAU * (at / DAY).fract()).sin_cos();
    std::iter::successors(Some((c, s)), move |(cn, sn)| Some((cn * c - sn * s, sn * c + cn * s)))
}

/// As many waves as the days support at most: each is two more numbers to be learned.
fn most_waves(at: &[f64]) -> usize {
    let mut seen: Vec<Vec<i64>> = vec![Vec::new(); PARTS];
    for at in at {
        let (day, part) = ((at / DAY).floor() as i64, ((at / DAY).rem_euclid(1.0) * PARTS as f64) as usize);
        let days = &mut seen[part.min(PARTS - 1)];
        if days.last() != Some(&day) {
            days.push(day);
        }
    }
    match seen.iter().map(Vec::len).min().unwrap_or(0) {
        0 | 1 => 0,
        2..=4 => 2,
        _ => MAX_WAVES,
    }
}

fn fit(blocks: &Blocks, waves: usize) -> Option<Day> {
    let rows = blocks.at.iter().map(|at| {
        let waves = angles(*at).take(waves).flat_map(|(c, s)| [c, s]);
        std::iter::once(1.0).chain(waves).collect()
    });
    let solution = least_squares(rows.zip(blocks.value.iter().copied()))?;
    Some(Day { level: solution[0], waves: solution[1..].chunks(2).map(|pair| [pair[0], pair[1]]).collect() })
}

/// The factors by which each row comes nearest to its value, by the normal equations: there are nine unknowns at most,
/// and what they stand for is nearly orthogonal. None if the rows do not decide it.
pub(super) fn least_squares(rows: impl Iterator<Item = (Vec<f64>, f64)>) -> Option<Vec<f64>> {
    let mut matrix: Vec<Vec<f64>> = Vec::new();
    for (mut row, value) in rows {
        let size = row.len();
        row.push(value);
        matrix.resize(size, vec![0.0; size + 1]);
        for (line, factor) in matrix.iter_mut().zip(&row) {
            for (cell, other) in line.iter_mut().zip(&row) {
                *cell += factor * other;
            }
        }
    }
    solve(matrix)
}

/// Gauss with pivots; the last column is the right side. None if the equations do not decide it.
fn solve(mut matrix: Vec<Vec<f64>>) -> Option<Vec<f64>> {
    let size = matrix.len();
    for column in 0..size {
        let pivot =
            (column..size).max_by(|a, b| matrix[*a][column].abs().total_cmp(&matrix[*b][column].abs()))?;
        matrix.swap(column, pivot);
        let pivot = matrix[column].clone();
        if pivot[column].abs() < 1e-9 {
            return None;
        }
        for (_, row) in matrix.iter_mut().enumerate().filter(|(index, _)| *index != column) {
            let factor = row[column] / pivot[column];
            for (cell, own) in row.iter_mut().zip(&pivot) {
                *cell -= factor * own;
            }
        }
    }
    Some((0..size).map(|index| matrix[index][size] / matrix[index][index]).collect())
}

pub(super) fn median(values: &[f64]) -> f64 {
    let mut values = values.to_vec();
    if values.is_empty() {
        return 0.0;
    }
    let middle = values.len() / 2;
    *values.select_nth_unstable_by(middle, f64::total_cmp).1
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every ten minutes for so many days, without the hours that `skip` names.
    fn times(days: f64, skip: impl Fn(f64) -> bool) -> Vec<f64> {
        let all = (0..(days * 144.0) as usize).map(|step| step as f64 * 600.0 + 300.0);
        all.filter(|at| !skip((at / 3600.0).rem_euclid(24.0))).collect()
    }

    fn wave(at: f64) -> f64 {
        2.0 + 0.3 * (std::f64::consts::TAU * at / DAY).sin()
            + 0.1 * (2.0 * std::f64::consts::TAU * at / DAY).cos()
    }

    #[test]
    fn a_wave_is_learned_and_foretold() {
        let at = times(3.0, |_| false);
        let values: Vec<f64> = at.iter().map(|at| wave(*at)).collect();
        let day = Day::learn(&at, &values);
        assert!(day.is_known());
        for hour in 0..24 {
            let at = 10.0 * DAY + f64::from(hour) * 3600.0;
            assert!((day.expected(at) - wave(at)).abs() < 1e-6, "{hour}");
        }
    }

    #[test]
    fn no_more_waves_than_there_are() {
        let at = times(7.0, |_| false);
        let flat: Vec<f64> = (0..at.len()).map(|index| if index % 2 == 0 { 1.0 } else { -1.0 }).collect();
        assert_eq!(Day::learn(&at, &flat).parameters(), 3);
    }

    #[test]
    fn a_day_with_a_hole_or_seen_once_is_not_known() {
        for at in [times(1.5, |_| false), times(7.0, |hour| (2.0..5.0).contains(&hour)), vec![0.0]] {
            let values: Vec<f64> = at.iter().map(|at| wave(*at)).collect();
            let day = Day::learn(&at, &values);
            assert!(!day.is_known());
            assert_eq!(day.parameters(), 1);
        }
    }

    #[test]
    fn equations_that_decide_nothing_have_no_solution() {
        let rows = [(vec![1.0, 2.0], 1.0), (vec![2.0, 4.0], 3.0)];
        assert_eq!(least_squares(rows.into_iter()), None);
        let rows = [(vec![1.0, 2.0], 5.0), (vec![2.0, -1.0], 0.0)];
        let solution = least_squares(rows.into_iter()).unwrap();
        assert!((solution[0] - 1.0).abs() < 1e-9 && (solution[1] - 2.0).abs() < 1e-9, "{solution:?}");
    }
}
