//! What a comparison comes to, in one sentence.

use crate::compare::{Change, Comparison, Place, Quantile, Shift, Verdict};

use super::words;

/// So many findings are told; of the rest, how many there are.
const TOLD: usize = 2;

/// Such as "REGRESSED: rag ttft p99 +310 % (+220 … +450)".
pub fn overall(comparison: &Comparison) -> String {
    let places: Vec<(String, &Place)> =
        comparison.places.iter().map(|place| (words::name(&place.workload) + " ", place)).collect();
    tell(comparison.verdict(), &places, comparison.margin)
}

/// The same for one workload, without its name.
pub fn of_place(place: &Place, margin: f64) -> String {
    tell(verdict(place), &[(String::new(), place)], margin)
}

/// The worst of a workload's changes.
pub fn verdict(place: &Place) -> Verdict {
    Verdict::overall(place.changes.iter().map(|change| change.verdict))
}

/// How sure the verdicts are, and what they call a change.
pub fn certainty(comparison: &Comparison) -> String {
    format!(
        "The verdicts are made so that with a probability of {} none of them is wrong, however often one looks. \
         A duration that changed by no more than ±{} (p90: ±{}, p99: ±{}) counts as the same, and so does a share \
         within a point.",
        words::percent(comparison.confidence),
        words::percent(comparison.margin),
        words::percent(2.0 * comparison.margin),
        words::percent(4.0 * comparison.margin)
    )
}

fn tell(verdict: Verdict, places: &[(String, &Place)], margin: f64) -> String {
    let found = match verdict {
        Verdict::Regressed | Verdict::Improved => moved(verdict, places),
        Verdict::Undecided => open(places),
        Verdict::Same => {
            vec![format!("no duration changed by more than ±{}", words::percent(margin))]
        }
    };
    let rest = found.len().saturating_sub(TOLD);
    let more = if rest == 0 { String::new() } else { format!("; and {rest} more") };
    let told: Vec<&str> = found.iter().take(TOLD).map(String::as_str).collect();
    format!("{}: {}{more}", verdict.label().to_uppercase(), told.join("; "))
}

/// The largest shift of each metric that moved this way: durations first, by what is certain about their size.
fn moved(verdict: Verdict, places: &[(String, &Place)]) -> Vec<String> {
    let mut found: Vec<(&str, &Change, &Shift)> = Vec::new();
    for (prefix, place) in places {
        for change in place.changes.iter().filter(|change| change.verdict == verdict) {
            let shifts = change.shifts.iter().filter(|shift| shift.verdict == verdict);
            // Of equals the last is taken: from behind, that is the middle.
            let largest = shifts.rev().max_by(|a, b| certain(a).total_cmp(&certain(b)));
            found.extend(largest.map(|shift| (&**prefix, change, shift)));
        }
    }
    found.sort_by(|(_, a, one), (_, b, other)| {
        let order = a.metric.is_share().cmp(&b.metric.is_share());
        order.then(certain(other).total_cmp(&certain(one)))
    });
    found
        .iter()
        .map(|(prefix, change, shift)| {
            let quantile = match shift.quantile {
                Quantile::Middle | Quantile::Share => String::new(),
                other => format!(" {}", words::quantile(other)),
            };
            format!("{prefix}{}{quantile} {}", change.metric.label(), words::shift(shift))
        })
        .collect()
}

/// How far the end of the interval that is nearer to no change is away from it.
fn certain(shift: &Shift) -> f64 {
    if shift.quantile == Quantile::Share {
        shift.lower.max(-shift.upper)
    } else {
        shift.lower.ln().max(-shift.upper.ln())
    }
}

/// What is undecided: what will take longest first, for then all is decided.
fn open(places: &[(String, &Place)]) -> Vec<String> {
    let mut found: Vec<(&str, &Change)> = Vec::new();
    for (prefix, place) in places {
        let undecided = place.changes.iter().filter(|change| change.verdict == Verdict::Undecided);
        found.extend(undecided.map(|change| (&**prefix, change)));
    }
    found.sort_by_key(|(_, change)| std::cmp::Reverse(change.need.map_or(usize::MAX, |need| need.probes)));
    if found.is_empty() {
        return vec!["there is nothing to compare".into()];
    }
    found
        .iter()
        .map(|(prefix, change)| format!("{prefix}{} {}", change.metric.label(), words::need(change.need)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::fixture;

    #[test]
    fn a_regression_is_told_by_its_worst_quantile() {
        let told = overall(&fixture::comparison());
        assert_eq!(
            told,
            "REGRESSED: rag ttft p99 +310 % (+220 … +450); rag failures +2.1 points (+1.1 … +3.0)"
        );
    }

    #[test]
    fn each_verdict_has_a_sentence() {
        let mut comparison = fixture::comparison();
        let chat = |comparison: &Comparison| of_place(&comparison.places[0], comparison.margin);
        assert_eq!(chat(&comparison), "UNDECIDED: tpot needs about 240 more probes (40 min)");
        comparison.places[0].changes.retain(|change| change.verdict != Verdict::Undecided);
        assert_eq!(chat(&comparison), "IMPROVED: ttft −12 % (−14 … −10)");
        comparison.places[0].changes.retain(|change| change.verdict == Verdict::Same);
        assert_eq!(chat(&comparison), "SAME: no duration changed by more than ±5 %");
        comparison.places.clear();
        assert_eq!(overall(&comparison), "UNDECIDED: there is nothing to compare");
    }
}
