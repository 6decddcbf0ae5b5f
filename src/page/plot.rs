//! Pictures with real axes, drawn as SVG: frame, grid, marks, legend.

pub mod path;
pub mod scale;
pub mod ticks;

use super::html::{escape, put};
use path::short;

/// The size of a picture, and the room around its axes.
#[derive(Debug, Clone, Copy)]
pub struct Frame {
    pub width: f64,
    pub height: f64,
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

impl Frame {
    /// Two of them stand side by side.
    pub const HALF: Self =
        Self { width: 464.0, height: 264.0, left: 54.0, right: 20.0, top: 34.0, bottom: 42.0 };
    /// As wide as the page.
    pub const WIDE: Self =
        Self { width: 944.0, height: 272.0, left: 54.0, right: 20.0, top: 34.0, bottom: 46.0 };

    /// With so much more room above the axes.
    #[must_use]
    pub fn raised(self, by: f64) -> Self {
        Self { height: self.height + by, top: self.top + by, ..self }
    }

    /// With axes of this height.
    #[must_use]
    pub fn flat(self, inner: f64) -> Self {
        Self { height: self.top + inner + self.bottom, ..self }
    }

    /// With so much room left of the axes.
    #[must_use]
    pub fn indented(self, left: f64) -> Self {
        Self { left, ..self }
    }

    pub fn across(&self) -> (f64, f64) {
        (self.left, self.width - self.right)
    }

    /// From the bottom up.
    pub fn upward(&self) -> (f64, f64) {
        (self.height - self.bottom, self.top)
    }
}

/// A mark on an axis: where it is, and what it says in one line or two.
#[derive(Debug, Clone, PartialEq)]
pub struct Mark {
    pub place: f64,
    pub text: String,
    pub below: String,
}

impl Mark {
    pub fn new(place: f64, text: impl Into<String>) -> Self {
        Self { place, text: text.into(), below: String::new() }
    }
}

/// A picture in the making.
#[derive(Debug)]
pub struct Drawing {
    frame: Frame,
    svg: String,
}

/// The least distance of two labels above each other.
const LINE: f64 = 12.0;
/// About the width of one character of a label.
const CHARACTER: f64 = 6.8;

impl Drawing {
    /// `label` says in words what the picture shows.
    pub fn new(frame: Frame, label: &str) -> Self {
        let mut svg = String::new();
        let (width, height) = (short(frame.width), short(frame.height));
        put(
            &mut svg,
            format_args!(
                "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" role=\"img\" \
                 aria-label=\"{}\">\n",
                escape(label)
            ),
        );
        Self { frame, svg }
    }

    /// Marks below the picture, and what they measure at its right end.
    pub fn x_axis(&mut self, marks: &[Mark], title: &str) {
        let ((left, right), (bottom, _)) = (self.frame.across(), self.frame.upward());
        self.path("axis", &path::line([Some((left, bottom)), Some((right, bottom))]));
        let mut taken = f64::NEG_INFINITY;
        for Mark { place, text, below } in marks {
            self.path("axis", &path::line([Some((*place, bottom)), Some((*place, bottom + 4.0))]));
            // A mark without a text is better than two texts upon each other.
            let half = text_width(text) / 2.0;
            if place - half < taken {
                continue;
            }
            taken = place + half + 4.0;
            self.text((*place, bottom + 16.0), "middle", "tick", text);
            if !below.is_empty() {
                self.text((*place, bottom + 29.0), "middle", "tick", below);
            }
        }
        self.text((right, self.frame.height - 4.0), "end", "title", title);
    }

    /// Lines across the picture, and what they measure above the axis.
    pub fn y_axis(&mut self, marks: &[Mark], title: &str) {
        let (left, right) = self.frame.across();
        let mut taken = f64::INFINITY;
        for Mark { place, text, .. } in marks {
            self.path("grid", &path::line([Some((left, *place)), Some((right, *place))]));
            if place + LINE > taken {
                continue;
            }
            taken = *place;
            self.text((left - 6.0, place + 3.8), "end", "tick", text);
        }
        self.text((0.0, 12.0), "start", "title", title);
    }

