//! The configuration file as its user meets it: what is taken, and what is said about what is not.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Duration;

use rcgen::{CertifiedKey, KeyPair, generate_simple_self_signed};
use sloprobe::config::{self, Outside, Plan, Problems, SECTIONS};
use sloprobe::domain::{
    Api, Cache, Connection, Engine, Expect, Header, HttpVersion, IpFamily, Kind, Proxy, Role, Target,
};

/// Every secret that a test file spells out holds this word, and so does every secret found outside.
const MARK: &str = "hunter2";

const SMALL: &str = "[[targets]]\nname = 'a'\nurl = 'http://localhost:8000'\nmodel = 'm'\n";

fn env(name: &str) -> Option<String> {
    match name {
        "CHAT_PROD_KEY" | "GATEWAY_TOKEN" | "GOOD_KEY" => Some(format!(" sk-{MARK}\n")),
        "EMPTY_KEY" => Some(" \n".into()),
        "PROXY_URL" => Some(format!("http://me:{MARK}@proxy.example.com:3128")),
        "BROKEN_KEY" => Some(format!("sk-{MARK}\nsecond line")),
        _ => None,
    }
}

fn file(path: &Path) -> io::Result<String> {
    match path.to_str() {
        Some("/run/secrets/good") => Ok(format!("sk-{MARK}\n")),
        Some("/run/secrets/empty") => Ok("\n".into()),
        Some("/run/secrets/closed") => Err(io::ErrorKind::PermissionDenied.into()),
        Some(path) => Ok(certificate_file(path).ok_or(io::ErrorKind::NotFound)?),
        None => Err(io::ErrorKind::NotFound.into()),
    }
}

/// Files of certificates and keys: one pair that belongs together, and what can be wrong with such files.
fn certificate_file(path: &str) -> Option<String> {
    static OWN: LazyLock<CertifiedKey<KeyPair>> =
        LazyLock::new(|| generate_simple_self_signed(["localhost".to_owned()]).expect("ring makes keys"));
    let (pem, key) = (OWN.cert.pem(), OWN.signing_key.serialize_pem());
    Some(match path {
        "/run/secrets/good.pem" => pem,
        "/run/secrets/good.key" => key,
        "/run/secrets/other.key" => KeyPair::generate().expect("ring makes keys").serialize_pem(),
        "/run/secrets/encrypted.key" => key.replace("PRIVATE KEY", "ENCRYPTED PRIVATE KEY"),
        "/run/secrets/broken.pem" => {
            "-----BEGIN CERTIFICATE-----\naHVudGVyMg==\n-----END CERTIFICATE-----\n".into()
        }
        "/run/secrets/short.pem" => pem[..pem.len() / 2].to_owned(),
        _ => return None,
    })
}

