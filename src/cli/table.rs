//! Aligned columns for the terminal, and durations as people write them.

use std::time::Duration;

use crate::page::words;

/// Rows of cells; the first row is the head. The first `left` columns are text, the rest numbers.
#[derive(Debug)]
pub(super) struct Table {
    left: usize,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(super) fn new<const N: usize>(left: usize, head: [&str; N]) -> Self {
        Self::of(left, &head)
    }

    pub(super) fn of(left: usize, head: &[&str]) -> Self {
        Self { left, rows: vec![head.iter().map(|cell| (*cell).to_owned()).collect()] }
    }

    pub(super) fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// One line per row, without line ends.
    pub(super) fn lines(&self) -> Vec<String> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns)
            .map(|c| {
                self.rows
                    .iter()
                    .filter_map(|row| row.get(c))
                    .map(|cell| cell.chars().count())
                    .max()
                    .unwrap_or(0)
            })
            .collect();
        self.rows.iter().map(|row| self.line(row, &widths)).collect()
    }

    fn line(&self, row: &[String], widths: &[usize]) -> String {
        let mut line = String::new();
        for (column, (cell, width)) in row.iter().zip(widths).enumerate() {
            let padding = " ".repeat(width - cell.chars().count());
            if column > 0 {
                line.push_str("  ");
            }
            if column < self.left {
                line.push_str(cell);
                line.push_str(&padding);
            } else {
                line.push_str(&padding);
                line.push_str(cell);
            }
        }
        line.truncate(line.trim_end().len());
        line
    }
}

/// How wide the terminal is; 100 columns where there is none.
pub(super) fn width() -> usize {
    terminal_size::terminal_size().map_or(100, |(width, _)| usize::from(width.0))
}

/// Three significant digits, or `-` for what was not measured.
pub(super) fn time(duration: Option<Duration>) -> String {
    duration.map_or_else(|| "-".into(), |duration| words::seconds(duration.as_secs_f64()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_stands_left_and_numbers_right() {
        let mut table = Table::new(1, ["name", "n"]);
        table.row(vec!["é".into(), "100".into()]);
        table.row(vec!["longer".into(), "7".into()]);
        assert_eq!(table.lines(), ["name      n", "é       100", "longer    7"]);
    }

    #[test]
    fn durations_have_three_digits() {
        let shown = |micros| time(Some(Duration::from_micros(micros)));
        assert_eq!(
            [3, 999, 1000, 9_994, 99_940, 123_456, 999_499, 999_500, 12_340_000, 250_000_000].map(shown),
            [
                "3 µs", "999 µs", "1.00 ms", "9.99 ms", "99.9 ms", "123 ms", "999 ms", "1.00 s", "12.3 s",
                "250 s"
            ]
        );
        assert_eq!(time(None), "-");
    }
}
