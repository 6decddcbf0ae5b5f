use tokio::time::Instant;

use super::*;
use TokenSource::{ChunkUsage, Deltas, FinalUsage, TokenIds};

const NOTHING: Whole =
    Whole { output: None, reasoning: None, is_summarized: false, ended_by_itself: false, late_ids: 0 };

/// Deltas of the answer that state so many tokens so far.
fn totals(totals: &[u32]) -> Vec<Delta> {
    let of = |&total: &u32| Delta { total: Some(total), ..plain(1)[0] };
    totals.iter().map(of).collect()
}

/// Deltas of the answer that list so many ids.
fn ids(ids: &[u32]) -> Vec<Delta> {
    ids.iter().map(|&ids| Delta { ids: Some(ids), ..plain(1)[0] }).collect()
}

fn plain(count: usize) -> Vec<Delta> {
    vec![Delta::new(Instant::now(), Channel::Answer); count]
}

fn thinking(deltas: Vec<Delta>) -> Vec<Delta> {
    deltas.into_iter().map(|delta| Delta { channel: Channel::Reasoning, ..delta }).collect()
}

fn of(output: u64) -> Whole {
    Whole { output: Some(output), ..NOTHING }
}

fn ending(output: u64) -> Whole {
    Whole { ended_by_itself: true, ..of(output) }
}

fn reasoning(tokens: u64, whole: Whole) -> Whole {
    Whole { reasoning: Some(tokens), ..whole }
}

fn summarized(tokens: u64, whole: Whole) -> Whole {
    Whole { is_summarized: true, ..reasoning(tokens, whole) }
}

