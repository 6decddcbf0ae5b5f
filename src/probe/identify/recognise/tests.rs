//! What the pages of real servers, and of others, must be taken for.

use std::path::Path;

use super::*;

const NOT_FOUND: (u16, &str) = (404, r#"{"detail":"Not Found"}"#);

/// Asks as the daemon would; gives the findings and the pages that were asked for.
fn ask(api: Api, engine: Engine, model: &str, pages: &[(Page, u16, &str)]) -> (Findings, Vec<Page>) {
    let mut findings = Findings::of(api, engine);
    while let Some(page) = findings.next() {
        let known = pages.iter().find(|(known, ..)| *known == page);
        let (status, body) = known.map_or(NOT_FOUND, |&(_, status, body)| (status, body));
        findings.add(page, status, body.as_bytes(), model);
        findings.asked(page);
    }
    let asked = findings.asked.clone();
    (findings, asked)
}

/// The same of a server that was recorded.
fn ask_recorded(server: &str, api: Api, engine: Engine, model: &str) -> (Findings, Vec<Page>) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/wire/pages").join(format!("{server}.json"));
    let recorded: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    let pages: Vec<_> = Page::ALL
        .into_iter()
        .filter_map(|page| {
            let came = recorded.get(page.path())?;
            let status = came["status"].as_str()?.split(' ').next()?;
            Some((page, status.parse().unwrap(), came["body"].as_str()?))
        })
        .collect();
    assert_eq!(pages.len(), recorded.as_object().unwrap().len(), "{server}");
    ask(api, engine, model, &pages)
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
    let (found, asked) = ask(Api::OpenAiChat, Engine::Auto, "tiny", &pages);
    check(&found, Engine::Vllm, Some("0.32.0"), "/models/tiny-qwen2", Some(16384));
    assert_eq!(asked, [Page::Models, Page::Version]);
}

#[test]
fn xinference_is_recognised_even_where_its_version_is_for_administrators() {
    let models = r#"{"object":"list","data":[{"id":"tiny","object":"model","created":0,"owned_by":"xinference",
        "model_type":"LLM","model_name":"tiny-qwen2","context_length":16384,"model_engine":"Transformers"}]}"#;
    let closed = r#"{"detail":"Not enough permissions"}"#;
    let pages = [(Page::Models, 200, models), (Page::ClusterVersion, 401, closed)];
    let (found, _) = ask(Api::OpenAiChat, Engine::Auto, "tiny", &pages);
    check(&found, Engine::Xinference, None, "tiny-qwen2", Some(16384));
    let open = r#"{"date":"x","full-revisionid":"y","version":"4.1.0"}"#;
    let pages = [(Page::Models, 200, models), (Page::ClusterVersion, 200, open)];
    let (found, _) = ask(Api::OpenAiChat, Engine::Auto, "tiny", &pages);
    check(&found, Engine::Xinference, Some("4.1.0"), "tiny-qwen2", Some(16384));
}

#[test]
fn transformers_tells_nothing_and_nothing_is_guessed() {
    let (found, asked) =
        ask(Api::OpenAiChat, Engine::Auto, "tiny", &[(Page::Models, 500, "Internal Server Error")]);
    assert_eq!((found.engine, found.version), (None, None));
    assert_eq!(asked, [Page::Models, Page::Info, Page::ServerInfo, Page::Props]);
}

#[test]
fn litellm_gives_every_model_the_same_birthday() {
    let models = r#"{"data":[
        {"id":"tiny","object":"model","created":1677610602,"owned_by":"openai","max_input_tokens":16384},
        {"id":"dead-backend","object":"model","created":1677610602,"owned_by":"openai"}],"object":"list"}"#;
    let (found, asked) = ask(Api::OpenAiChat, Engine::Auto, "tiny", &[(Page::Models, 200, models)]);
    check(&found, Engine::Litellm, None, "tiny", Some(16384));
    assert_eq!(asked, [Page::Models]);
    let openai =
        r#"{"data":[{"id":"gpt-3.5-turbo","object":"model","created":1677610602,"owned_by":"openai"}]}"#;
    let (found, _) = ask(Api::OpenAiChat, Engine::Auto, "gpt-3.5-turbo", &[(Page::Models, 200, openai)]);
    assert_eq!(found.engine, None);
}

