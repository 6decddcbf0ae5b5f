//! `ollama`: `/api/chat`, one JSON object per line; the line with `done` tells counts and times.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use url::Url;

use super::look::{Label, Something};
use super::message::{Message, messages};
use super::reason::Reason;
use super::words::{Said, Words};
use super::{Meaning, Nonsense, address, from_json, refusal, to_json};
use crate::domain::{Channel, Prompt, ServerTimes, Target, Tokens};

#[derive(Debug, Serialize)]
struct Body<'a> {
    model: &'a str,
    messages: Vec<Message<'a>>,
    /// Always told: without it Ollama streams.
    stream: bool,
    options: Options,
}

#[derive(Debug, Serialize)]
struct Options {
    num_predict: u32,
}

/// One line; a whole answer has the same shape. Durations are nanoseconds.
#[derive(Debug, Deserialize)]
struct Line<'a> {
    #[serde(default, borrow)]
    message: Option<Generated<'a>>,
    #[serde(default)]
    done: Option<bool>,
    #[serde(default)]
    done_reason: Reason,
    #[serde(default, borrow)]
    model: Label<'a>,
    #[serde(default)]
    prompt_eval_count: Option<u64>,
    #[serde(default)]
    eval_count: Option<u64>,
    #[serde(default)]
    load_duration: Option<f64>,
    #[serde(default)]
    prompt_eval_duration: Option<f64>,
    #[serde(default)]
    eval_duration: Option<f64>,
    #[serde(default)]
    error: Option<Value>,
}

#[derive(Debug, Deserialize)]
struct Generated<'a> {
    #[serde(default, borrow)]
    content: Words<'a>,
    #[serde(default, borrow)]
    thinking: Words<'a>,
    #[serde(default)]
    tool_calls: Something,
}

pub(super) fn url(target: &Target) -> Url {
    let stem = address::stem(&target.url, &["/api/chat", "/api", "/v1"]);
    address::at(&target.url, &format!("{stem}/api/chat"))
}

pub(super) fn body(target: &Target, prompt: &Prompt) -> String {
    to_json(&Body {
        model: &target.model,
        messages: messages(&prompt.turns),
        stream: target.stream,
        options: Options { num_predict: prompt.max_tokens },
    })
}

pub(super) fn interpret(data: &[u8]) -> Result<Meaning<'_>, Nonsense> {
    let line: Line<'_> = from_json(data)?;
    let done = line.done == Some(true);
    let error = line.error.as_ref().filter(|error| !error.is_null());
    Ok(Meaning {
        usage: line.tokens(),
        times: line.times(),
        model: line.model.0,
        finished: done,
        cut: done && line.done_reason.cut,
        ended: done,
        error: error.map(refusal::text_of),
        ..Meaning::from(line.message.map(Generated::said).unwrap_or_default())
    })
}

pub(super) fn interpret_whole(body: &[u8]) -> Result<Meaning<'_>, Nonsense> {
    interpret(body)
}

impl Line<'_> {
    fn tokens(&self) -> Option<Tokens> {
        let tokens = Tokens { prompt: self.prompt_eval_count, output: self.eval_count, ..Tokens::default() };
        (tokens != Tokens::default()).then_some(tokens)
    }

    fn times(&self) -> ServerTimes {
        let ns = |value| ServerTimes::read(value, Duration::from_nanos(1));
        ServerTimes {
            queue: None,
            prefill: ns(self.prompt_eval_duration),
            decode: ns(self.eval_duration),
            load: ns(self.load_duration),
        }
    }
}

impl<'a> Generated<'a> {
    fn said(self) -> Said<'a> {
        let mut said = Said::default();
        said.add(Channel::Reasoning, self.thinking);
        said.add(Channel::Answer, self.content);
        if self.tool_calls.0 {
            said.mark(Channel::ToolCall);
        }
        said
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meaning(json: &str) -> Meaning<'static> {
        interpret(json.as_bytes()).unwrap().into_owned()
    }

    #[test]
    fn content_thinking_and_tool_calls_are_told_apart() {
        let channels =
            |message: &str| meaning(&format!(r#"{{"model":"m","message":{message},"done":false}}"#)).channels;
        assert_eq!(channels(r#"{"role":"assistant","content":"a"}"#), [Channel::Answer]);
        assert_eq!(channels(r#"{"content":"","thinking":"a"}"#), [Channel::Reasoning]);
        assert_eq!(channels(r#"{"content":"","tool_calls":[{"function":{}}]}"#), [Channel::ToolCall]);
        assert_eq!(channels(r#"{"content":"","thinking":null,"tool_calls":[]}"#), []);
    }

    #[test]
    fn the_line_with_done_ends_the_answer_and_tells_counts_and_times() {
        let meaning = meaning(
            r#"{"model":"m","message":{"role":"assistant","content":"."},"done":true,"done_reason":"stop",
                "total_duration":5000000000,"load_duration":1500000,"prompt_eval_count":26,
                "prompt_eval_duration":342546000,"eval_count":282,"eval_duration":4535599000}"#,
        );
        assert!(meaning.finished && meaning.ended);
        assert_eq!(meaning.channels, [Channel::Answer]);
        let usage = Tokens { prompt: Some(26), output: Some(282), ..Tokens::default() };
        assert_eq!(meaning.usage, Some(usage));
        let times = ServerTimes {
            queue: None,
            prefill: Some(Duration::from_micros(342_546)),
            decode: Some(Duration::from_micros(4_535_599)),
            load: Some(Duration::from_micros(1500)),
        };
        assert_eq!(meaning.times, times);
    }

    #[test]
    fn content_and_thinking_are_read() {
        let line = meaning(r#"{"message":{"content":"a","thinking":"b","tool_calls":[{}]},"done":false}"#);
        assert_eq!((&*line.text, &*line.thought), ("a", "b"));
        let whole = interpret_whole(br#"{"message":{"content":"ab"},"done":true}"#).unwrap();
        assert_eq!((&*whole.text, &*whole.thought, whole.cut), ("ab", "", false));
    }

    #[test]
    fn only_the_limit_on_length_cuts() {
        let cut = |reason: &str| meaning(&format!(r#"{{"done":true,"done_reason":"{reason}"}}"#)).cut;
        assert!(cut("length") && !cut("stop") && !cut("load"));
    }

    #[test]
    fn other_lines_tell_no_counts_and_end_nothing() {
        let line = meaning(r#"{"message":{"content":""},"done":false}"#);
        assert_eq!(line, Meaning::default());
        assert_eq!(meaning(r#"{"done":true}"#).usage, None);
    }

    #[test]
    fn a_line_with_an_error_is_an_error() {
        assert_eq!(meaning(r#"{"error":"runner died"}"#).error.as_deref(), Some("runner died"));
        assert!(interpret(b"oops").is_err());
    }
}
