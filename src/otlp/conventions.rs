//! OpenTelemetry's words for generative AI: names of attributes, operations and providers.
//!
//! They follow the semantic conventions for GenAI client spans and metrics, whose status is "development".

use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};

use crate::domain::{Api, Engine, Target};

/// Hosts of well-known providers, by the end of their name. The convention wants its own word wherever one applies.
const PROVIDERS: [(&str, &str); 16] = [
    ("api.openai.com", "openai"),
    (".openai.azure.com", "azure.ai.openai"),
    (".services.ai.azure.com", "azure.ai.inference"),
    (".models.ai.azure.com", "azure.ai.inference"),
    ("api.anthropic.com", "anthropic"),
    ("generativelanguage.googleapis.com", "gcp.gemini"),
    ("aiplatform.googleapis.com", "gcp.vertex_ai"),
    ("api.deepseek.com", "deepseek"),
    ("api.groq.com", "groq"),
    ("api.mistral.ai", "mistral_ai"),
    ("api.moonshot.ai", "moonshot_ai"),
    ("api.moonshot.cn", "moonshot_ai"),
    ("api.perplexity.ai", "perplexity"),
    ("api.x.ai", "x_ai"),
    ("api.cohere.com", "cohere"),
    (".ml.cloud.ibm.com", "ibm.watsonx.ai"),
];

/// `gen_ai.operation.name`.
pub(super) fn operation(api: Api) -> &'static str {
    match api {
        Api::OpenAiChat | Api::OpenAiResponses | Api::Anthropic | Api::Ollama => "chat",
        Api::OpenAiCompletions | Api::Tgi | Api::Triton => "text_completion",
        Api::Gemini => "generate_content",
    }
}

/// `gen_ai.provider.name`: a well-known provider by its host, else the engine, else whose API is spoken.
pub(super) fn provider(target: &Target) -> &'static str {
    let host = target.url.host_str().unwrap_or_default();
    if let Some((_, provider)) = PROVIDERS.iter().find(|(end, _)| host.ends_with(end)) {
        return provider;
    }
    if host.ends_with(".amazonaws.com") && host.starts_with("bedrock") {
        return "aws.bedrock";
    }
    match (target.engine, target.api) {
        (Engine::Auto | Engine::Other, api) => owner(api),
        (engine, _) => engine.name(),
    }
}

fn owner(api: Api) -> &'static str {
    match api {
        Api::OpenAiChat | Api::OpenAiCompletions | Api::OpenAiResponses => "openai",
        Api::Anthropic => "anthropic",
        Api::Gemini => "gcp.gen_ai",
        Api::Tgi | Api::Triton | Api::Ollama => api.name(),
    }
}

/// The attributes that spans and metrics share: what is asked of whom.
pub(super) fn common(target: &Target) -> Vec<KeyValue> {
    let mut attributes = vec![
        text("gen_ai.operation.name", operation(target.api)),
        text("gen_ai.provider.name", provider(target)),
        text("gen_ai.request.model", &*target.model),
        text("server.address", target.url.host_str().unwrap_or_default().trim_matches(['[', ']'])),
    ];
    attributes.extend(target.url.port_or_known_default().map(|port| whole("server.port", u64::from(port))));
    attributes
}

pub(super) fn text(key: &str, value: impl Into<String>) -> KeyValue {
    attribute(key, Value::StringValue(value.into()))
}

pub(super) fn whole(key: &str, value: u64) -> KeyValue {
    attribute(key, Value::IntValue(i64::try_from(value).unwrap_or(i64::MAX)))
}

pub(super) fn number(key: &str, value: f64) -> KeyValue {
    attribute(key, Value::DoubleValue(value))
}

pub(super) fn flag(key: &str, value: bool) -> KeyValue {
    attribute(key, Value::BoolValue(value))
}

fn attribute(key: &str, value: Value) -> KeyValue {
    KeyValue { key: key.to_owned(), value: Some(AnyValue { value: Some(value) }), ..KeyValue::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::fixture;

    #[test]
    fn a_provider_is_known_by_its_host_then_by_its_engine_then_by_its_api() {
        let named = |url: &str, engine, api| {
            let mut target = (*fixture::target("t", &["w"])).clone();
            (target.url, target.engine, target.api) = (url.parse().unwrap(), engine, api);
            provider(&target)
        };
        let (chat, auto) = (Api::OpenAiChat, Engine::Auto);
        assert_eq!(named("https://api.openai.com/v1", auto, chat), "openai");
        assert_eq!(named("https://us.openai.azure.com/openai", auto, chat), "azure.ai.openai");
        assert_eq!(
            named("https://europe-west1-aiplatform.googleapis.com", auto, Api::Gemini),
            "gcp.vertex_ai"
        );
        assert_eq!(named("https://bedrock-runtime.us-east-1.amazonaws.com", auto, chat), "aws.bedrock");
        assert_eq!(named("http://10.0.0.1:8000", Engine::Vllm, chat), "vllm");
        assert_eq!(named("http://10.0.0.1:8000", auto, chat), "openai");
        assert_eq!(named("http://10.0.0.1:8000", Engine::Other, Api::Gemini), "gcp.gen_ai");
        assert_eq!(named("http://10.0.0.1:8000", auto, Api::Ollama), "ollama");
    }
}
