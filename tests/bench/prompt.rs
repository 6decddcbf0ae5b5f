//! How long it takes to write a prompt: the probe must not be late because it writes.
//!
//! `cargo bench --bench prompt`

use std::sync::Arc;
use std::time::Duration;

use sloprobe::domain::{Kind, Language, Room, Workload};
use sloprobe::workload::{Ruler, Source};
use tokio::time::Instant;

const ROUNDS: usize = 300;
const LIMIT: Duration = Duration::from_millis(2);

fn main() {
    println!("a prompt of 8000 tokens, {ROUNDS} rounds; the limit is {LIMIT:?}\n");
    println!("{:<14} {:<3} {:>12} {:>12}", "kind", "", "median", "slowest");
    let mut worst = Duration::ZERO;
    for (name, kind) in Kind::NAMES.into_iter().filter(|(_, kind)| *kind != Kind::File) {
        for (language, of) in Language::NAMES {
            let times = measure(kind, of);
            let (median, slowest) = (times[ROUNDS / 2], times[ROUNDS - 1]);
            println!("{name:<14} {language:<3} {median:>12.1?} {slowest:>12.1?}");
            worst = worst.max(median);
        }
    }
    println!("\n{}", if worst < LIMIT { "within the limit" } else { "ABOVE THE LIMIT" });
}

fn measure(kind: Kind, language: Language) -> Vec<Duration> {
    let workload = Arc::new(Workload { language, ..Workload::new("w", kind, 8000, 200) });
    let mut source = Source::new(&workload, 1, Ruler::default());
    // Without it, the first prompts would be half as long.
    source.learner().fit("bench", Room { context: Some(u32::MAX), input: None });
    let mut times: Vec<_> = (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            let prompt = source.next_prompt();
            let taken = Instant::now() - start;
            assert!(prompt.text().len() > 10_000);
            taken
        })
        .collect();
    times.sort_unstable();
    times
}
