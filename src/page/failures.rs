//! Which probes failed and which stalled, by reason and over time.

use crate::domain::{Failure, Kept};

use super::Compared;
use super::bins::gather;
use super::html::{figure, put};
use super::plot::scale::{Scale, Spread};
use super::plot::{Drawing, Frame, Mark, block, ticks};
use super::samples::Sides;
use super::timeline::{layout, span};
use super::words;

/// A person who reads along notices a pause of this length.
const LONG_STALL: f64 = 1.0;
/// So many reasons have a colour of their own.
const COLOURS: usize = 6;
const BAR: f64 = 22.0;

/// How many probes of each side failed for one reason.
type Row = (&'static str, [usize; 2]);

/// The section: a table, a picture of the shares, and when it happened.
pub fn section(sides: &Sides<'_>, compared: &Compared<'_>) -> String {
    let totals = [sides.before.len(), sides.after.len()];
    let rows = reasons(sides);
    let mut page = String::from("<h3>Failures and stalls</h3>\n");
    if rows.is_empty() {
        page.push_str("<p>No probe failed on either side.</p>\n");
    } else {
        let caption = "Failed probes by reason, as a share of all probes of their side.";
        page.push_str("<div class=\"pair\">\n");
        page.push_str(&figure("half", &shares(&rows, totals), caption));
        page.push_str(&table(&rows, totals));
        page.push_str("</div>\n");
        page.push_str(&figure(
            "wide",
            &over_time(sides, compared),
            "Failed probes over time, as a share of each bin.",
        ));
    }
    page.push_str(&stalls(sides));
    page
}

/// Each reason that occurred, the most frequent first.
fn reasons(sides: &Sides<'_>) -> Vec<Row> {
    let count =
        |probes: &[&Kept], failure| probes.iter().filter(|kept| kept.failure == Some(failure)).count();
    let mut rows: Vec<Row> = Failure::ALL
        .into_iter()
        .map(|failure| (failure.label(), [count(&sides.before, failure), count(&sides.after, failure)]))
        .filter(|(_, counts)| counts.iter().sum::<usize>() > 0)
        .collect();
    rows.sort_by_key(|(_, counts)| std::cmp::Reverse(counts.iter().sum::<usize>()));
    rows
}

/// Two bars; the parts have the numbers that the table gives the reasons.
fn shares(rows: &[Row], totals: [usize; 2]) -> String {
    let share = |count: usize, side: usize| count as f64 / totals[side].max(1) as f64;
    let sums = [0, 1].map(|side| share(rows.iter().map(|(_, counts)| counts[side]).sum(), side));
    let frame = Frame::HALF.indented(54.0).flat(BAR * 4.0);
    let x = Scale::new(Spread::Linear, (0.0, sums[0].max(sums[1]) * 1.02), frame.across());
    let label = format!(
        "Share of failed probes: {} before, {} after",
        words::percent(sums[0]),
        words::percent(sums[1])
    );
    let mut drawing = Drawing::new(frame, &label);
    drawing.text((0.0, 12.0), "start", "title", "share of failed probes");
    for (side, name) in ["before", "after"].into_iter().enumerate() {
        let top = frame.upward().1 + BAR * (0.5 + 1.75 * side as f64);
        drawing.text((46.0, top + BAR * 0.68), "end", "tick", name);
        let mut sum = 0.0;
        for (index, (reason, counts)) in rows.iter().enumerate() {
            let from = x.place(sum);
            sum += share(counts[side], side);
            let to = x.place(sum);
            let tip = format!("{name}: {reason}, {} of {}", counts[side], totals[side]);
            drawing.told(
                &format!("reason r{}", index.min(COLOURS - 1)),
                &block((from, to), (top, top + BAR)),
                &tip,
            );
            if to - from > 14.0 {
                let number = (index + 1).to_string();
                drawing.text((f64::midpoint(from, to), top + BAR * 0.68), "middle", "number", &number);
            }
        }
    }
    drawing.x_axis(&percent_marks(&x, 6), "");
    drawing.finish()
}

fn percent_marks(scale: &Scale, most: usize) -> Vec<Mark> {
    let ticks = ticks::linear(scale.low, scale.high, most);
    ticks.into_iter().map(|tick| Mark::new(scale.place(tick), words::percent(tick))).collect()
}

fn table(rows: &[Row], totals: [usize; 2]) -> String {
    let mut page = String::from(
        "<table class=\"reasons\">\n<thead><tr><th scope=\"col\" colspan=\"2\">reason</th>\
         <th scope=\"col\">before</th><th scope=\"col\"></th><th scope=\"col\">after</th>\
         <th scope=\"col\"></th></tr></thead>\n<tbody>\n",
    );
    for (index, (reason, counts)) in rows.iter().enumerate() {
        let [before, after] = [0, 1].map(|side| {
            format!("<td>{}</td><td>{}</td>", counts[side], words::share(counts[side], totals[side]))
        });
        put(
            &mut page,
            format_args!(
                "<tr><td><span class=\"swatch s{}\">{}</span></td><th scope=\"row\">{reason}</th>{before}{after}</tr>\n",
                index.min(COLOURS - 1),
                index + 1
            ),
        );
    }
    page + "</tbody>\n</table>\n"
}

fn over_time(sides: &Sides<'_>, compared: &Compared<'_>) -> String {
    let (frame, calendar) = layout(compared, Frame::WIDE.flat(96.0));
    let failed = |kept: &Kept| Some(if kept.failure.is_some() { 1.0 } else { 0.0 });
    let bins = [gather(&sides.before, failed), gather(&sides.after, failed)];
    let filled = || bins.iter().flatten().filter(|bin| !bin.values.is_empty());
    let most = filled().map(super::bins::Bin::mean).fold(0.0, f64::max);
    let y = Scale::new(Spread::Linear, (0.0, most * 1.05), frame.upward());
    let label = format!("Share of failed probes over time, at most {} in one bin", words::percent(most));
    let mut drawing = Drawing::new(frame, &label);
    drawing.y_axis(&percent_marks(&y, 4), "failed");
    calendar.decorate(&mut drawing, frame, compared.releases);
    for (class, bins) in ["before", "after"].into_iter().zip(&bins) {
        for bin in bins.iter().filter(|bin| bin.mean() > 0.0) {
            let tip =
                format!("{}: {} of {} failed", span(bin), bin.values.iter().sum::<f64>(), bin.values.len());
            let (from, to) = (calendar.place(bin.from), calendar.place(bin.to));
            let across = (from + 0.5, (to - 0.5).max(from + 1.0));
            drawing.told(&format!("{class} solid"), &block(across, (y.start, y.place(bin.mean()))), &tip);
        }
    }
    drawing.x_axis(&calendar.marks(), "UTC");
    drawing.legend(&[("before solid fill", "before"), ("after solid fill", "after")]);
    drawing.finish()
}

/// How many answers paused for so long that a reader notices.
fn stalls(sides: &Sides<'_>) -> String {
    let [before, after] = [&sides.before, &sides.after].map(|probes| {
        let known = probes.iter().filter_map(|kept| kept.stall);
        let (long, all) = known.fold((0, 0), |(long, all), s| (long + usize::from(s > LONG_STALL), all + 1));
        format!("{} ({long} of {all})", words::share(long, all))
    });
    format!("<p>Answers that stalled for more than {LONG_STALL} s: {before} before, {after} after.</p>\n")
}
