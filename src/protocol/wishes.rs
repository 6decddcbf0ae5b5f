//! Fields that a user adds to a request, and what each API calls "think less".

use serde_json::{Map, Value, json};

use crate::domain::extra::merge;
use crate::domain::{Api, Extra, Field, Fields, Prompt, Reasoning, Target};

/// The fields that ask for less reasoning, of those that are allowed. An API without such a field has none.
pub(super) fn useful(target: &Target, prompt: &Prompt, allowed: Fields) -> Fields {
    let Some(reasoning) = target.extra.under(&prompt.extra).asks() else { return Fields::NONE };
    match target.api {
        Api::OpenAiChat if reasoning == Reasoning::Off && allowed.has(Field::TemplateSwitch) => {
            Fields::of(&[Field::TemplateSwitch])
        }
        Api::OpenAiChat => allowed.only(Fields::of(&[Field::Reasoning, Field::TemplateSwitch])),
        Api::OpenAiResponses | Api::Anthropic | Api::Gemini | Api::Ollama => {
            allowed.only(Fields::of(&[Field::Reasoning]))
        }
        Api::OpenAiCompletions | Api::Tgi | Api::Triton => Fields::NONE,
    }
}

/// The body with what the fields and the user ask for. What the user writes wins.
pub(super) fn add(body: String, target: &Target, prompt: &Prompt, fields: Fields) -> String {
    let extra = target.extra.under(&prompt.extra);
    let wishes = wishes(target, &extra, fields);
    if wishes.is_empty() && extra.fields.is_empty() {
        return body;
    }
    let Ok(Value::Object(mut whole)) = serde_json::from_str(&body) else { return body };
    merge(&mut whole, &wishes);
    merge(&mut whole, &extra.fields);
    Value::Object(whole).to_string()
}

/// What a request of this prompt tells the chat template, where the engine lets it.
pub(super) fn switches(target: &Target, prompt: &Prompt) -> Option<Value> {
    let extra = target.extra.under(&prompt.extra);
    let mut wishes = wishes(target, &extra, Fields::of(&[Field::TemplateSwitch]));
    merge(&mut wishes, &extra.fields);
    wishes.remove("chat_template_kwargs")
}

fn wishes(target: &Target, extra: &Extra, fields: Fields) -> Map<String, Value> {
    let Some(reasoning) = extra.asks() else { return Map::new() };
    let off = reasoning == Reasoning::Off;
    let mut wishes = Map::new();
    let mut wish = |value: Value| {
        if let Value::Object(more) = value {
            merge(&mut wishes, &more);
        }
    };
    if fields.has(Field::TemplateSwitch) {
        // Templates differ in the name; what a template does not know, it does not read.
        wish(if off {
            json!({ "chat_template_kwargs": { "enable_thinking": false, "thinking": false } })
        } else {
            json!({ "chat_template_kwargs": { "reasoning_effort": "low" } })
        });
    }
    if fields.has(Field::Reasoning) {
        let effort = if off { "none" } else { "low" };
        wish(match target.api {
            Api::OpenAiChat => json!({ "reasoning_effort": effort }),
            Api::OpenAiResponses => json!({ "reasoning": { "effort": effort } }),
            Api::Anthropic if off => json!({ "thinking": { "type": "disabled" } }),
            Api::Anthropic => json!({ "output_config": { "effort": "low" } }),
            Api::Gemini => json!({ "generationConfig": { "thinkingConfig": gemini(&target.model, off) } }),
            Api::Ollama if off => json!({ "think": false }),
            Api::Ollama => json!({ "think": "low" }),
            Api::OpenAiCompletions | Api::Tgi | Api::Triton => Value::Null,
        });
    }
    wishes
}

/// Models of 2.5 are given a number of tokens, later ones a word.
fn gemini(model: &str, off: bool) -> Value {
    match (model.contains("2.5"), off) {
        (true, true) => json!({ "thinkingBudget": 0 }),
        (true, false) => json!({ "thinkingBudget": 1024 }),
        (false, true) => json!({ "thinkingLevel": "minimal" }),
        (false, false) => json!({ "thinkingLevel": "low" }),
    }
}