    /// What the lines mean, at the upper right.
    pub fn legend(&mut self, entries: &[(&str, &str)]) {
        let mut x = self.frame.across().1;
        for (class, text) in entries.iter().rev() {
            let start = x - CHARACTER * text.chars().count() as f64;
            self.text((start, 12.0), "start", "tick", text);
            let sample = if class.contains("fill") {
                path::area(
                    &[(start - 22.0, 4.0), (start - 6.0, 4.0)],
                    &[(start - 22.0, 12.0), (start - 6.0, 12.0)],
                )
            } else if class.contains("dot") {
                path::dots([(start - 14.0, 8.0)])
            } else {
                path::line([Some((start - 26.0, 8.0)), Some((start - 5.0, 8.0))])
            };
            self.path(class, &sample);
            x = start - 38.0;
        }
    }

    pub fn path(&mut self, class: &str, path: &str) {
        if !path.is_empty() {
            put(&mut self.svg, format_args!("<path class=\"{class}\" d=\"{path}\"/>\n"));
        }
    }

    /// A path that says something when it is pointed at.
    pub fn told(&mut self, class: &str, path: &str, tip: &str) {
        let tip = escape(tip);
        put(
            &mut self.svg,
            format_args!("<path class=\"{class}\" d=\"{path}\"><title>{tip}</title></path>\n"),
        );
    }

    pub fn text(&mut self, (x, y): (f64, f64), anchor: &str, class: &str, text: &str) {
        let (x, y, text) = (short(x), short(y), escape(text));
        put(
            &mut self.svg,
            format_args!(
                "<text x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\" class=\"{class}\">{text}</text>\n"
            ),
        );
    }

    /// A vertical line from the top of the axes to the bottom.
    pub fn upright(&mut self, class: &str, x: f64, tip: &str) {
        let (bottom, top) = self.frame.upward();
        self.told(class, &path::line([Some((x, bottom)), Some((x, top))]), tip);
    }

    pub fn finish(mut self) -> String {
        self.svg.push_str("</svg>\n");
        self.svg
    }
}

/// About how wide a label is.
pub fn text_width(text: &str) -> f64 {
    CHARACTER * text.chars().count() as f64
}

/// A rectangle as a path.
pub fn block((x1, x2): (f64, f64), (y1, y2): (f64, f64)) -> String {
    path::area(&[(x1, y1), (x2, y1)], &[(x1, y2), (x2, y2)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_do_not_stand_upon_each_other() {
        let mut drawing = Drawing::new(Frame::HALF, "");
        drawing
            .x_axis(&[Mark::new(100.0, "60 ms"), Mark::new(130.0, "70 ms"), Mark::new(160.0, "80 ms")], "");
        drawing.y_axis(&[Mark::new(90.0, "1"), Mark::new(80.0, "2"), Mark::new(70.0, "3")], "");
        let svg = drawing.finish();
        let shown = ["60 ms", "70 ms", "80 ms", ">1<", ">2<", ">3<"].map(|text| svg.contains(text));
        assert_eq!(shown, [true, false, true, true, false, true], "{svg}");
    }

    #[test]
    fn what_pictures_say_is_escaped() {
        let mut drawing = Drawing::new(Frame::HALF, "a \"<b>\"");
        drawing.text((1.0, 2.0), "end", "tick", "<script>");
        drawing.told("line", "M0 0", "</title>");
        let svg = drawing.finish();
        assert!(svg.contains("aria-label=\"a &quot;&lt;b&gt;&quot;\""), "{svg}");
        assert!(!svg.contains("<script") && svg.matches("</title>").count() == 1, "{svg}");
    }
}
