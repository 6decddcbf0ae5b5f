//! Invented probes of an SLO, good and bad by chance, as a Prometheus would have scraped their counters.

use std::fmt::Write as _;

use super::chance::Chance;
use super::replay::Replay;

pub const SCRAPE: u32 = 15;

/// A scrape is so many points of the grid of a replay long, so that scrapes and evaluations need not coincide:
/// what `increase` makes of the edges of its window depends on that.
pub const POINTS: u32 = 3;

/// Shorter than the five minutes after which Prometheus forgets a value.
const GAUGE_SCRAPE: u32 = 240;

#[derive(Debug, Clone, Copy)]
pub struct Slo {
    /// The share of probes that may be bad.
    pub budget: f64,
    pub seconds_between_probes: u32,
}

impl Slo {
    /// The objective, rounded to what was meant.
    pub fn percent(self) -> f64 {
        (100_000.0 * (1.0 - self.budget)).round() / 1000.0
    }
}

/// For so many seconds, probes are bad with this probability.
#[derive(Debug, Clone, Copy)]
pub struct Stretch {
    pub seconds: u32,
    pub bad: f64,
}

/// The probes of one target.
#[derive(Debug, Clone)]
pub struct Probes {
    slo: Slo,
    /// All and bad ones since the beginning, scrape by scrape.
    counts: Vec<[u32; 2]>,
    /// How many points of the grid its first scrape comes after the start of a replay.
    late: u32,
}

impl Probes {
    /// At even distances, from a random moment on.
    pub fn new(chance: &mut Chance, slo: Slo, stretches: &[Stretch]) -> Self {
        let late = chance.below(POINTS);
        let between = f64::from(slo.seconds_between_probes);
        let mut probe = chance.share() * between;
        let mut counts = vec![[0, 0]];
        let (mut scrape, mut end) = (0, 0);
        for stretch in stretches {
            end += stretch.seconds;
            while scrape < end {
                scrape += SCRAPE;
                let [mut all, mut bad] = counts[counts.len() - 1];
                while probe <= f64::from(scrape) {
                    all += 1;
                    bad += u32::from(chance.happens(stretch.bad));
                    probe += between;
                }
                counts.push([all, bad]);
            }
        }
        Self { slo, counts, late }
    }

    /// Without those before this second.
    pub fn since(mut self, second: u32) -> Self {
        self.counts.drain(..(second / SCRAPE) as usize);
        self
    }

    /// What each scrape finds new: all, and bad ones.
    pub fn news(&self) -> impl Iterator<Item = [u32; 2]> {
        self.counts.windows(2).map(|pair| [0, 1].map(|part| pair[1][part] - pair[0][part]))
    }

    /// Adds the series of this target, with one scrape for every `POINTS` of the grid of the replay.
    pub fn add_to(&self, replay: &mut Replay, target: &str) {
        let labels = format!(r#"target="{target}",workload="chat",slo="ttft",instance="i:1""#);
        for (part, name) in ["sloprobe_slo_events_total", "sloprobe_slo_bad_events_total"].iter().enumerate()
        {
            replay.series(&format!("{name}{{{labels}}}"), &self.values(part, replay.grid));
        }
        let seconds = self.counts.len() as u32 * SCRAPE;
        let skip = GAUGE_SCRAPE / replay.grid - 1;
        let budget = format!("{} _x{skip} ", self.slo.budget).repeat((seconds / GAUGE_SCRAPE + 1) as usize);
        replay.series(&format!("sloprobe_slo_error_budget_ratio{{{labels}}}"), budget.trim_end());
    }

    fn values(&self, part: usize, grid: u32) -> String {
        let each = (POINTS * grid / SCRAPE) as usize;
        let mut values = if self.late == 0 { String::new() } else { format!("_x{} ", self.late) };
        for counts in self.counts.iter().step_by(each) {
            write!(values, "{} _x{} ", counts[part], POINTS - 1).expect("text grows");
        }
        values
    }
}
