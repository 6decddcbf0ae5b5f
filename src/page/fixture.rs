//! A comparison for tests that has every kind of finding.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::compare::{
    Amount, Change, Comparison, Metric, Need, Place, Quantile, Shift, Side, Summary, Verdict,
};

pub(crate) fn at(hours: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_794_700_800 + hours * 3600)
}

pub(crate) fn comparison() -> Comparison {
    use Verdict::{Improved, Regressed, Same, Undecided};
    let chat = vec![
        duration(Metric::Ttft, (0.31, 0.273), [(0.88, 0.86, 0.9, Improved); 4]),
        duration(Metric::Stall, (0.04, 0.04), [(1.0, 0.98, 1.02, Same); 4]),
        Change {
            need: Some(Need { probes: 240, time: Duration::from_secs(2400) }),
            ..duration(Metric::Tpot, (0.0123, 0.0125), [(1.02, 0.95, 1.1, Undecided); 4])
        },
        share(Metric::BadAnswers, (3, 1200), (2, 1180), (-0.0008, -0.006, 0.004, Same)),
    ];
    let late = [(1.01, 0.99, 1.03, Same), (1.0, 0.98, 1.02, Same), (1.1, 0.99, 1.3, Undecided)];
    let [middle, p50, p90] = late;
    let rag = vec![
        duration(Metric::Ttft, (0.9, 0.91), [middle, p50, p90, (4.1, 3.2, 5.5, Regressed)]),
        Change {
            before: Summary { samples: 0, amount: Amount::Nothing },
            ..duration(Metric::Latency, (2.0, 2.0), [(1.5, 0.0, f64::INFINITY, Undecided); 4])
        },
        share(Metric::Failures, (6, 600), (18, 580), (0.021, 0.011, 0.03, Regressed)),
    ];
    let side = |name: &str, from, to, probes| Side { name: name.into(), from: at(from), to: at(to), probes };
    Comparison {
        target: "chat-prod".into(),
        before: side("vllm 0.32.0", 0, 20, 1800),
        after: side("vllm 0.33.0 (driver 580)", 20, 40, 1760),
        confidence: 0.99,
        margin: 0.05,
        places: vec![
            Place { workload: "chat".into(), changes: chat },
            Place { workload: "rag".into(), changes: rag },
        ],
    }
}

type Found = (f64, f64, f64, Verdict);

fn duration(metric: Metric, (before, after): (f64, f64), found: [Found; 4]) -> Change {
    let summary = |samples, p50| Summary {
        samples,
        amount: Amount::Spread { p50, p90: p50 * 1.5, p99: p50 * 2.5, max: p50 * 4.0 },
    };
    let shifts: Vec<Shift> = Quantile::ALL.into_iter().zip(found).map(of).collect();
    let verdict = Verdict::overall(shifts.iter().map(|shift| shift.verdict));
    Change { metric, before: summary(1200, before), after: summary(1180, after), shifts, verdict, need: None }
}

fn share(metric: Metric, before: (usize, usize), after: (usize, usize), found: Found) -> Change {
    let summary = |(count, samples)| Summary { samples, amount: Amount::Share { count } };
    let verdict = found.3;
    let shifts = vec![of((Quantile::Share, found))];
    Change { metric, before: summary(before), after: summary(after), shifts, verdict, need: None }
}

fn of((quantile, (estimate, lower, upper, verdict)): (Quantile, Found)) -> Shift {
    Shift { quantile, estimate, lower, upper, verdict }
}
