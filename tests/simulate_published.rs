//! Does the simulated engine behave as real ones were reported to? Published loads on virtual time.

use std::sync::LazyLock;

use sloprobe::simulate::Profile;
use sloprobe::simulate::published::{Figure, Nearness, Row, rows};

/// The loads take seconds to run, so the tests share one run.
static MEASURED: LazyLock<Vec<(Row, Vec<Nearness>)>> =
    LazyLock::new(|| rows().into_iter().map(|row| (row.clone(), row.measure())).collect());

fn budget_row(budget: u32) -> Row {
    rows()
        .into_iter()
        .find(|row| {
            row.profile == Profile::Qwen25With72b
                && row.engine.max_num_batched_tokens == budget
                && row.engine.chunked_prefill
        })
        .expect("the series has this budget")
}

fn simulated(budget: u32, figure: Figure) -> f64 {
    let engine = budget_row(budget).engine;
    let (_, measured) = MEASURED.iter().find(|(row, _)| row.engine == engine).expect("the row was measured");
    let near = measured.iter().find(|near| near.expected.figure == figure);
    near.expect("the row reports this figure").simulated
}

#[test]
fn every_published_figure_is_reproduced_within_its_tolerance() {
    let mut misses = Vec::new();
    for (row, measured) in MEASURED.iter() {
        for near in measured.iter().filter(|near| !near.holds()) {
            misses.push(format!(
                "{} ({}): {} published {}, simulated {}",
                row.profile,
                row.variant,
                near.expected.figure.label(),
                near.expected.published,
                near.simulated
            ));
        }
    }
    assert!(misses.is_empty(), "beyond tolerance:\n{}", misses.join("\n"));
}

#[test]
fn most_figures_are_met_within_a_tenth() {
    let all: Vec<f64> =
        MEASURED.iter().flat_map(|(_, near)| near.iter().map(|near| near.deviation().abs())).collect();
    let close = all.iter().filter(|deviation| **deviation <= 0.10).count();
    assert!(close * 100 >= all.len() * 85, "only {close} of {} figures", all.len());
}

#[test]
fn larger_steps_trade_smooth_gaps_for_early_first_tokens() {
    let tpot = simulated(8192, Figure::TpotMean) / simulated(64, Figure::TpotMean);
    assert!((8.2..=9.5).contains(&tpot), "TPOT grows ninefold, not {tpot:.2} times");
    let ttft = simulated(8192, Figure::TtftMean) / simulated(64, Figure::TtftMean);
    assert!((0.62..=0.71).contains(&ttft), "TTFT falls by a third, not to {ttft:.2}");
}

#[test]
fn trade_does_not_hang_on_the_lengths_drawn() {
    for seed in [1, 36, 85] {
        let [small, large] = [64, 8192].map(|budget| {
            let mut row = budget_row(budget);
            row.load.seed = seed;
            row.load.run(&row.engine)
        });
        let tpot = large.tpot.mean() / small.tpot.mean();
        let ttft = large.ttft.mean() / small.ttft.mean();
        assert!((7.8..=9.5).contains(&tpot), "seed {seed}: TPOT times {tpot:.2}");
        assert!((0.62..=0.71).contains(&ttft), "seed {seed}: TTFT times {ttft:.2}");
    }
}

#[test]
fn budget_series_differs_in_nothing_but_the_budget() {
    let reference = budget_row(64);
    for budget in [128, 256, 512, 2048, 8192] {
        let mut row = budget_row(budget);
        row.engine.max_num_batched_tokens = 64;
        assert_eq!(row.engine, reference.engine);
        assert_eq!(row.load, reference.load);
    }
}

#[test]
fn published_load_has_the_published_totals() {
    let load = budget_row(64).load;
    let total = |lengths: Vec<u32>| lengths.into_iter().map(u64::from).sum::<u64>();
    let prompts = total(load.prompt.draw(load.requests, load.seed));
    let outputs = total(load.output.draw(load.requests, load.seed + 1));
    assert!(prompts.abs_diff(217_000) < 500, "{prompts}");
    assert!(outputs.abs_diff(199_000) < 500, "{outputs}");
}

#[test]
fn same_seed_gives_the_same_run() {
    let (row, measured) =
        MEASURED.iter().find(|(row, _)| row.profile == Profile::MindiePrefill50).expect("a row");
    assert_eq!(&row.measure(), measured);
}

#[test]
fn requests_that_wait_for_memory_freeze_once_and_only_once() {
    let row = rows().into_iter().find(|row| row.profile == Profile::MindiePrefill1).expect("a row");
    let figures = row.load.run(&row.engine);
    let frozen = figures.gap.count_longer_than(std::time::Duration::from_secs(5));
    let requests = row.load.requests;
    assert!(frozen <= requests, "{frozen} freezes of {requests} requests");
    assert!(frozen * 100 >= requests * 97, "{frozen} freezes of {requests} requests");
}
