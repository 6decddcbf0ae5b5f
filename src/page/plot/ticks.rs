//! Where an axis has its marks: round numbers, neither too many nor too few.

/// Round numbers between two values, at most so many.
pub fn linear(low: f64, high: f64, most: usize) -> Vec<f64> {
    let range = high - low;
    if !range.is_finite() || range <= 0.0 || most == 0 {
        return Vec::new();
    }
    let power = 10f64.powf((range / most as f64).log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0, 20.0].map(|factor| factor * power);
    let counted = |step: f64| ((high / step + 1e-9).floor() - (low / step - 1e-9).ceil()) as usize + 1;
    let step = steps.into_iter().find(|&step| counted(step) <= most).unwrap_or(steps[4]);
    multiples(low, high, step)
}

/// For an axis of equal ratios: powers of ten, with as many numbers between them as there is room for. A range
/// that is too narrow for them has steps of equal size.
pub fn log(low: f64, high: f64, most: usize) -> Vec<f64> {
    let sets: [&[f64]; 3] = [&[1.0, 2.0, 5.0], &[1.0, 3.0], &[1.0]];
    let powers = low.log10().floor() as i32..=high.log10().ceil() as i32;
    for set in sets {
        let all = powers.clone().flat_map(|power| set.iter().map(move |factor| factor * 10f64.powi(power)));
        let within: Vec<f64> = all.filter(|v| (low * 0.999..=high * 1.001).contains(v)).collect();
        if within.len() <= most {
            return if within.len() < 3 { linear(low, high, most) } else { within };
        }
    }
    let every = powers.clone().count().div_ceil(most.max(1));
    powers.step_by(every).map(|power| 10f64.powi(power)).filter(|v| (low..=high).contains(v)).collect()
}

/// In seconds: the steps of clocks and calendars.
const STEPS: [f64; 22] = [
    1.0,
    2.0,
    5.0,
    10.0,
    15.0,
    30.0,
    60.0,
    120.0,
    300.0,
    600.0,
    900.0,
    1800.0,
    3600.0,
    7200.0,
    10_800.0,
    21_600.0,
    43_200.0,
    86_400.0,
    172_800.0,
    604_800.0,
    2_419_200.0,
    7_257_600.0,
];

/// Moments in seconds since 1970, and the step between them.
pub fn time(low: f64, high: f64, most: usize) -> (Vec<f64>, f64) {
    let fits = |step: &f64| ((high - low) / step).floor() + 1.0 <= most as f64;
    let step = STEPS.into_iter().find(fits).unwrap_or((high - low) / most.max(1) as f64);
    (multiples(low, high, step), step)
}

fn multiples(low: f64, high: f64, step: f64) -> Vec<f64> {
    let (first, last) = ((low / step - 1e-9).ceil() as i64, (high / step + 1e-9).floor() as i64);
    (first..=last).map(|index| index as f64 * step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(ticks: &[f64]) -> Vec<String> {
        ticks.iter().map(|tick| format!("{tick:.3}").trim_end_matches('0').into()).collect()
    }

    #[test]
    fn linear_ticks_are_round_and_few() {
        assert_eq!(shown(&linear(0.0, 1.0, 6)), ["0.", "0.2", "0.4", "0.6", "0.8", "1."]);
        assert_eq!(shown(&linear(0.87, 1.31, 5)), ["0.9", "1.", "1.1", "1.2", "1.3"]);
        assert_eq!(shown(&linear(-3.0, 7.0, 3)), ["0.", "5."]);
        assert_eq!(linear(1.0, 1.0, 5), Vec::<f64>::new());
    }

    #[test]
    fn log_ticks_thin_out_as_the_range_grows() {
        assert_eq!(shown(&log(0.1, 1.0, 6)), ["0.1", "0.2", "0.5", "1."]);
        assert_eq!(shown(&log(0.01, 10.0, 8)), ["0.01", "0.03", "0.1", "0.3", "1.", "3.", "10."]);
        assert_eq!(shown(&log(0.001, 10.0, 6)), ["0.001", "0.01", "0.1", "1.", "10."]);
        assert_eq!(shown(&log(0.2, 0.4, 6)), ["0.2", "0.25", "0.3", "0.35", "0.4"].map(String::from));
    }

    #[test]
    fn no_axis_gets_more_ticks_than_it_has_room_for() {
        for exponent in -40..40 {
            let low = 1.7f64.powi(exponent);
            for width in [1.0001, 1.1, 2.0, 9.0, 1e3, 1e9] {
                for most in 3..9 {
                    let ticks = log(low, low * width, most);
                    assert!(ticks.len() <= most, "{low} {width} {most}: {ticks:?}");
                    assert!(linear(low, low * width, most).len() <= most);
                }
            }
        }
    }

    #[test]
    fn moments_are_those_of_a_clock() {
        let (ticks, step) = time(1000.0, 8000.0, 5);
        assert_eq!((ticks, step), (vec![1800.0, 3600.0, 5400.0, 7200.0], 1800.0));
        let (ticks, step) = time(0.0, 20.0 * 86_400.0, 6);
        assert_eq!((ticks.len(), step), (3, 604_800.0));
        assert!(time(0.0, 1e11, 6).0.len() <= 7);
    }
}
