//! What the OpenAI-like formats share: addresses, chunks, usage, and the many shapes of an error.

mod choice;

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use url::Url;

use super::drafts::Drafts;
use super::gather::Gathered;
use super::look::{Label, Number, Object};
use super::timings::{Metrics, Timings};
use super::{Meaning, Nonsense, from_json, refusal};
use crate::domain::{Field, Fields, Prompt, ServerTimes, Speculation, Target, Tokens};
use choice::Choices;

/// The end marker of a stream.
const DONE: &[u8] = b"[DONE]";

/// Puts the path of a call behind a base that may or may not end in its version, or may be the whole
/// address already.
pub(super) fn join(base: &Url, call: &str) -> Url {
    let path = base.path().trim_end_matches('/');
    let last = path.rsplit('/').next().unwrap_or_default();
    let versioned = last.strip_prefix('v').is_some_and(|n| n.starts_with(|c: char| c.is_ascii_digit()));
    let path = if path.ends_with(&format!("/{call}")) {
        path.to_owned()
    } else if versioned || path.contains("/deployments/") {
        // Azure puts the deployment where others put the version.
        format!("{path}/{call}")
    } else {
        format!("{path}/v1/{call}")
    };
    let mut url = base.clone();
    url.set_path(&path);
    url
}

/// The fields of a request that both formats send in the same way.
#[derive(Debug, Serialize)]
pub(super) struct Common<'a> {
    model: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_tokens: Option<u32>,
    /// The later name, sent only where the first is refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    max_completion_tokens: Option<u32>,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    stream_options: Option<StreamOptions>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ignore_eos: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    min_tokens: Option<u32>,
}

#[derive(Debug, Serialize)]
struct StreamOptions {
    include_usage: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    continuous_usage_stats: Option<bool>,
}

/// Those of the allowed fields that make sense for this prompt.
pub(super) fn useful(target: &Target, prompt: &Prompt, allowed: Fields) -> Fields {
    let of = |field| match field {
        Field::StreamOptions => target.stream,
        // It is a part of the other.
        Field::ContinuousUsage => target.stream && allowed.has(Field::StreamOptions),
        Field::IgnoreEos | Field::MinTokens => prompt.exact_output,
        Field::MaxTokens => true,
        Field::Store | Field::Reasoning | Field::TemplateSwitch => false,
    };
    allowed.iter().filter(|&field| of(field)).fold(Fields::NONE, Fields::with)
}

impl<'a> Common<'a> {
    pub(super) fn new(target: &'a Target, prompt: &Prompt, fields: Fields) -> Self {
        let max_tokens = prompt.max_tokens;
        let options = StreamOptions {
            include_usage: true,
            continuous_usage_stats: fields.has(Field::ContinuousUsage).then_some(true),
        };
        Self {
            model: &target.model,
            max_tokens: fields.has(Field::MaxTokens).then_some(max_tokens),
            max_completion_tokens: (!fields.has(Field::MaxTokens)).then_some(max_tokens),
            stream: target.stream,
            stream_options: fields.has(Field::StreamOptions).then_some(options),
            ignore_eos: fields.has(Field::IgnoreEos).then_some(true),
            min_tokens: fields.has(Field::MinTokens).then_some(max_tokens),
        }
    }
}

/// One chunk of a streamed answer, or a whole one. Every field may be missing or null on one server or another.
#[derive(Debug, Deserialize)]
struct Chunk<'a, const WHOLE: bool> {
    #[serde(default, borrow)]
    choices: Option<Gathered<Choices<'a, WHOLE>>>,
    #[serde(default)]
    usage: Option<Usage>,
    #[serde(default)]
    error: Option<Value>,
    #[serde(default)]
    object: Object,
    #[serde(default)]
    message: Option<Value>,
    #[serde(default)]
    detail: Option<Value>,
    #[serde(default, borrow)]
    system_fingerprint: Label<'a>,
    #[serde(default, borrow)]
    model: Label<'a>,
    /// vLLM's account of its time, in milliseconds.
    #[serde(default)]
    metrics: Option<Metrics>,
    /// llama.cpp's.
    #[serde(default)]
    timings: Option<Timings>,
    /// SGLang's extensions.
    #[serde(default)]
    sglext: Drafts,
}

#[derive(Debug, Deserialize)]
struct Usage {
    #[serde(default)]
    prompt_tokens: Option<u64>,
    #[serde(default)]
    completion_tokens: Option<u64>,
    #[serde(default)]
    total_tokens: Number,
    #[serde(default)]
    prompt_tokens_details: Option<PromptDetails>,
    #[serde(default)]
    completion_tokens_details: Option<CompletionDetails>,
    /// SGLang's place for it.
    #[serde(default)]
    reasoning_tokens: Number,
    /// MindIE's: microseconds for each token, the first of them before the prompt was computed.
    #[serde(default)]
    queue_wait_time: Option<Value>,
}

#[derive(Debug, Deserialize)]
struct PromptDetails {
    #[serde(default)]
    cached_tokens: Option<u64>,
}