fn parse(name: &str, text: &str) -> Result<Plan, Problems> {
    config::parse(
        name,
        text,
        &Outside { env: &env, file: &file, text: &|_| Err(std::io::ErrorKind::NotFound.into()) },
    )
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn example() -> String {
    fs::read_to_string(root().join("config/example.toml")).expect("the example exists")
}

fn bad_configs(extension: &str) -> BTreeSet<PathBuf> {
    let entries = fs::read_dir(root().join("tests/bad-config")).expect("the folder exists");
    let paths = entries.map(|entry| entry.expect("the folder can be listed").path());
    paths.filter(|path| path.extension().is_some_and(|own| own == extension)).collect()
}

#[test]
fn every_bad_config_gets_exactly_its_message() {
    let files = bad_configs("toml");
    assert!(files.len() >= 36, "only {} bad configurations", files.len());
    for path in files {
        let name = path.file_name().unwrap().to_str().unwrap();
        let said = parse(name, &fs::read_to_string(&path).unwrap()).expect_err(name).to_string();
        let wanted = fs::read_to_string(path.with_extension("txt")).unwrap_or_default();
        assert_eq!(said.trim_end(), wanted.trim_end(), "\n--- {name} says:\n{said}\n");
    }
}

#[test]
fn every_message_has_its_bad_config() {
    let stems =
        |extension| bad_configs(extension).iter().map(|path| path.with_extension("")).collect::<Vec<_>>();
    assert_eq!(stems("toml"), stems("txt"));
    let count = fs::read_dir(root().join("tests/bad-config")).unwrap().count();
    assert_eq!(count, 2 * bad_configs("toml").len(), "something else lies in tests/bad-config");
}

#[test]
fn no_message_repeats_a_secret() {
    let mut with_secrets = 0;
    for path in bad_configs("toml") {
        let text = fs::read_to_string(&path).unwrap();
        with_secrets += usize::from(text.contains(MARK));
        let problems = parse("x.toml", &text).unwrap_err();
        assert!(!format!("{problems} {problems:?}").contains(MARK), "{}", path.display());
    }
    assert!(with_secrets >= 5, "only {with_secrets} files try to leak a secret");
}

#[test]
fn problems_come_in_the_order_of_their_lines_and_each_has_a_remedy() {
    let text = fs::read_to_string(root().join("tests/bad-config/everything-wrong.toml")).unwrap();
    let problems = parse("x.toml", &text).unwrap_err();
    assert!(problems.iter().map(|problem| problem.line).is_sorted());
    assert!(problems.iter().all(|problem| !problem.remedy.is_empty()));
    assert!(problems.iter().count() > text.lines().filter(|line| line.contains('=')).count() / 2);
}

fn names(headers: &[Header]) -> Vec<&str> {
    headers.iter().map(|header| header.name.as_str()).collect()
}

#[test]
fn the_example_says_what_it_seems_to_say() {
    let plan = parse("example.toml", &example()).unwrap();
    let [prod, local] = &plan.targets[..] else { panic!("{:?}", plan.targets) };
    assert_eq!(prod.api_key.as_ref().unwrap().expose(), format!("sk-{MARK}"));
    assert_eq!(prod.rate.interval, Duration::from_secs(5));
    assert_eq!(prod.mix.iter().map(|share| share.weight).collect::<Vec<_>>(), [6, 3, 1]);
    assert_eq!((prod.in_flight, prod.tokens_per_hour), (16, Some(1_500_000)));
    assert_eq!(names(&prod.headers), ["x-team", "x-gateway-token", "x-synthetic"]);
    assert_eq!(plan.limits.tokens_per_hour, Some(2_000_000));
    assert_eq!(plan.workloads[0].timeouts.first_token, Duration::from_secs(10));
    assert!(!format!("{plan:?}").contains(MARK));
    assert_eq!(local.mix.iter().map(|share| share.weight).collect::<Vec<_>>(), [1, 1, 1]);
}

/// The lines of the example below each occurrence of a heading, comments' marks taken off.
fn shown_below(heading: &str, text: &str) -> Vec<String> {
    let mut inside = false;
    let mut lines = Vec::new();
    for line in text.lines() {
        let bare = line.trim_start_matches("# ");
        if bare.starts_with('[') && bare.ends_with(']') {
            inside = bare == heading;
        }
        if inside {
            lines.push(line.trim_start_matches(['#', ' ']).to_owned());
        }
    }
    lines
}

#[test]
fn the_example_shows_every_key() {
    let text = example();
    for section in SECTIONS {
        let below = shown_below(section.heading, &text);
        for key in section.known {
            let shown = match (section.heading, *key) {
                ("the top level", key) => text.contains(&format!("[{key}]")),
                ("a secret" | "a price" | "a range of lengths", key) => {
                    text.contains(&format!("{{ {key} = ")) || text.contains(&format!(", {key} = "))
                }
                ("[[workloads]]", "timeouts") => text.contains("[workloads.timeouts]"),
                (_, key) => below.iter().any(|line| line.starts_with(&format!("{key} = "))),
            };
            assert!(shown, "config/example.toml lacks {key} of {}", section.heading);
        }
    }
}

#[test]
fn every_declared_key_is_read() {
    for section in SECTIONS {
        let above = match section.heading {
            "the top level" => "",
            "a secret" => "[[targets]]\n[targets.api_key]\n",
            "a price" => "[[targets]]\n[targets.price]\n",
            "a range of lengths" => "[[workloads]]\n[workloads.input_tokens]\n",
            "[workloads.timeouts]" => "[[workloads]]\n[workloads.timeouts]\n",
            heading => &format!("{heading}\n"),
        };
        for key in section.known {
            let text = format!("{above}{key} = 1979-05-27\n");
            let line = text.lines().count();
            let problems = parse("x.toml", &text).unwrap_err();
            let told = problems.iter().any(|problem| {
                problem.line == Some(line)
                    && problem.subject.ends_with(key)
                    && problem.what.contains("a date")
            });
            assert!(told, "{key} of {} is ignored:\n{problems}", section.heading);
        }
    }
}

#[test]
fn a_small_file_gets_every_default() {
    let plan = parse("small.toml", SMALL).unwrap();
    assert_eq!(plan.listen.to_string(), "127.0.0.1:9788");
    assert_eq!((plan.limits.in_flight, plan.limits.tokens_per_hour), (64, None));
    let target = &plan.targets[0];
    assert_eq!((target.api, target.engine), (Api::OpenAiChat, Engine::Auto));
    assert_eq!((target.connection, target.in_flight), (Connection::Reuse, 16));
    assert_eq!(target.rate.interval, Duration::from_secs(10));
    assert!(target.api_key.is_none() && target.labels.is_empty());
    assert_eq!(names(&target.headers), ["x-synthetic"]);
    let mix: Vec<_> = target.mix.iter().map(|share| (&*share.workload.name, share.weight)).collect();
    assert_eq!(mix, [("short-chat", 6), ("rag", 3), ("continuation", 1)]);
}

#[test]
fn the_usual_workloads_are_those_of_the_example() {
    let (usual, shown) = (parse("s.toml", SMALL).unwrap(), parse("e.toml", &example()).unwrap());
    assert_eq!(usual.workloads.len(), shown.workloads.len());
    for (usual, shown) in usual.workloads.iter().zip(&shown.workloads) {
        let mut shown = shown.as_ref().clone();
        shown.timeouts = usual.timeouts;
        assert_eq!(usual.as_ref(), &shown);
    }
}

#[test]
fn lengths_follow_the_kind_when_left_out() {
    let text = format!("{SMALL}[[workloads]]\nname = 'w'\nkind = 'rag'\ncache = 'warm'\n");
    let plan = parse("x.toml", &text).unwrap();
    let workload = &plan.workloads[0];
    assert_eq!((workload.kind, workload.cache), (Kind::Rag, Cache::Warm));
    assert_eq!((workload.input_tokens.longest(), workload.output_tokens.longest()), (6000, 256));
}

#[test]
fn a_low_limit_lowers_the_default_of_the_targets() {
    let plan = parse("x.toml", &format!("limits = {{ in_flight = 3 }}\n{SMALL}")).unwrap();
    assert_eq!(plan.targets[0].in_flight, 3);
}

#[test]
fn a_secret_comes_from_a_file_beside_the_configuration() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("key"), format!("sk-{MARK}\r\n")).unwrap();
    let path = folder.path().join("sloprobe.toml");
    fs::write(&path, format!("{SMALL}api_key = {{ file = 'key' }}\n")).unwrap();
    let plan = config::load(&path).unwrap();
    assert_eq!(plan.targets[0].api_key.as_ref().unwrap().expose(), format!("sk-{MARK}"));
}

