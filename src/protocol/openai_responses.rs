//! `openai-responses`: `/v1/responses`.

mod whole;

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use url::Url;

use super::envelope::Envelope;
use super::look::Something;
use super::message::{Message, messages};
use super::reason::Reason;
use super::sse::{self, Item, TooLong};
use super::timings::{Metrics, Timings};
use super::words::{Said, Words};
use super::{Meaning, Nonsense, from_json, openai, refusal, to_json};
use crate::domain::{Channel, Field, Fields, Prompt, Role, Target, Tokens, Turn};
use whole::Whole;

/// Not in the format, but some servers end every stream with it.
const DONE: &[u8] = b"[DONE]";

#[derive(Debug, Serialize)]
struct Body<'a> {
    model: &'a str,
    /// What the system says is no item of the input.
    #[serde(skip_serializing_if = "Option::is_none")]
    instructions: Option<&'a str>,
    input: Input<'a>,
    max_output_tokens: u32,
    stream: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    store: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ignore_eos: Option<bool>,
}

/// Those of the allowed fields that make sense for this prompt.
pub(super) fn useful(prompt: &Prompt, allowed: Fields) -> Fields {
    let store = Fields::of(&[Field::Store]);
    allowed.only(if prompt.exact_output { store.with(Field::IgnoreEos) } else { store })
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Input<'a> {
    /// One turn of the user; every server takes it in this form.
    Text(&'a str),
    Turns(Vec<Message<'a>>),
}

pub(super) fn url(target: &Target) -> Url {
    openai::join(&target.url, "responses")
}

pub(super) fn body(target: &Target, prompt: &Prompt, fields: Fields) -> String {
    to_json(&Body {
        model: &target.model,
        instructions: prompt.system(),
        input: match prompt.conversation() {
            [Turn { role: Role::User, text }] => Input::Text(text),
            turns => Input::Turns(messages(turns)),
        },
        max_output_tokens: prompt.max_tokens,
        stream: target.stream,
        store: fields.has(Field::Store).then_some(false),
        ignore_eos: fields.has(Field::IgnoreEos).then_some(true),
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
enum Kind {
    #[serde(rename = "response.output_text.delta", alias = "response.refusal.delta")]
    Answer,
    #[serde(rename = "response.reasoning_text.delta")]
    Reasoning,
    #[serde(rename = "response.reasoning_summary_text.delta")]
    Summary,
    #[serde(rename = "response.function_call_arguments.delta")]
    Arguments,
    #[serde(rename = "response.output_item.added")]
    ItemAdded,
    #[serde(rename = "response.completed", alias = "response.incomplete")]
    Finished,
    #[serde(rename = "response.failed")]
    Failed,
    #[serde(rename = "error")]
    Error,
    #[serde(other)]
    Other,
}

#[derive(Debug, Deserialize)]
struct ItemAdded {
    #[serde(default)]
    item: Option<Announced>,
}

#[derive(Debug, Deserialize)]
struct Announced {
    #[serde(default, rename = "type")]
    kind: Option<ItemKind>,
    #[serde(default)]
    name: Something,
}

#[derive(Debug, Deserialize)]
struct Over {
    response: Ending,
    /// llama.cpp's.
    #[serde(default)]
    timings: Option<Timings>,
}

/// How an answer ended and what it cost; what it says is not looked at.
#[derive(Debug, Deserialize)]
struct Ending {
    #[serde(default)]
    status: Option<Status>,
    #[serde(default)]
    error: Option<Value>,
    #[serde(default)]
    incomplete_details: Option<Incomplete>,
    #[serde(default)]
    usage: Option<Usage>,
    /// vLLM's account of its time, in milliseconds.
    #[serde(default)]
    metrics: Option<Metrics>,
    #[serde(default)]
    model: Option<Value>,
}

#[derive(Debug, Deserialize)]
struct Incomplete {
    #[serde(default)]
    reason: Reason,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Status {
    Completed,
    Incomplete,
    Failed,
    #[serde(other)]
    Other,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum ItemKind {
    Message,
    Reasoning,
    FunctionCall,
    #[serde(other)]
    Other,
}

#[derive(Debug, Deserialize)]
struct Usage {
    #[serde(default)]
    input_tokens: Option<u64>,
    #[serde(default)]
    input_tokens_details: Option<InputDetails>,
    #[serde(default)]
    output_tokens: Option<u64>,
    #[serde(default)]
    output_tokens_details: Option<OutputDetails>,
}

#[derive(Debug, Deserialize)]
struct InputDetails {
    #[serde(default)]
    cached_tokens: Option<u64>,
}

#[derive(Debug, Deserialize)]
struct OutputDetails {
    #[serde(default)]
    reasoning_tokens: Option<u64>,
}

pub(super) fn interpret(data: &[u8]) -> Result<Meaning<'_>, Nonsense> {
    if data.trim_ascii() == DONE {
        return Ok(Meaning::end());
    }
    let envelope: Envelope<Kind, Words<'_>> = from_json(data)?;
    if envelope.is_error(&Kind::Error) {
        return Ok(Meaning::error(refusal::explain(data)));
    }
    let added = envelope.delta.unwrap_or_default();
    let mut said = Said::default();
    match envelope.kind {
        Some(Kind::Answer) => said.add(Channel::Answer, added),
        Some(Kind::Reasoning) => said.add(Channel::Reasoning, added),
        Some(Kind::Summary) => {
            let is_summary = added.any;
            said.add(Channel::Reasoning, added);
            return Ok(Meaning { is_summary, ..said.into() });
        }
        Some(Kind::Arguments) => said.add(Channel::ToolCall, added),
        // A function's name is generated like its arguments, and announced with the item.
        Some(Kind::ItemAdded) => {
            let item = from_json::<ItemAdded>(data)?.item;
            if item.is_some_and(|item| item.is_call()) {
                said.mark(Channel::ToolCall);
            }
        }
        Some(Kind::Finished) => return Ok(from_json::<Over>(data)?.meaning(Status::Completed)),
        Some(Kind::Failed) => return Ok(from_json::<Over>(data)?.meaning(Status::Failed)),
        // Progress, what was said once more at the end of each part, and what has not been invented yet.
        Some(Kind::Error | Kind::Other) | None => {}
    }
    Ok(said.into())
}

pub(super) fn interpret_whole(body: &[u8]) -> Result<Meaning<'_>, Nonsense> {
    // At least one server streams although it was asked not to.
    let start = body.trim_ascii_start();
    if [&b"data:"[..], b"event:", b":"].iter().any(|prefix| start.starts_with(prefix)) {
        return interpret_stream(body);
    }
    if from_json::<Envelope<Kind, IgnoredAny>>(body)?.is_error(&Kind::Error) {
        return Ok(Meaning::error(refusal::explain(body)));
    }
    let ending: Ending = from_json(body)?;
    let status = ending.status.unwrap_or(Status::Other);
    Ok(ending.meaning(status).saying(from_json::<Whole<'_>>(body)?.said()))
}

/// A stream that is all there already, as one answer.
fn interpret_stream(body: &[u8]) -> Result<Meaning<'static>, Nonsense> {
    let mut answer = Ok(Meaning::default());
    let mut note = |item: Item<'_>| {
        let so_far = std::mem::replace(&mut answer, Ok(Meaning::default()));
        answer = so_far.and_then(|so_far| with_next(so_far, item));
        Ok::<(), TooLong>(())
    };
    let mut decoder = sse::Decoder::default();
    decoder
        .feed(body, &mut note)
        .and_then(|()| decoder.finish(&mut note))
        .map_err(|e| Nonsense(e.to_string()))?;
    let answer = answer?;
    if answer.finished || answer.ended || answer.error.is_some() {
        Ok(answer)
    } else {
        Err(Nonsense("a stream that nobody asked for, and that ended before the answer did".to_owned()))
    }
}

/// What an answer says together with its next event.
fn with_next(mut answer: Meaning<'static>, item: Item<'_>) -> Result<Meaning<'static>, Nonsense> {
    if answer.ended || answer.error.is_some() {
        return Ok(answer);
    }
    let next = match item {
        Item::Event(data) => interpret(data)?,
        Item::Error(data) => Meaning::error(refusal::explain(data)),
        Item::Stray(line) => {
            return Err(Nonsense(format!("not an event: {}", String::from_utf8_lossy(line))));
        }
    };
    answer.channels.extend(next.channels);
    answer.text.to_mut().push_str(&next.text);
    answer.thought.to_mut().push_str(&next.thought);
    answer.is_summary |= next.is_summary;
    answer.cut |= next.cut;
    answer.usage = next.usage.or(answer.usage);
    answer.times = answer.times.merged(next.times);
    answer.finished |= next.finished;
    answer.ended = next.ended;
    answer.error = next.error;
    Ok(answer)
}

impl Over {
    fn meaning(self, told: Status) -> Meaning<'static> {
        let timings = self.timings.map(Timings::times).unwrap_or_default();
        let mut meaning = self.response.meaning(told);
        meaning.times = timings.merged(meaning.times);
        if let Some(speculation) = self.timings.and_then(Timings::speculation) {
            meaning.usage.get_or_insert_default().speculation = Some(speculation);
        }
        meaning
    }
}

impl Ending {
    /// `told` is how the answer ended by the name of the event, which the status inside does not always
    /// repeat; but neither may hide a failure.
    fn meaning(self, told: Status) -> Meaning<'static> {
        let failed = told == Status::Failed || self.status == Some(Status::Failed);
        let error = self.error.filter(|error| !error.is_null()).map(|error| refusal::text_of(&error));
        if failed || error.is_some() {
            let error = error.unwrap_or_else(|| "the answer failed, and nothing says why".to_owned());
            return Meaning::error(error);
        }
        let mut usage = self.usage.map(Tokens::from);
        if let Some(speculation) = self.metrics.and_then(Metrics::speculation) {
            usage.get_or_insert_default().speculation = Some(speculation);
        }
        Meaning {
            usage,
            times: self.metrics.map(Metrics::times).unwrap_or_default(),
            finished: matches!(told, Status::Completed | Status::Incomplete),
            cut: self.incomplete_details.is_some_and(|details| details.reason.cut),
            model: self.model.as_ref().and_then(Value::as_str).map(|model| model.to_owned().into()),
            ..Meaning::default()
        }
    }
}

impl Announced {
    fn is_call(&self) -> bool {
        self.kind == Some(ItemKind::FunctionCall) && self.name.0
    }
}

impl From<Usage> for Tokens {
    fn from(usage: Usage) -> Self {
        Self {
            prompt: usage.input_tokens,
            cached: usage.input_tokens_details.and_then(|details| details.cached_tokens),
            reasoning: usage.output_tokens_details.and_then(|details| details.reasoning_tokens),
            output: usage.output_tokens,
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests;
