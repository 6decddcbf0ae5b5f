//! The same histograms as Prometheus 3 would have stored them in another form: what a test file says of buckets, said of
//! whole histograms. The alerts must be the same.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use sloprobe::catalogue::{self, Kind};

/// How Prometheus stores a histogram other than by the series of its buckets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// With buckets that grow by a factor.
    Native,
    /// With the bounds of the classic buckets: `convert_classic_histograms_to_nhcb`.
    Converted,
    /// Native, with the classic series beside it: `always_scrape_classic_histograms`.
    Both,
}

pub const FORMS: [Form; 3] = [Form::Native, Form::Converted, Form::Both];

/// What a scrape found; nothing where it was missed, and `stale` where the series had gone.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Point {
    Value(f64),
    Missed,
    Stale,
}

/// The cumulative counts of one histogram, by upper bound.
type Buckets = Vec<(f64, Vec<Point>)>;

/// Every bucket of the native ones is wider than the one before it by the eighth root of 2.
const SCHEMA: i32 = 3;

/// A test file in this form, or nothing if it says nothing of histograms.
pub fn converted(file: &str, form: Form) -> Option<String> {
    let mut histograms: BTreeMap<String, Buckets> = BTreeMap::new();
    let mut kept = Vec::new();
    let mut first = None;
    for line in file.lines() {
        let Some((place, bound, values)) = bucket(line) else {
            kept.push(line.to_owned());
            continue;
        };
        // The histograms of one test stay in it.
        first.get_or_insert(kept.len());
        histograms.entry(place).or_default().push((bound, points(values)));
        if form == Form::Both {
            kept.push(line.to_owned());
        }
    }
    let whole = histograms.into_iter().map(|(place, mut buckets)| {
        buckets.sort_by(|one, other| one.0.total_cmp(&other.0));
        format!("  - {{series: '{place}', values: '{}'}}", values(&buckets, form))
    });
    kept.splice(first?..first?, whole);
    Some(kept.join("\n") + "\n")
}

/// The series of the whole histogram, the upper bound and the values, if a line is about a bucket; the count is the last one.
fn bucket(line: &str) -> Option<(String, f64, &str)> {
    let (series, values) = line.trim().strip_prefix("- {series: '")?.split_once("', values: '")?;
    let (name, labels) = series.strip_suffix('}')?.split_once('{')?;
    let values = values.strip_suffix("'}")?;
    let is_histogram = |name: &str| {
        catalogue::ALL.iter().any(|family| family.name == name && matches!(family.kind, Kind::Histogram(_)))
    };
    if let Some(family) = name.strip_suffix("_count").filter(|name| is_histogram(name)) {
        return Some((format!("{family}{{{labels}}}"), f64::INFINITY, values));
    }
    let family = name.strip_suffix("_bucket").filter(|name| is_histogram(name))?;
    let (bound, others) = labels.strip_prefix("le=\"")?.split_once("\",")?;
    Some((format!("{family}{{{others}}}"), bound.trim_start_matches('+').parse().ok()?, values))
}

/// What promtool makes of `0+2x3 _ _x2 7x1 stale`.
fn points(values: &str) -> Vec<Point> {
    let mut points = Vec::new();
    for word in values.split_whitespace() {
        let (value, times) = match word.split_once('x') {
            Some((value, times)) => (value, times.parse().expect("a number of times")),
            None => (word, 0_u32),
        };
        let (start, step) = value.split_once('+').unwrap_or((value, "0"));
        match value {
            "_" => points.extend((0..times.max(1)).map(|_| Point::Missed)),
            "stale" => points.push(Point::Stale),
            _ => {
                let [start, step] = [start, step].map(|text| text.parse::<f64>().expect("a number"));
                points.extend((0..=times).map(|at| Point::Value(start + f64::from(at) * step)));
            }
        }
    }
    points
}

/// All values of a histogram in this form.
fn values(buckets: &Buckets, form: Form) -> String {
    let bounds: Vec<_> = buckets.iter().map(|(bound, _)| *bound).collect();
    assert_eq!(bounds.last(), Some(&f64::INFINITY), "the last bucket holds all");
    let mut text = String::new();
    for at in 0..buckets[0].1.len() {
        let below: Vec<_> = buckets.iter().map(|(_, points)| points[at]).collect();
        match below[0] {
            Point::Missed => text.push_str("_ "),
            Point::Stale => text.push_str("stale "),
            Point::Value(_) => {
                text += &histogram(&bounds, &counts(&below), form);
                text.push(' ');
            }
        }
    }
    text.trim_end().to_owned()
}

