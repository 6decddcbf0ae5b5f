//! How many tokens a prompt has, asked of engines that have a page for it.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::json;

use super::message::messages;
use super::wishes;
use crate::domain::{Api, Engine, Prompt, Target};

/// The page, below the root of the server.
pub const PATH: &str = "/tokenize";

/// What to send there.
#[derive(Debug, Clone, PartialEq)]
pub struct Counting {
    pub body: String,
    /// The count will include the chat template, as that of a probe does.
    pub is_whole: bool,
}

/// Asks nothing of an engine that has no such page.
pub fn request(engine: Engine, target: &Target, prompt: &Prompt) -> Option<Counting> {
    let is_chat = !matches!(target.api, Api::OpenAiCompletions | Api::Tgi | Api::Triton);
    let text = prompt.text();
    let (body, has_template) = match engine {
        Engine::Vllm if is_chat => {
            let mut body = json!({ "model": target.model, "messages": messages(&prompt.turns) });
            if let Some(switches) = wishes::switches(target, prompt) {
                body["chat_template_kwargs"] = switches;
            }
            (body, true)
        }
        Engine::Vllm | Engine::Sglang => (json!({ "model": target.model, "prompt": text }), false),
        Engine::LlamaCpp => (json!({ "content": text, "add_special": true }), false),
        Engine::Tgi => (json!({ "inputs": text }), false),
        _ => return None,
    };
    Some(Counting { body: body.to_string(), is_whole: has_template || !is_chat })
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Said {
    Count { count: u64 },
    Tokens { tokens: Vec<IgnoredAny> },
    List(Vec<IgnoredAny>),
}

/// What the page says.
pub fn count(body: &[u8]) -> Option<u64> {
    match serde_json::from_slice(body).ok()? {
        Said::Count { count } => Some(count),
        Said::Tokens { tokens } | Said::List(tokens) => Some(tokens.len() as u64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Reasoning, fixture};

    #[test]
    fn each_engine_is_asked_in_its_own_way() {
        let mut target = (*fixture::target("t", &["w"])).clone();
        let prompt = Prompt::of_user("hi", 1);
        let asked = |target: &Target, engine| {
            request(engine, target, &prompt).map(|counting| (counting.body, counting.is_whole))
        };
        let whole = r#"{"messages":[{"content":"hi","role":"user"}],"model":"tiny"}"#;
        assert_eq!(asked(&target, Engine::Vllm), Some((whole.into(), true)));
        let plain = r#"{"model":"tiny","prompt":"hi"}"#;
        assert_eq!(asked(&target, Engine::Sglang), Some((plain.into(), false)));
        let content = r#"{"add_special":true,"content":"hi"}"#;
        assert_eq!(asked(&target, Engine::LlamaCpp), Some((content.into(), false)));
        assert_eq!(asked(&target, Engine::Ollama), None);
        assert_eq!(asked(&target, Engine::Auto), None);
        target.extra.reasoning = Some(Reasoning::Off);
        let (body, _) = asked(&target, Engine::Vllm).unwrap();
        assert!(body.contains(r#""enable_thinking":false"#), "the template has other words then: {body}");
        target.api = Api::OpenAiCompletions;
        assert_eq!(asked(&target, Engine::Vllm), Some((plain.into(), true)));
        target.api = Api::Tgi;
        assert_eq!(asked(&target, Engine::Tgi), Some((r#"{"inputs":"hi"}"#.into(), true)));
    }

    #[test]
    fn counts_come_as_a_number_or_as_a_list() {
        assert_eq!(count(br#"{"count":37,"max_model_len":2048,"tokens":[1,2],"token_strs":null}"#), Some(37));
        assert_eq!(count(br#"{"tokens":[1,2,3]}"#), Some(3));
        assert_eq!(count(br#"[{"id":1,"text":"a"},{"id":2,"text":"b"}]"#), Some(2));
        assert_eq!(count(br#"{"detail":"Not Found"}"#), None);
        assert_eq!(count(b"<html>"), None);
    }
}
