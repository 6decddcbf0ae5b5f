//! Streams with known tokens, sent over a socket at stamped instants: the pace that a probe reads is the one that was sent.

mod support;

use std::time::Duration;

use sloprobe::domain::TokenSource::{self, ChunkUsage, FinalUsage};
use sloprobe::domain::{Report, Speculation};
use support::{PATIENT, Prober, Server, Step, event, head, in_time, ms, plan, punctually};
use tokio::time::Instant;

/// Chunks with text: when they are sent, in milliseconds, and how many tokens each has.
type Chunks = [(u64, u32)];

/// One by one, in bursts, and after a pause.
const MIXED: &Chunks =
    &[(50, 1), (130, 8), (210, 8), (290, 8), (370, 8), (474, 1), (554, 8), (634, 8), (738, 1)];
const SINGLE: &Chunks = &[(50, 1), (70, 1), (90, 1), (110, 1), (130, 1), (234, 1), (254, 1), (274, 1)];

/// How an API says it: the chunk with so many tokens so far, and the end with so many in all, hidden ones among them.
struct Form {
    api: &'static str,
    source: TokenSource,
    delta: fn(u32) -> String,
    end: fn(u32, u32) -> Vec<String>,
}

const CHAT: Form = Form {
    api: "openai-chat",
    source: FinalUsage,
    delta: |_| r#"{"choices":[{"index":0,"delta":{"content":"a"}}]}"#.to_owned(),
    end: openai_end,
};
const COUNTED_CHAT: Form = Form {
    source: ChunkUsage,
    delta: |so_far| {
        format!(
            r#"{{"choices":[{{"index":0,"delta":{{"content":"a"}}}}],"usage":{{"prompt_tokens":9,"completion_tokens":{so_far}}}}}"#
        )
    },
    ..CHAT
};
const COMPLETIONS: Form = Form {
    api: "openai-completions",
    delta: |_| r#"{"choices":[{"index":0,"text":"a"}]}"#.to_owned(),
    ..CHAT
};
const COUNTED_COMPLETIONS: Form = Form {
    api: "openai-completions",
    source: ChunkUsage,
    delta: |so_far| {
        format!(
            r#"{{"choices":[{{"index":0,"text":"a"}}],"usage":{{"prompt_tokens":9,"completion_tokens":{so_far}}}}}"#
        )
    },
    end: openai_end,
};
const RESPONSES: Form = Form {
    api: "openai-responses",
    source: FinalUsage,
    delta: |_| r#"{"type":"response.output_text.delta","delta":"a"}"#.to_owned(),
    end: |all, hidden| {
        vec![format!(
            r#"{{"type":"response.completed","response":{{"status":"completed","usage":{{"input_tokens":9,"output_tokens":{all},"output_tokens_details":{{"reasoning_tokens":{hidden}}}}}}}}}"#
        )]
    },
};
const MESSAGES: Form = Form {
    api: "anthropic",
    source: FinalUsage,
    delta: |_| r#"{"type":"content_block_delta","delta":{"type":"text_delta","text":"a"}}"#.to_owned(),
    end: |all, hidden| {
        vec![
            format!(
                r#"{{"type":"message_delta","delta":{{"stop_reason":"end_turn"}},"usage":{{"output_tokens":{all},"output_tokens_details":{{"thinking_tokens":{hidden}}}}}}}"#
            ),
            r#"{"type":"message_stop"}"#.to_owned(),
        ]
    },
};

fn openai_end(all: u32, hidden: u32) -> Vec<String> {
    vec![
        r#"{"choices":[{"index":0,"delta":{},"text":"","finish_reason":"stop"}]}"#.to_owned(),
        format!(
            r#"{{"choices":[],"usage":{{"prompt_tokens":9,"completion_tokens":{all},"completion_tokens_details":{{"reasoning_tokens":{hidden}}}}},"metrics":{{"speculative_decoding":{{"num_draft_tokens":90,"num_accepted_draft_tokens":41}}}}}}"#
        ),
        "[DONE]".to_owned(),
    ]
}

impl Form {
    /// The stream, with an end token beside the finish reason.
    fn script(&self, chunks: &Chunks, hidden: u32) -> Vec<Step> {
        let mut steps = vec![head()];
        let mut so_far = hidden;
        for &(at, tokens) in chunks {
            so_far += tokens;
            steps.extend([Step::At(ms(at)), Step::Send(event(&(self.delta)(so_far)))]);
        }
        let end = (self.end)(so_far + 1, hidden).iter().map(|data| event(data)).collect::<String>();
        steps.extend([Step::At(ms(chunks[chunks.len() - 1].0 + 5)), Step::Send(end + "0\r\n\r\n")]);
        steps
    }

