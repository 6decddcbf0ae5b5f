//! The numbers of a comparison as tables.

use crate::compare::{Amount, Change, Comparison, Place, Quantile, Shift, Side, Summary, Verdict};

use super::html::{escape, put};
use super::{sentence, words};

/// A verdict as a word with a sign, so that its colour is not all there is.
pub fn badge(verdict: Verdict) -> String {
    let sign = match verdict {
        Verdict::Regressed => "▲",
        Verdict::Improved => "▼",
        Verdict::Same => "=",
        Verdict::Undecided => "?",
    };
    let label = verdict.label();
    format!("<span class=\"badge {label}\"><span aria-hidden=\"true\">{sign}</span> {label}</span>")
}

/// The two sides, one below the other.
pub fn sides(comparison: &Comparison) -> String {
    let row = |word: &str, side: &Side| {
        let long = side.to.duration_since(side.from).unwrap_or_default();
        format!(
            "<tr><th scope=\"row\"><span class=\"key {word}\"></span>{word}</th><td class=\"name\">{}</td>\
             <td>{}</td><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td></tr>\n",
            escape(&words::name(&side.name)),
            words::clock_time(side.from),
            words::clock_time(side.to),
            words::stretch(long),
            side.probes
        )
    };
    format!(
        "<div class=\"scroll\">\n<table class=\"sides\">\n<thead><tr><th scope=\"col\">side</th><th scope=\"col\">release</th>\
         <th scope=\"col\">from</th><th scope=\"col\">to</th><th scope=\"col\" class=\"n\">length</th>\
         <th scope=\"col\" class=\"n\">probes</th></tr></thead>\n<tbody>\n{}{}</tbody>\n</table>\n</div>\n",
        row("before", &comparison.before),
        row("after", &comparison.after)
    )
}

/// Each workload with its verdict, as links to the sections below.
pub fn contents(comparison: &Comparison) -> String {
    let mut page = String::from("<ul class=\"contents\">\n");
    for (index, place) in comparison.places.iter().enumerate() {
        let told = sentence::of_place(place, comparison.margin);
        let told = told.split_once(": ").map_or(&*told, |(_, rest)| rest);
        put(
            &mut page,
            format_args!(
                "<li>{} <a href=\"#w{index}\">{}</a> <span class=\"quiet\">{}</span></li>\n",
                badge(sentence::verdict(place)),
                escape(&words::name(&place.workload)),
                escape(told)
            ),
        );
    }
    page + "</ul>\n"
}

/// All metrics of a workload: three lines for a duration, and those of shares below.
pub fn table(place: &Place) -> String {
    let (shares, durations): (Vec<_>, Vec<_>) =
        place.changes.iter().partition(|change| change.metric.is_share());
    let mut page = String::new();
    if !durations.is_empty() {
        let head = ["samples", "p50", "p90", "p99", "max", "whole middle"];
        page.push_str(&grid(head, durations.into_iter().map(duration)));
    }
    if !shares.is_empty() {
        let rows: String = shares.into_iter().map(share).collect();
        put(
            &mut page,
            format_args!(
                "<div class=\"scroll\">\n<table class=\"shares\">\n<thead><tr><th scope=\"col\">metric</th><th scope=\"col\">before</th>\
                 <th scope=\"col\">after</th><th scope=\"col\">change</th></tr></thead>\n<tbody>\n{rows}</tbody>\n\
                 </table>\n</div>\n"
            ),
        );
    }
    let open = place.changes.iter().filter(|change| change.verdict == Verdict::Undecided);
    let needs: Vec<String> =
        open.map(|change| format!("{} {}", change.metric.label(), words::need(change.need))).collect();
    if !needs.is_empty() {
        put(&mut page, format_args!("<p class=\"quiet\">Undecided so far: {}.</p>\n", needs.join("; ")));
    }
    page
}

fn grid(head: [&str; 6], bodies: impl Iterator<Item = String>) -> String {
    let head = head.map(|name| format!("<th scope=\"col\">{name}</th>")).concat();
    format!(
        "<div class=\"scroll\">\n<table class=\"grid\">\n<thead><tr><th scope=\"col\">metric</th><th scope=\"col\">side</th>{head}</tr>\
         </thead>\n{}</table>\n</div>\n",
        bodies.collect::<String>()
    )
}

fn body(change: &Change, [before, after, moved]: [String; 3]) -> String {
    format!(
        "<tbody>\n<tr><th scope=\"rowgroup\" rowspan=\"3\">{}<br>{}</th><th scope=\"row\">before</th>{before}</tr>\n\
         <tr><th scope=\"row\">after</th>{after}</tr>\n\
         <tr class=\"change\"><th scope=\"row\">change</th>{moved}</tr>\n</tbody>\n",
        change.metric.label(),
        badge(change.verdict)
    )
}

fn duration(change: &Change) -> String {
    let values = |summary: &Summary| {
        let cells = match summary.amount {
            Amount::Spread { p50, p90, p99, max } => [p50, p90, p99, max].map(words::seconds),
            Amount::Share { .. } | Amount::Nothing => std::array::from_fn(|_| "-".to_owned()),
        };
        let cells = cells.map(|cell| format!("<td>{cell}</td>")).concat();
        format!("<td>{}</td>{cells}<td></td>", summary.samples)
    };
    let moved = [Quantile::P50, Quantile::P90, Quantile::P99].map(|quantile| cell(change, quantile)).concat();
    let moved = format!("<td></td>{moved}<td></td>{}", cell(change, Quantile::Middle));
    body(change, [values(&change.before), values(&change.after), moved])
}

fn share(change: &Change) -> String {
    let told = |summary: &Summary| match summary.amount {
        Amount::Share { count } => {
            let (share, samples) = (words::share(count, summary.samples), summary.samples);
            format!("<td>{share} <span class=\"quiet\">({count} of {samples})</span></td>")
        }
        Amount::Spread { .. } | Amount::Nothing => "<td>-</td>".into(),
    };
    format!(
        "<tr class=\"change\"><th scope=\"row\">{} {}</th>{}{}{}</tr>\n",
        change.metric.label(),
        badge(change.verdict),
        told(&change.before),
        told(&change.after),
        cell(change, Quantile::Share)
    )
}

/// How one quantile moved, with its interval in a second line.
fn cell(change: &Change, quantile: Quantile) -> String {
    let found: Option<&Shift> = change.shifts.iter().find(|shift| shift.quantile == quantile);
    found.map_or_else(
        || "<td>-</td>".into(),
        |shift| {
            let (class, estimate, interval) =
                (shift.verdict.label(), words::estimate(shift), words::interval(shift));
            format!("<td class=\"{class}\" title=\"{class}\">{estimate}<br><small>{interval}</small></td>")
        },
    )
}
