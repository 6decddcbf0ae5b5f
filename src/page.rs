//! A comparison as one page that needs nothing else: no network, no script, fit for a screen and for paper.

mod bins;
mod calendar;
mod distribution;
mod failures;
#[cfg(test)]
pub(crate) mod fixture;
mod html;
mod plot;
mod quantiles;
mod samples;
pub mod sentence;
mod summary;
mod timeline;
pub mod words;

use std::time::SystemTime;

use crate::compare::{Change, Comparison, Place};
use crate::domain::{Kept, Release};

use html::{escape, figure, put};
use samples::Sides;

/// What the page shows.
#[derive(Debug, Clone, Copy)]
pub struct Compared<'a> {
    pub comparison: &'a Comparison,
    /// The probes that were compared; those that the comparison leaves out are left out here as well.
    pub before: &'a [Kept],
    pub after: &'a [Kept],
    /// What the target ran, when: a line in every picture that has an axis of time.
    pub releases: &'a [Release],
    pub produced_at: SystemTime,
}

const STYLE: &str = include_str!("page/style.css");

/// The browser itself sees to it that the page asks nobody and runs nothing.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

/// The whole page.
pub fn compare(compared: &Compared<'_>) -> String {
    let comparison = compared.comparison;
    let target = escape(&words::name(&comparison.target));
    let [before, after] =
        [&comparison.before, &comparison.after].map(|side| escape(&words::name(&side.name)));
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>{target}: {before} → {after}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n"
    );
    put(
        &mut page,
        format_args!(
            "<header>\n<p class=\"quiet\">Comparison of two releases</p>\n<h1>{target}</h1>\n\
             <p class=\"verdict {}\">{}</p>\n</header>\n{}{}<p>{}</p>\n",
            comparison.verdict().label(),
            escape(&sentence::overall(comparison)),
            summary::sides(comparison),
            summary::contents(comparison),
            sentence::certainty(comparison)
        ),
    );
    for (index, place) in comparison.places.iter().enumerate() {
        section(&mut page, index, place, compared);
    }
    put(
        &mut page,
        format_args!(
            "<footer>\n{NOTES}<p>Written by sloprobe {} at {}.</p>\n</footer>\n</body>\n</html>\n",
            env!("CARGO_PKG_VERSION"),
            words::clock_time(compared.produced_at)
        ),
    );
    page
}

const NOTES: &str = "<h2>How to read this</h2>\n<dl>\n\
    <dt>ttft</dt><dd>from the request to the first token</dd>\n\
    <dt>tpot</dt><dd>mean time for each further token</dd>\n\
    <dt>itl_p99</dt><dd>the 99th percentile of the gaps within one answer</dd>\n\
    <dt>stall</dt><dd>the longest gap within one answer</dd>\n\
    <dt>latency</dt><dd>from the request to the end of the answer</dd>\n\
    <dt>whole middle</dt><dd>the shift of the distribution's middle: what moves all answers alike is seen \
    here soonest</dd>\n\
    <dt>intervals</dt><dd>those in the tables, and the upright bars, hold together and at every look; the shaded \
    bands hold for each quantile alone, with 95 %, if probes are independent of each other: they show where to \
    look, and decide nothing</dd>\n</dl>\n";

fn section(page: &mut String, index: usize, place: &Place, compared: &Compared<'_>) {
    let margin = compared.comparison.margin;
    put(
        page,
        format_args!(
            "<section id=\"w{index}\">\n<h2>{}</h2>\n<p class=\"verdict {}\">{}</p>\n{}",
            escape(&words::name(&place.workload)),
            sentence::verdict(place).label(),
            escape(&sentence::of_place(place, margin)),
            summary::table(place)
        ),
    );
    let sides = Sides::of(&place.workload, compared.before, compared.after);
    for change in place.changes.iter().filter(|change| !change.metric.is_share()) {
        metric(page, change, &sides, compared);
    }
    page.push_str(&failures::section(&sides, compared));
    page.push_str("</section>\n");
}

/// The pictures of one duration.
fn metric(page: &mut String, change: &Change, sides: &Sides<'_>, compared: &Compared<'_>) {
    let metric = change.metric;
    let sorted = sides.sorted(metric);
    let margin = compared.comparison.margin;
    let Some(spread) = distribution::draw(metric, &sorted) else { return };
    put(
        page,
        format_args!(
            "<h3>{} {}</h3>\n<div class=\"pair\">\n",
            metric.label(),
            summary::badge(change.verdict)
        ),
    );
    page.push_str(&figure("half", &spread, "Distribution of both sides; the upright lines are the medians."));
    if let Some(moved) = quantiles::draw(change, &sorted, margin) {
        let caption = format!(
            "How far each quantile moved, with a pointwise 95 % band. Grey: ±{}. Bars: what the verdict rests on.",
            words::percent(margin)
        );
        page.push_str(&figure("half", &moved, &caption));
    }
    page.push_str("</div>\n");
    if let Some(over_time) = timeline::draw(metric, sides, compared) {
        page.push_str(&figure("wide", &over_time, &timeline::caption(metric, compared)));
    }
}
