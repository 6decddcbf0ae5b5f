//! What the simulated engine says, over real sockets: right answers, and wrong or degenerate ones on command.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};
use sloprobe::simulate::cost::StepCost;
use sloprobe::simulate::{self, Handle, Profile, Settings};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

/// No single exchange of these tests should take this long.
const PATIENCE: Duration = Duration::from_secs(20);

const LIST: &str = "Here is the list:\n- Ada: 417 lamps\n- Ben: 382 ropes\n- Cid: 907 bells\n\n";
const LIST_ZH: &str = "名单如下：\n- 王芳：417盏灯\n- 李强：382根绳子\n- 赵敏：907个铜铃\n\n";
const START: &str = " Start with \"Answer:\", then explain in two sentences.";
const START_ZH: &str = "请先写“答案：”，再用两句话说明。";

/// An answer, however it was sent.
#[derive(Debug, PartialEq)]
struct Said {
    text: String,
    finish: String,
    /// As the server counts them.
    tokens: u64,
}

async fn engine(faults: &[&str]) -> Handle {
    let mut settings = Settings::of(Profile::Fast);
    // What is said matters here, not when.
    settings.engine.cost = StepCost::flat(Duration::from_micros(100), Duration::ZERO);
    settings.faults = faults.iter().map(|fault| fault.parse().expect("a known fault")).collect();
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    simulate::start(listener, settings).expect("a listener with an address")
}

async fn post(handle: &Handle, path: &str, body: &Value) -> String {
    let body = body.to_string();
    let request = format!(
        "POST {path} HTTP/1.1\r\nhost: sim\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let exchange = async {
        let mut socket = TcpStream::connect(handle.address()).await.expect("the server listens");
        socket.write_all(request.as_bytes()).await.expect("the request is sent");
        let mut reply = String::new();
        socket.read_to_string(&mut reply).await.expect("a reply in UTF-8");
        reply
    };
    let reply = timeout(PATIENCE, exchange).await.expect("an end within the bound");
    assert!(reply.starts_with("HTTP/1.1 200"), "{reply}");
    reply.split_once("\r\n\r\n").expect("a body").1.to_owned()
}

/// Asks twice, for a stream and for a whole answer.
async fn ask_both(handle: &Handle, prompt: &str, options: Value) -> [Said; 2] {
    let mut body = options;
    let system = json!({ "role": "system", "content": "Be brief: 2 sentences." });
    body["messages"] = json!([system, { "role": "user", "content": format!("4711 0815\n\n{prompt}") }]);
    let whole = whole(&post(handle, "/v1/chat/completions", &body).await);
    body["stream"] = json!(true);
    body["stream_options"] = json!({ "include_usage": true });
    [streamed(&post(handle, "/v1/chat/completions", &body).await), whole]
}

async fn ask(handle: &Handle, prompt: &str) -> Said {
    let body = json!({ "messages": [{ "role": "user", "content": prompt }], "max_tokens": 400 });
    whole(&post(handle, "/v1/chat/completions", &body).await)
}

fn whole(body: &str) -> Said {
    let answer: Value = serde_json::from_str(body).expect("a JSON body");
    let choice = &answer["choices"][0];
    Said {
        text: choice["message"]["content"].as_str().expect("text").to_owned(),
        finish: choice["finish_reason"].as_str().expect("a reason").to_owned(),
        tokens: answer["usage"]["completion_tokens"].as_u64().expect("a count"),
    }
}

/// Each token must be an event of its own, and the count of the server must be that of the events.
fn streamed(body: &str) -> Said {
    let data = body.lines().filter_map(|line| line.strip_prefix("data: ")).filter(|data| *data != "[DONE]");
    let events: Vec<Value> = data.map(|data| serde_json::from_str(data).expect("JSON")).collect();
    let choices = || events.iter().map(|event| &event["choices"][0]);
    let texts: Vec<&str> = choices().filter_map(|choice| choice["delta"]["content"].as_str()).collect();
    let tokens = events.last().and_then(|last| last["usage"]["completion_tokens"].as_u64());
    assert_eq!(texts.iter().filter(|text| !text.is_empty()).count() as u64, tokens.expect("a count"));
    Said {
        text: texts.concat(),
        finish: choices().find_map(|choice| choice["finish_reason"].as_str()).expect("a reason").to_owned(),
        tokens: tokens.unwrap_or_default(),
    }
}

async fn count(handle: &Handle, text: &str) -> Option<u64> {
    let counted = post(handle, "/tokenize", &json!({ "prompt": text })).await;
    serde_json::from_str::<Value>(&counted).expect("a JSON body")["count"].as_u64()
}

