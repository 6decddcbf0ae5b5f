//! Which tokens came with which delta.
//!
//! A *delta* is a chunk that carries text, reasoning or a tool call. Chunks without any of these may state counts as
//! well: half a character that is held back, the end token beside a finish reason. What counts is decided by the first
//! of these sources that speaks and does not contradict itself:
//!
//! 1. **Usage on every delta** ([`ChunkUsage`](TokenSource::ChunkUsage)): each delta gets what the count grew by since the
//!    delta before, growth beside textless chunks in between included. What the count grows by after the last delta (an
//!    end token) came without text and belongs to no delta. Counts that shrink, that pass the total, or that stand still
//!    while the total goes on contradict themselves.
//! 2. **Token ids on every delta** ([`TokenIds`](TokenSource::TokenIds)): each delta gets as many as were listed since the
//!    delta before; those listed after the last delta belong to none.
//! 3. **A total** ([`FinalUsage`](TokenSource::FinalUsage)): spread evenly over the deltas. Where the server states how
//!    many tokens were reasoning and both channels were streamed, reasoning is spread over the deltas of reasoning and
//!    the rest over the others, unless one of the two would get nothing. One token more than deltas at a natural end is
//!    the end token: each delta gets one, and the end token belongs to none.
//! 4. **Nothing** ([`Deltas`](TokenSource::Deltas)): each delta is one token.
//!
//! *Hidden reasoning* is counted and never streamed: the server states a number of reasoning tokens, and either no delta
//! was reasoning or what was streamed is a summary; but a server that leaves less than half a token for each other delta
//! streams its reasoning as text. Hidden reasoning belongs to no delta, whatever the source: it is taken from what
//! came with the first delta, or from the total before that is spread. A delta of a summary counts as one token.

use super::{Channel, Delta, TokenSource};

/// What is known of an answer once nothing more of it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Whole {
    /// Output tokens as the server stated them last, hidden ones included.
    pub output: Option<u64>,
    /// Those of them that were reasoning.
    pub reasoning: Option<u64>,
    /// What was streamed as reasoning is a summary, and not the tokens that were counted.
    pub is_summarized: bool,
    /// The model stopped by itself, and no limit on the length stopped it.
    pub ended_by_itself: bool,
    /// Token ids that came after the last delta.
    pub late_ids: u32,
}

/// Who says how many tokens there were, and which of them came with which delta.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attribution {
    pub source: TokenSource,
    /// All output tokens, also those that belong to no delta.
    pub output: u64,
    /// Reasoning that was counted and not streamed.
    pub hidden: Option<u64>,
    /// One number for each delta.
    pub shares: Vec<u64>,
}

pub fn attribute(deltas: &[Delta], whole: &Whole) -> Attribution {
    // Some servers report zeros for what they did not count.
    let total = whole.output.filter(|&total| total > 0);
    let of = |source, output: u64, shares: Option<Vec<u64>>| {
        let hidden = whole.hidden(deltas, output);
        let shares = whole.without_hidden(deltas, shares?, hidden)?;
        Some(Attribution { source, output, hidden: Some(hidden).filter(|&n| n > 0), shares })
    };
    let by_chunk = total.and_then(|total| of(TokenSource::ChunkUsage, total, growth(deltas, total)));
    let by_ids = || {
        let (output, shares) = listed(deltas, whole.late_ids)?;
        whole.beside_ids(deltas, output, &shares).or_else(|| of(TokenSource::TokenIds, output, Some(shares)))
    };
    by_chunk.or_else(by_ids).or_else(|| total.map(|total| whole.spread(deltas, total))).unwrap_or_else(|| {
        Attribution {
            source: TokenSource::Deltas,
            output: deltas.len() as u64,
            hidden: None,
            shares: vec![1; deltas.len()],
        }
    })
}

/// What the count grew by with each delta, if it stands beside every one and can be true.
fn growth(deltas: &[Delta], total: u64) -> Option<Vec<u64>> {
    let mut shares = Vec::with_capacity(deltas.len());
    let mut counted = 0;
    for delta in deltas {
        let so_far = u64::from(delta.total?);
        shares.push(so_far.checked_sub(counted)?);
        counted = so_far;
    }
    let late = total.checked_sub(counted)?;
    // Tokens may come late without text, but not most of them: a count that stands still only holds a place.
    let moves = deltas.len() < 2 || shares[1..].iter().any(|&share| share > 0);
    (counted > 0 && (late == 0 || (moves && 2 * counted >= deltas.len() as u64))).then_some(shares)
}

