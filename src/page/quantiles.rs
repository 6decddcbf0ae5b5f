//! How far each quantile moved: what a shift of the middle hides is seen here.

use crate::compare::{Change, Quantile, Shift};

use super::plot::scale::{Scale, Spread};
use super::plot::{Drawing, Frame, Mark, block, path, ticks};
use super::words;

/// From the first percentile to this.
const RANGE: (f64, f64) = (0.01, 0.999);
const POINTS: usize = 60;
/// A band that holds each quantile for itself with 95 %.
const Z: f64 = 1.96;
/// Left of the quantiles, room for the middle.
const ROOM: f64 = 62.0;

/// One quantile: which, and the ratio of after to before with its band.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Point {
    part: f64,
    ratio: f64,
    lower: f64,
    upper: f64,
}

/// The picture, if both sides have enough to draw at least the middle.
pub fn draw(change: &Change, sorted: &[Vec<f64>; 2], margin: f64) -> Option<String> {
    let points = points(sorted);
    let drawable = |shift: &&Shift| shift.estimate.is_finite() && !(shift.lower + shift.upper).is_nan();
    let shifts: Vec<Shift> = change.shifts.iter().filter(drawable).copied().collect();
    if points.is_empty() && shifts.is_empty() {
        return None;
    }
    let frame = Frame::HALF;
    let (left, right) = frame.across();
    let x = Scale::new(Spread::Logit, RANGE, (left + ROOM, right));
    let y = Scale::new(Spread::Log, range(&points, &shifts, margin), frame.upward());

    let told: Vec<String> = shifts
        .iter()
        .map(|shift| format!("{} {}", words::quantile(shift.quantile), words::shift(shift)))
        .collect();
    let label = format!("Change of each quantile of {}: {}", change.metric.label(), told.join(", "));
    let mut drawing = Drawing::new(frame, &label);
    drawing.told(
        "margin",
        &block((left, right), (y.place(1.0 - margin), y.place(1.0 + margin))),
        &format!("within ±{} counts as the same", words::percent(margin)),
    );
    drawing.y_axis(&change_marks(&y), "change");
    drawing.path("same", &path::line([Some((left, y.place(1.0))), Some((right, y.place(1.0)))]));
    band(&mut drawing, &points, &x, &y);
    for shift in &shifts {
        error_bar(&mut drawing, shift, &x, &y, left + 24.0);
    }
    drawing.x_axis(&quantile_marks(&x, left + 24.0), "quantile");
    drawing.legend(&[("bar", "interval of the verdict"), ("ratio line", "each quantile")]);
    Some(drawing.finish())
}

fn band(drawing: &mut Drawing, points: &[Point], x: &Scale, y: &Scale) {
    let edge = |value: fn(&Point) -> f64| -> Vec<(f64, f64)> {
        points.iter().map(|point| (x.place(point.part), y.place(value(point)))).collect()
    };
    drawing.path("ratio fill", &path::area(&edge(|p| p.upper), &edge(|p| p.lower)));
    drawing.path("ratio line", &path::line(edge(|p| p.ratio).into_iter().map(Some)));
}

/// The interval that the verdict rests on, with a diamond at its estimate.
fn error_bar(drawing: &mut Drawing, shift: &Shift, x: &Scale, y: &Scale, middle: f64) {
    let at = match shift.quantile {
        Quantile::P50 => x.place(0.5),
        Quantile::P90 => x.place(0.9),
        Quantile::P99 => x.place(0.99),
        Quantile::Middle | Quantile::Share => middle,
    };
    let (lower, upper, estimate) = (y.place(shift.lower), y.place(shift.upper), y.place(shift.estimate));
    let cap = |height| [None, Some((at - 4.0, height)), Some((at + 4.0, height))];
    let pole = [Some((at, lower)), Some((at, upper))];
    let bar = path::line(pole.into_iter().chain(cap(lower)).chain(cap(upper)));
    let tip =
        format!("{} {}: {}", words::quantile(shift.quantile), words::shift(shift), shift.verdict.label());
    drawing.told("bar", &bar, &tip);
    let diamond = path::area(
        &[(at - 4.5, estimate), (at, estimate - 4.5)],
        &[(at, estimate + 4.5), (at + 4.5, estimate)],
    );
    drawing.told("diamond", &diamond, &tip);
}

/// The quantiles that both sides have values beyond on either side: others would be guesses.
fn points([before, after]: &[Vec<f64>; 2]) -> Vec<Point> {
    let logit = |part: f64| (part / (1.0 - part)).ln();
    let (low, high) = (logit(RANGE.0), logit(RANGE.1));
    let parts = (0..POINTS).map(|i| low + (high - low) * i as f64 / (POINTS - 1) as f64);
    parts
        .filter_map(|logit| {
            let part = 1.0 / (1.0 + (-logit).exp());
            let [b, a] =
                [order_band(before, part)?, order_band(after, part)?].map(|found| found.map(f64::ln));
            let (ratio, [below, above]) =
                (a[1] - b[1], [[a[1] - a[0], b[2] - b[1]], [a[2] - a[1], b[1] - b[0]]]);
            let [down, up] = [below, above].map(|[one, other]| one.hypot(other));
            Some(Point { part, ratio: ratio.exp(), lower: (ratio - down).exp(), upper: (ratio + up).exp() })
        })
        .collect()
}