#[test]
fn files_that_cannot_be_read_are_told_with_a_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sloprobe.toml");
    let says =
        || config::load(&path).unwrap_err().to_string().replace(path.to_str().unwrap(), "sloprobe.toml");
    let remedy = "write one after config/example.toml, or try `sloprobe demo`, which needs none";
    let tail = "1 problem in sloprobe.toml";
    assert_eq!(says(), format!("sloprobe.toml: there is no such file\n    {remedy}\n{tail}"));

    fs::create_dir(&path).unwrap();
    assert_eq!(says(), format!("sloprobe.toml: it is a directory\n    {remedy}\n{tail}"));
    fs::remove_dir(&path).unwrap();

    fs::write(&path, b"[daemon]\nlisten = \"\xff\"\n").unwrap();
    let said = "sloprobe.toml:2: text: not UTF-8 from here on\n    save the file as UTF-8";
    assert_eq!(says(), format!("{said}\n{tail}"));

    fs::write(&path, " ".repeat(1024 * 1024 + 1)).unwrap();
    let said = "sloprobe.toml: larger than 1 MiB\n    name a configuration of sloprobe";
    assert_eq!(says(), format!("{said}\n{tail}"));
}

/// Half-written files, as an editor or a failed copy leaves them: cut short, a line gone, a character gone.
fn mutations(text: &str) -> impl Iterator<Item = String> {
    let cut = text.char_indices().map(|(at, _)| text[..at].to_owned());
    let slip = text.char_indices().map(|(at, c)| [&text[..at], &text[at + c.len_utf8()..]].concat());
    let lines: Vec<&str> = text.lines().collect();
    let without = (0..lines.len()).map(move |gone| [&lines[..gone], &lines[gone + 1..]].concat().join("\n"));
    cut.chain(slip).chain(without)
}