#[derive(Debug, Deserialize)]
struct CompletionDetails {
    #[serde(default, rename = "reasoning_tokens")]
    reasoning: Option<u64>,
    /// Of a prediction that the request brought along, or of a draft.
    #[serde(default, rename = "accepted_prediction_tokens")]
    accepted: Number,
    #[serde(default, rename = "rejected_prediction_tokens")]
    rejected: Number,
}

pub(super) fn interpret(data: &[u8]) -> Result<Meaning<'_>, Nonsense> {
    if data.trim_ascii() == DONE {
        return Ok(Meaning::end());
    }
    from_json::<Chunk<'_, false>>(data).map(Chunk::meaning)
}

pub(super) fn interpret_whole(body: &[u8]) -> Result<Meaning<'_>, Nonsense> {
    from_json::<Chunk<'_, true>>(body).map(Chunk::meaning)
}

impl<'a, const WHOLE: bool> Chunk<'a, WHOLE> {
    fn meaning(self) -> Meaning<'a> {
        if let Some(error) = self.error_text() {
            return Meaning::error(error);
        }
        let times = self.times();
        let told = self.metrics.and_then(Metrics::speculation);
        let told = told.or_else(|| self.timings.and_then(Timings::speculation));
        let told = told.or_else(|| self.sglext.speculation());
        let Gathered(choices) = self.choices.unwrap_or_default();
        let speculation = told.or_else(|| choices.drafts.speculation());
        let mut meaning = Meaning {
            token_ids: choices.token_ids,
            usage: self.usage.filter(Usage::is_count).map(Tokens::from),
            times,
            fingerprint: self.system_fingerprint.0,
            model: self.model.0,
            finished: choices.finished,
            cut: choices.cut,
            ..Meaning::from(choices.said)
        };
        if let Some(cached) = self.timings.and_then(|timings| timings.cached) {
            meaning.usage.get_or_insert_default().cached = Some(cached);
        }
        if let Some(speculation) = speculation {
            meaning.usage.get_or_insert_default().speculation = Some(speculation);
        }
        meaning
    }

    fn times(&self) -> ServerTimes {
        let metrics = self.metrics.map(Metrics::times).unwrap_or_default();
        let timings = self.timings.map(Timings::times).unwrap_or_default();
        let waited = self.usage.as_ref().and_then(|usage| usage.queue_wait_time.as_ref());
        let waited = waited.and_then(|wait| wait.get(0).unwrap_or(wait).as_f64());
        ServerTimes {
            queue: metrics.queue.or_else(|| ServerTimes::read(waited, Duration::from_micros(1))),
            prefill: metrics.prefill.or(timings.prefill),
            decode: metrics.decode.or(timings.decode),
            load: None,
        }
    }

    fn error_text(&self) -> Option<String> {
        if let Some(error) = self.error.as_ref().filter(|error| !error.is_null()) {
            return Some(refusal::text_of(error));
        }
        let says_nothing_else = self.choices.is_none() && self.usage.is_none();
        let text = self.message.as_ref().or(self.detail.as_ref()).filter(|text| !text.is_null());
        if !self.object.is_error && (text.is_none() || !says_nothing_else) {
            return None;
        }
        Some(text.map_or_else(|| "an error without a message".to_owned(), refusal::text_of))
    }
}

impl Usage {
    /// No prompt is empty: where nothing went in and nothing came out, the zeros only hold the place of counts
    /// that come later, or never. Ollama writes them beside every piece of text.
    fn is_count(&self) -> bool {
        self.prompt_tokens != Some(0) || self.completion_tokens != Some(0)
    }

    fn reasoning(&self) -> Option<u64> {
        let details = self.completion_tokens_details.as_ref().and_then(|details| details.reasoning);
        details.or(self.reasoning_tokens.0.filter(|&tokens| tokens > 0))
    }

    /// Reasoning is a part of the completion for most, and for some (xAI) counted beside it: the sum shows it.
    fn output(&self) -> Option<u64> {
        let completion = self.completion_tokens?;
        let beside = self.reasoning().and_then(|reasoning| completion.checked_add(reasoning));
        let rest = self.total_tokens.0.and_then(|total| total.checked_sub(self.prompt_tokens?));
        Some(beside.filter(|_| beside == rest).unwrap_or(completion))
    }
}

impl From<Usage> for Tokens {
    fn from(usage: Usage) -> Self {
        let (output, reasoning) = (usage.output(), usage.reasoning());
        let details = usage.completion_tokens_details;
        Self {
            prompt: usage.prompt_tokens,
            cached: usage.prompt_tokens_details.and_then(|d| d.cached_tokens),
            reasoning,
            output,
            speculation: details.as_ref().and_then(CompletionDetails::speculation),
            ..Self::default()
        }
    }
}

impl CompletionDetails {
    fn speculation(&self) -> Option<Speculation> {
        let (accepted, rejected) = (self.accepted.0, self.rejected.0);
        Speculation::stated(accepted.zip(rejected).map(|(a, b)| a.saturating_add(b)), accepted)
    }
}

#[cfg(test)]
mod tests;
