//! The durations of one probe, derived from its instants and nothing else.
//!
//! Deltas whose stamps lie within `SAME_READ` of one another are one *arrival*: a server that writes four
//! HTTP chunks at once hands the reader four pieces, microseconds apart, and a gap between those says
//! nothing about how fast tokens come.

use std::time::Duration;

use tokio::time::Instant;

use super::{Channel, Delta, Timeline, Tokens};

/// Wider than the way of several chunks of one read through the HTTP client, also on a busy host. A stream
/// whose tokens really are this close loses nothing: its arrivals bring several tokens each, at the same pace.
const SAME_READ: Duration = Duration::from_millis(1);

/// What was measured; a missing value is `None`, never zero.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Sample {
    pub lag: Duration,
    pub resolve: Option<Duration>,
    pub connect: Option<Duration>,
    pub tls: Option<Duration>,
    pub wait: Option<Duration>,
    pub ttft: Option<Duration>,
    pub answer_ttft: Option<Duration>,
    pub tpot: Option<Duration>,
    /// Each gap per token, with the number of tokens it stands for.
    pub itl: Vec<Itl>,
    pub stall: Option<Duration>,
    pub latency: Option<Duration>,
    /// Visible tokens per second after the first arrival; of an answer that came whole, all tokens over all its time.
    pub tokens_per_second: Option<f64>,
    /// The mean number of tokens of an arrival, over all arrivals but the first: 1 where tokens come one by one, more
    /// where a server writes several at once or guesses ahead.
    pub tokens_per_arrival: Option<f64>,
}

/// The time per token of one gap, counted once for each of its tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Itl {
    pub per_token: Duration,
    pub tokens: u32,
}

/// One read that brought tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Arrival {
    at: Instant,
    tokens: u64,
}

impl Sample {
    pub fn derive(timeline: &Timeline, tokens: &Tokens) -> Self {
        let sent = timeline.sent;
        let since_sent = |at: Option<Instant>| Some(at?.saturating_duration_since(sent?));
        let first_of = |channel| timeline.deltas.iter().find(|d| d.channel == channel).map(|d| d.at);
        let dialled = timeline.resolved.unwrap_or(timeline.started);

        let arrivals = arrivals(&timeline.deltas);
        let tpot = tpot(&arrivals);
        let end = timeline.closed.or(timeline.finished);
        let latency = end.map(|at| at.saturating_duration_since(timeline.started));
        Self {
            lag: timeline.started.saturating_duration_since(timeline.due),
            resolve: timeline.resolved.map(|at| at - timeline.started),
            connect: timeline.connected.map(|at| at.saturating_duration_since(dialled)),
            tls: timeline
                .secured
                .zip(timeline.connected)
                .map(|(tls, tcp)| tls.saturating_duration_since(tcp)),
            wait: since_sent(timeline.headers),
            ttft: since_sent(timeline.deltas.first().map(|d| d.at)),
            answer_ttft: since_sent(first_of(Channel::Answer)),
            tpot,
            itl: itl(&arrivals),
            stall: stall(&arrivals, timeline),
            latency,
            tokens_per_second: tpot
                .filter(|t| !t.is_zero())
                .map(|t| 1.0 / t.as_secs_f64())
                .or_else(|| whole_speed(timeline, tokens, latency)),
            tokens_per_arrival: tokens_per_arrival(&arrivals),
        }
    }
}

/// Deltas as arrivals, with the tokens that are attributed to them; a delta to which none are is one token.
fn arrivals(deltas: &[Delta]) -> Vec<Arrival> {
    let mut arrivals: Vec<Arrival> = Vec::with_capacity(deltas.len());
    for delta in deltas {
        let tokens = delta.tokens.map_or(1, u64::from);
        match arrivals.last_mut() {
            Some(last) if delta.at - last.at < SAME_READ => last.tokens += tokens,
            _ => arrivals.push(Arrival { at: delta.at, tokens }),
        }
    }
    arrivals
}

fn tokens_per_arrival(arrivals: &[Arrival]) -> Option<f64> {
    let later = arrivals.get(1..).filter(|later| !later.is_empty())?;
    let tokens: u64 = later.iter().map(|arrival| arrival.tokens).sum();
    Some(tokens as f64 / later.len() as f64)
}

