//! What each metric did as time went on, with the releases in between.

use crate::compare::Metric;
use crate::domain::Kept;

use super::Compared;
use super::bins::{Bin, gather};
use super::calendar::{Calendar, written};
use super::distribution::duration_marks;
use super::html::put;
use super::plot::scale::{Scale, Spread};
use super::plot::{Drawing, Frame, block, path};
use super::samples::{Sides, extent, quantile, value};
use super::words;

/// Single probes are drawn as long as there are fewer.
const POINTS: usize = 2000;

/// A line: its class, the quantile it shows, and how many values a bin needs to have one.
const LINES: [(&str, f64, usize); 3] = [("p99", 0.99, 100), ("p90", 0.9, 10), ("p50", 0.5, 1)];

/// The picture, if there is anything to draw.
pub fn draw(metric: Metric, sides: &Sides<'_>, compared: &Compared<'_>) -> Option<String> {
    let sorted = sides.sorted(metric);
    let range = extent(&sorted)?;
    let (frame, calendar) = layout(compared, Frame::WIDE);
    let y = Scale::new(Spread::Log, (range.0 / 1.05, range.1 * 1.05), frame.upward());

    let label =
        format!("{} over time, before and after, with the releases as vertical lines", metric.label());
    let mut drawing = Drawing::new(frame, &label);
    drawing.y_axis(&duration_marks(&y, 6), metric.label());
    calendar.decorate(&mut drawing, frame, compared.releases);
    let few = sorted.iter().map(Vec::len).sum::<usize>() < POINTS;
    let mut fullest = 0;
    for (side, probes) in [("before", &sides.before), ("after", &sides.after)] {
        if few {
            let places = probes
                .iter()
                .filter_map(|kept| Some((calendar.place(kept.at), y.place(value(kept, metric)?))));
            drawing.path(&format!("{side} dot"), &path::dots(places));
        }
        let bins = gather(probes, |kept: &Kept| value(kept, metric));
        fullest = bins.iter().map(|bin| bin.values.len()).fold(fullest, usize::max);
        lines(&mut drawing, side, &bins, &calendar, &y);
        tips(&mut drawing, &bins, &calendar, frame);
    }
    drawing.x_axis(&calendar.marks(), "UTC");
    let mut legend = vec![("plain p50", "median"), ("plain p90", "p90"), ("plain p99", "p99")];
    legend.retain(|(class, _)| {
        LINES.iter().all(|(name, _, least)| !class.ends_with(name) || fullest >= *least)
    });
    if few {
        legend.push(("plain dot", "one probe"));
    }
    drawing.legend(&legend);
    Some(drawing.finish())
}

/// What the picture needs to be said about it.
pub fn caption(metric: Metric, compared: &Compared<'_>) -> String {
    let broken = if layout(compared, Frame::WIDE).1.is_broken() {
        " Each side has its own scale of time; what lies between is left out."
    } else {
        ""
    };
    format!(
        "{} over time. A bin has a p90 from 10 answers on, a p99 from 100 on; upright lines: releases.{broken}",
        metric.label()
    )
}

/// A frame with room for the names of the releases, and its axis of time.
pub fn layout(compared: &Compared<'_>, frame: Frame) -> (Frame, Calendar) {
    let (before, after) = (&compared.comparison.before, &compared.comparison.after);
    let calendar = Calendar::new(before, after, frame);
    (frame.raised(calendar.headroom(compared.releases)), calendar)
}

fn lines(drawing: &mut Drawing, side: &str, bins: &[Bin], calendar: &Calendar, y: &Scale) {
    for (class, part, least) in LINES {
        let places: Vec<Option<(f64, f64)>> = bins
            .iter()
            .map(|bin| {
                let value = quantile(&bin.values, part).filter(|_| bin.values.len() >= least)?;
                Some((calendar.place(bin.middle()), y.place(value)))
            })
            .collect();
        drawing.path(&format!("{side} {class}"), &path::line(places));
    }
}

/// What a bin holds, for those who point at it.
fn tips(drawing: &mut Drawing, bins: &[Bin], calendar: &Calendar, frame: Frame) {
    for bin in bins.iter().filter(|bin| !bin.values.is_empty()) {
        let mut tip = format!("{}: {} answers", span(bin), bin.values.len());
        for (class, part, least) in LINES.iter().rev() {
            if let Some(value) = quantile(&bin.values, *part).filter(|_| bin.values.len() >= *least) {
                put(&mut tip, format_args!(", {class} {}", words::seconds(value)));
            }
        }
        let across = (calendar.place(bin.from), calendar.place(bin.to));
        drawing.told("tip", &block(across, frame.upward()), &tip);
    }
}

/// Such as "15 Nov 12:00 to 12:15".
pub fn span(bin: &Bin) -> String {
    let ((day, from), (other_day, to)) = (written(bin.from), written(bin.to));
    let (from, to) = (&from[..5], &to[..5]);
    if day == other_day {
        format!("{day} {from} to {to}")
    } else {
        format!("{day} {from} to {other_day} {to}")
    }
}