    async fn probe(&self, chunks: &Chunks, hidden: u32) -> (Report, Vec<Instant>) {
        let server = Server::start(self.script(chunks, hidden)).await;
        let more = format!("api = '{}'\nengine = 'other'", self.api);
        let report = Prober::new(plan(&format!("http://{}", server.address), &more, PATIENT)).probe().await;
        let sent = server.seen.sent.lock().expect("no test panics while it holds this").clone();
        // The head came before, the end after.
        (report, sent[1..=chunks.len()].to_vec())
    }
}

/// TPOT, median and 99th percentile of ITL by nearest rank, and stall.
fn pace(gaps: &[(Duration, u32)]) -> [Duration; 4] {
    let tokens: u32 = gaps.iter().map(|(_, tokens)| tokens).sum();
    let mut each: Vec<_> =
        gaps.iter().flat_map(|&(gap, tokens)| vec![gap / tokens; tokens as usize]).collect();
    each.sort();
    let rank = |percent: usize| each[(each.len() * percent).div_ceil(100) - 1];
    let all: Duration = gaps.iter().map(|(gap, _)| gap).sum();
    [all / tokens, rank(50), rank(99), gaps.iter().map(|(gap, _)| *gap).max().expect("a gap")]
}

fn measured(report: &Report) -> [Duration; 4] {
    let gaps: Vec<_> = report.sample.itl.iter().map(|gap| (gap.per_token * gap.tokens, gap.tokens)).collect();
    let [_, p50, p99, _] = pace(&gaps);
    [report.sample.tpot.expect("a TPOT"), p50, p99, report.sample.stall.expect("a stall")]
}

async fn check(form: &Form, chunks: &Chunks, hidden: u32) {
    let what = format!("{}, {}", form.api, form.source.label());
    punctually(async || {
        let (report, sent) = form.probe(chunks, hidden).await;
        assert_eq!(report.fault, None, "{what}");
        assert_eq!(report.tokens.source, Some(form.source), "{what}");
        let visible: u32 = chunks.iter().map(|(_, tokens)| tokens).sum();
        assert_eq!(report.tokens.output, Some(u64::from(hidden + visible + 1)), "{what}");
        assert_eq!(report.tokens.hidden, Some(u64::from(hidden)).filter(|&n| n > 0), "{what}");
        let attributed: Vec<_> = report.timeline.deltas.iter().map(|delta| delta.tokens).collect();
        let true_ones: Vec<_> = chunks.iter().map(|&(_, tokens)| Some(tokens)).collect();
        assert_eq!(attributed, true_ones, "{what}");
        let gaps: Vec<_> = sent
            .windows(2)
            .zip(&chunks[1..])
            .map(|(pair, &(_, tokens))| (pair[1] - pair[0], tokens))
            .collect();
        let (truth, measured) = (pace(&gaps), measured(&report));
        let is_near = truth.iter().zip(&measured).all(|(a, b)| a.abs_diff(*b) < ms(1));
        in_time(is_near, &(&what, truth, measured))
    })
    .await;
}

#[tokio::test]
async fn bursts_with_usage_on_every_chunk_and_a_natural_end_read_as_they_were_sent() {
    for form in [COUNTED_CHAT, COUNTED_COMPLETIONS] {
        check(&form, MIXED, 0).await;
    }
}

#[tokio::test]
async fn a_natural_end_does_not_quicken_single_tokens() {
    for form in [COUNTED_CHAT, COUNTED_COMPLETIONS, CHAT, COMPLETIONS, RESPONSES, MESSAGES] {
        check(&form, SINGLE, 0).await;
    }
}

#[tokio::test]
async fn hidden_reasoning_is_counted_and_has_no_pace() {
    for form in [COUNTED_CHAT, COUNTED_COMPLETIONS, CHAT, COMPLETIONS, RESPONSES, MESSAGES] {
        check(&form, SINGLE, 450).await;
    }
}

#[tokio::test]
async fn what_an_engine_says_of_its_guesses_is_on_the_report() {
    let (report, _) = CHAT.probe(SINGLE, 0).await;
    assert_eq!(report.tokens.speculation, Some(Speculation { drafted: 90, accepted: 41 }));
    let (report, _) = MESSAGES.probe(SINGLE, 0).await;
    assert_eq!(report.tokens.speculation, None);
}
