//! One probe on its way to the file.

use std::sync::Arc;
use std::time::Duration;

use super::gaps::Gap;
use super::units::{micros, micros_of};
use crate::domain::answer::beginning;
use crate::domain::{Failure, ReleaseId, Report, TokenSource, TraceId, Verdict};

/// So much is kept of each text.
const MOST_TEXT: usize = 2 << 10;

/// Numbers, and of a bad probe what there is to read. Times and durations are microseconds.
#[derive(Debug, Clone)]
pub(super) struct Row {
    pub(super) id: i64,
    pub(super) target: Arc<str>,
    pub(super) workload: Arc<str>,
    pub(super) at: i64,
    pub(super) release: i64,
    pub(super) mixed: bool,
    pub(super) suspect: bool,
    pub(super) cut: bool,
    pub(super) characters: i64,
    pub(super) outcome: i64,
    pub(super) verdict: Option<i64>,
    pub(super) durations: Durations,
    /// Of the prompt, cached, reasoning, hidden, output, drafted, accepted.
    pub(super) tokens: [Option<i64>; 7],
    pub(super) tokens_per_arrival: Option<f64>,
    pub(super) token_source: Option<i64>,
    pub(super) depth: Option<u8>,
    pub(super) seed: [i64; 3],
    pub(super) trace: Option<[u8; 16]>,
    pub(super) gaps: Vec<Gap>,
    pub(super) texts: Option<Box<Texts>>,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Durations {
    pub(super) lag: i64,
    pub(super) resolve: Option<i64>,
    pub(super) connect: Option<i64>,
    pub(super) tls: Option<i64>,
    pub(super) wait: Option<i64>,
    pub(super) ttft: Option<i64>,
    pub(super) answer_ttft: Option<i64>,
    pub(super) tpot: Option<i64>,
    pub(super) stall: Option<i64>,
    pub(super) latency: Option<i64>,
    pub(super) queue: Option<i64>,
    pub(super) prefill: Option<i64>,
    pub(super) decode: Option<i64>,
    pub(super) load: Option<i64>,
}

/// What a person may want to read; empty is absent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Texts {
    pub(super) text: String,
    pub(super) thought: String,
    pub(super) detail: String,
}

impl Row {
    /// Nothing here takes long: the caller measures other probes meanwhile.
    pub(super) fn of(report: &Report, release: ReleaseId, mixed: bool) -> Self {
        let Report { sample, tokens, seed, .. } = report;
        let count = |tokens: Option<u64>| tokens.and_then(|tokens| i64::try_from(tokens).ok());
        Self {
            id: report.id.number().cast_signed(),
            target: Arc::clone(&report.target.name),
            workload: Arc::clone(&report.workload.name),
            at: micros_of(report.wall),
            release: release.0,
            mixed,
            suspect: report.suspect,
            cut: report.answer.cut,
            characters: i64::try_from(report.answer.characters).unwrap_or(i64::MAX),
            outcome: report.fault.as_ref().map_or(OK, |fault| outcome(fault.failure)),
            verdict: report.verdict.map(verdict),
            durations: Durations::of(report),
            tokens: [
                tokens.prompt,
                tokens.cached,
                tokens.reasoning,
                tokens.hidden,
                tokens.output,
                tokens.speculation.map(|guesses| guesses.drafted),
                tokens.speculation.map(|guesses| guesses.accepted),
            ]
            .map(count),
            tokens_per_arrival: sample.tokens_per_arrival.filter(|_| report.succeeded()),
            token_source: tokens.source.map(token_source),
            depth: report.depth.map(|depth| depth.0),
            trace: report.trace.map(TraceId::bytes),
            seed: [seed.random.cast_signed(), seed.step.into(), seed.size.into()],
            gaps: if report.succeeded() { sample.itl.iter().map(Gap::from).collect() } else { Vec::new() },
            texts: Texts::of(report).map(Box::new),
        }
    }

    /// How much memory it takes, about.
    pub(super) fn bytes(&self) -> usize {
        let texts = self.texts.as_ref().map_or(0, |t| t.text.len() + t.thought.len() + t.detail.len());
        size_of::<Self>() + size_of_val(self.gaps.as_slice()) + texts
    }
}

impl Durations {
    /// Of a failed probe the phases of its connection and how long it took: the rest is cut off somewhere.
    fn of(report: &Report) -> Self {
        let Report { sample, times, .. } = report;
        let any = |value: Option<Duration>| value.map(micros);
        let whole = |value: Option<Duration>| value.filter(|_| report.succeeded()).map(micros);
        Self {
            lag: micros(sample.lag),
            resolve: any(sample.resolve),
            connect: any(sample.connect),
            tls: any(sample.tls),
            wait: whole(sample.wait),
            ttft: whole(sample.ttft),
            answer_ttft: whole(sample.answer_ttft),
            tpot: whole(sample.tpot),
            stall: whole(sample.stall),
            latency: any(sample.latency),
            queue: whole(times.queue),
            prefill: whole(times.prefill),
            decode: whole(times.decode),
            load: whole(times.load),
        }
    }
}

impl Texts {
    fn of(report: &Report) -> Option<Self> {
        if report.succeeded() && !report.verdict.is_some_and(Verdict::is_bad) {
            return None;
        }
        let short = |text: &str| beginning(text, MOST_TEXT).to_owned();
        let texts = Self {
            text: short(&report.answer.text),
            thought: short(&report.answer.thought),
            detail: report.fault.as_ref().map_or_else(String::new, |fault| short(&fault.detail)),
        };
        [&texts.text, &texts.thought, &texts.detail].iter().any(|text| !text.is_empty()).then_some(texts)
    }
}

/// What `outcomes` calls "ok"; the numbers below have names there, in `verdicts` and in `token_sources`.
pub(super) const OK: i64 = 0;

pub(super) fn outcome(failure: Failure) -> i64 {
    match failure {
        Failure::Dns => 1,
        Failure::Connect => 2,
        Failure::Tls => 3,
        Failure::TimeoutFirstToken => 4,
        Failure::TimeoutStall => 5,
        Failure::TimeoutTotal => 6,
        Failure::Auth => 7,
        Failure::RateLimited => 8,
        Failure::Rejected => 9,
        Failure::ServerError => 10,
        Failure::InBand => 11,
        Failure::Truncated => 12,
        Failure::Empty => 13,
        Failure::Malformed => 14,
    }
}

pub(super) fn verdict(verdict: Verdict) -> i64 {
    match verdict {
        Verdict::Right => 0,
        Verdict::Wrong => 1,
        Verdict::Degenerate => 2,
        Verdict::Short => 3,
        Verdict::Unchecked => 4,
    }
}

pub(super) fn token_source(source: TokenSource) -> i64 {
    match source {
        TokenSource::ChunkUsage => 0,
        TokenSource::TokenIds => 1,
        TokenSource::FinalUsage => 2,
        TokenSource::Deltas => 3,
    }
}