/// A quantile between two values whose ranks enclose it: the normal approximation of how many lie below it.
fn order_band(sorted: &[f64], part: f64) -> Option<[f64; 3]> {
    let count = sorted.len() as f64;
    let (rank, spread) = (count * part, Z * (count * part * (1.0 - part)).sqrt());
    let (low, high) = ((rank - spread).floor(), (rank + spread).ceil() + 1.0);
    if low < 1.0 || high > count {
        return None;
    }
    let at = |rank: f64| sorted[rank as usize - 1];
    Some([at(low), at(rank.ceil().max(1.0)), at(high)])
}

/// All ratios, and as much of the bands and bars as does not flatten them; never narrower than the margin.
fn range(points: &[Point], shifts: &[Shift], margin: f64) -> (f64, f64) {
    let (mut low, mut high) = (1.0 - 2.0 * margin, 1.0 + 2.0 * margin);
    for value in points.iter().map(|point| point.ratio).chain(shifts.iter().map(|shift| shift.estimate)) {
        (low, high) = (low.min(value), high.max(value));
    }
    let (floor, ceiling) = (low / 1.5, high * 1.5);
    for point in points {
        (low, high) = (low.min(point.lower.max(floor)), high.max(point.upper.min(ceiling)));
    }
    for shift in shifts {
        low = low.min(shift.lower.max(low / 2.0));
        high = high.max(shift.upper.min(high * 2.0));
    }
    (low.max(1e-3) / 1.03, high.min(1e4) * 1.03)
}

/// Ratios as changes in percent.
fn change_marks(y: &Scale) -> Vec<Mark> {
    let ticks =
        if y.high / y.low < 4.0 { ticks::linear(y.low, y.high, 7) } else { ticks::log(y.low, y.high, 7) };
    let text = |tick: f64| match ((tick - 1.0) * 1000.0).round() / 10.0 {
        0.0 => "0 %".into(),
        change if change < 0.0 => format!("−{} %", -change),
        change if change >= 1000.0 => format!("×{}", (tick * 10.0).round() / 10.0),
        change => format!("+{change} %"),
    };
    ticks.into_iter().map(|tick| Mark::new(y.place(tick), text(tick))).collect()
}

fn quantile_marks(x: &Scale, middle: f64) -> Vec<Mark> {
    let parts = [0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999];
    let names = ["p1", "p10", "p25", "p50", "p75", "p90", "p99", "p99.9"];
    let quantiles = parts.into_iter().zip(names).map(|(part, name)| Mark::new(x.place(part), name));
    std::iter::once(Mark::new(middle, "middle")).chain(quantiles).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uniform(count: u32, factor: f64) -> Vec<f64> {
        (1..=count).map(|i| f64::from(i) * factor / f64::from(count)).collect()
    }

    #[test]
    fn a_shift_of_everything_is_the_same_at_every_quantile() {
        let points = points(&[uniform(5000, 1.0), uniform(5000, 1.3)]);
        assert!(points.len() > 50, "{}", points.len());
        for point in points {
            assert!((point.ratio - 1.3).abs() < 1e-9, "{point:?}");
            assert!(point.lower < 1.3 && 1.3 < point.upper, "{point:?}");
        }
    }

    /// Nineteen of twenty bands hold the truth: that is what the page says of them.
    #[test]
    fn the_bands_hold_what_they_promise() {
        let mut random = oorandom::Rand64::new(11);
        let mut sample = || -> Vec<f64> {
            let mut values: Vec<f64> = (0..300).map(|_| 0.1 - random.rand_float().ln()).collect();
            values.sort_by(f64::total_cmp);
            values
        };
        let (mut held, mut drawn) = (0, 0);
        for _ in 0..200 {
            let points = points(&[sample(), sample()]);
            drawn += points.len();
            held += points.iter().filter(|point| point.lower <= 1.0 && 1.0 <= point.upper).count();
        }
        let share = f64::from(held as u32) / f64::from(drawn as u32);
        assert!((0.93..0.985).contains(&share), "{held} of {drawn} bands hold the truth");
    }

    #[test]
    fn few_values_show_few_quantiles() {
        let largest =
            |count| points(&[uniform(count, 1.0), uniform(count, 1.0)]).last().map(|point| point.part);
        assert!(largest(8).is_none_or(|part| part < 0.7), "{:?}", largest(8));
        assert!((0.9..0.97).contains(&largest(100).unwrap()), "{:?}", largest(100));
        assert!((0.99..0.998).contains(&largest(1000).unwrap()), "{:?}", largest(1000));
        assert!(largest(60_000).unwrap() > 0.998);
    }

    #[test]
    fn the_band_holds_the_ranks_that_the_binomial_gives() {
        // Of 100 fair coins 40 to 60 show heads, with 95 %.
        assert_eq!(order_band(&uniform(100, 100.0), 0.5), Some([40.0, 50.0, 61.0]));
        assert_eq!(order_band(&uniform(100, 100.0), 0.99), None);
    }

    #[test]
    fn bars_without_an_end_do_not_flatten_the_rest() {
        let wild = Shift {
            quantile: Quantile::P99,
            estimate: 1.1,
            lower: 0.0,
            upper: f64::INFINITY,
            verdict: crate::compare::Verdict::Undecided,
        };
        let (low, high) = range(&[], &[wild], 0.05);
        assert!(low > 0.4 && high < 2.5, "{low} {high}");
    }
}
