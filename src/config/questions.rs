//! `prompts = "questions.jsonl"`: the user's own questions, one JSON object per line, or a list of them.

use std::path::Path;

use regex::Regex;
use serde::Deserialize;
use serde_json::Value;

use super::context::{self, Outside};
use super::reader::Node;
use crate::domain::{Expect, Question, Role, Turn};

/// So many bad lines are told one by one.
const MOST_TOLD: usize = 10;
const MOST_QUESTIONS: usize = 100_000;

const FORM: &str = "write an object with messages, conversations, prompt or question, such as {\"question\": \"How far is the moon?\", \"expect\": \"384,400\"}";

/// One line: who wrote the file decides which of the names is there.
#[derive(Debug, Deserialize)]
struct Line {
    #[serde(default, alias = "conversations")]
    messages: Option<Vec<Message>>,
    #[serde(default)]
    prompt: Option<String>,
    #[serde(default)]
    question: Option<String>,
    #[serde(default)]
    expect: Option<Wanted>,
}

#[derive(Debug, Deserialize)]
struct Message {
    #[serde(alias = "from")]
    role: String,
    #[serde(alias = "value")]
    content: String,
}

#[derive(Debug, Deserialize)]
#[serde(untagged, expecting = "expect is text, or an object with a regex")]
enum Wanted {
    Text(String),
    Pattern { regex: String },
}

pub(super) fn read(node: &Node<'_>, outside: &Outside<'_>) -> Option<Vec<Question>> {
    let path = node.text("questions.jsonl")?;
    let text = match (outside.text)(Path::new(path)) {
        Ok(text) => text,
        Err(error) => {
            let remedy = "name a file of JSON lines; a relative path starts at this file's folder";
            return node.refuse(context::explain(&error), remedy);
        }
    };
    let lines = match objects(&text) {
        Ok(lines) => lines,
        Err(what) => return node.refuse(what, FORM),
    };
    let (questions, bad): (Vec<_>, Vec<_>) = lines
        .into_iter()
        .map(|(place, line)| line.and_then(question).map_err(|e| (place, e)))
        .partition(Result::is_ok);
    let bad: Vec<_> = bad.into_iter().filter_map(Result::err).collect();
    for (place, what) in bad.iter().take(MOST_TOLD) {
        node.refuse::<()>(format!("{path}, {place}: {what}"), FORM);
    }
    if bad.len() > MOST_TOLD {
        node.refuse::<()>(
            format!("{path}: {} more bad lines", bad.len() - MOST_TOLD),
            "mend those above first",
        );
    }
    let questions: Vec<_> = questions.into_iter().flatten().collect();
    match (bad.is_empty(), questions.len()) {
        (false, _) => None,
        (true, 0) => node.refuse("the file asks nothing", FORM),
        (true, count) if count > MOST_QUESTIONS => {
            node.refuse(format!("{count} questions"), format!("give at most {MOST_QUESTIONS}"))
        }
        _ => Some(questions),
    }
}

type Read = Result<Line, String>;

/// Each object with its place. A file that begins with `[` is one list.
fn objects(text: &str) -> Result<Vec<(String, Read)>, String> {
    let text = text.trim_start_matches('\u{feff}');
    if text.trim_start().starts_with('[') {
        let list: Vec<Value> = serde_json::from_str(text).map_err(|e| format!("not a list in JSON: {e}"))?;
        let read = |value| serde_json::from_value(value).map_err(|e| e.to_string());
        return Ok((1..).zip(list).map(|(nth, value)| (format!("entry {nth}"), read(value))).collect());
    }
    let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
    let read = |line| serde_json::from_str(line).map_err(|e: serde_json::Error| told(&e));
    Ok(lines.map(|(nth, line): (u32, _)| (format!("line {nth}"), read(line))).collect())
}

/// Every line is a text of its own for the parser: what it says of lines would mislead.
fn told(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.split_once(" at line 1 column ") {
        Some((what, column)) => format!("{what} (column {column})"),
        None => text,
    }
}

fn question(line: Line) -> Result<Question, String> {
    let expect = match line.expect {
        None => Expect::Anything,
        Some(Wanted::Text(text)) if text.trim().is_empty() => return Err("expect is empty".into()),
        Some(Wanted::Text(text)) => Expect::Text(text.trim().to_owned()),
        Some(Wanted::Pattern { regex }) => {
            Expect::Pattern(Regex::new(&regex).map_err(|e| format!("not a regex: {}", one_line(&e)))?)
        }
    };
    let turns = match (line.messages, line.prompt.or(line.question)) {
        (Some(messages), None) => conversation(messages)?,
        (None, Some(text)) if !text.trim().is_empty() => vec![Turn::user(text)],
        (None, Some(_)) => return Err("the question is empty".into()),
        (None, None) => return Err("there is neither messages nor conversations, prompt or question".into()),
        (Some(_), Some(_)) => return Err("there are both messages and a prompt".into()),
    };
    Ok(Question { turns, expect })
}

/// Up to the last turn of the user: what an assistant once said to it is not sent.
fn conversation(messages: Vec<Message>) -> Result<Vec<Turn>, String> {
    let mut turns = Vec::new();
    for Message { role, content } in messages {
        let role = match role.as_str() {
            "system" => Role::System,
            "user" | "human" => Role::User,
            "assistant" | "gpt" | "model" => Role::Assistant,
            other => return Err(format!("the role {other:?} is not system, user or assistant")),
        };
        if role == Role::System && !turns.is_empty() {
            return Err("a system message stands after others".into());
        }
        turns.push(Turn { role, text: content });
    }
    while turns.last().is_some_and(|turn| turn.role != Role::User) {
        turns.pop();
    }
    if turns.is_empty() { Err("no message is from the user".into()) } else { Ok(turns) }
}

fn one_line(error: &regex::Error) -> String {
    let text = error.to_string();
    text.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned()
}
