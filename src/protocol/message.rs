//! The turns of a prompt as most formats write them.

use serde::Serialize;

use crate::domain::Turn;

#[derive(Debug, Serialize)]
pub(super) struct Message<'a> {
    role: &'static str,
    content: &'a str,
}

pub(super) fn messages(turns: &[Turn]) -> Vec<Message<'_>> {
    turns.iter().map(|turn| Message { role: turn.role.name(), content: &turn.text }).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::domain::{Api, Fields, Prompt, Role, Target, Turn, fixture};
    use crate::protocol::Dialect;

    fn sent(api: Api, prompt: &Prompt) -> String {
        let target = Target { api, ..Arc::unwrap_or_clone(fixture::target("t", &[])) };
        let request = Dialect::of(api).request(&target, prompt, Fields::COMMON);
        String::from_utf8(request.body.to_vec()).unwrap()
    }

    fn turns(said: &[(Role, &str)]) -> Prompt {
        let turn = |&(role, text): &(Role, &str)| Turn { role, text: text.to_owned() };
        Prompt { turns: said.iter().map(turn).collect(), ..Prompt::of_user("", 7) }
    }

    #[test]
    fn one_turn_of_the_user_is_written_in_the_plainest_way() {
        for (api, expected) in [
            (
                Api::OpenAiChat,
                r#"{"messages":[{"role":"user","content":"hi"}],"model":"tiny","max_tokens":7,"stream":true,"stream_options":{"include_usage":true}}"#,
            ),
            (
                Api::OpenAiCompletions,
                r#"{"prompt":"hi","model":"tiny","max_tokens":7,"stream":true,"stream_options":{"include_usage":true}}"#,
            ),
            (
                Api::OpenAiResponses,
                r#"{"model":"tiny","input":"hi","max_output_tokens":7,"stream":true,"store":false}"#,
            ),
            (
                Api::Anthropic,
                r#"{"model":"tiny","max_tokens":7,"messages":[{"role":"user","content":"hi"}],"stream":true}"#,
            ),
            (
                Api::Gemini,
                r#"{"contents":[{"role":"user","parts":[{"text":"hi"}]}],"generationConfig":{"maxOutputTokens":7}}"#,
            ),
            (Api::Tgi, r#"{"inputs":"hi","parameters":{"max_new_tokens":7,"return_full_text":false}}"#),
            (
                Api::Triton,
                r#"{"text_input":"hi","max_tokens":7,"stream":true,"parameters":{"max_new_tokens":7,"details":true}}"#,
            ),
            (
                Api::Ollama,
                r#"{"model":"tiny","messages":[{"role":"user","content":"hi"}],"stream":true,"options":{"num_predict":7}}"#,
            ),
        ] {
            assert_eq!(sent(api, &turns(&[(Role::User, "hi")])), expected);
        }
    }

    #[test]
    fn every_format_has_a_place_for_every_turn() {
        let talk = r#"{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"}"#;
        let all = format!(r#""messages":[{{"role":"system","content":"s"}},{talk}]"#);
        let prompt =
            turns(&[(Role::System, "s"), (Role::User, "a"), (Role::Assistant, "b"), (Role::User, "c")]);
        for (api, expected) in [
            (Api::OpenAiChat, all.clone()),
            (Api::OpenAiCompletions, r#""prompt":"s\n\na\n\nb\n\nc""#.to_owned()),
            (Api::OpenAiResponses, format!(r#""instructions":"s","input":[{talk}]"#)),
            (Api::Anthropic, format!(r#""system":"s","messages":[{talk}]"#)),
            (
                Api::Gemini,
                r#"{"systemInstruction":{"parts":[{"text":"s"}]},"contents":[{"role":"user","parts":[{"text":"a"}]},{"role":"model","parts":[{"text":"b"}]},{"role":"user","parts":[{"text":"c"}]}],"#
                    .to_owned(),
            ),
            (Api::Tgi, r#""inputs":"s\n\na\n\nb\n\nc""#.to_owned()),
            (Api::Triton, r#""text_input":"s\n\na\n\nb\n\nc""#.to_owned()),
            (Api::Ollama, all),
        ] {
            let body = sent(api, &prompt);
            assert!(body.contains(&expected), "{body}");
        }
    }

    #[test]
    fn instructions_leave_a_single_turn_plain() {
        let body = sent(Api::OpenAiResponses, &turns(&[(Role::System, "s"), (Role::User, "a")]));
        assert!(body.contains(r#""instructions":"s","input":"a","#), "{body}");
    }
}
