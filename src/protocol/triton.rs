//! `triton`: the generate extension, `/v2/models/{model}/generate_stream` and `/generate`, as Triton's LLM
//! back ends and MindIE serve it.
//!
//! The request. Triton hands every field that is no input of the model on as a parameter, whether it stands
//! in `parameters` or beside it; TensorRT-LLM pays no heed to parameters that it does not know, and MindIE
//! none to fields outside `parameters`. So one body serves both. Triton's vLLM back end makes all parameters
//! sampling parameters and fails on a strange one: it gets a body of its own, with `engine = "vllm"`.
//!
//! The end. MindIE with `details`, and vLLM when asked for it, tell a finish reason. TensorRT-LLM does not:
//! its `sequence_end` belongs to stateful batching and stays false, and `triton_final_response` is told over
//! gRPC only. Over HTTP Triton says "final" with the last chunk of the chunked body alone, and after an error
//! sends an error object. A body that ends properly after an event without any word of details or finish
//! reasons is therefore a complete answer; one that breaks off, or that ends although the server does tell
//! finish reasons, is not.

use std::time::Duration;

use serde::de::{Deserializer, SeqAccess};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use url::Url;

use super::look::{Look, look, pass_over};
use super::words::Words;
use super::{Meaning, Nonsense, address, from_json, reason, refusal, to_json};
use crate::domain::{Engine, Prompt, ServerTimes, Speculation, Target, Tokens};

#[derive(Debug, Serialize)]
struct Body<'a> {
    text_input: &'a str,
    max_tokens: u32,
    stream: bool,
    /// Streams never repeat the prompt; whole answers begin with it unless told not to.
    #[serde(skip_serializing_if = "Option::is_none")]
    exclude_input_in_output: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parameters: Option<Parameters>,
    #[serde(flatten)]
    vllm: Option<Vllm>,
}

/// Where MindIE looks.
#[derive(Debug, Serialize)]
struct Parameters {
    max_new_tokens: u32,
    details: bool,
}

/// What only the vLLM back end takes: inputs that ask for more outputs, and sampling parameters.
#[derive(Debug, Serialize)]
struct Vllm {
    return_finish_reason: bool,
    return_num_input_tokens: bool,
    return_num_output_tokens: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    ignore_eos: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    min_tokens: Option<u32>,
}

/// One event; a whole answer has the same shape.
#[derive(Debug, Deserialize)]
struct Event<'a> {
    #[serde(default, borrow)]
    text_output: Option<Output<'a>>,
    #[serde(default)]
    details: Option<Details>,
    #[serde(default)]
    finish_reason: Option<Value>,
    #[serde(default)]
    triton_final_response: Option<bool>,
    /// vLLM's: of this event alone.
    #[serde(default)]
    num_output_tokens: Option<Value>,
    #[serde(default)]
    num_input_tokens: Option<Value>,
    /// TensorRT-LLM's, with performance metrics.
    #[serde(default)]
    total_draft_tokens: Option<Value>,
    #[serde(default)]
    total_accepted_draft_tokens: Option<Value>,
    #[serde(default)]
    queue_wait_time: Option<Value>,
    #[serde(default)]
    prefill_time: Option<f64>,
    #[serde(default)]
    decode_time: Option<f64>,
    #[serde(default)]
    error: Option<Value>,
}

/// A text, or a list of several to the same prompt, of which the first is read.
#[derive(Debug, Default)]
struct Output<'a>(Words<'a>);

/// MindIE's, with the tokens so far.
#[derive(Debug, Deserialize)]
struct Details {
    #[serde(default)]
    finish_reason: Option<Value>,
    #[serde(default)]
    generated_tokens: Option<u64>,
    #[serde(default)]
    queue_wait_time: Option<Value>,
}

pub(super) fn url(target: &Target) -> Url {
    let stem = address::stem(&target.url, &["/generate_stream", "/generate", "/v2", "/v1"]);
    let call = if target.stream { "generate_stream" } else { "generate" };
    // A base may name the model, and with it a version.
    let path = if stem.contains("/v2/models/") {
        format!("{stem}/{call}")
    } else {
        format!("{stem}/v2/models/{}/{call}", target.model)
    };
    address::at(&target.url, &path)
}