fn without_comments(text: &str) -> String {
    let kept = text.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    kept.collect::<Vec<_>>().join("\n")
}

#[test]
fn loading_a_damaged_file_never_panics() {
    for damaged in mutations(&without_comments(&example())).chain(mutations(&example()).step_by(7)) {
        if let Err(problems) = parse("x.toml", &damaged) {
            assert!(problems.iter().count() > 0, "refused without a reason:\n{damaged}");
        }
    }
}

#[test]
fn no_damage_makes_a_message_repeat_a_secret() {
    let secrets = format!(
        "api_key = \"sk-{MARK}\"\nheaders = {{ Authorization = \"Bearer {MARK}\", x-api-key = '{MARK}' }}\n\
         [[targets]]\nname = 'b'\nurl = 'https://me:{MARK}@llm.example.com/v1?key={MARK}'\n\
         api_key = {{ env = '{MARK}' }}\nproxy = 'http://me:{MARK}@proxy:3128'\n\
         [[targets]]\napi_key = {{ file = '{MARK}' }}\nproxy = {{ env = 'PROXY_URL' }}\n"
    );
    for damaged in mutations(&format!("{SMALL}{secrets}")) {
        if let Err(problems) = parse("x.toml", &damaged) {
            let said = problems.to_string();
            assert!(!said.contains(MARK), "{damaged}\n--- says:\n{said}");
        }
    }
}

fn target(keys: &str) -> Target {
    let text = format!("[[targets]]\nname = 'a'\nurl = 'https://10.0.0.1'\nmodel = 'm'\n{keys}\n");
    Target::clone(&parse("x.toml", &text).expect("it is sound").targets[0])
}

#[test]
fn the_way_to_a_target_is_read_with_its_files() {
    let plain = target("").way;
    assert!(plain.ca.is_none() && plain.client.is_none() && plain.server_name.is_none());
    assert!(matches!(plain.proxy, Proxy::Environment) && plain.ip.is_none() && plain.http.is_none());
    let full = target(
        "ca = '/run/secrets/good.pem'\nclient_cert = '/run/secrets/good.pem'\nclient_key = '/run/secrets/good.key'\n\
         server_name = 'LLM.example.com'\ninsecure_skip_verify = true\nproxy = 'none'\nip = 'v4'\nhttp = '1.1'",
    );
    assert!(full.skips_verification());
    assert_eq!(full.server_name(), "llm.example.com");
    let way = full.way;
    assert_eq!((way.ca.unwrap().len(), way.client.unwrap().chain.len()), (1, 1));
    assert!(matches!(way.proxy, Proxy::Never));
    assert_eq!((way.ip, way.http), (Some(IpFamily::V4), Some(HttpVersion::Http1)));
    let second = target("proxy = 'socks5://proxy'\nserver_name = 'a.b'\nip = 'v4'\nhttp = '2'").way;
    assert_eq!(second.proxy.address().unwrap().to_string(), "proxy");
    assert_eq!(second.http, Some(HttpVersion::Http2));
}

#[test]
fn the_password_of_a_proxy_is_never_shown() {
    let target = target("proxy = { env = 'PROXY_URL' }");
    let proxy = target.way.proxy.address().unwrap();
    assert_eq!(proxy.to_string(), "proxy.example.com:3128");
    assert!(proxy.expose().contains(MARK));
    assert!(!format!("{target:?}").contains(MARK));
    assert_eq!(target.redact(&format!("407: {MARK} is wrong")), "407: [redacted] is wrong");
}