/// How many values each bucket holds.
fn counts(below: &[Point]) -> Vec<f64> {
    let mut before = 0.0;
    let count = |point: &Point| {
        let Point::Value(value) = *point else { panic!("one bucket was scraped without the others") };
        // A count that shrinks by a rounding error would be a restart.
        let own = ((value - before) * 1e6).round() / 1e6;
        before = value;
        own
    };
    below.iter().map(count).collect()
}

fn histogram(bounds: &[f64], counts: &[f64], form: Form) -> String {
    let total: f64 = counts.iter().sum();
    if form == Form::Converted {
        let finite = listed(&bounds[..bounds.len() - 1]);
        return format!(
            "{{{{schema:-53 sum:0 count:{total} custom_values:[{finite}] buckets:[{}]}}}}",
            listed(counts)
        );
    }
    let mut native: BTreeMap<i32, f64> = BTreeMap::new();
    let mut low = 0.0;
    for (high, count) in bounds.iter().zip(counts) {
        for (index, share) in within(low, *high) {
            *native.entry(index).or_default() += count * share;
        }
        low = *high;
    }
    let (first, last) = (*native.keys().next().unwrap_or(&0), *native.keys().last().unwrap_or(&0));
    let dense: Vec<_> = (first..=last).map(|index| native.get(&index).copied().unwrap_or_default()).collect();
    format!("{{{{schema:{SCHEMA} sum:0 count:{total} offset:{first} buckets:[{}]}}}}", listed(&dense))
}

fn listed(numbers: &[f64]) -> String {
    let mut text = String::new();
    for number in numbers {
        write!(text, "{number} ").expect("text grows");
    }
    text.trim_end().to_owned()
}

/// The native buckets that lie within two bounds, and what each holds of values that are spread evenly between them. Below
/// the least bound and above the greatest there is no end to spread them to.
fn within(low: f64, high: f64) -> Vec<(i32, f64)> {
    let per_octave = f64::from(1 << SCHEMA);
    let upper = |index: i32| (f64::from(index) / per_octave).exp2();
    let index = |value: f64| value.log2() * per_octave;
    if low == 0.0 {
        return vec![(index(high).floor() as i32, 1.0)];
    }
    let first = index(low).ceil() as i32 + 1;
    if high == f64::INFINITY {
        return vec![(first, 1.0)];
    }
    let last = index(high).floor() as i32;
    let width = upper(last) - upper(first - 1);
    (first..=last).map(|index| (index, (upper(index) - upper(index - 1)) / width)).collect()
}

#[test]
fn a_histogram_is_the_same_in_another_form() {
    let file = "- name: x\n  input_series:\n\
                  - {series: 'sloprobe_ttft_seconds_bucket{le=\"0.25\",target=\"a\"}', values: '0+1x1 _ stale'}\n\
                  - {series: 'sloprobe_ttft_seconds_bucket{le=\"0.5\",target=\"a\"}', values: '0+3x1 _ stale'}\n\
                  - {series: 'sloprobe_ttft_seconds_bucket{le=\"+Inf\",target=\"a\"}', values: '0+4x1 _ stale'}\n";
    let text = converted(file, Form::Converted).unwrap();
    let empty = "{{schema:-53 sum:0 count:0 custom_values:[0.25 0.5] buckets:[0 0 0]}}";
    let one = "{{schema:-53 sum:0 count:4 custom_values:[0.25 0.5] buckets:[1 2 1]}}";
    let wanted =
        format!("  - {{series: 'sloprobe_ttft_seconds{{target=\"a\"}}', values: '{empty} {one} _ stale'}}");
    assert_eq!(text, format!("- name: x\n  input_series:\n{wanted}\n"));

    assert_eq!(within(0.0, 0.25), [(-16, 1.0)]);
    assert_eq!(within(0.5, f64::INFINITY), [(-7, 1.0)]);
    let between = within(0.25, 0.5);
    assert_eq!(between.iter().map(|(index, _)| *index).collect::<Vec<_>>(), (-15..=-8).collect::<Vec<_>>());
    assert!((between.iter().map(|(_, share)| share).sum::<f64>() - 1.0).abs() < 1e-12);
    assert_eq!(converted("- {series: 'up{target=\"a\"}', values: '1x3'}", Form::Native), None);
}
