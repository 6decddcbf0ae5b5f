//! Whether colours that mean something different look different, whoever looks.

use serde_json::Value;

use super::super::dashboard::{Dashboard, walk};
use super::{Finding, House, finding};

/// What eyes make of red, green and blue light: most people's, and those without long, middle or short cones (Machado,
/// Oliveira and Fernandes 2009, full severity).
const EYES: [[[f64; 3]; 3]; 4] = [
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
    [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
    [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
    [[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]],
];

/// In CIELAB, where 2.3 is just noticeable side by side: far enough for a cell in one corner and a cell in another.
const APART: f64 = 10.0;

/// The steps of one threshold, and the words of one list, are read by their colour.
pub(super) fn colours_differ(_: &House, dashboard: &Dashboard) -> Vec<Finding> {
    let mut found = Vec::new();
    walk(&dashboard.json, "", &mut |key, value| {
        let is_list = ["steps", "mappings"].contains(&key) && value.is_array();
        let colours = if is_list { colours_in(value) } else { Vec::new() };
        for (index, one) in colours.iter().enumerate() {
            let alike =
                colours[index + 1..].iter().filter(|other| one != *other && distance(one, other) < APART);
            found.extend(alike.map(|other| finding(key, format!("{one} and {other} look alike to some"))));
        }
    });
    found
}

fn colours_in(value: &Value) -> Vec<&str> {
    let mut colours = Vec::new();
    walk(value, "", &mut |key, value| colours.extend(value.as_str().filter(|_| key == "color")));
    colours.retain(|colour| colour.starts_with('#'));
    colours
}

/// The least that any eyes see between two colours.
pub(super) fn distance(one: &str, other: &str) -> f64 {
    let between = |eyes: &[[f64; 3]; 3]| {
        let [a, b] = [one, other].map(|colour| lab(seen(light(colour), eyes)));
        a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
    };
    EYES.iter().map(between).fold(f64::INFINITY, f64::min)
}

/// How much red, green and blue light a colour such as "#0072B2" is.
fn light(colour: &str) -> [f64; 3] {
    [1, 3, 5].map(|at| {
        let part =
            colour.get(at..at + 2).and_then(|digits| u8::from_str_radix(digits, 16).ok()).unwrap_or_default();
        let part = f64::from(part) / 255.0;
        if part <= 0.04045 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
    })
}

fn seen(light: [f64; 3], eyes: &[[f64; 3]; 3]) -> [f64; 3] {
    eyes.map(|row| row.iter().zip(light).map(|(weight, part)| weight * part).sum::<f64>().clamp(0.0, 1.0))
}

fn lab([red, green, blue]: [f64; 3]) -> [f64; 3] {
    let bend = |t: f64| if t > 0.008_856 { t.cbrt() } else { 7.787 * t + 16.0 / 116.0 };
    let x = bend((0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.95047);
    let y = bend(0.2126 * red + 0.7152 * green + 0.0722 * blue);
    let z = bend((0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.08883);
    [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
}
