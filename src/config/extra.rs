//! `extra` and `reasoning`: what a target or a workload adds to the body of its requests.

use serde_json::{Map, Number, Value};

use super::reader::{Node, Scalar, Table};
use super::secret::sounds_secret;
use crate::domain::{Api, Extra, Reasoning};

/// A request is not the place for a document.
const MAX_BYTES: usize = 64 << 10;

/// Fields that sound like secrets and are none.
const NO_SECRETS: [&str; 1] = ["prompt_cache_key"];

const EXAMPLE: &str = "{ temperature = 0.0 }";

/// Why a field may not be set, and what to do.
struct Ban {
    fields: &'static [&'static str],
    why: &'static str,
    remedy: &'static str,
}

/// Fields of any API that would break the measurement. A workload may be sent to targets of every API, so the list is
/// one for all of them.
const BANS: [Ban; 8] = [
    Ban {
        fields: &["stream", "stream_options", "background"],
        why: "decides how the answer comes, which is what is measured",
        remedy: "remove it; the target's key stream says whether answers are streamed",
    },
    Ban { fields: &["model"], why: "says who answers", remedy: "write it as the target's key model" },
    Ban {
        fields: &[
            "messages",
            "prompt",
            "input",
            "contents",
            "inputs",
            "text_input",
            "system",
            "systemInstruction",
            "system_instruction",
            "instructions",
            "input_ids",
            "prompt_token_ids",
            "prompt_embeds",
            "previous_response_id",
            "conversation",
        ],
        why: "is what sloprobe asks",
        remedy: "remove it; a workload has the keys kind, system, template and prompts",
    },
    Ban {
        fields: &[
            "max_tokens",
            "max_completion_tokens",
            "max_output_tokens",
            "max_new_tokens",
            "min_tokens",
            "ignore_eos",
            "generationConfig.maxOutputTokens",
            "parameters.max_new_tokens",
            "options.num_predict",
        ],
        why: "is the length of the answer",
        remedy: "remove it; a workload has the keys output_tokens and exact_output",
    },
    Ban {
        fields: &[
            "n",
            "best_of",
            "use_beam_search",
            "generationConfig.candidateCount",
            "parameters.best_of",
            "echo",
            "parameters.return_full_text",
            "exclude_input_in_output",
        ],
        why: "asks for more than one answer, or for the prompt again, so that tokens are counted wrongly",
        remedy: "remove it",
    },
    Ban {
        fields: &[
            "truncate_prompt_tokens",
            "truncation",
            "parameters.truncate",
            "stop",
            "stop_sequences",
            "stop_token_ids",
            "parameters.stop",
            "options.stop",
            "generationConfig.stopSequences",
            "parameters.details",
        ],
        why: "cuts the prompt or the answer, or hides how long they are",
        remedy: "remove it",
    },
    Ban {
        fields: &["seed", "parameters.seed", "options.seed", "generationConfig.seed"],
        why: "has crashed an engine that was sent a long prompt with it",
        remedy: "remove it; temperature = 0.0 makes answers nearly the same",
    },
    Ban {
        fields: &["generation_config"],
        why: "has another name here",
        remedy: "write generationConfig, with its keys as Google writes them",
    },
];

/// What a section adds to requests.
pub(super) fn read(table: &Table<'_>) -> Option<Extra> {
    let fields = table.or("extra", Map::new(), |node| fields(&node));
    let reasoning = table.or("reasoning", None, |node| node.one_of(&Reasoning::NAMES).map(Some));
    Some(Extra { fields: fields?, reasoning: reasoning? })
}

/// The same for a target, whose API is known.
pub(super) fn read_for(table: &Table<'_>, api: Option<Api>) -> Option<Extra> {
    let extra = read(table)?;
    let silent = matches!(api, Some(Api::OpenAiCompletions | Api::Tgi | Api::Triton));
    match table.get("reasoning") {
        Some(node) if silent && extra.asks().is_some() => node.refuse(
            "this API has no word for it",
            "remove it, or write the field that your server knows into extra",
        ),
        _ => Some(extra),
    }
}

fn fields(node: &Node<'_>) -> Option<Map<String, Value>> {
    let fields = object(node, "")?;
    if Value::Object(fields.clone()).to_string().len() > MAX_BYTES {
        return node.refuse(format!("more than {MAX_BYTES} bytes"), "write less");
    }
    Some(fields)
}

/// A table at a path such as `options.`, which is empty at the top.
fn object(node: &Node<'_>, path: &str) -> Option<Map<String, Value>> {
    let entries: Vec<_> = node.entries(EXAMPLE)?.iter().map(|entry| field(entry, path)).collect();
    entries.into_iter().collect()
}

fn field(node: &Node<'_>, path: &str) -> Option<(String, Value)> {
    let name = format!("{path}{}", node.key());
    if let Some(ban) = BANS.iter().find(|ban| ban.fields.contains(&&*name)) {
        return node.refuse(format!("this field {}", ban.why), ban.remedy);
    }
    if sounds_secret(node.key()) && !NO_SECRETS.contains(&node.key()) {
        return node.refuse(
            "a secret does not belong into a request's body",
            "name it in headers, such as headers = { \"x-key\" = { env = \"NAME\" } }",
        );
    }
    let within = format!("{name}.");
    if !node.is_table() && BANS.iter().any(|ban| ban.fields.iter().any(|field| field.starts_with(&within))) {
        return node.wrong_type("a table", format!("write {} = {{ … }}", node.key()));
    }
    Some((node.key().to_owned(), value(node, &within)?))
}

fn value(node: &Node<'_>, within: &str) -> Option<Value> {
    if node.is_table() {
        return object(node, within).map(Value::Object);
    }
    if let Some(items) = node.items() {
        let values: Vec<_> = items.iter().map(|item| value(item, "")).collect();
        return values.into_iter().collect::<Option<_>>().map(Value::Array);
    }
    match node.scalar() {
        Some(Scalar::Text(text)) => Some(Value::String(text.to_owned())),
        Some(Scalar::Flag(flag)) => Some(Value::Bool(flag)),
        Some(Scalar::Whole(number)) => Some(Value::Number(number.into())),
        Some(Scalar::Fraction(number)) => match Number::from_f64(number) {
            Some(number) => Some(Value::Number(number)),
            None => node.refuse("JSON has no such number", "write a finite number"),
        },
        None => {
            node.wrong_type("a value that JSON has", "write text, a number, true, false, a list or a table")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_field_is_banned_twice() {
        let mut all: Vec<_> = BANS.iter().flat_map(|ban| ban.fields).collect();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }
}