#[test]
fn sglang_llama_cpp_and_mindie_are_recognised() {
    let models = r#"{"data":[{"id":"q","owned_by":"sglang","root":"q","max_model_len":32768}]}"#;
    let info = r#"{"model_path":"/models/q","context_length":null,"internal_states":[{}],"version":"0.5.4"}"#;
    let pages = [(Page::Models, 200, models), (Page::GetServerInfo, 200, info)];
    let (found, asked) = ask(Api::OpenAiChat, Engine::Auto, "q", &pages);
    check(&found, Engine::Sglang, Some("0.5.4"), "/models/q", Some(32768));
    assert_eq!(asked, [Page::Models, Page::ServerInfo, Page::GetServerInfo]);

    let models = r#"{"data":[{"id":"q.gguf","owned_by":"llamacpp","meta":{"n_ctx_train":32768}}]}"#;
    let props =
        r#"{"default_generation_settings":{"n_ctx":4096},"model_path":"/m/q.gguf","build_info":"b999-dead"}"#;
    let pages = [(Page::Models, 200, models), (Page::Props, 200, props)];
    let (found, _) = ask(Api::OpenAiChat, Engine::Auto, "other", &pages);
    check(&found, Engine::LlamaCpp, Some("b999-dead"), "/m/q.gguf", Some(4096));

    let models = r#"{"data":[{"id":"q","object":"model","owned_by":"MindIE Server","root":"/models/q/"}]}"#;
    let (found, asked) = ask(Api::OpenAiChat, Engine::Auto, "q", &[(Page::Models, 200, models)]);
    check(&found, Engine::Mindie, None, "/models/q/", None);
    assert_eq!(asked, [Page::Models]);
}

