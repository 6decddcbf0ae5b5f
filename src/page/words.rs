//! Numbers and verdicts as people write them: the terminal and the page say the same with the same words.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use humantime::format_rfc3339_seconds;

use crate::compare::{Need, Quantile, Shift};

/// The last second of the year 9999: nothing later can be written as a date.
const LAST: Duration = Duration::from_secs(253_402_300_799);

/// A duration with three significant digits.
pub fn seconds(seconds: f64) -> String {
    let ms = seconds * 1e3;
    if !ms.is_finite() {
        "-".into()
    } else if ms < 0.9995 {
        format!("{:.0} µs", seconds * 1e6)
    } else if ms < 9.995 {
        format!("{ms:.2} ms")
    } else if ms < 99.95 {
        format!("{ms:.1} ms")
    } else if ms < 999.5 {
        format!("{ms:.0} ms")
    } else if seconds < 9.995 {
        format!("{seconds:.2} s")
    } else if seconds < 99.95 {
        format!("{seconds:.1} s")
    } else {
        format!("{seconds:.0} s")
    }
}

/// How long something goes on, roughly: two units at most.
pub fn stretch(duration: Duration) -> String {
    let minutes = (duration.as_secs_f64() / 60.0).round() as u64;
    let (days, hours) = (minutes / 1440, minutes % 1440 / 60);
    match (days, hours, minutes % 60) {
        (0, 0, 0) => format!("{} s", duration.as_secs_f64().ceil()),
        (0, 0, minutes) => format!("{minutes} min"),
        (0, hours, 0) => format!("{hours} h"),
        (0, hours, minutes) => format!("{hours} h {minutes} min"),
        (days, 0, _) => format!("{days} d"),
        (days, hours, _) => format!("{days} d {hours} h"),
    }
}

/// Such as "2026-11-15T12:00:00Z"; what lies outside the years 1970 to 9999 is moved to their edge.
pub fn moment(at: SystemTime) -> String {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    format_rfc3339_seconds(UNIX_EPOCH + since.min(LAST)).to_string()
}

/// Such as "2026-11-15 12:00 UTC".
pub fn clock_time(at: SystemTime) -> String {
    let text = moment(at);
    format!("{} {} UTC", &text[..10], &text[11..16])
}

/// A name that came from outside, fit for a terminal: what could play tricks with one does not stay.
pub fn name(text: &str) -> String {
    let text: String = text.chars().filter(|c| !c.is_control()).collect();
    if text.trim().is_empty() { "(no name)".into() } else { text.trim().to_owned() }
}

/// A share of probes with three significant digits: 1 of 800 is "0.12 %".
pub fn share(count: usize, of: usize) -> String {
    let value = count as f64 / of as f64 * 100.0;
    match value {
        _ if of == 0 => "-".into(),
        0.0 => "0 %".into(),
        value if value < 9.995 => format!("{value:.2} %"),
        value if value < 99.95 => format!("{value:.1} %"),
        value => format!("{value:.0} %"),
    }
}

/// A share that somebody chose: as many digits as it was written with.
pub fn percent(share: f64) -> String {
    let text = format!("{:.3}", share * 100.0);
    format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
}

/// The estimate alone: "+20 %", "+1.2 points".
pub fn estimate(shift: &Shift) -> String {
    format!("{} {}", signed(change(shift, shift.estimate), digits(shift)), unit(shift))
}

/// The interval alone: "+15 … +26".
pub fn interval(shift: &Shift) -> String {
    let [lower, upper] = [shift.lower, shift.upper].map(|bound| signed(change(shift, bound), digits(shift)));
    format!("{lower} … {upper}")
}

/// Both: "+20 % (+15 … +26)".
pub fn shift(shift: &Shift) -> String {
    format!("{} ({})", estimate(shift), interval(shift))
}

/// Such as "needs about 240 more probes (40 min)".
pub fn need(need: Option<Need>) -> String {
    let Some(Need { probes, time }) = need else {
        return "stays undecided: the release before was watched too briefly, or is too restless".into();
    };
    let noun = if probes == 1 { "probe" } else { "probes" };
    format!("needs about {probes} more {noun} ({})", stretch(time))
}

/// Such as "p99"; the middle is what is meant without a word.
pub fn quantile(quantile: Quantile) -> &'static str {
    match quantile {
        Quantile::Middle => "middle",
        Quantile::P50 => "p50",
        Quantile::P90 => "p90",
        Quantile::P99 => "p99",
        Quantile::Share => "share",
    }
}

