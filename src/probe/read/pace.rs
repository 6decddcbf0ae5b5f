//! Scripted streams with known instants, in every dialect that can carry them: the pace that is read is the true one.

use std::time::Duration;

use tokio::time::Instant;

use super::{Read, Reading};
use crate::domain::TokenSource::{self, ChunkUsage, FinalUsage, TokenIds};
use crate::domain::{Sample, Timeline, Tokens};
use crate::protocol::Dialect::{self, Anthropic, Gemini, OpenAiChat, OpenAiCompletions, OpenAiResponses};

const MS: Duration = Duration::from_millis(1);

/// What an engine does, whatever it says of it.
#[derive(Debug, Clone, Default)]
struct Script {
    /// Chunks with text: when they come, in milliseconds, and how many tokens each has.
    chunks: Vec<(u64, u64)>,
    /// Reasoning that is counted, and not shown.
    hidden: u64,
    /// The end token, which comes with the finish reason and has no text.
    has_end: bool,
}

impl Script {
    fn tokens(&self) -> u64 {
        self.hidden + self.chunks.iter().map(|(_, tokens)| tokens).sum::<u64>() + u64::from(self.has_end)
    }

    /// The events of an answer, each with its instant.
    fn events(&self, dialect: Dialect, says: TokenSource) -> Vec<(u64, String)> {
        let mut so_far = self.hidden;
        let mut events = Vec::new();
        for &(at, tokens) in &self.chunks {
            so_far += tokens;
            events.push((at, self.delta(dialect, says, so_far, tokens)));
        }
        let end = self.chunks.last().map_or(0, |(at, _)| at + 1);
        events.extend(self.finish(dialect, says).into_iter().map(|event| (end, event)));
        events
    }

    fn delta(&self, dialect: Dialect, says: TokenSource, so_far: u64, own: u64) -> String {
        let ids = if says == TokenIds { listed(own) } else { String::new() };
        let usage = if says == ChunkUsage { self.usage(so_far) } else { String::new() };
        match dialect {
            OpenAiChat => {
                format!(r#"{{"choices":[{{"index":0,"delta":{{"content":"a"}}{ids}}}]{usage}}}"#)
            }
            OpenAiCompletions => format!(r#"{{"choices":[{{"index":0,"text":"a"{ids}}}]{usage}}}"#),
            OpenAiResponses => r#"{"type":"response.output_text.delta","delta":"a"}"#.to_owned(),
            Anthropic => {
                r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}}"#
                    .to_owned()
            }
            Gemini => {
                let (answer, thoughts) = (so_far - self.hidden, self.hidden);
                format!(
                    r#"{{"candidates":[{{"content":{{"parts":[{{"text":"a"}}]}}}}],"usageMetadata":{{"promptTokenCount":9,"candidatesTokenCount":{answer},"thoughtsTokenCount":{thoughts}}}}}"#
                )
            }
            other => panic!("{other:?} is not scripted"),
        }
    }

