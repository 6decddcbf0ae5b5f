//! The axis of time: both sides next to each other, however far apart they are.

use std::time::{Duration, UNIX_EPOCH};

use crate::compare::Side;
use crate::domain::Release;
use crate::domain::clock::unix_seconds;

use super::plot::scale::{Scale, Spread};
use super::plot::{Drawing, Frame, Mark, text_width, ticks};
use super::words;

/// Between two stretches of time that do not touch.
const BREAK: f64 = 22.0;
/// The shorter stretch gets at least this part of the axis.
const LEAST: f64 = 0.3;
/// So many releases are drawn, and in so many rows their names stand.
const MOST_RELEASES: usize = 60;
const ROWS: usize = 3;
const ROW: f64 = 14.0;
const LONGEST_NAME: usize = 36;

/// One stretch of time, or two with a break between them.
#[derive(Debug)]
pub struct Calendar {
    stretches: Vec<Scale>,
}

/// A release that the axis shows.
#[derive(Debug, Clone, PartialEq)]
struct Label {
    x: f64,
    name: String,
    tip: String,
    /// None if there is no room for its name.
    row: Option<usize>,
}

impl Calendar {
    pub fn new(before: &Side, after: &Side, frame: Frame) -> Self {
        let (start, end) = frame.across();
        let mut sides = [before, after].map(|side| (unix_seconds(side.from), unix_seconds(side.to)));
        sides.sort_by(|a, b| a.0.total_cmp(&b.0));
        let [(first, first_end), (second, second_end)] = sides;
        let whole = (first, first_end.max(second_end));
        let total = whole.1 - whole.0;
        let part = (first_end - first) / ((first_end - first) + (second_end - second));
        let overlaps = second < first_end - 0.01 * total;
        let even = (LEAST..=1.0 - LEAST).contains(&part) && second - first_end < 0.05 * total;
        if overlaps || even || !part.is_finite() {
            return Self { stretches: vec![Scale::new(Spread::Linear, whole, (start, end))] };
        }
        let parting = start + (end - start - BREAK) * part.clamp(LEAST, 1.0 - LEAST);
        let stretches = vec![
            Scale::new(Spread::Linear, (first, first_end), (start, parting)),
            Scale::new(Spread::Linear, (second.max(first_end), second_end), (parting + BREAK, end)),
        ];
        Self { stretches }
    }

    pub fn is_broken(&self) -> bool {
        self.stretches.len() > 1
    }

    /// What lies in the break is drawn in its middle.
    pub fn place(&self, at: f64) -> f64 {
        let [first, .., second] = &*self.stretches else { return self.stretches[0].place(at) };
        if at > first.high && at < second.low {
            return f64::midpoint(first.end, second.start);
        }
        if at <= first.high { first.place(at) } else { second.place(at) }
    }

    fn shows(&self, at: f64) -> bool {
        self.stretches.iter().any(|stretch| stretch.low <= at)
            && self.stretches.iter().any(|stretch| at <= stretch.high)
    }

    /// Marks with the time of day, and the date where it changes.
    pub fn marks(&self) -> Vec<Mark> {
        let mut marks = Vec::new();
        let mut date = String::new();
        for (index, stretch) in self.stretches.iter().enumerate() {
            let room = ((stretch.end - stretch.start) / 72.0) as usize;
            let (moments, step) = ticks::time(stretch.low, stretch.high, room.max(2));
            let last = index + 1 == self.stretches.len();
            // At the break, the first mark of the next stretch goes before the last of this one.
            let fits = |moment: &f64| last || stretch.place(*moment) < stretch.end - BREAK;
            for moment in moments.into_iter().filter(fits) {
                let (day, clock) = written(moment);
                let below = if day == date { String::new() } else { day.clone() };
                marks.push(if step >= 86_400.0 {
                    Mark::new(stretch.place(moment), day.clone())
                } else {
                    let clock = if step < 60.0 { &clock[..] } else { &clock[..5] };
                    Mark { below, ..Mark::new(stretch.place(moment), clock) }
                });
                date = day;
            }
            date.clear();
        }
        marks
    }