fn unit(shift: &Shift) -> &'static str {
    if shift.quantile == Quantile::Share { "points" } else { "%" }
}

/// A ratio, or a difference of shares, as a change in hundredths.
fn change(shift: &Shift, value: f64) -> f64 {
    if shift.quantile == Quantile::Share { value * 100.0 } else { (value - 1.0) * 100.0 }
}

/// One decimal where whole numbers would hide the size: the interval has as many as its estimate.
fn digits(shift: &Shift) -> usize {
    let change = change(shift, shift.estimate).abs();
    match shift.quantile {
        Quantile::Share if change < 0.95 => 2,
        _ if change < 9.95 => 1,
        _ => 0,
    }
}

fn signed(value: f64, digits: usize) -> String {
    if value.is_nan() {
        return "?".into();
    }
    let size = if value.is_infinite() { "∞".into() } else { format!("{:.digits$}", value.abs()) };
    let is_zero = size.chars().all(|c| c == '0' || c == '.');
    let sign = match value {
        _ if is_zero => "±",
        value if value < 0.0 => "−",
        _ => "+",
    };
    format!("{sign}{size}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::Verdict;

    fn of(quantile: Quantile, estimate: f64, lower: f64, upper: f64) -> Shift {
        Shift { quantile, estimate, lower, upper, verdict: Verdict::Same }
    }

    #[test]
    fn changes_read_like_sentences() {
        let middle = |estimate, lower, upper| shift(&of(Quantile::Middle, estimate, lower, upper));
        assert_eq!(middle(1.2, 1.15, 1.26), "+20 % (+15 … +26)");
        assert_eq!(middle(4.1, 3.2, 5.5), "+310 % (+220 … +450)");
        assert_eq!(middle(0.958, 0.9, 1.0), "−4.2 % (−10.0 … ±0.0)");
        assert_eq!(middle(1.5, 0.0, f64::INFINITY), "+50 % (−100 … +∞)");
        assert_eq!(middle(f64::NAN, 0.5, 2.0), "? % (−50 … +100)");
        let share = |estimate, lower, upper| shift(&of(Quantile::Share, estimate, lower, upper));
        assert_eq!(share(0.021, 0.011, 0.03), "+2.1 points (+1.1 … +3.0)");
        assert_eq!(share(0.0012, -0.0004, 0.003), "+0.12 points (−0.04 … +0.30)");
    }

    #[test]
    fn needs_tell_how_many_and_how_long() {
        let of = |probes, minutes: u64| need(Some(Need { probes, time: Duration::from_secs(minutes * 60) }));
        assert_eq!(of(240, 40), "needs about 240 more probes (40 min)");
        assert_eq!(of(1, 125), "needs about 1 more probe (2 h 5 min)");
        assert_eq!(
            need(None),
            "stays undecided: the release before was watched too briefly, or is too restless"
        );
    }

    #[test]
    fn stretches_have_two_units_at_most() {
        let shown = [5, 90, 3600, 86_399, 90_000, 8 * 86_400].map(|s| stretch(Duration::from_secs(s)));
        assert_eq!(shown, ["5 s", "2 min", "1 h", "1 d", "1 d 1 h", "8 d"]);
    }

    #[test]
    fn moments_that_cannot_be_written_are_moved() {
        assert_eq!(moment(UNIX_EPOCH - Duration::from_secs(1)), "1970-01-01T00:00:00Z");
        assert_eq!(moment(UNIX_EPOCH + 2 * LAST), "9999-12-31T23:59:59Z");
        assert_eq!(clock_time(UNIX_EPOCH + Duration::from_secs(86_460)), "1970-01-02 00:01 UTC");
    }

    #[test]
    fn shares_keep_small_ones_visible() {
        assert_eq!([share(0, 9), share(1, 800), share(1, 2), share(0, 0)], ["0 %", "0.12 %", "50.0 %", "-"]);
        assert_eq!([0.05, 0.99, 0.999, 0.025].map(percent), ["5 %", "99 %", "99.9 %", "2.5 %"]);
    }

    #[test]
    fn names_from_outside_cannot_move_the_cursor() {
        assert_eq!([name(" a\u{1b}[31m\nb"), name(" \t")], ["a[31mb", "(no name)"]);
    }
}