#[test]
fn tgi_and_ollama_are_recognised_by_either_of_their_formats() {
    let info = r#"{"model_id":"org/q","version":"3.3.6","max_total_tokens":8192}"#;
    let models = r#"{"data":[{"id":"org/q","object":"model","created":0,"owned_by":"org/q"}]}"#;
    let pages = [(Page::Models, 200, models), (Page::Info, 200, info)];
    for api in [Api::OpenAiChat, Api::Tgi] {
        let (found, _) = ask(api, Engine::Auto, "org/q", &pages);
        check(&found, Engine::Tgi, Some("3.3.6"), "org/q", Some(8192));
    }
    let models = r#"{"data":[{"id":"q:1b","object":"model","created":1,"owned_by":"library"}]}"#;
    let pages = [(Page::Models, 200, models), (Page::ApiVersion, 200, r#"{"version":"0.12.6"}"#)];
    let (found, _) = ask(Api::OpenAiChat, Engine::Auto, "q:1b", &pages);
    check(&found, Engine::Ollama, Some("0.12.6"), "q:1b", None);
    let (found, asked) = ask(Api::Ollama, Engine::Auto, "q:1b", &pages);
    assert_eq!((found.engine, found.version.as_deref()), (Some(Engine::Ollama), Some("0.12.6")));
    assert_eq!(asked, [Page::ApiVersion]);
}

#[test]
fn llama_server_is_recognised_and_its_nephew_is_not() {
    let (found, asked) = ask_recorded("llama-server", Api::OpenAiChat, Engine::Auto, "tiny");
    check(&found, Engine::LlamaCpp, Some("b11669-Debian"), "/models/mid.gguf", Some(4096));
    assert_eq!(asked, [Page::Models, Page::Props]);
    let (found, asked) = ask_recorded("llama-cpp-python", Api::OpenAiChat, Engine::Auto, "tiny");
    assert_eq!((found.engine, found.model.as_deref()), (None, Some("tiny")));
    assert_eq!(asked, [Page::Models, Page::Info]);
}

#[test]
fn ollama_lists_a_model_by_another_name_than_it_is_asked_for() {
    for (model, listed) in [("tiny", Some("tiny:latest")), ("mid:latest", Some("mid:latest")), ("new", None)]
    {
        let (found, asked) = ask_recorded("ollama", Api::OpenAiChat, Engine::Auto, model);
        assert_eq!(
            (found.engine, found.version.as_deref()),
            (Some(Engine::Ollama), Some("0.17.4")),
            "{model}"
        );
        assert_eq!(found.model.as_deref(), listed);
        assert_eq!(asked, [Page::Models, Page::ApiVersion], "{model}");
    }
    // The tag that may be left out is this one alone, and a model of another owner is no reason to ask.
    let models = r#"{"data":[{"id":"q","owned_by":"me"},{"id":"q:1b","owned_by":"library"}]}"#;
    let (found, asked) = ask(Api::OpenAiChat, Engine::Auto, "q", &[(Page::Models, 200, models)]);
    assert_eq!((found.engine, asked), (None, vec![Page::Models, Page::Info]));
}

#[test]
fn triton_tells_its_own_version_and_nothing_of_the_engine() {
    for engine in [Engine::Auto, Engine::Vllm] {
        let (found, asked) = ask_recorded("triton", Api::Triton, engine, "tiny");
        assert_eq!(found.version.as_deref(), Some("triton 2.51.0"));
        assert_eq!(found.engine, Some(engine).filter(|&engine| engine != Engine::Auto));
        assert_eq!(asked, [Page::Metadata]);
    }
    let models = r#"{"data":[{"id":"q","owned_by":"MindIE Server","root":"/models/q/"}]}"#;
    let (found, asked) = ask(Api::Triton, Engine::Auto, "q", &[(Page::Models, 200, models)]);
    check(&found, Engine::Mindie, None, "/models/q/", None);
    assert_eq!(asked, [Page::Metadata, Page::Models]);
}

#[test]
fn an_engine_that_is_configured_is_asked_for_its_version_whatever_the_list_says() {
    let version = r#"{"version":"1.2.3"}"#;
    let sglang = r#"{"model_path":"q","internal_states":[],"version":"1.2.3"}"#;
    let props = r#"{"default_generation_settings":{},"build_info":"1.2.3"}"#;
    let info = r#"{"model_id":"q","version":"1.2.3"}"#;
    let list = r#"{"data":[{"id":"x","owned_by":"a gateway"},{"id":"q","owned_by":"a gateway","root":"q"}]}"#;
    for (engine, page, body, asked) in [
        (Engine::Vllm, Page::Version, version, 2),
        (Engine::Sglang, Page::ServerInfo, sglang, 2),
        (Engine::LlamaCpp, Page::Props, props, 2),
        (Engine::Xinference, Page::ClusterVersion, version, 2),
        (Engine::Tgi, Page::Info, info, 1),
        (Engine::Ollama, Page::ApiVersion, version, 1),
    ] {
        let pages = [(Page::Models, 200, list), (page, 200, body)];
        let (found, all) = ask(Api::OpenAiChat, engine, "q", &pages);
        assert_eq!((found.engine, found.version.as_deref()), (Some(engine), Some("1.2.3")));
        assert_eq!((all.len(), all.last()), (asked, Some(&page)), "{all:?}");
    }
    let (found, asked) = ask(Api::OpenAiChat, Engine::Mindie, "q", &[(Page::Models, 200, list)]);
    check(&found, Engine::Mindie, None, "q", None);
    assert_eq!(asked, [Page::Models]);
}

#[test]
fn pages_of_something_else_are_no_evidence() {
    for api in [Api::OpenAiChat, Api::Tgi, Api::Ollama, Api::Triton] {
        for body in ["", "<html>", "{}", "[]", "3", r#"{"data":[]}"#, r#"{"data":[3]}"#, r#"{"version":7}"#] {
            let (found, asked) = ask(api, Engine::Auto, "m", &Page::ALL.map(|page| (page, 200, body)));
            assert_eq!((found.engine, found.version), (None, None), "{api:?} {body}");
            assert!(asked.len() <= 5, "{asked:?}");
        }
    }
}
