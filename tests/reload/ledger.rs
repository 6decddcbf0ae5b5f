//! What one scrape after the other says of places that nobody changed.

use std::collections::BTreeMap;

/// Counters of unchanged places, as they were seen last.
#[derive(Debug, Default)]
pub struct Ledger {
    counters: BTreeMap<String, f64>,
    pub scrapes: usize,
}

impl Ledger {
    /// Takes a scrape: nothing that was there may be gone or have gone down.
    pub fn enter(&mut self, metrics: &str, is_unchanged: impl Fn(&str) -> bool) {
        let counters: BTreeMap<String, f64> = metrics
            .lines()
            .filter(|line| is_counter(line) && is_unchanged(line))
            .filter_map(|line| {
                let (series, value) = line.rsplit_once(' ')?;
                Some((series.to_owned(), value.parse().ok()?))
            })
            .collect();
        for (series, before) in &self.counters {
            let now = counters.get(series).unwrap_or_else(|| panic!("{series} disappeared"));
            assert!(now >= before, "{series} went from {before} to {now}");
        }
        self.counters = counters;
        self.scrapes += 1;
    }

    pub fn series(&self) -> usize {
        self.counters.len()
    }
}

fn is_counter(line: &str) -> bool {
    let name = line.split(['{', ' ']).next().unwrap_or_default();
    !line.starts_with('#') && ["_total", "_count", "_sum", "_bucket"].iter().any(|end| name.ends_with(end))
}
