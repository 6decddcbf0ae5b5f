//! How the values of both sides are spread: two outlines over the same bins.

use crate::compare::Metric;

use super::plot::scale::{Scale, Spread};
use super::plot::{Drawing, Frame, Mark, path, ticks};
use super::samples::{extent, quantile};
use super::words;

/// So many bins at least and at most.
const BINS: (f64, f64) = (16.0, 72.0);

/// The picture, if there is anything to draw.
pub fn draw(metric: Metric, sorted: &[Vec<f64>; 2]) -> Option<String> {
    let range = extent(sorted)?;
    let frame = Frame::HALF;
    let x = Scale::new(Spread::Log, range, frame.across());
    let shares = sorted.each_ref().map(|values| histogram(values, &x, bin_count(sorted, &x)));
    let most = shares.iter().flatten().copied().fold(0.0, f64::max);
    let y = Scale::new(Spread::Linear, (0.0, most * 1.06), frame.upward());

    let label = format!("Distribution of {} before and after: {}", metric.label(), middles(sorted));
    let mut drawing = Drawing::new(frame, &label);
    let marks: Vec<Mark> = ticks::linear(0.0, most, 5)
        .into_iter()
        .map(|tick| Mark::new(y.place(tick), words::percent(tick)))
        .collect();
    drawing.y_axis(&marks, "share of answers per bin");
    for (class, shares) in ["before", "after"].into_iter().zip(&shares) {
        let top = steps(shares, &x, &y);
        if let (Some(first), Some(last)) = (top.first(), top.last()) {
            let floor = [(first.0, y.start), (last.0, y.start)];
            drawing.path(&format!("{class} fill"), &path::area(&top, &floor));
            drawing.path(&format!("{class} line"), &path::line(top.into_iter().map(Some)));
        }
    }
    for (class, values) in ["before", "after"].into_iter().zip(sorted) {
        if let Some(middle) = quantile(values, 0.5) {
            let tip = format!("median {class}: {}", words::seconds(middle));
            drawing.upright(&format!("{class} thin"), x.place(middle), &tip);
        }
    }
    drawing.x_axis(&duration_marks(&x, 6), metric.label());
    drawing.legend(&[("before line", "before"), ("after line", "after")]);
    Some(drawing.finish())
}

/// Marks for durations.
pub fn duration_marks(scale: &Scale, most: usize) -> Vec<Mark> {
    let ticks = ticks::log(scale.low, scale.high, most);
    ticks.into_iter().map(|tick| Mark::new(scale.place(tick), brief(tick))).collect()
}

/// Such as "250 ms": no digits that say nothing.
fn brief(seconds: f64) -> String {
    let (value, unit) = match seconds {
        s if s >= 0.9995 => (s, "s"),
        s if s >= 0.000_999_5 => (s * 1e3, "ms"),
        s => (s * 1e6, "µs"),
    };
    let text = format!("{value:.3}");
    format!("{} {unit}", text.trim_end_matches('0').trim_end_matches('.'))
}

fn middles(sorted: &[Vec<f64>; 2]) -> String {
    let [before, after] =
        sorted.each_ref().map(|values| quantile(values, 0.5).map_or_else(|| "none".into(), words::seconds));
    format!("median {before} before, {after} after")
}

/// As wide as the rule of Freedman and Diaconis makes them for the side with fewer values.
fn bin_count(sorted: &[Vec<f64>; 2], x: &Scale) -> usize {
    let width = |values: &Vec<f64>| {
        let quarter = |part| quantile(values, part).map_or(0.0, f64::ln);
        2.0 * (quarter(0.75) - quarter(0.25)) / (values.len() as f64).cbrt()
    };
    let widths = sorted.iter().filter(|values| values.len() > 1).map(width);
    let width = widths.fold(0.0, f64::max);
    let wanted = (x.high.ln() - x.low.ln()) / width;
    (if wanted.is_finite() { wanted.clamp(BINS.0, BINS.1) } else { BINS.0 }) as usize
}

/// The share of the values in each bin; the bins are equally wide on the axis.
fn histogram(sorted: &[f64], x: &Scale, bins: usize) -> Vec<f64> {
    if sorted.is_empty() {
        return Vec::new();
    }
    let mut shares = vec![0.0; bins];
    for &value in sorted {
        let part = (x.place(value) - x.start) / (x.end - x.start);
        shares[((part * bins as f64) as usize).min(bins - 1)] += 1.0 / sorted.len() as f64;
    }
    shares
}

/// Down to the floor at both ends.
fn steps(shares: &[f64], x: &Scale, y: &Scale) -> Vec<(f64, f64)> {
    let wide = (x.end - x.start) / shares.len() as f64;
    let mut places: Vec<(f64, f64)> = Vec::new();
    for (bin, &share) in shares.iter().enumerate() {
        let left = x.start + wide * bin as f64;
        places.extend([(left, y.place(share)), (left + wide, y.place(share))]);
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_in_one_bin() {
        let values: Vec<f64> = (1..=1000).map(|i| f64::from(i) / 1000.0).collect();
        let x = Scale::new(Spread::Log, (0.001, 1.0), (0.0, 100.0));
        let shares = histogram(&values, &x, 30);
        assert!((shares.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        assert!(
            (shares[29] - 0.205).abs() < 0.01,
            "the uppermost tenth of the axis is 1/1.26: {}",
            shares[29]
        );
    }

    #[test]
    fn marks_of_durations_have_no_idle_digits() {
        let shown = [0.000_02, 0.001, 0.25, 1.0, 1.5, 30.0].map(brief);
        assert_eq!(shown, ["20 µs", "1 ms", "250 ms", "1 s", "1.5 s", "30 s"]);
    }

    #[test]
    fn one_value_can_be_drawn_and_none_cannot() {
        let svg = draw(Metric::Ttft, &[vec![0.3], vec![]]).unwrap();
        assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        assert_eq!(draw(Metric::Ttft, &[vec![], vec![]]), None);
    }
}
