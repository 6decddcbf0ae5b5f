//! From pages to findings: what the answers say about the engine, and what to ask next. No I/O.

use serde_json::Value;

use super::Page;
use crate::domain::{Api, Engine};

/// LiteLLM gives every model this moment of creation, whatever it is.
const LITELLM_CREATED: u64 = 1_677_610_602;

/// What the pages read so far say.
#[derive(Debug)]
pub(super) struct Findings {
    api: Api,
    /// As configured, else as found.
    pub(super) engine: Option<Engine>,
    pub(super) version: Option<String>,
    pub(super) model: Option<String>,
    pub(super) context_tokens: Option<u32>,
    /// Ollama lists its models as the library's, which others may do as well.
    maybe_ollama: bool,
    /// There is a list of models, so the server is neither down nor closed to us.
    listed: bool,
    asked: Vec<Page>,
}

impl Findings {
    /// Before anything is read; the engine is that of the configuration.
    pub(super) fn of(api: Api, engine: Engine) -> Self {
        Self {
            api,
            engine: Some(engine).filter(|engine| !matches!(engine, Engine::Auto | Engine::Other)),
            version: None,
            model: None,
            context_tokens: None,
            maybe_ollama: false,
            listed: false,
            asked: Vec::new(),
        }
    }

    /// Takes a page as it came; the model is the name that the configuration uses.
    pub(super) fn add(&mut self, page: Page, status: u16, body: &[u8], model: &str) {
        if !(200..300).contains(&status) {
            return;
        }
        let Ok(body) = serde_json::from_slice::<Value>(body) else { return };
        match page {
            Page::Models => self.add_models(&body, model),
            // Other servers have such pages, too: they tell a version, but not of what.
            Page::Version | Page::ClusterVersion => self.version = text(&body, "version"),
            Page::ServerInfo | Page::GetServerInfo => self.add_sglang(&body),
            Page::Props => self.add_llama_cpp(&body),
            Page::Info => self.add_tgi(&body),
            Page::ApiVersion => {
                if let Some(version) = text(&body, "version") {
                    self.engine = Some(Engine::Ollama);
                    self.version = Some(version);
                }
            }
            Page::Metadata => self.add_triton(&body),
        }
    }

    pub(super) fn asked(&mut self, page: Page) {
        self.asked.push(page);
    }

    /// The page that may tell more, if there is one that has not been asked for.
    pub(super) fn next(&self) -> Option<Page> {
        if self.version.is_some() {
            return None;
        }
        let pages: &[Page] = match (self.api, self.engine) {
            (Api::Triton, engine) => pages_of_triton(engine),
            (_, Some(engine)) => pages_of(engine),
            (_, None) if self.maybe_ollama => &[Page::ApiVersion],
            // TGI alone lists models without its name.
            (_, None) if self.listed => &[Page::Info],
            // First the page on which the engines that speak this format differ.
            (Api::Ollama, None) => {
                &[Page::ApiVersion, Page::Models, Page::Info, Page::ServerInfo, Page::Props]
            }
            (Api::Tgi, None) => &[Page::Info, Page::Models, Page::ServerInfo, Page::Props],
            (_, None) => &[Page::Models, Page::Info, Page::ServerInfo, Page::Props],
        };
        pages.iter().copied().find(|page| !self.asked.contains(page))
    }

    fn add_models(&mut self, body: &Value, model: &str) {
        let Some(models) = body.get("data").and_then(Value::as_array).filter(|list| !list.is_empty()) else {
            return;
        };
        self.listed = true;
        let listed_as =
            |name: &str| models.iter().find(|entry| entry.get("id").and_then(Value::as_str) == Some(name));
        // Ollama lists a model with its tag, which may be left out in a request.
        let ours = listed_as(model).or_else(|| listed_as(&format!("{model}:latest")));
        let only = models.first().filter(|_| models.len() == 1);
        // A gateway may list the models of several engines: only ours counts.
        let entry = ours.or(only);
        self.engine = self.engine.or_else(|| entry.and_then(owner)).or_else(|| common_owner(models));
        self.engine = self.engine.or_else(|| is_litellm(models).then_some(Engine::Litellm));
        let of_library = |entry: &Value| text(entry, "owned_by").as_deref() == Some("library");
        self.maybe_ollama = entry.map_or_else(|| models.iter().any(of_library), of_library);
        let Some(entry) = entry else { return };
        self.model = ["root", "model_name", "id"].iter().find_map(|&key| text(entry, key));
        self.context_tokens = ["max_model_len", "context_length", "max_input_tokens"]
            .iter()
            .find_map(|&key| number(entry, key))
            .or_else(|| number(entry.get("meta")?, "n_ctx"));
    }

