//! In which form measured durations are shown to Prometheus.

/// What the section `[daemon]` says about it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Exposure {
    pub histograms: Histograms,
    pub buckets: Buckets,
    /// Whether OpenMetrics text has a `_created` line for each counter and histogram, which Prometheus stores as a
    /// further series.
    pub created: bool,
}

/// Which histograms a scrape by protobuf has. Text has no words for native ones: it has classic ones always.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Histograms {
    /// One series each, with buckets that follow from the values.
    Native,
    /// A series for each bucket.
    Classic,
    /// Whoever scrapes chooses.
    #[default]
    Both,
}

/// How fine classic histograms are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Buckets {
    #[default]
    Few,
    Many,
}

impl Histograms {
    pub const NAMES: [(&'static str, Self); 3] =
        [("native", Self::Native), ("classic", Self::Classic), ("both", Self::Both)];

    pub fn has_native(self) -> bool {
        self != Self::Classic
    }

    pub fn has_classic(self) -> bool {
        self != Self::Native
    }
}

impl Buckets {
    pub const NAMES: [(&'static str, Self); 2] = [("few", Self::Few), ("many", Self::Many)];
}