    /// The room that the names of releases need above the axes.
    pub fn headroom(&self, releases: &[Release]) -> f64 {
        let rows = self.labels(releases).iter().filter_map(|label| label.row).max();
        rows.map_or(0.0, |row| ROW * (row + 1) as f64)
    }

    /// A line for each release, with its name above where there is room; a zigzag where time is left out.
    pub fn decorate(&self, drawing: &mut Drawing, frame: Frame, releases: &[Release]) {
        let (bottom, top) = frame.upward();
        if let [first, .., second] = &*self.stretches {
            let gap = super::plot::block((first.end + 4.0, second.start - 4.0), (bottom + 1.0, top));
            drawing.told("gap", &gap, "time is left out here, and the scale changes");
        }
        for label in self.labels(releases) {
            drawing.upright("release", label.x, &label.tip);
            let Some(row) = label.row else { continue };
            let ends = label.x + text_width(&label.name) > frame.across().1;
            let (anchor, aside) = if ends { ("end", -4.0) } else { ("start", 4.0) };
            let height = top - 6.0 - ROW * row as f64;
            drawing.path(
                "release",
                &super::plot::path::line([Some((label.x, top)), Some((label.x, height - 8.0))]),
            );
            drawing.text((label.x + aside, height), anchor, "tick", &label.name);
        }
    }

    /// The releases that the axis shows, each with the row where its name stands.
    fn labels(&self, releases: &[Release]) -> Vec<Label> {
        let right = self.stretches.last().map_or(0.0, |stretch| stretch.end);
        let shown = releases.iter().filter(|release| self.shows(unix_seconds(release.began)));
        let mut labels: Vec<Label> = shown
            .take(MOST_RELEASES)
            .map(|release| {
                let full = words::name(&release.to_string());
                let tip = format!("{full}, first seen {}", words::clock_time(release.began));
                Label { x: self.place(unix_seconds(release.began)), name: shortened(&full), tip, row: None }
            })
            .collect();
        // From the right: a name stands right of its line, so that the line of one further left can pass it.
        let mut order: Vec<usize> = (0..labels.len()).collect();
        order.sort_by(|&a, &b| labels[b].x.total_cmp(&labels[a].x));
        let mut rows = Rows::default();
        for index in order {
            let Label { x, name, .. } = &labels[index];
            let width = text_width(name) + 10.0;
            let room = if x + width > right { (x - width, *x) } else { (*x, x + width) };
            labels[index].row = rows.take(*x, room);
        }
        labels
    }
}

/// The names that are placed, and the lines that lead up to them.
#[derive(Debug, Default)]
struct Rows {
    names: [Vec<(f64, f64)>; ROWS],
    stems: Vec<(usize, f64)>,
}

impl Rows {
    /// The lowest row in which a name crosses neither another name nor a line, and its own line no name.
    fn take(&mut self, stem: f64, room: (f64, f64)) -> Option<usize> {
        let meets = |used: &(f64, f64), other: (f64, f64)| other.0 <= used.1 && used.0 <= other.1;
        let row = (0..ROWS).find(|&row| {
            !self.names[row].iter().any(|used| meets(used, room))
                && !self.names[..row].iter().flatten().any(|used| meets(used, (stem, stem)))
                && !self.stems.iter().any(|(above, stem)| *above > row && meets(&room, (*stem, *stem)))
        })?;
        self.names[row].push(room);
        self.stems.push((row, stem));
        Some(row)
    }
}

fn shortened(name: &str) -> String {
    if name.chars().count() <= LONGEST_NAME {
        return name.to_owned();
    }
    name.chars().take(LONGEST_NAME - 1).chain(['…']).collect()
}