    fn add_sglang(&mut self, body: &Value) {
        // Other servers have a page of this name, but not this pair.
        if body.get("model_path").is_none() || body.get("internal_states").is_none() {
            return;
        }
        self.engine = Some(Engine::Sglang);
        self.version = text(body, "version");
        self.model = text(body, "model_path").or(self.model.take());
        self.context_tokens = self.context_tokens.or_else(|| number(body, "context_length"));
    }

    fn add_llama_cpp(&mut self, body: &Value) {
        let Some(settings) = body.get("default_generation_settings") else { return };
        self.engine = Some(Engine::LlamaCpp);
        self.version = text(body, "build_info");
        self.model = text(body, "model_path").or(self.model.take());
        // What is served, rather than what the model was trained for.
        self.context_tokens = number(settings, "n_ctx").or(self.context_tokens);
    }

    fn add_triton(&mut self, body: &Value) {
        // The version is of the server, not of the engine behind it, and says so.
        if text(body, "name").as_deref() == Some("triton") {
            self.version = text(body, "version").map(|version| format!("triton {version}"));
        }
    }

    fn add_tgi(&mut self, body: &Value) {
        if let (Some(model), Some(version)) = (text(body, "model_id"), text(body, "version")) {
            self.engine = Some(Engine::Tgi);
            self.version = Some(version);
            self.model = Some(model);
            self.context_tokens = number(body, "max_total_tokens");
        }
    }
}

/// Where an engine that is known tells more: first the list of models, which even gateways let through, then
/// the page of its own. Those of Ollama and TGI leave nothing for the list to tell.
fn pages_of(engine: Engine) -> &'static [Page] {
    match engine {
        Engine::Vllm => &[Page::Models, Page::Version],
        Engine::Sglang => &[Page::Models, Page::ServerInfo, Page::GetServerInfo],
        Engine::LlamaCpp => &[Page::Models, Page::Props],
        Engine::Xinference => &[Page::Models, Page::ClusterVersion],
        Engine::Tgi => &[Page::Info],
        Engine::Ollama => &[Page::ApiVersion],
        Engine::Litellm | Engine::Mindie => &[Page::Models],
        Engine::Auto | Engine::Other => &[],
    }
}

/// Triton tells nothing of the engine behind it and has no page but its own; MindIE, which speaks the same
/// format, lists its models.
fn pages_of_triton(engine: Option<Engine>) -> &'static [Page] {
    match engine {
        None => &[Page::Metadata, Page::Models],
        Some(Engine::Mindie) => &[Page::Models],
        Some(_) => &[Page::Metadata],
    }
}

/// The engine that calls itself the owner of a model.
fn owner(entry: &Value) -> Option<Engine> {
    match entry.get("owned_by")?.as_str()? {
        "vllm" => Some(Engine::Vllm),
        "sglang" => Some(Engine::Sglang),
        "llamacpp" => Some(Engine::LlamaCpp),
        "xinference" => Some(Engine::Xinference),
        "MindIE Server" => Some(Engine::Mindie),
        _ => None,
    }
}

fn common_owner(models: &[Value]) -> Option<Engine> {
    let first = owner(models.first()?)?;
    models.iter().all(|entry| owner(entry) == Some(first)).then_some(first)
}

/// One of OpenAI's own models was made at that moment, but not a whole list of them, and OpenAI does not
/// tell limits.
fn is_litellm(models: &[Value]) -> bool {
    let alike = |entry: &Value| {
        text(entry, "owned_by").as_deref() == Some("openai")
            && entry.get("created").and_then(Value::as_u64) == Some(LITELLM_CREATED)
    };
    let tells_limits = models.iter().any(|entry| entry.get("max_input_tokens").is_some());
    models.iter().all(alike) && (models.len() > 1 || tells_limits)
}

fn text(value: &Value, key: &str) -> Option<String> {
    value.get(key)?.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}

fn number(value: &Value, key: &str) -> Option<u32> {
    value.get(key)?.as_u64().and_then(|number| u32::try_from(number).ok())
}

#[cfg(test)]
mod tests;
