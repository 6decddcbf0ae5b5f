//! Two releases of a made-up target: the second answers chats sooner, but the tail of its retrieval is long and it
//! fails more often.

use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use oorandom::Rand64;
use sloprobe::compare::{
    Amount, Change, Comparison, Metric, Need, Place, Quantile, Shift, Side, Summary, Verdict,
};
use sloprobe::domain::{Failure, Kept, Makeup, Release, ReleaseId};

const START: u64 = 1_794_700_800;
pub const WORKLOADS: [&str; 3] = ["rag", "chat", "continuation"];

/// All that a page is made of.
#[derive(Debug)]
pub struct Data {
    pub comparison: Comparison,
    pub before: Vec<Kept>,
    pub after: Vec<Kept>,
    pub releases: Vec<Release>,
}

/// What one release does to each workload.
struct Traits {
    release: i64,
    /// The first token comes so many times later.
    slower: [f64; 3],
    /// So many answers in a thousand come very late.
    late: [u64; 3],
    /// So many probes in a thousand fail.
    failing: [u64; 3],
}

/// So many probes on each side, of all workloads together.
pub fn made_up(probes: usize, names: [&str; 2]) -> Data {
    let mut random = Rand64::new(7);
    let old = Traits { release: 1, slower: [1.0, 1.0, 1.0], late: [8, 3, 3], failing: [5, 4, 3] };
    let new = Traits { release: 2, slower: [1.02, 0.86, 1.01], late: [45, 3, 3], failing: [31, 4, 3] };
    let before = measure(&mut random, &old, (0.0, 86_400.0), probes);
    let after = measure(&mut random, &new, (86_400.0, 86_400.0), probes);
    let side = |name: &str, from, to| Side { name: name.into(), from: at(from), to: at(to), probes };
    let comparison = Comparison {
        target: "chat-prod".into(),
        before: side(names[0], 0, 86_400),
        after: side(names[1], 86_400, 172_800),
        confidence: 0.99,
        margin: 0.05,
        places: WORKLOADS.iter().map(|name| place(name, &before, &after)).collect(),
    };
    let releases = vec![release(1, names[0], 3600), release(2, names[1], 86_400)];
    Data { comparison, before, after, releases }
}

fn at(offset: u64) -> std::time::SystemTime {
    UNIX_EPOCH + Duration::from_secs(START + offset)
}

fn release(id: i64, name: &str, began: u64) -> Release {
    let makeup = Makeup { engine: name.into(), ..Makeup::default() };
    Release { id: ReleaseId(id), target: "chat-prod".into(), makeup, began: at(began), settled: None }
}

/// A factor around one: the sum of twelve coins is nearly normal.
fn noise(random: &mut Rand64, width: f64) -> f64 {
    let sum: f64 = (0..12).map(|_| random.rand_float()).sum();
    ((sum - 6.0) * width).exp()
}

fn measure(random: &mut Rand64, traits: &Traits, (from, long): (f64, f64), probes: usize) -> Vec<Kept> {
    let names = WORKLOADS.map(Arc::from);
    (0..probes)
        .map(|index| {
            let at = START as f64 + from + long * index as f64 / probes as f64;
            let which = index % WORKLOADS.len();
            let mut kept = one(random, traits, which, at, Arc::clone(&names[which]));
            if random.rand_range(0..1000) < traits.failing[which] {
                kept.failure = Some(if random.rand_range(0..3) == 0 {
                    Failure::ServerError
                } else {
                    Failure::TimeoutFirstToken
                });
                (kept.ttft, kept.tpot, kept.itl_p99, kept.stall, kept.latency) =
                    (None, None, None, None, None);
            }
            kept
        })
        .collect()
}

fn one(random: &mut Rand64, traits: &Traits, which: usize, at: f64, workload: Arc<str>) -> Kept {
    let day = 1.0 + 0.12 * (at / 86_400.0 * std::f64::consts::TAU).sin();
    let late = random.rand_range(0..1000) < traits.late[which];
    let late = if late { 4.0 + 4.0 * random.rand_float() } else { 1.0 };
    let first = [0.85, 0.18, 0.32][which] * traits.slower[which] * day * late * noise(random, 0.16);
    let each = 0.014 * day * noise(random, 0.07);
    let gap = each * 2.4 * noise(random, 0.2);
    let pause = if random.rand_range(0..400) == 0 { 1.5 * random.rand_float() } else { 0.0 };
    let stall = gap * 1.6 * noise(random, 0.35) + pause;
    Kept {
        at,
        target: "chat-prod".into(),
        workload,
        release: ReleaseId(traits.release),
        mixed: false,
        suspect: false,
        failure: None,
        verdict: None,
        ttft: Some(first),
        answer_ttft: Some(first),
        tpot: Some(each),
        itl_p99: Some(gap),
        stall: Some(stall),
        latency: Some(first + each * [60.0, 120.0, 250.0][which]),
    }
}