/// A row of the table: deltas and what is known of the whole; source, output, hidden and shares.
type Row = (&'static str, Vec<Delta>, Whole, (TokenSource, u64, Option<u64>, Vec<u64>));

fn check(rows: Vec<Row>) {
    for (what, deltas, whole, (source, output, hidden, shares)) in rows {
        let expected = Attribution { source, output, hidden, shares };
        assert_eq!(attribute(&deltas, &whole), expected, "{what}");
    }
}

#[test]
fn usage_on_every_delta_gives_each_its_own_growth() {
    check(vec![
        ("one by one", totals(&[1, 2, 3]), of(3), (ChunkUsage, 3, None, vec![1, 1, 1])),
        ("bursts", totals(&[8, 16, 19]), of(19), (ChunkUsage, 19, None, vec![8, 8, 3])),
        ("held back before a delta", totals(&[1, 3]), of(3), (ChunkUsage, 3, None, vec![1, 2])),
        ("an end token", totals(&[1, 2, 3, 4]), ending(5), (ChunkUsage, 5, None, vec![1; 4])),
        ("bursts and an end token", totals(&[8, 16]), ending(17), (ChunkUsage, 17, None, vec![8, 8])),
        ("a stop string held back", totals(&[1, 2, 3]), ending(6), (ChunkUsage, 6, None, vec![1; 3])),
        ("one delta of two parts", totals(&[1, 1, 2]), ending(3), (ChunkUsage, 3, None, vec![1, 0, 1])),
        ("one delta alone", totals(&[4]), ending(5), (ChunkUsage, 5, None, vec![4])),
    ]);
}

#[test]
fn counts_that_contradict_themselves_are_spread_and_said_to_be() {
    check(vec![
        ("shrinking", totals(&[2, 1, 4]), of(4), (FinalUsage, 4, None, vec![1, 1, 2])),
        ("beyond the total", totals(&[1, 5]), of(4), (FinalUsage, 4, None, vec![2, 2])),
        ("standing still", totals(&[1, 1]), of(2), (FinalUsage, 2, None, vec![1, 1])),
        ("zeros", totals(&[0, 0]), of(4), (FinalUsage, 4, None, vec![2, 2])),
        ("hardly moving", totals(&[1, 1, 1, 1, 2]), of(5), (FinalUsage, 5, None, vec![1; 5])),
        ("zeros to the end", totals(&[0, 0]), of(0), (Deltas, 2, None, vec![1, 1])),
    ]);
    let mut gap = totals(&[3, 4, 9]);
    gap[1].total = None;
    check(vec![("not on every delta", gap, of(9), (FinalUsage, 9, None, vec![3, 3, 3]))]);
}

#[test]
fn token_ids_count_where_usage_is_not_on_every_delta() {
    let late = Whole { late_ids: 1, ..ending(9) };
    let mut both = totals(&[2, 1]);
    for delta in &mut both {
        delta.ids = Some(3);
    }
    check(vec![
        ("ids", ids(&[1, 2, 0]), of(9), (TokenIds, 3, None, vec![1, 2, 0])),
        ("an end token", ids(&[1, 1]), late, (TokenIds, 3, None, vec![1, 1])),
        ("without usage", ids(&[2, 2]), NOTHING, (TokenIds, 4, None, vec![2, 2])),
        ("empty lists", ids(&[0, 0]), of(4), (FinalUsage, 4, None, vec![2, 2])),
        ("usage that shrinks beside them", both, of(2), (TokenIds, 6, None, vec![3, 3])),
        ("usage is trusted more", with_ids(totals(&[1, 4])), of(4), (ChunkUsage, 4, None, vec![1, 3])),
    ]);
}

fn with_ids(mut deltas: Vec<Delta>) -> Vec<Delta> {
    for delta in &mut deltas {
        delta.ids = Some(7);
    }
    deltas
}

#[test]
fn a_total_alone_is_spread_evenly_but_for_the_end_token() {
    check(vec![
        ("even", plain(3), of(12), (FinalUsage, 12, None, vec![4, 4, 4])),
        ("uneven", plain(3), of(8), (FinalUsage, 8, None, vec![2, 3, 3])),
        ("fewer than deltas", plain(4), of(2), (FinalUsage, 2, None, vec![0, 1, 0, 1])),
        ("one more, by itself", plain(4), ending(5), (FinalUsage, 5, None, vec![1; 4])),
        ("one more, cut", plain(4), of(5), (FinalUsage, 5, None, vec![1, 1, 1, 2])),
        ("two more, by itself", plain(4), ending(6), (FinalUsage, 6, None, vec![1, 2, 1, 2])),
        ("nothing stated", plain(3), NOTHING, (Deltas, 3, None, vec![1; 3])),
        ("a zero", plain(2), of(0), (Deltas, 2, None, vec![1; 2])),
    ]);
}

#[test]
fn streamed_reasoning_is_spread_apart_from_the_answer() {
    let both = || [thinking(plain(2)), plain(3)].concat();
    check(vec![
        ("apart", both(), reasoning(8, of(11)), (FinalUsage, 11, None, vec![4, 4, 1, 1, 1])),
        ("with an end", both(), reasoning(8, ending(12)), (FinalUsage, 12, None, vec![4, 4, 1, 1, 1])),
        ("zero stated", both(), reasoning(0, of(10)), (FinalUsage, 10, None, vec![2; 5])),
        ("nothing left", both(), reasoning(10, of(10)), (FinalUsage, 10, None, vec![2; 5])),
        ("more than all", both(), reasoning(99, of(10)), (FinalUsage, 10, None, vec![2; 5])),
        ("reasoning alone", thinking(plain(2)), reasoning(8, of(8)), (FinalUsage, 8, None, vec![4, 4])),
    ]);
}

#[test]
fn hidden_reasoning_belongs_to_no_delta() {
    let fifty = || (451..=500).collect::<Vec<u32>>();
    check(vec![
        ("final usage", plain(50), reasoning(450, of(500)), (FinalUsage, 500, Some(450), vec![1; 50])),
        ("and an end", plain(50), reasoning(450, ending(501)), (FinalUsage, 501, Some(450), vec![1; 50])),
        (
            "usage on each",
            totals(&fifty()),
            reasoning(450, of(500)),
            (ChunkUsage, 500, Some(450), vec![1; 50]),
        ),
        (
            "usage on each, and an end",
            totals(&[453, 456]),
            reasoning(450, ending(457)),
            (ChunkUsage, 457, Some(450), vec![3, 3]),
        ),
        ("ids", ids(&[452, 1]), reasoning(450, of(453)), (TokenIds, 453, Some(450), vec![2, 1])),
        ("ids of the rest", ids(&[2, 1]), reasoning(450, of(453)), (TokenIds, 453, Some(450), vec![2, 1])),
        (
            "counted between deltas",
            totals(&[1, 12]),
            reasoning(10, of(12)),
            (FinalUsage, 12, Some(10), vec![1, 1]),
        ),
        ("streamed as text", plain(9), reasoning(6, of(9)), (FinalUsage, 9, None, vec![1; 9])),
        ("no room for text", plain(2), reasoning(4, of(4)), (FinalUsage, 4, None, vec![2, 2])),
        ("counted beside", plain(2), reasoning(9, of(4)), (FinalUsage, 4, None, vec![2, 2])),
        ("impossible", plain(1), reasoning(u64::MAX, of(4)), (FinalUsage, 4, None, vec![4])),
    ]);
}

#[test]
fn a_summary_of_reasoning_is_one_token_a_delta_and_the_reasoning_stays_hidden() {
    let both = || [thinking(plain(2)), plain(3)].concat();
    let counted = [thinking(totals(&[40, 90])), totals(&[103, 105])].concat();
    check(vec![
        ("a total", both(), summarized(100, of(106)), (FinalUsage, 106, Some(100), vec![1, 1, 2, 2, 2])),
        ("an end", both(), summarized(100, ending(104)), (FinalUsage, 104, Some(100), vec![1; 5])),
        ("on each", counted, summarized(100, of(105)), (ChunkUsage, 105, Some(100), vec![1, 1, 3, 2])),
        (
            "nothing but a summary",
            thinking(plain(2)),
            summarized(100, of(100)),
            (FinalUsage, 100, Some(100), vec![1, 1]),
        ),
        ("uncounted", both(), Whole { is_summarized: true, ..of(10) }, (FinalUsage, 10, None, vec![2; 5])),
    ]);
}

#[test]
fn no_stream_at_all_is_no_tokens() {
    check(vec![("nothing", Vec::new(), NOTHING, (Deltas, 0, None, Vec::new()))]);
}