/// How many ids were listed, and how many of them with each delta, if every delta has a list.
fn listed(deltas: &[Delta], late: u32) -> Option<(u64, Vec<u64>)> {
    let shares = deltas.iter().map(|delta| delta.ids.map(u64::from)).collect::<Option<Vec<_>>>()?;
    let all = shares.iter().sum::<u64>() + u64::from(late);
    (all > 0).then_some((all, shares))
}

impl Whole {
    /// Of `output` tokens, how many were reasoning that was not streamed. If too few would be left for what was, the
    /// reasoning is in there as well.
    fn hidden(&self, deltas: &[Delta], output: u64) -> u64 {
        let is_streamed = deltas.iter().any(|delta| delta.channel == Channel::Reasoning);
        if is_streamed && !self.is_summarized {
            return 0;
        }
        let spoken = deltas.iter().filter(|delta| !self.is_summary(delta)).count() as u64;
        let needed = spoken.div_ceil(2);
        self.reasoning.filter(|reasoning| reasoning.saturating_add(needed) <= output).unwrap_or(0)
    }

    /// Where the ids of hidden tokens are not listed either, the total has room for both.
    fn beside_ids(&self, deltas: &[Delta], listed: u64, shares: &[u64]) -> Option<Attribution> {
        let output = self.output?;
        let hidden = self.hidden(deltas, output);
        (hidden > 0 && listed + hidden <= output).then(|| Attribution {
            source: TokenSource::TokenIds,
            output,
            hidden: Some(hidden),
            shares: shares.to_vec(),
        })
    }

    fn is_summary(&self, delta: &Delta) -> bool {
        self.is_summarized && delta.channel == Channel::Reasoning
    }

    /// Takes hidden reasoning from what came with deltas: it was counted before the first that is no summary.
    fn without_hidden(&self, deltas: &[Delta], mut shares: Vec<u64>, hidden: u64) -> Option<Vec<u64>> {
        let mut left = hidden;
        for (share, delta) in shares.iter_mut().zip(deltas) {
            if hidden > 0 && self.is_summary(delta) {
                left = left.saturating_sub(*share);
                *share = 1;
            } else {
                *share = share.checked_sub(std::mem::take(&mut left))?;
            }
        }
        Some(shares)
    }

    /// The total, evenly over the deltas that show it.
    fn spread(&self, deltas: &[Delta], total: u64) -> Attribution {
        let hidden = self.hidden(deltas, total);
        let is_summary = |delta: &Delta| hidden > 0 && self.is_summary(delta);
        let is_thought = |delta: &Delta| delta.channel == Channel::Reasoning && !is_summary(delta);
        let count = |is: &dyn Fn(&Delta) -> bool| deltas.iter().filter(|delta| is(delta)).count() as u64;
        let thoughts = count(&is_thought);
        let others = count(&|delta| !is_thought(delta) && !is_summary(delta));

        let visible = total - hidden;
        let reasoning = self.reasoning.filter(|&n| n > 0 && n < visible && thoughts > 0 && others > 0);
        let parts = thoughts + others;
        let mut thought = Even::new(reasoning.unwrap_or(0), thoughts);
        let mut other = reasoning.map_or_else(
            || Even::new(self.without_end(visible, parts), parts),
            |reasoning| Even::new(self.without_end(visible - reasoning, others), others),
        );
        let shares = deltas.iter().map(|delta| match delta {
            delta if is_summary(delta) => 1,
            delta if reasoning.is_some() && is_thought(delta) => thought.next_share(),
            _ => other.next_share(),
        });
        Attribution {
            source: TokenSource::FinalUsage,
            output: total,
            hidden: Some(hidden).filter(|&n| n > 0),
            shares: shares.collect(),
        }
    }

    /// Leaves out the end token where it shows.
    fn without_end(&self, tokens: u64, deltas: u64) -> u64 {
        if self.ended_by_itself && tokens == deltas + 1 { deltas } else { tokens }
    }
}

/// A number of tokens in equal parts, as far as whole numbers can be equal.
#[derive(Debug)]
struct Even {
    tokens: u64,
    parts: u64,
    given: u64,
}

impl Even {
    fn new(tokens: u64, parts: u64) -> Self {
        Self { tokens, parts, given: 0 }
    }

    fn next_share(&mut self) -> u64 {
        let up_to = |parts: u64| parts * self.tokens / self.parts;
        let share = up_to(self.given + 1) - up_to(self.given);
        self.given += 1;
        share
    }
}

#[cfg(test)]
mod tests;