fn place(workload: &str, before: &[Kept], after: &[Kept]) -> Place {
    let changes = Metric::ALL.into_iter().filter(|metric| *metric != Metric::BadAnswers);
    let pick = |probes: &[Kept]| -> Vec<Kept> {
        probes.iter().filter(|kept| &*kept.workload == workload).cloned().collect()
    };
    let (before, after) = (pick(before), pick(after));
    let changes = changes.map(|metric| change(metric, &before, &after)).collect();
    Place { workload: workload.into(), changes }
}

fn change(metric: Metric, before: &[Kept], after: &[Kept]) -> Change {
    let (before, after, shifts) =
        if metric == Metric::Failures { failures(before, after) } else { durations(metric, before, after) };
    let verdict = Verdict::overall(shifts.iter().map(|shift| shift.verdict));
    let open = Need { probes: 240, time: Duration::from_secs(2400) };
    Change { metric, before, after, shifts, verdict, need: (verdict == Verdict::Undecided).then_some(open) }
}

fn failures(before: &[Kept], after: &[Kept]) -> (Summary, Summary, Vec<Shift>) {
    let count = |probes: &[Kept]| probes.iter().filter(|kept| kept.failure.is_some()).count();
    let summary =
        |probes: &[Kept]| Summary { samples: probes.len(), amount: Amount::Share { count: count(probes) } };
    let [one, other] = [before, after].map(|probes| count(probes) as f64 / probes.len() as f64);
    let half = 2.6 * (0.02 / before.len() as f64).sqrt();
    let estimate = other - one;
    let verdict = if estimate > half { Verdict::Regressed } else { Verdict::Same };
    let (lower, upper) = (estimate - half, estimate + half);
    let shift = Shift { quantile: Quantile::Share, estimate, lower, upper, verdict };
    (summary(before), summary(after), vec![shift])
}

fn durations(metric: Metric, before: &[Kept], after: &[Kept]) -> (Summary, Summary, Vec<Shift>) {
    let [old, new] = [before, after].map(|probes| sorted(metric, probes));
    let parts = [0.5, 0.5, 0.9, 0.99];
    let shifts = Quantile::ALL.into_iter().zip(parts).map(|(quantile, part)| {
        let estimate = quantile_of(&new, part) / quantile_of(&old, part);
        let widest = if quantile == Quantile::Middle { 0.6 } else { 0.15 / (1.0 - part).powf(0.4) };
        let half = (2.0 * widest / (old.len() as f64).sqrt()).exp();
        shift(quantile, estimate, half)
    });
    (summary(&old), summary(&new), shifts.collect())
}

fn shift(quantile: Quantile, estimate: f64, half: f64) -> Shift {
    let (lower, upper) = (estimate / half, estimate * half);
    let verdict = match () {
        () if lower > 1.05 => Verdict::Regressed,
        () if upper < 0.95 => Verdict::Improved,
        () if lower > 0.95 && upper < 1.05 => Verdict::Same,
        () => Verdict::Undecided,
    };
    Shift { quantile, estimate, lower, upper, verdict }
}

fn sorted(metric: Metric, probes: &[Kept]) -> Vec<f64> {
    let value = |kept: &Kept| match metric {
        Metric::Ttft => kept.ttft,
        Metric::Tpot => kept.tpot,
        Metric::ItlP99 => kept.itl_p99,
        Metric::Stall => kept.stall,
        _ => kept.latency,
    };
    let mut values: Vec<f64> = probes.iter().filter_map(value).collect();
    values.sort_by(f64::total_cmp);
    values
}

fn quantile_of(sorted: &[f64], part: f64) -> f64 {
    sorted[((sorted.len() as f64 * part) as usize).min(sorted.len() - 1)]
}

fn summary(sorted: &[f64]) -> Summary {
    let [p50, p90, p99, max] = [0.5, 0.9, 0.99, 1.0].map(|part| quantile_of(sorted, part));
    Summary { samples: sorted.len(), amount: Amount::Spread { p50, p90, p99, max } }
}
