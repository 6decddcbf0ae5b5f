//! Colours: a small set that people with any colour vision can tell apart, and what each stands for.

use serde_json::{Value, json};

const BLUE: &str = "#0072B2";
const SKY: &str = "#56B4E9";
const GREEN: &str = "#009E73";
const YELLOW: &str = "#F0E442";
const ORANGE: &str = "#E69F00";
const VERMILION: &str = "#D55E00";
const PINK: &str = "#CC79A7";
const GREY: &str = "#999999";
const INDIGO: &str = "#332288";
const WINE: &str = "#882255";
const TEAL: &str = "#44AA99";
const PURPLE: &str = "#AA4499";
const SAND: &str = "#DDCC77";
const FOREST: &str = "#117733";

/// Every colour that a dashboard may use: Okabe and Ito's set, then Tol's muted one for the long lists.
pub const PALETTE: &[&str] =
    &[BLUE, SKY, GREEN, YELLOW, ORANGE, VERMILION, PINK, GREY, INDIGO, WINE, TEAL, PURPLE, SAND, FOREST];

/// Nothing to do; look at it; act. Blue and vermilion differ in lightness as well, and words stand beside them.
pub(super) const GOOD: &str = SKY;
pub(super) const WARN: &str = ORANGE;
pub(super) const BAD: &str = VERMILION;
/// Nothing is known, or nothing is meant by it.
pub(super) const NEUTRAL: &str = GREY;
/// An improvement, where no change is good as well.
pub(super) const BETTER: &str = GREEN;
/// What was promised.
pub(super) const PROMISE: &str = PINK;

/// A cell about which there is nothing to say.
pub(super) const CLEAR: &str = "transparent";

/// From the middle of a distribution to its tail.
pub(super) const QUANTILES: [&str; 3] = [BLUE, ORANGE, VERMILION];

/// A closed set of values, each with its own colour: those that are seen together stand far apart.
pub(super) fn colours_of(values: &[&'static str]) -> Vec<(&'static str, &'static str)> {
    values.iter().copied().zip(PALETTE.iter().copied().cycle()).collect()
}

/// A field override: the series of this name has this colour.
pub(super) fn named_colour(name: &str, colour: &str) -> Value {
    json!({
        "matcher": { "id": "byName", "options": name },
        "properties": [{ "id": "color", "value": { "mode": "fixed", "fixedColor": colour } }],
    })
}

/// Steps of a threshold: the colour below the first bound, then a colour from each bound on.
pub(super) fn steps(base: &str, rising: &[(f64, &str)]) -> Value {
    let first = json!({ "color": base, "value": null });
    let rest = rising.iter().map(|(from, colour)| json!({ "color": colour, "value": from }));
    json!({ "mode": "absolute", "steps": std::iter::once(first).chain(rest).collect::<Vec<_>>() })
}

/// Words in place of certain numbers.
pub(super) fn words(values: &[(&str, &str, &str)]) -> Value {
    let options: serde_json::Map<_, _> = values
        .iter()
        .enumerate()
        .map(|(index, (value, text, colour))| {
            ((*value).to_owned(), json!({ "text": text, "color": colour, "index": index }))
        })
        .collect();
    json!({ "type": "value", "options": options })
}

/// A word where there is no number.
pub(super) fn no_number(text: &str) -> Value {
    json!({ "type": "special", "options": { "match": "null+nan", "result": { "text": text, "color": NEUTRAL, "index": 90 } } })
}

/// Beyond everything that is measured: Grafana 10 and 11 know no range without an end.
const FAR: f64 = 1e9;

/// A word from this number on.
pub(super) fn from_on(from: f64, text: &str) -> Value {
    json!({ "type": "range", "options": { "from": from, "to": FAR, "result": { "text": text, "color": NEUTRAL, "index": 91 } } })
}

/// A word up to this number.
pub(super) fn up_to(to: f64, text: &str) -> Value {
    json!({ "type": "range", "options": { "from": -FAR, "to": to, "result": { "text": text, "color": NEUTRAL, "index": 92 } } })
}