#[test]
fn whoever_sends_nothing_needs_no_certificates() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sloprobe.toml");
    let text = "[[targets]]\nname = 'a'\nurl = 'https://a'\nmodel = 'm'\nca = 'none.pem'\n\
                client_cert = 'none.pem'\nclient_key = 'none.key'\nproxy = { env = 'SURELY_NOT_SET' }\n";
    fs::write(&path, text).unwrap();
    assert!(config::load_without_secrets(&path).is_ok());
    assert_eq!(config::load(&path).unwrap_err().iter().count(), 4);
}

fn with_questions(lines: &str) -> Result<Plan, Problems> {
    let text = "[[targets]]\nname = 't'\nurl = 'http://h'\nmodel = 'm'\n\
                [[workloads]]\nname = 'w'\nkind = 'file'\nprompts = 'q.jsonl'\n";
    let none = |_: &Path| Err(std::io::ErrorKind::NotFound.into());
    let questions = |_: &Path| Ok(lines.to_owned());
    config::parse("x.toml", text, &Outside { env: &|_| None, file: &none, text: &questions })
}

#[test]
fn questions_are_read_in_every_usual_form() {
    let plan = with_questions(
        "{\"question\": \"How far?\", \"expect\": \"42\"}\n\n\
         {\"prompt\": \"Go on\", \"expect\": {\"regex\": \"(?i)yes|no\"}, \"id\": 7}\n\
         {\"messages\": [{\"role\": \"system\", \"content\": \"Brief.\"}, {\"role\": \"user\", \"content\": \"Hi\"}]}\n\
         {\"conversations\": [{\"from\": \"human\", \"value\": \"Hello\"}, {\"from\": \"gpt\", \"value\": \"Bye\"}]}\n",
    )
    .unwrap();
    let questions = &plan.workloads[0].questions;
    let texts: Vec<_> = questions.iter().map(|q| q.turns.last().unwrap().text.as_str()).collect();
    assert_eq!(texts, ["How far?", "Go on", "Hi", "Hello"]);
    assert_eq!(questions[0].expect, Expect::Text("42".into()));
    assert!(matches!(&questions[1].expect, Expect::Pattern(pattern) if pattern.as_str() == "(?i)yes|no"));
    assert_eq!(questions[2].turns[0].role, Role::System);
    assert_eq!(questions[3].turns.len(), 1);
    let list = with_questions("\u{feff}[{\"question\": \"a\"}, {\"question\": \"b\"}]").unwrap();
    assert_eq!(list.workloads[0].questions.len(), 2);
}

#[test]
fn every_bad_line_of_a_file_of_questions_is_told_with_its_number() {
    let problems = with_questions(
        "{\"question\": \"fine\"}\nnot json\n{\"question\": \"\"}\n{\"text\": \"a\"}\n\
         {\"question\": \"a\", \"expect\": {\"regex\": \"(\"}}\n\
         {\"messages\": [{\"role\": \"robot\", \"content\": \"a\"}]}\n{\"question\": \"a\", \"expect\": 42}\n\
         {\"messages\": [{\"role\": \"assistant\", \"content\": \"a\"}]}\n",
    )
    .unwrap_err();
    let said = problems.to_string();
    for wanted in [
        "x.toml:8: workloads[0].prompts: q.jsonl, line 2: expected ident (column 2)",
        "line 3: the question is empty",
        "line 4: there is neither messages nor",
        "line 5: not a regex: unclosed group",
        "line 6: the role \"robot\"",
        "line 7: expect is text, or an object with a regex",
        "line 8: no message is from the user",
    ] {
        assert!(said.contains(wanted), "{wanted:?} is not in\n{said}");
    }
    assert_eq!(problems.iter().count(), 7, "{said}");
    assert!(with_questions("\n \n").unwrap_err().to_string().contains("the file asks nothing"));
    let many = "x\n".repeat(30);
    assert!(with_questions(&many).unwrap_err().to_string().contains("20 more bad lines"));
}