/// Passages of some length with a fact at a place between 0 and 1, and others of its kind at both ends.
fn passages(place: f64) -> String {
    let filler = |sentences: f64| "In 1912 about 250 ships came to the port. ".repeat(sentences as usize);
    format!(
        "[1] Harbour (annex 7)\nThe access code of depot Merlin is 50977. {}The access code of depot Kestrel is \
         48213. {}The access code of depot Falcon is 61616.\n\nWhat is the access code of depot Kestrel?{START}",
        filler(100.0 * place),
        filler(100.0 * (1.0 - place)),
    )
}

#[tokio::test]
async fn questions_are_answered_from_the_prompt() {
    let handle = engine(&[]).await;
    let table = "| Store room | Key number |\n|---|---|\n| Otter | 48213 |\n| Badger | 00732 |\n\n";
    for (prompt, beginning) in [
        (format!("{LIST}How many things do Ada and Ben have together?{START}"), "Answer: 799\n"),
        (format!("{LIST}Who has the bells?{START}"), "Answer: Cid\n"),
        (format!("{LIST}Write Ben's number with a dash between its digits.{START}"), "Answer: 3-8-2\n"),
        (passages(0.4), "Answer: 48213\n"),
        (format!("{table}What is the key number of store room Badger?{START}"), "Answer: 00732\n"),
        (format!("{LIST_ZH}王芳比李强多多少件东西？{START_ZH}"), "答案：35\n"),
        (format!("{LIST_ZH}绳子在谁那里？{START_ZH}"), "答案：李强\n"),
        (format!("拨分机36500可以接通白鹭办公室。接通白鹭办公室要拨哪个分机？{START_ZH}"), "答案：36500\n"),
    ] {
        let [streamed, whole] = ask_both(&handle, &prompt, json!({ "max_tokens": 400 })).await;
        assert_eq!(streamed, whole);
        assert!(whole.text.starts_with(beginning), "{}", whole.text);
        assert!(whole.text.ends_with(['.', '。']), "{}", whole.text);
        assert_eq!(whole.finish, "stop");
        assert_eq!(Some(whole.tokens), count(&handle, &whole.text).await);
    }
    let log = handle.log().entries();
    assert!(log.chunks(2).all(|pair| pair[0].tokens() == pair[1].tokens()));
    handle.stop().await;
}

#[tokio::test]
async fn completions_are_answered_too() {
    let handle = engine(&[]).await;
    let body = json!({ "prompt": format!("{LIST}Who has the most things?{START}"), "max_tokens": 99 });
    let answer: Value = serde_json::from_str(&post(&handle, "/v1/completions", &body).await).expect("JSON");
    assert!(answer["choices"][0]["text"].as_str().is_some_and(|text| text.starts_with("Answer: Cid\n")));
    handle.stop().await;
}

#[tokio::test]
async fn prompt_that_is_not_understood_gets_prose() {
    let handle = engine(&[]).await;
    let [streamed, whole] =
        ask_both(&handle, "Tell me about bridges.", json!({ "max_completion_tokens": 4096 })).await;
    assert_eq!((streamed.finish.as_str(), whole.finish.as_str()), ("stop", "stop"));
    assert!(!whole.text.contains("Answer") && streamed.text != whole.text);
    handle.stop().await;
}

#[tokio::test]
async fn answer_is_cut_by_its_limit_and_goes_on_where_it_must() {
    let handle = engine(&[]).await;
    let prompt = format!("{LIST}How many things do Ada and Ben have together?{START}");
    let full = ask(&handle, &prompt).await;
    for said in ask_both(&handle, &prompt, json!({ "max_tokens": 5 })).await {
        assert_eq!((said.tokens, said.finish.as_str()), (5, "length"));
        assert!(full.text.starts_with(&said.text), "{}", said.text);
    }
    for said in ask_both(&handle, &prompt, json!({ "max_tokens": 90, "ignore_eos": true })).await {
        assert_eq!((said.tokens, said.finish.as_str()), (90, "length"));
        assert!(said.text.starts_with(&full.text) && said.text.len() > full.text.len(), "{}", said.text);
    }
    for said in ask_both(&handle, &prompt, json!({ "max_tokens": 90, "min_tokens": 60 })).await {
        assert_eq!((said.tokens, said.finish.as_str()), (60, "stop"));
        assert!(said.text.starts_with(&full.text) && said.text.ends_with('.'), "{}", said.text);
    }
    handle.stop().await;
}