/// The words by which a refusal names what was asked for here.
pub(super) const NAMES: [&str; 10] = [
    "reasoning_effort",
    "reasoning.effort",
    "thinking",
    "think",
    "output_config",
    "thinkingConfig",
    "thinking_config",
    "thinkingBudget",
    "thinkingLevel",
    "thinking_level",
];

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::domain::{Engine, fixture};
    use crate::protocol::Dialect;

    fn sent(target: &Target, prompt: &Prompt, engine: Engine) -> Value {
        let allowed = Fields::known_to(engine, target.api);
        let request = Dialect::of(target.api).request(target, prompt, allowed);
        serde_json::from_slice(&request.body).unwrap()
    }

    fn target(api: Api, model: &str, extra: Extra) -> Target {
        Target { api, model: model.into(), extra, ..Arc::unwrap_or_clone(fixture::target("t", &[])) }
    }

    fn fields(value: &Value) -> Extra {
        Extra { fields: value.as_object().cloned().unwrap(), reasoning: None }
    }

    #[test]
    fn each_api_is_asked_to_think_less_in_its_own_words() {
        use Reasoning::{Low, Off};
        let cases = [
            (Api::OpenAiChat, Engine::Auto, "m", Off, "/reasoning_effort", json!("none")),
            (Api::OpenAiChat, Engine::Auto, "m", Low, "/reasoning_effort", json!("low")),
            (Api::OpenAiChat, Engine::Vllm, "m", Off, "/chat_template_kwargs/enable_thinking", json!(false)),
            (Api::OpenAiChat, Engine::Vllm, "m", Low, "/reasoning_effort", json!("low")),
            (
                Api::OpenAiChat,
                Engine::LlamaCpp,
                "m",
                Low,
                "/chat_template_kwargs/reasoning_effort",
                json!("low"),
            ),
            (Api::OpenAiResponses, Engine::Auto, "m", Off, "/reasoning/effort", json!("none")),
            (Api::Anthropic, Engine::Auto, "m", Off, "/thinking/type", json!("disabled")),
            (Api::Anthropic, Engine::Auto, "m", Low, "/output_config/effort", json!("low")),
            (
                Api::Gemini,
                Engine::Auto,
                "gemini-2.5-flash",
                Off,
                "/generationConfig/thinkingConfig/thinkingBudget",
                json!(0),
            ),
            (
                Api::Gemini,
                Engine::Auto,
                "gemini-3-flash",
                Low,
                "/generationConfig/thinkingConfig/thinkingLevel",
                json!("low"),
            ),
            (Api::Ollama, Engine::Auto, "m", Off, "/think", json!(false)),
        ];
        for (api, engine, model, reasoning, place, expected) in cases {
            let extra = Extra { reasoning: Some(reasoning), ..Extra::default() };
            let body = sent(&target(api, model, extra), &Prompt::of_user("hi", 7), engine);
            assert_eq!(body.pointer(place), Some(&expected), "{body}");
        }
        let body =
            sent(&target(Api::Gemini, "gemini-3", Extra::default()), &Prompt::of_user("hi", 7), Engine::Auto);
        assert_eq!(body["generationConfig"], json!({ "maxOutputTokens": 7 }));
    }

    #[test]
    fn an_api_without_a_word_for_it_and_the_default_are_sent_nothing() {
        let plain = |api| sent(&target(api, "m", Extra::default()), &Prompt::of_user("hi", 7), Engine::Vllm);
        for (api, reasoning) in [
            (Api::Tgi, Reasoning::Off),
            (Api::Triton, Reasoning::Low),
            (Api::OpenAiCompletions, Reasoning::Off),
            (Api::OpenAiChat, Reasoning::Default),
        ] {
            let extra = Extra { reasoning: Some(reasoning), ..Extra::default() };
            assert_eq!(sent(&target(api, "m", extra), &Prompt::of_user("hi", 7), Engine::Vllm), plain(api));
        }
    }

    #[test]
    fn fields_of_the_user_stand_beside_ours_in_every_api() {
        for (_, api) in Api::NAMES {
            let extra = fields(
                &json!({ "top_k": 5, "options": { "num_ctx": 9 }, "generationConfig": { "topK": 3 } }),
            );
            let prompt = Prompt { extra: fields(&json!({ "top_k": 6 })), ..Prompt::of_user("hi", 7) };
            let body = sent(&target(api, "m", extra), &prompt, Engine::Auto);
            assert_eq!((&body["top_k"], &body["options"]["num_ctx"]), (&json!(6), &json!(9)), "{body}");
            let ours = match api {
                Api::Ollama => &body["options"]["num_predict"],
                Api::Gemini => &body["generationConfig"]["maxOutputTokens"],
                Api::Tgi => &body["parameters"]["max_new_tokens"],
                Api::OpenAiResponses => &body["max_output_tokens"],
                _ => &body["max_tokens"],
            };
            assert_eq!(ours, &json!(7), "{body}");
        }
    }

    #[test]
    fn what_the_user_writes_wins_over_reasoning() {
        let extra =
            Extra { reasoning: Some(Reasoning::Off), ..fields(&json!({ "reasoning_effort": "high" })) };
        let body = sent(&target(Api::OpenAiChat, "m", extra), &Prompt::of_user("hi", 7), Engine::Auto);
        assert_eq!(body["reasoning_effort"], "high");
    }
}