/// Such as ("15 Nov", "12:00:00").
pub fn written(at: f64) -> (String, String) {
    const MONTHS: [&str; 12] =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let text = words::moment(UNIX_EPOCH + Duration::from_secs(at.max(0.0) as u64));
    let month: usize = text[5..7].parse().unwrap_or(1);
    let day = text[8..10].trim_start_matches('0');
    (format!("{day} {}", MONTHS[(month - 1) % 12]), text[11..19].to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Makeup, ReleaseId};
    use crate::page::fixture;

    fn side(from: u64, to: u64) -> Side {
        Side { name: String::new(), from: fixture::at(from), to: fixture::at(to), probes: 1 }
    }

    fn hour(hours: u64) -> f64 {
        unix_seconds(fixture::at(hours))
    }

    fn release(hours: u64, version: &str) -> Release {
        let makeup = Makeup { engine: "vllm".into(), version: Some(version.into()), ..Makeup::default() };
        Release { id: ReleaseId(1), target: "t".into(), makeup, began: fixture::at(hours), settled: None }
    }

    #[test]
    fn neighbours_of_like_length_share_one_scale() {
        assert!(!Calendar::new(&side(0, 10), &side(10, 20), Frame::WIDE).is_broken());
        assert!(!Calendar::new(&side(0, 10), &side(5, 20), Frame::WIDE).is_broken());
        assert!(!Calendar::new(&side(3, 3), &side(3, 3), Frame::WIDE).is_broken());
    }

    #[test]
    fn a_short_side_keeps_room_beside_a_long_one() {
        for (before, after) in [(side(0, 200), side(200, 201)), (side(200, 201), side(0, 200))] {
            let calendar = Calendar::new(&before, &after, Frame::WIDE);
            let [long, short] = &*calendar.stretches else { panic!("it is broken") };
            assert!((short.end - short.start) / (long.end - long.start) > 0.4);
            assert!(calendar.place(hour(100)) < calendar.place(hour(200)));
            assert!(calendar.place(hour(200)) < calendar.place(hour(201)));
        }
    }

    #[test]
    fn what_happened_between_the_sides_lies_in_the_break() {
        let calendar = Calendar::new(&side(0, 10), &side(100, 110), Frame::WIDE);
        let [first, second] = &*calendar.stretches else { panic!("it is broken") };
        let place = calendar.place(hour(50));
        assert!(first.end < place && place < second.start);
    }

    #[test]
    fn names_of_releases_do_not_stand_upon_each_other() {
        let calendar = Calendar::new(&side(0, 10), &side(10, 20), Frame::WIDE);
        let rows = |hours: [u64; 4]| -> Vec<Option<usize>> {
            let releases = hours.map(|hour| release(hour, "0.33.0 of a long name"));
            calendar.labels(&releases).iter().map(|label| label.row).collect()
        };
        assert_eq!(rows([0, 5, 10, 15]), [Some(0); 4]);
        assert_eq!(rows([1, 2, 6, 7]), [None, Some(2), Some(1), Some(0)]);
        // The one at the right end stands left of its line, below its neighbour.
        assert_eq!(rows([1, 6, 15, 20]), [Some(0), Some(0), Some(1), Some(0)]);
        let labels = calendar.labels(&[release(10, "0.33.0")]);
        assert_eq!(calendar.labels(&[release(99, "later")]), []);
        assert!(labels[0].tip.ends_with("first seen 2026-11-15 10:00 UTC"), "{}", labels[0].tip);
    }

    #[test]
    fn dates_stand_where_they_change() {
        let marks = Calendar::new(&side(0, 20), &side(20, 40), Frame::WIDE).marks();
        let dates: Vec<&str> =
            marks.iter().map(|mark| &*mark.below).filter(|below| !below.is_empty()).collect();
        assert_eq!(dates, ["15 Nov", "16 Nov"]);
        assert!(marks.iter().any(|mark| mark.text == "00:00" || mark.text == "12:00"), "{marks:?}");
        assert_eq!(written(0.0), ("1 Jan".into(), "00:00:00".into()));
    }
}