pub(super) fn body(target: &Target, prompt: &Prompt) -> String {
    let is_vllm = target.engine == Engine::Vllm;
    let max_tokens = prompt.max_tokens;
    to_json(&Body {
        text_input: &prompt.text(),
        max_tokens,
        stream: target.stream,
        exclude_input_in_output: (!target.stream).then_some(true),
        parameters: (!is_vllm).then_some(Parameters { max_new_tokens: max_tokens, details: true }),
        vllm: is_vllm.then_some(Vllm {
            return_finish_reason: true,
            return_num_input_tokens: true,
            return_num_output_tokens: true,
            ignore_eos: prompt.exact_output.then_some(true),
            min_tokens: prompt.exact_output.then_some(max_tokens),
        }),
    })
}

pub(super) fn interpret(data: &[u8]) -> Result<Meaning<'_>, Nonsense> {
    let event: Event<'_> = from_json(data)?;
    let own = count(event.num_output_tokens.as_ref());
    let mut meaning = event.meaning(None);
    meaning.token_ids = own.and_then(|own| u32::try_from(own).ok());
    Ok(meaning)
}

pub(super) fn interpret_whole(body: &[u8]) -> Result<Meaning<'_>, Nonsense> {
    let answer: Event<'_> = from_json(body)?;
    let all = count(answer.num_output_tokens.as_ref());
    Ok(answer.meaning(all))
}

impl<'a> Event<'a> {
    /// `output` is the total that the event tells outside its details.
    fn meaning(self, output: Option<u64>) -> Meaning<'a> {
        let error = self.error.as_ref().filter(|error| !error.is_null());
        let details = self.details.as_ref();
        let tokens = Tokens {
            prompt: count(self.num_input_tokens.as_ref()),
            output: details.and_then(|details| details.generated_tokens).or(output),
            speculation: Speculation::stated(
                count(self.total_draft_tokens.as_ref()),
                count(self.total_accepted_draft_tokens.as_ref()),
            ),
            ..Tokens::default()
        };
        let reasons =
            [self.finish_reason.as_ref(), details.and_then(|details| details.finish_reason.as_ref())];
        let mut reasons = reasons.into_iter().flatten().filter_map(reason_of).peekable();
        let meaning = Meaning {
            usage: (tokens != Tokens::default()).then_some(tokens),
            times: self.times(),
            finished: self.triton_final_response == Some(true) || reasons.peek().is_some(),
            cut: reasons.any(reason::is_length),
            may_be_last: self.text_output.is_some() && details.is_none() && self.finish_reason.is_none(),
            error: error.map(refusal::text_of),
            ..Meaning::default()
        };
        meaning.saying(self.text_output.unwrap_or_default().0)
    }

    /// MindIE tells how long each step waited and took. The wait of the first step, the one without a decode
    /// time, is the request's; a sum of the decode times is told nowhere, and the last one is not it.
    fn times(&self) -> ServerTimes {
        if self.decode_time.is_some() {
            return ServerTimes::default();
        }
        let inner = self.details.as_ref().and_then(|details| details.queue_wait_time.as_ref());
        let waited = self.queue_wait_time.as_ref().or(inner).and_then(first).and_then(Value::as_f64);
        ServerTimes {
            queue: ServerTimes::read(waited, Duration::from_micros(1)),
            prefill: ServerTimes::read(self.prefill_time, Duration::from_millis(1)),
            ..ServerTimes::default()
        }
    }
}

/// Triton writes a tensor of one element plain, and one of several as a list.
fn first(value: &Value) -> Option<&Value> {
    if value.is_array() { value.get(0) } else { Some(value) }
}

fn count(value: Option<&Value>) -> Option<u64> {
    value.and_then(first).and_then(Value::as_u64)
}

/// The vLLM back end writes Python's `None` as a text until the answer is finished.
fn reason_of(value: &Value) -> Option<&str> {
    first(value).and_then(Value::as_str).filter(|reason| !reason.is_empty() && *reason != "None")
}

impl<'de: 'a, 'a> Look<'de> for Output<'a> {
    fn text(text: &str) -> Self {
        Self(Words::text(text))
    }

    fn borrowed(text: &'de str) -> Self {
        Self(Words::borrowed(text))
    }

    fn list<A: SeqAccess<'de>>(mut items: A) -> Result<Self, A::Error> {
        let first: Option<Words> = items.next_element()?;
        pass_over(items)?;
        let any = first.is_some();
        Ok(Self(Words { any, ..first.unwrap_or_default() }))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Output<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        look(deserializer)
    }
}

#[cfg(test)]
mod tests;
