//! Whether a model may use up the limit of an answer before it says anything.

use crate::config::Plan;
use crate::domain::{Kind, Reasoning, Share, Target};

/// Reasoning takes some hundred tokens even for a short question.
const ENOUGH: u32 = 1024;

/// Beginnings of names, or of parts of names, of models that reason unless they are told not to.
const REASONERS: [&str; 14] = [
    "deepseek-r",
    "gpt-5",
    "gpt-oss",
    "o1",
    "o3",
    "o4",
    "qwq",
    "qwen3",
    "magistral",
    "gemini-2.5",
    "gemini-3",
    "glm-4.5",
    "kimi-k2-thinking",
    "minimax-m",
];

/// Words anywhere in a name that say the same.
const WORDS: [&str; 3] = ["reasoning", "reasoner", "thinking"];

/// Each target whose model is known to reason and whose answers may not be long enough for that.
pub(super) fn warnings(plan: &Plan) -> Vec<String> {
    plan.targets.iter().filter(|target| reasons(&target.model)).filter_map(|target| warning(target)).collect()
}

fn warning(target: &Target) -> Option<String> {
    let short: Vec<_> = target
        .mix
        .iter()
        .filter(|share| is_short(target, share))
        .map(|share| &*share.workload.name)
        .collect();
    (!short.is_empty()).then(|| {
        format!(
            "the model {} of target {} reasons before it answers, which may take all output_tokens of {}: such an answer is counted as unchecked. Raise output_tokens to {ENOUGH} or more, or write reasoning = \"off\" or \"low\".",
            target.model,
            target.name,
            short.join(", ")
        )
    })
}

fn is_short(target: &Target, share: &Share) -> bool {
    let workload = &share.workload;
    let asked = target.extra.under(&workload.extra);
    let is_told = asked.asks() == Some(Reasoning::Off) || !asked.fields.is_empty();
    // A passage to go on with has no answer that could be missed.
    workload.kind != Kind::Continuation && workload.output_tokens.longest() < ENOUGH && !is_told
}

/// By its name, which may begin with that of whoever serves it. Qwen names apart what does not reason.
fn reasons(model: &str) -> bool {
    let model = model.to_ascii_lowercase();
    let name = model.rsplit('/').next().unwrap_or(&model);
    let is_plain = name.contains("instruct") || name.contains("non-reasoning") || name.contains("coder");
    let known = REASONERS.iter().any(|start| name.starts_with(start));
    !is_plain && (known || WORDS.iter().any(|word| name.contains(word)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_that_reason_are_known_by_name() {
        for name in
            ["o3-mini", "Qwen/Qwen3-8B", "openai/gpt-oss-120b", "deepseek-reasoner", "gemini-2.5-flash"]
        {
            assert!(reasons(name), "{name}");
        }
        for name in
            ["qwen2.5-72b-instruct", "Qwen3-30B-A3B-Instruct", "gpt-4o", "llama-3.3-70b", "olmo-2", "tiny"]
        {
            assert!(!reasons(name), "{name}");
        }
    }
}