fn tpot(arrivals: &[Arrival]) -> Option<Duration> {
    let (first, last) = (arrivals.first()?, arrivals.last()?);
    let later: u64 = arrivals[1..].iter().map(|a| a.tokens).sum();
    (later > 0).then(|| (last.at - first.at).div_f64(later as f64))
}

/// The longest gap. Of a stream that broke off, the silence at its end is one, too: often it is why it failed.
fn stall(arrivals: &[Arrival], timeline: &Timeline) -> Option<Duration> {
    let last = arrivals.last()?.at;
    let cut = timeline.closed.filter(|_| timeline.finished.is_none());
    let silence = cut.map(|closed| closed.saturating_duration_since(last));
    arrivals.windows(2).map(|pair| pair[1].at - pair[0].at).chain(silence).max()
}

/// Of an answer that came whole: all of its tokens over all of its time.
fn whole_speed(timeline: &Timeline, tokens: &Tokens, latency: Option<Duration>) -> Option<f64> {
    let (output, seconds) = (tokens.output?, latency?.as_secs_f64());
    (timeline.deltas.is_empty() && seconds > 0.0).then(|| output as f64 / seconds)
}

/// A gap that brought no token of its own is part of the next token's gap.
fn itl(arrivals: &[Arrival]) -> Vec<Itl> {
    let Some(first) = arrivals.first() else { return Vec::new() };
    let mut since = first.at;
    let mut gaps = Vec::with_capacity(arrivals.len() - 1);
    for arrival in &arrivals[1..] {
        if let Some(tokens) = u32::try_from(arrival.tokens).ok().filter(|&k| k > 0) {
            gaps.push(Itl { per_token: (arrival.at - since) / tokens, tokens });
            since = arrival.at;
        }
    }
    gaps
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// A stream with deltas at the given milliseconds after it was sent.
    fn stream(at_ms: &[f64]) -> Timeline {
        let start = Instant::now();
        let mut timeline = Timeline::new(start, start);
        timeline.sent = Some(start);
        timeline.deltas =
            at_ms.iter().map(|ms| Delta::new(start + MS.mul_f64(*ms), Channel::Answer)).collect();
        timeline
    }

    /// What is measured if the deltas bring so many tokens each.
    fn measured(timeline: &Timeline, tokens: &[u32]) -> Sample {
        let mut timeline = timeline.clone();
        assert_eq!(timeline.deltas.len(), tokens.len());
        for (delta, &own) in timeline.deltas.iter_mut().zip(tokens) {
            delta.tokens = Some(own);
        }
        Sample::derive(&timeline, &Tokens::default())
    }

    fn per_token_ms(sample: &Sample) -> Vec<(f64, u32)> {
        sample.itl.iter().map(|g| (g.per_token.as_secs_f64() * 1e3, g.tokens)).collect()
    }

    #[test]
    fn a_steady_stream_has_equal_tpot_and_itl() {
        let sample = measured(&stream(&[100.0, 120.0, 140.0, 160.0]), &[1; 4]);
        assert_eq!(sample.ttft, Some(100 * MS));
        assert_eq!(sample.tpot, Some(20 * MS));
        assert_eq!(per_token_ms(&sample), [(20.0, 1); 3]);
        assert_eq!(sample.stall, Some(20 * MS));
        assert!((sample.tokens_per_second.unwrap() - 50.0).abs() < 1e-9);
    }

    #[test]
    fn four_tokens_in_one_chunk_share_its_gap() {
        let sample = measured(&stream(&[100.0, 140.0, 180.0]), &[4; 3]);
        assert_eq!(per_token_ms(&sample), [(10.0, 4), (10.0, 4)]);
        assert_eq!(sample.tpot, Some(10 * MS));
        assert_eq!(sample.stall, Some(40 * MS));
    }

    #[test]
    fn four_events_of_one_read_never_give_a_zero() {
        let times = [100.0, 100.01, 100.02, 100.03, 140.0, 140.01, 140.02, 140.03];
        let sample = measured(&stream(&times), &[1; 8]);
        assert_eq!(per_token_ms(&sample), [(10.0, 4)]);
        assert_eq!(sample.tpot, Some(10 * MS));
    }

    #[test]
    fn a_stream_faster_than_an_arrival_keeps_its_pace() {
        let times: Vec<f64> = (0..399).map(|token| 50.0 + 0.4 * f64::from(token)).collect();
        let sample = measured(&stream(&times), &[1; 399]);
        let gaps = per_token_ms(&sample);
        assert!(gaps.iter().all(|(gap, tokens)| (gap - 0.4).abs() < 0.01 && *tokens == 3), "{gaps:?}");
        assert!((sample.tpot.unwrap().as_secs_f64() - 0.4e-3).abs() < 1e-5, "{:?}", sample.tpot);
    }

    #[test]
    fn a_stall_shows_as_a_stall_and_leaves_the_median_alone() {
        let times = [50.0, 60.0, 70.0, 2070.0, 2080.0, 2090.0];
        let sample = measured(&stream(&times), &[1; 6]);
        assert_eq!(sample.ttft, Some(50 * MS));
        assert_eq!(sample.stall, Some(2000 * MS));
        assert_eq!(per_token_ms(&sample), [(10.0, 1), (10.0, 1), (2000.0, 1), (10.0, 1), (10.0, 1)]);
    }

    #[test]
    fn the_silence_that_ends_a_stream_is_a_stall_unless_the_answer_was_finished() {
        let mut timeline = stream(&[10.0, 20.0, 188.0]);
        let last = timeline.deltas[2].at;
        timeline.closed = Some(last + 15_000 * MS);
        assert_eq!(measured(&timeline, &[1; 3]).stall, Some(15_000 * MS));
        timeline.finished = Some(last);
        assert_eq!(measured(&timeline, &[1; 3]).stall, Some(168 * MS));
    }

    #[test]
    fn one_token_alone_has_no_tpot_no_itl_and_no_stall() {
        let sample = measured(&stream(&[80.0]), &[1]);
        assert_eq!((sample.tpot, sample.stall, sample.itl.len()), (None, None, 0));
        assert_eq!(sample.tokens_per_second, None);
        assert_eq!(sample.ttft, Some(80 * MS));
    }

    #[test]
    fn an_answer_after_reasoning_has_its_own_ttft() {
        let mut timeline = stream(&[10.0, 20.0, 30.0]);
        timeline.deltas[0].channel = Channel::Reasoning;
        timeline.deltas[1].channel = Channel::Reasoning;
        let sample = measured(&timeline, &[1; 3]);
        assert_eq!((sample.ttft, sample.answer_ttft), (Some(10 * MS), Some(30 * MS)));
    }

    #[test]
    fn fewer_tokens_than_chunks_lengthen_the_gaps_instead_of_losing_time() {
        let sample = measured(&stream(&[0.0, 10.0, 20.0, 30.0]), &[0, 1, 0, 1]);
        assert_eq!(per_token_ms(&sample), [(10.0, 1), (20.0, 1)]);
    }

    #[test]
    fn each_gap_is_shared_by_the_tokens_that_came_after_it() {
        let sample = measured(&stream(&[0.0, 30.0, 40.0]), &[1, 3, 1]);
        assert_eq!(per_token_ms(&sample), [(10.0, 3), (10.0, 1)]);
    }

    #[test]
    fn tokens_per_arrival_leave_out_the_first_arrival() {
        let per_arrival = |times: &[f64], tokens: &[u32]| measured(&stream(times), tokens).tokens_per_arrival;
        assert_eq!(per_arrival(&[0.0, 30.0, 60.0], &[9, 2, 3]), Some(2.5));
        assert_eq!(per_arrival(&[0.0, 0.01, 30.0, 30.01], &[1; 4]), Some(2.0));
        assert_eq!(per_arrival(&[0.0, 0.01], &[1; 2]), None);
        assert_eq!(per_arrival(&[], &[]), None);
    }

    #[test]
    fn a_delta_to_which_nothing_is_attributed_is_one_token() {
        let sample = Sample::derive(&stream(&[0.0, 10.0, 30.0]), &Tokens::default());
        assert_eq!(per_token_ms(&sample), [(10.0, 1), (20.0, 1)]);
    }

    #[test]
    fn a_stream_without_tokens_has_no_durations_of_tokens() {
        let sample = Sample::derive(&stream(&[]), &Tokens::default());
        assert_eq!(sample, Sample { lag: Duration::ZERO, ..Sample::default() });
    }
}
