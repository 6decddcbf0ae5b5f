//! Lines and areas as the short text that SVG reads.

use crate::page::html::put;

/// A line through places; `None` lifts the pen.
pub fn line(places: impl IntoIterator<Item = Option<(f64, f64)>>) -> String {
    let mut path = String::new();
    let mut down = false;
    for place in places {
        if let Some((x, y)) = place {
            put(&mut path, format_args!("{}{} {}", if down { 'L' } else { 'M' }, short(x), short(y)));
        }
        down = place.is_some();
    }
    path
}

/// The area between an upper and a lower edge: there along one, back along the other.
pub fn area(upper: &[(f64, f64)], lower: &[(f64, f64)]) -> String {
    let around = upper.iter().chain(lower.iter().rev());
    let path = line(around.map(|&place| Some(place)));
    if path.is_empty() { path } else { path + "Z" }
}

/// Dots of the line's own width, if its ends are round.
pub fn dots(places: impl IntoIterator<Item = (f64, f64)>) -> String {
    let mut path = String::new();
    for (x, y) in places {
        put(&mut path, format_args!("M{} {}h0", short(x), short(y)));
    }
    path
}

/// A tenth of a pixel is finer than any eye.
pub fn short(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_lifts_the_pen() {
        let places = [Some((0.0, 1.26)), Some((2.0, 3.0)), None, None, Some((4.0, 5.04))];
        assert_eq!(line(places), "M0 1.3L2 3M4 5");
    }

    #[test]
    fn areas_go_there_and_back() {
        assert_eq!(area(&[(0.0, 0.0), (1.0, 0.0)], &[(0.0, 2.0), (1.0, 2.0)]), "M0 0L1 0L1 2L0 2Z");
        assert_eq!(
            (area(&[], &[]), dots([(1.0, 2.0), (3.5, 4.0)])),
            (String::new(), "M1 2h0M3.5 4h0".into())
        );
    }
}
