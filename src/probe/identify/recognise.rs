//! From pages to findings: what the answers say about the engine, and what to ask next. No I/O.

use serde_json::Value;

use super::Page;
use crate::domain::Engine;

/// LiteLLM gives every model this moment of creation, whatever it is.
const LITELLM_CREATED: u64 = 1_677_610_602;

/// What the pages read so far say.
#[derive(Debug, Default)]
pub(super) struct Findings {
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
        }
    }

    pub(super) fn asked(&mut self, page: Page) {
        self.asked.push(page);
    }

    /// The page that may tell more, if there is one that has not been asked for.
    pub(super) fn next(&self) -> Option<Page> {
        let pages: &[Page] = match self.engine {
            Some(_) if self.version.is_some() => &[],
            Some(Engine::Vllm) => &[Page::Version],
            Some(Engine::Sglang) => &[Page::ServerInfo, Page::GetServerInfo],
            Some(Engine::LlamaCpp) => &[Page::Props],
            Some(Engine::Xinference) => &[Page::ClusterVersion],
            Some(_) => &[],
            None if self.maybe_ollama => &[Page::ApiVersion],
            // TGI alone lists models without its name.
            None if self.listed => &[Page::Info],
            None => &[Page::Models, Page::Info, Page::ServerInfo, Page::Props],
        };
        pages.iter().copied().find(|page| !self.asked.contains(page))
    }

    fn add_models(&mut self, body: &Value, model: &str) {
        let Some(models) = body.get("data").and_then(Value::as_array).filter(|list| !list.is_empty()) else {
            return;
        };
        self.listed = true;
        let ours = models.iter().find(|entry| entry.get("id").and_then(Value::as_str) == Some(model));
        let only = models.first().filter(|_| models.len() == 1);
        // A gateway may list the models of several engines: only ours counts.
        let entry = ours.or(only);
        self.engine = entry.and_then(owner).or_else(|| common_owner(models));
        self.engine = self.engine.or_else(|| is_litellm(models).then_some(Engine::Litellm));
        self.maybe_ollama = entry.is_some_and(|entry| text(entry, "owned_by").as_deref() == Some("library"));
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

    fn add_tgi(&mut self, body: &Value) {
        if let (Some(model), Some(version)) = (text(body, "model_id"), text(body, "version")) {
            self.engine = Some(Engine::Tgi);
            self.version = Some(version);
            self.model = Some(model);
            self.context_tokens = number(body, "max_total_tokens");
        }
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
mod tests {
    use super::*;

    const NOT_FOUND: (u16, &str) = (404, r#"{"detail":"Not Found"}"#);

    /// Asks as the daemon would; gives the findings and the pages that were asked for.
    fn ask(first: Page, model: &str, pages: &[(Page, u16, &str)]) -> (Findings, Vec<Page>) {
        let mut findings = Findings::default();
        let mut next = Some(first);
        while let Some(page) = next {
            let known = pages.iter().find(|(known, ..)| *known == page);
            let (status, body) = known.map_or(NOT_FOUND, |&(_, status, body)| (status, body));
            findings.add(page, status, body.as_bytes(), model);
            findings.asked(page);
            next = findings.next();
        }
        let asked = findings.asked.clone();
        (findings, asked)
    }

    fn check(found: &Findings, engine: Engine, version: Option<&str>, model: &str, context: Option<u32>) {
        assert_eq!(found.engine, Some(engine));
        assert_eq!(found.version.as_deref(), version);
        assert_eq!(found.model.as_deref(), Some(model));
        assert_eq!(found.context_tokens, context);
    }

    #[test]
    fn vllm_tells_its_name_in_the_list_of_models_and_its_version_on_a_page() {
        let models = r#"{"object":"list","data":[{"id":"tiny","object":"model","created":1794700624,"owned_by":"vllm",
            "root":"/models/tiny-qwen2","parent":null,"max_model_len":16384}]}"#;
        let pages = [(Page::Models, 200, models), (Page::Version, 200, r#"{"version":"0.32.0"}"#)];
        let (found, asked) = ask(Page::Models, "tiny", &pages);
        check(&found, Engine::Vllm, Some("0.32.0"), "/models/tiny-qwen2", Some(16384));
        assert_eq!(asked, [Page::Models, Page::Version]);
    }

    #[test]
    fn xinference_is_recognised_even_where_its_version_is_for_administrators() {
        let models = r#"{"object":"list","data":[{"id":"tiny","object":"model","created":0,"owned_by":"xinference",
            "model_type":"LLM","model_name":"tiny-qwen2","context_length":16384,"model_engine":"Transformers"}]}"#;
        let closed = r#"{"detail":"Not enough permissions"}"#;
        let pages = [(Page::Models, 200, models), (Page::ClusterVersion, 401, closed)];
        let (found, _) = ask(Page::Models, "tiny", &pages);
        check(&found, Engine::Xinference, None, "tiny-qwen2", Some(16384));
        let open = r#"{"date":"x","full-revisionid":"y","version":"4.1.0"}"#;
        let pages = [(Page::Models, 200, models), (Page::ClusterVersion, 200, open)];
        let (found, _) = ask(Page::Models, "tiny", &pages);
        check(&found, Engine::Xinference, Some("4.1.0"), "tiny-qwen2", Some(16384));
    }

    #[test]
    fn transformers_tells_nothing_and_nothing_is_guessed() {
        let (found, asked) = ask(Page::Models, "tiny", &[(Page::Models, 500, "Internal Server Error")]);
        assert_eq!((found.engine, found.version), (None, None));
        assert_eq!(asked, [Page::Models, Page::Info, Page::ServerInfo, Page::Props]);
    }

    #[test]
    fn litellm_gives_every_model_the_same_birthday() {
        let models = r#"{"data":[
            {"id":"tiny","object":"model","created":1677610602,"owned_by":"openai","max_input_tokens":16384},
            {"id":"dead-backend","object":"model","created":1677610602,"owned_by":"openai"}],"object":"list"}"#;
        let (found, asked) = ask(Page::Models, "tiny", &[(Page::Models, 200, models)]);
        check(&found, Engine::Litellm, None, "tiny", Some(16384));
        assert_eq!(asked, [Page::Models]);
        let openai =
            r#"{"data":[{"id":"gpt-3.5-turbo","object":"model","created":1677610602,"owned_by":"openai"}]}"#;
        let (found, _) = ask(Page::Models, "gpt-3.5-turbo", &[(Page::Models, 200, openai)]);
        assert_eq!(found.engine, None);
    }

    #[test]
    fn sglang_llama_cpp_and_mindie_are_recognised() {
        let models = r#"{"data":[{"id":"q","owned_by":"sglang","root":"q","max_model_len":32768}]}"#;
        let info =
            r#"{"model_path":"/models/q","context_length":null,"internal_states":[{}],"version":"0.5.4"}"#;
        let pages = [(Page::Models, 200, models), (Page::GetServerInfo, 200, info)];
        let (found, asked) = ask(Page::Models, "q", &pages);
        check(&found, Engine::Sglang, Some("0.5.4"), "/models/q", Some(32768));
        assert_eq!(asked, [Page::Models, Page::ServerInfo, Page::GetServerInfo]);

        let models = r#"{"data":[{"id":"q.gguf","owned_by":"llamacpp","meta":{"n_ctx_train":32768}}]}"#;
        let props = r#"{"default_generation_settings":{"n_ctx":4096},"model_path":"/m/q.gguf","build_info":"b999-dead"}"#;
        let pages = [(Page::Models, 200, models), (Page::Props, 200, props)];
        let (found, _) = ask(Page::Models, "other", &pages);
        check(&found, Engine::LlamaCpp, Some("b999-dead"), "/m/q.gguf", Some(4096));

        let models =
            r#"{"data":[{"id":"q","object":"model","owned_by":"MindIE Server","root":"/models/q/"}]}"#;
        let (found, asked) = ask(Page::Models, "q", &[(Page::Models, 200, models)]);
        check(&found, Engine::Mindie, None, "/models/q/", None);
        assert_eq!(asked, [Page::Models]);
    }

    #[test]
    fn tgi_and_ollama_are_recognised_by_either_of_their_formats() {
        let info = r#"{"model_id":"org/q","version":"3.3.6","max_total_tokens":8192}"#;
        let models = r#"{"data":[{"id":"org/q","object":"model","created":0,"owned_by":"org/q"}]}"#;
        let pages = [(Page::Models, 200, models), (Page::Info, 200, info)];
        for first in [Page::Models, Page::Info] {
            let (found, _) = ask(first, "org/q", &pages);
            check(&found, Engine::Tgi, Some("3.3.6"), "org/q", Some(8192));
        }
        let models = r#"{"data":[{"id":"q:1b","object":"model","created":1,"owned_by":"library"}]}"#;
        let pages = [(Page::Models, 200, models), (Page::ApiVersion, 200, r#"{"version":"0.12.6"}"#)];
        let (found, _) = ask(Page::Models, "q:1b", &pages);
        check(&found, Engine::Ollama, Some("0.12.6"), "q:1b", None);
        let (found, asked) = ask(Page::ApiVersion, "q:1b", &pages);
        assert_eq!((found.engine, found.version.as_deref()), (Some(Engine::Ollama), Some("0.12.6")));
        assert_eq!(asked, [Page::ApiVersion]);
    }

    #[test]
    fn pages_of_something_else_are_no_evidence() {
        for page in Page::ALL {
            for body in
                ["", "<html>", "{}", "[]", "3", r#"{"data":[]}"#, r#"{"data":[3]}"#, r#"{"version":7}"#]
            {
                let (found, asked) = ask(page, "m", &[(page, 200, body)]);
                assert_eq!((found.engine, found.version), (None, None), "{page:?} {body}");
                assert!(asked.len() <= 5, "{asked:?}");
            }
        }
    }
}