    fn finish(&self, dialect: Dialect, says: TokenSource) -> Vec<String> {
        let (all, hidden) = (self.tokens(), self.hidden);
        let ids = if says == TokenIds && self.has_end { listed(1) } else { String::new() };
        let usage = self.usage(all);
        match dialect {
            OpenAiChat | OpenAiCompletions => vec![
                format!(
                    r#"{{"choices":[{{"index":0,"delta":{{}},"text":"","finish_reason":"stop"{ids}}}]}}"#
                ),
                format!(r#"{{"choices":[]{usage}}}"#),
                "[DONE]".to_owned(),
            ],
            OpenAiResponses => vec![format!(
                r#"{{"type":"response.completed","response":{{"status":"completed","usage":{{"input_tokens":9,"output_tokens":{all},"output_tokens_details":{{"reasoning_tokens":{hidden}}}}}}}}}"#
            )],
            Anthropic => vec![
                format!(
                    r#"{{"type":"message_delta","delta":{{"stop_reason":"end_turn"}},"usage":{{"output_tokens":{all},"output_tokens_details":{{"thinking_tokens":{hidden}}}}}}}"#
                ),
                r#"{"type":"message_stop"}"#.to_owned(),
            ],
            _ => vec![format!(
                r#"{{"candidates":[{{"finishReason":"STOP"}}],"usageMetadata":{{"promptTokenCount":9,"candidatesTokenCount":{},"thoughtsTokenCount":{hidden}}}}}"#,
                all - hidden
            )],
        }
    }

    fn usage(&self, output: u64) -> String {
        let details = format!(r#""completion_tokens_details":{{"reasoning_tokens":{}}}"#, self.hidden);
        format!(r#","usage":{{"prompt_tokens":9,"completion_tokens":{output},{details}}}"#)
    }
}

fn listed(count: u64) -> String {
    format!(r#","token_ids":[{}]"#, vec!["7"; count as usize].join(","))
}

/// What a probe makes of it.
fn read(dialect: Dialect, events: &[(u64, String)]) -> (Sample, Tokens) {
    let start = Instant::now();
    let mut timeline = Timeline::new(start, start);
    timeline.sent = Some(start);
    let mut reading = Reading::new(dialect, true, timeline);
    let mut at = start;
    for (ms, event) in events {
        at = start + MS * u32::try_from(*ms).unwrap();
        reading.take(at, format!("data: {event}\n\n").as_bytes()).unwrap();
    }
    reading.end(at).unwrap();
    let Read { timeline, tokens, .. } = reading.finish();
    (Sample::derive(&timeline, &tokens), tokens)
}

/// By nearest rank over all tokens that have a gap.
fn itl(sample: &Sample, percent: usize) -> Duration {
    let mut gaps: Vec<_> =
        sample.itl.iter().flat_map(|gap| vec![gap.per_token; gap.tokens as usize]).collect();
    gaps.sort();
    gaps[(gaps.len() * percent).div_ceil(100) - 1]
}

/// Milliseconds that are true: TPOT, median and 99th percentile of ITL, stall.
struct Truth {
    tpot: f64,
    p50: f64,
    p99: f64,
    stall: f64,
}

fn check(what: &str, script: &Script, truth: &Truth, dialects: &[(Dialect, TokenSource)]) {
    for &(dialect, says) in dialects {
        let (sample, tokens) = read(dialect, &script.events(dialect, says));
        let what = format!("{what}, {dialect:?}, {}", says.label());
        assert_eq!(tokens.source, Some(says), "{what}");
        assert_eq!(tokens.output, Some(script.tokens()), "{what}");
        assert_eq!(tokens.hidden.unwrap_or(0), script.hidden, "{what}");
        let read = [
            (sample.tpot.unwrap(), truth.tpot),
            (itl(&sample, 50), truth.p50),
            (itl(&sample, 99), truth.p99),
            (sample.stall.unwrap(), truth.stall),
        ];
        for (measured, ms) in read {
            assert!((measured.as_secs_f64() * 1e3 - ms).abs() < 1.0, "{what}: {read:?}");
        }
    }
}

/// Those that can say how many tokens a chunk has, and all that tell a total.
const EXACT: [(Dialect, TokenSource); 5] = [
    (OpenAiChat, ChunkUsage),
    (OpenAiChat, TokenIds),
    (OpenAiCompletions, ChunkUsage),
    (OpenAiCompletions, TokenIds),
    (Gemini, ChunkUsage),
];
const BY_TOTAL: [(Dialect, TokenSource); 4] = [
    (OpenAiChat, FinalUsage),
    (OpenAiCompletions, FinalUsage),
    (OpenAiResponses, FinalUsage),
    (Anthropic, FinalUsage),
];

fn all() -> Vec<(Dialect, TokenSource)> {
    [&EXACT[..], &BY_TOTAL].concat()
}

#[test]
fn bursts_with_a_natural_end_keep_their_gaps() {
    let mut chunks = vec![(200, 1)];
    chunks.extend((1..=10).map(|burst| (200 + 80 * burst, 8)));
    chunks.extend([(1104, 1), (1208, 1)]);
    let script = Script { chunks, has_end: true, hidden: 0 };
    let truth = Truth { tpot: 1008.0 / 82.0, p50: 10.0, p99: 104.0, stall: 104.0 };
    check("bursts", &script, &truth, &EXACT);
}

#[test]
fn chunks_of_eight_with_a_natural_end_have_the_pace_of_their_tokens() {
    let chunks = (1..=20).map(|burst| (80 * burst, 8)).collect();
    let script = Script { chunks, has_end: true, hidden: 0 };
    let truth = Truth { tpot: 10.0, p50: 10.0, p99: 10.0, stall: 80.0 };
    check("eight at a time", &script, &truth, &EXACT);
    // Nobody can tell the end token from the others if only the total is told.
    let (sample, _) = read(OpenAiChat, &script.events(OpenAiChat, FinalUsage));
    assert!((sample.tpot.unwrap().as_secs_f64() * 1e3 - truth.tpot).abs() < 0.1, "{:?}", sample.tpot);
}

#[test]
fn an_end_token_is_not_in_the_divisor_of_a_short_answer() {
    let chunks = (1..=4).map(|n| (1040 * n, 1)).collect();
    let script = Script { chunks, has_end: true, hidden: 0 };
    let truth = Truth { tpot: 1040.0, p50: 1040.0, p99: 1040.0, stall: 1040.0 };
    check("five tokens", &script, &truth, &all());
}

#[test]
fn hidden_reasoning_does_not_quicken_what_is_visible() {
    for has_end in [false, true] {
        let chunks = (0..50).map(|n| (9000 + 20 * n, 1)).collect();
        let script = Script { chunks, has_end, hidden: 450 };
        let truth = Truth { tpot: 20.0, p50: 20.0, p99: 20.0, stall: 20.0 };
        check("450 of 500 hidden", &script, &truth, &all());
    }
}

#[test]
fn a_stall_among_single_tokens_is_the_last_percent() {
    let chunks = (0..60).map(|n| (100 + 15 * n + if n < 30 { 0 } else { 485 }, 1)).collect();
    let script = Script { chunks, has_end: true, hidden: 0 };
    let truth = Truth { tpot: (59.0 * 15.0 + 485.0) / 59.0, p50: 15.0, p99: 500.0, stall: 500.0 };
    check("a stall", &script, &truth, &all());
}

#[test]
fn a_summary_of_reasoning_is_not_the_reasoning_that_was_counted() {
    let script = Script { chunks: (0..30).map(|n| (3000 + 20 * n, 1)).collect(), has_end: true, hidden: 400 };
    let thoughts = |kind: &str| (1..=5).map(|n| (100 * n, kind.to_owned())).collect::<Vec<_>>();
    for (dialect, thought) in [
        (OpenAiResponses, r#"{"type":"response.reasoning_summary_text.delta","delta":"hm"}"#),
        (Anthropic, r#"{"type":"content_block_delta","delta":{"type":"thinking_delta","thinking":"hm"}}"#),
    ] {
        let events = [thoughts(thought), script.events(dialect, FinalUsage)].concat();
        let (sample, tokens) = read(dialect, &events);
        assert_eq!((tokens.output, tokens.hidden, tokens.reasoning), (Some(431), Some(400), Some(400)));
        let later = 34;
        let span = Duration::from_millis(3000 + 20 * 29 - 100);
        assert_eq!(sample.tpot, Some(span.div_f64(f64::from(later))), "{dialect:?}");
        assert_eq!(itl(&sample, 50), 20 * MS, "{dialect:?}");
        assert_eq!(sample.answer_ttft, Some(3000 * MS));
    }
}

#[test]
fn half_a_character_counts_with_the_rest_of_it() {
    let chunk = |content: &str, total: u32| {
        format!(
            r#"{{"choices":[{{"delta":{{"content":"{content}"}}}}],"usage":{{"prompt_tokens":9,"completion_tokens":{total}}}}}"#
        )
    };
    let finish = r#"{"choices":[{"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":5}}"#;
    let events = [
        (100, chunk("a", 1)),
        (120, chunk("", 2)),
        (140, chunk("b", 3)),
        (160, chunk("c", 4)),
        (161, finish.to_owned()),
    ];
    let (sample, tokens) = read(OpenAiChat, &events);
    assert_eq!((tokens.output, tokens.source), (Some(5), Some(ChunkUsage)));
    assert_eq!((sample.tpot, itl(&sample, 99), sample.stall), (Some(20 * MS), 20 * MS, Some(40 * MS)));
}