#[tokio::test]
async fn story_has_the_length_asked_for_unless_it_is_cut() {
    let handle = engine(&[]).await;
    let english = "It rained for 40 days. Go on with this story for about 150 words.";
    let chinese = "雨下了40天。请把这个故事接着写下去，大约150字。";
    for said in ask_both(&handle, english, json!({ "max_tokens": 1000 })).await {
        let words = said.text.split_whitespace().count();
        assert!((130..=170).contains(&words) && said.finish == "stop", "{words} {}", said.text);
        assert_eq!(Some(said.tokens), count(&handle, &said.text).await);
    }
    for said in ask_both(&handle, chinese, json!({ "max_tokens": 1000 })).await {
        let characters = said.text.chars().count();
        assert!((120..=190).contains(&characters) && said.finish == "stop", "{characters} {}", said.text);
        assert!(said.text.ends_with('。') && !said.text.contains('a'), "{}", said.text);
    }
    for said in ask_both(&handle, english, json!({ "max_tokens": 30 })).await {
        assert_eq!((said.tokens, said.finish.as_str()), (30, "length"));
    }
    for said in ask_both(&handle, english, json!({ "max_tokens": 400, "ignore_eos": true })).await {
        assert_eq!((said.tokens, said.finish.as_str()), (400, "length"));
    }
    handle.stop().await;
}

#[tokio::test]
async fn wrong_answers_have_the_form_but_not_the_answer() {
    let handle = engine(&["wrong"]).await;
    for (prompt, lead, right) in [
        (format!("{LIST}How many things do Ada and Ben have together?{START}"), "Answer: ", "799"),
        (format!("{LIST}Who has the ropes?{START}"), "Answer: ", "Ben"),
        (passages(0.1), "Answer: ", "48213"),
        (format!("{LIST_ZH}谁的东西最多？{START_ZH}"), "答案：", "赵敏"),
    ] {
        let mut answers = BTreeSet::new();
        for _ in 0..6 {
            for said in ask_both(&handle, &prompt, json!({ "max_tokens": 400 })).await {
                assert!(said.text.starts_with(lead) && !said.text.contains(right), "{}", said.text);
                assert_eq!(said.finish, "stop");
                answers.insert(said.text);
            }
        }
        assert!(answers.len() > 1, "always the same mistake: {answers:?}");
    }
    let said = ask(&handle, "It rained. Go on with this story for about 150 words.").await;
    assert!(said.text.split_whitespace().count() <= 25 && said.finish == "stop", "{}", said.text);
    assert_eq!(said.text.matches('.').count(), 1);
    handle.stop().await;
}

#[tokio::test]
async fn share_makes_some_answers_wrong_and_the_control_ends_it() {
    let handle = engine(&[]).await;
    let prompt = format!("{LIST}Who has the ropes?{START}");
    let change = json!({ "faults": ["wrong,share=0.5"] });
    assert!(post(&handle, "/sim/faults", &change).await.contains("wrong,share=0.5"));
    let mut right = 0;
    for _ in 0..40 {
        right += usize::from(ask(&handle, &prompt).await.text.starts_with("Answer: Ben\n"));
    }
    assert!((8..=32).contains(&right), "{right} of 40");
    handle.control().clear_faults();
    assert!(ask(&handle, &prompt).await.text.starts_with("Answer: Ben\n"));
    handle.stop().await;
}

#[tokio::test]
async fn degenerate_answers_repeat_themselves_up_to_the_limit() {
    let handle = engine(&["degenerate"]).await;
    for prompt in [format!("{LIST}Who has the ropes?{START}"), format!("{LIST_ZH}谁的东西最多？{START_ZH}")]
    {
        let mut kinds = BTreeSet::new();
        for _ in 0..8 {
            for said in ask_both(&handle, &prompt, json!({ "max_tokens": 120 })).await {
                assert_eq!((said.tokens, said.finish.as_str()), (120, "length"));
                assert_eq!(Some(said.tokens), count(&handle, &said.text).await);
                assert!(said.text.chars().collect::<BTreeSet<_>>().len() < 16, "{}", said.text);
                kinds.insert(said.text.starts_with(['!', '！']));
            }
        }
        assert_eq!(kinds.len(), 2, "signs and phrases both come");
    }
    handle.stop().await;
}

#[tokio::test]
async fn lost_middle_loses_facts_in_the_middle_only() {
    let handle = engine(&["lost-middle"]).await;
    for (place, found) in [(0.05, true), (0.25, true), (0.4, false), (0.6, false), (0.8, true), (1.0, true)] {
        for said in ask_both(&handle, &passages(place), json!({ "max_tokens": 99 })).await {
            assert_eq!(said.text.contains("48213"), found, "{place}: {}", said.text);
            assert!(said.text.starts_with("Answer: "), "{}", said.text);
        }
    }
    let padding = "In 1912 about 250 ships came. ".repeat(20);
    let list = format!("{padding}\n{LIST}{padding}\nWho has the ropes?{START}");
    assert!(ask(&handle, &list).await.text.starts_with("Answer: Ben\n"), "a list has no middle");
    handle.stop().await;
}
