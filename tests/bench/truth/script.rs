//! The bytes of one answer, as an OpenAI-compatible engine writes them: chunked server-sent events.

use std::time::Duration;

use sloprobe::simulate::read_prompt;

/// When the tokens of an answer are due.
#[derive(Debug, Clone, Copy)]
pub struct Script {
    /// From the request having been read to the first token.
    pub ttft: Duration,
    pub itl: Duration,
    pub tokens: u32,
}

/// What depends on the request: the count of its tokens, and the right answer, so that no probe is a bad one.
#[derive(Debug)]
pub struct Reply {
    pub prompt_tokens: u32,
    pub first: String,
}

/// What the engine really did, stated in the last event as llama.cpp does.
#[derive(Debug, Clone, Copy)]
pub struct Truth {
    /// From the request having been read to the first token being written.
    pub ttft: Duration,
    /// From there to the last token.
    pub decode: Duration,
}

const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n";

/// Words that are not the same again and again: such an answer would count as degenerate.
const WORDS: &str = "the answer follows from numbers that were given in this list so we add them one by one and \
                     check each sum before going on with another entry until all entries have been read twice";

impl Script {
    /// How long one answer streams.
    pub fn duration(&self) -> Duration {
        self.ttft + self.itl * (self.tokens - 1)
    }
}

impl Reply {
    /// Reads the prompt out of the body of a request.
    pub fn to(body: &[u8]) -> Self {
        let body: serde_json::Value = serde_json::from_slice(body).unwrap_or_default();
        let prompt = body.pointer("/messages/0/content").and_then(|prompt| prompt.as_str()).unwrap_or("");
        let solved = read_prompt::solve(prompt).map_or_else(|| "Well,".to_owned(), |solved| solved.text());
        // About four characters make a token.
        Self { prompt_tokens: prompt.len() as u32 / 4, first: token(&solved) }
    }
}

/// The head of the answer and a first chunk without text.
pub fn opening() -> String {
    let role = r#"{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]}"#;
    [HEAD, &event(role)].concat()
}

/// Tokens that may follow the first one, in turn, ready to be written.
pub fn later_tokens() -> Vec<Vec<u8>> {
    WORDS.split_whitespace().map(|word| token(&format!(" {word}")).into_bytes()).collect()
}

/// What follows the last token: the reason for the end, usage with the truth, and the end of the body.
pub fn ending(prompt_tokens: u32, tokens: u32, truth: Truth) -> String {
    let finish = r#"{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"logprobs":null,"finish_reason":"stop"}]}"#;
    let ms = |duration: Duration| duration.as_secs_f64() * 1e3;
    let usage = format!(
        r#"{{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[],"usage":{{"prompt_tokens":{prompt_tokens},"completion_tokens":{tokens},"total_tokens":{}}},"timings":{{"prompt_ms":{:.3},"predicted_ms":{:.3}}}}}"#,
        prompt_tokens + tokens,
        ms(truth.ttft),
        ms(truth.decode),
    );
    [&event(finish), &event(&usage), &event("[DONE]"), "0\r\n\r\n"].concat()
}

fn token(text: &str) -> String {
    let text = serde_json::Value::from(text);
    event(&format!(
        r#"{{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{{"index":0,"delta":{{"content":{text}}},"logprobs":null,"finish_reason":null}}]}}"#
    ))
}

/// One event in one HTTP chunk.
fn event(data: &str) -> String {
    let event = format!("data: {data}\n\n");
    format!("{:x}\r\n{event}\r\n", event.len())
}
