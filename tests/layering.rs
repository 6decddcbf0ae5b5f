//! The picture of the layers, held against the sources: dependencies point down only.
//!
//! The checker reads code, not text: comments and the insides of strings do not count.

#[path = "layering/picture.rs"]
mod picture;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use picture::{LIBRARIES, Library, MAY_USE};

const MAX_LINES: usize = 500;
const MAX_LINES_OF_MAIN: usize = 30;

/// A file by its path from the root of the repository, with "/" between its parts.
struct Source {
    path: String,
    text: String,
}

#[test]
fn dependencies_point_down_only() {
    tell(&complaints(&sources("src")));
}

#[test]
fn nothing_is_left_undone_or_skipped() {
    let sources: Vec<_> = sources("src").into_iter().chain(sources("tests")).collect();
    tell(&sources.iter().flat_map(unfinished).collect::<Vec<_>>());
}

#[test]
fn files_stay_short() {
    tell(&sources("src").iter().filter_map(too_long).collect::<Vec<_>>());
}

#[test]
fn the_crate_doc_maps_every_module() {
    let lib = sources("src").into_iter().find(|source| source.path == "src/lib.rs").unwrap();
    tell(&missing_from_the_map(&lib.text));
}

fn tell(complaints: &[String]) {
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}

fn sources(folder: &str) -> Vec<Source> {
    let mut found = Vec::new();
    collect(Path::new(env!("CARGO_MANIFEST_DIR")), folder, &mut found);
    assert!(found.len() > 2, "no sources in {folder}");
    found
}

fn collect(root: &Path, folder: &str, found: &mut Vec<Source>) {
    for entry in fs::read_dir(root.join(folder)).expect("the folder can be listed") {
        let entry = entry.expect("the folder can be listed");
        let path = format!("{folder}/{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            collect(root, &path, found);
        } else if entry.path().extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(entry.path()).expect("sources are UTF-8");
            found.push(Source { path, text });
        }
    }
}

fn complaints(sources: &[Source]) -> Vec<String> {
    sources
        .iter()
        .flat_map(|source| [edges(source), touches(source), second_clock(source)].concat())
        .collect()
}

/// Uses of other modules of this crate that the picture does not show.
fn edges(source: &Source) -> Vec<String> {
    let own = &module_path(&source.path)[0];
    let Some((_, may)) = MAY_USE.iter().find(|(module, _)| module == own) else {
        return vec![format!("{}: module {own} has no row in MAY_USE of tests/layering.rs", source.path)];
    };
    let used = used_modules(source);
    let upward = used.iter().filter(|(used, _)| *used != own && !may.contains(&used.as_str()));
    upward
        .map(|(used, line)| {
            let may = if may.is_empty() { "nothing".into() } else { may.join(", ") };
            format!("{}:{line}: {own} uses {used}, but may use only {may}", source.path)
        })
        .collect()
}

/// Each module used, with the line of its first use.
fn used_modules(source: &Source) -> BTreeMap<String, usize> {
    let tokens = tokens(&source.text);
    let file = module_path(&source.path);
    let mut inner: Vec<usize> = Vec::new();
    let mut depth = 0;
    let mut used = BTreeMap::new();
    let mut note = |names: Vec<String>, line| {
        for name in names {
            used.entry(name).or_insert(line);
        }
    };
    for (at, token) in tokens.iter().enumerate() {
        let is_path = tokens.get(at + 1).is_some_and(|next| next.text == "::");
        let continues = at > 0 && tokens[at - 1].text == "::";
        match token.text.as_str() {
            "{" => {
                depth += 1;
                if at >= 2 && tokens[at - 2].text == "mod" {
                    inner.push(depth);
                }
            }
            "}" => {
                inner.retain(|&opened| opened != depth);
                depth -= 1;
            }
            "crate" if is_path => note(heads(&tokens[at + 2..]), token.line),
            "crate" if tokens.get(at + 1).is_some_and(|next| next.text == "as") => {
                note(vec!["the whole crate".into()], token.line);
            }
            "sloprobe" if is_path && !continues => note(heads(&tokens[at + 2..]), token.line),
            // Climbing to the root of the crate is another way to write `crate`.
            "super" if is_path && !continues => {
                let climb = tokens[at..]
                    .chunks(2)
                    .take_while(|pair| pair[0].text == "super" && pair.len() == 2)
                    .count();
                let height = inner.len() + if source.path == "src/lib.rs" { 0 } else { file.len() };
                if climb >= height {
                    note(heads(&tokens[at + 2 * climb..]), token.line);
                }
            }
            _ => {}
        }
    }
    used
}

/// The first names of a path, or of each path in a group.
fn heads(after: &[Token]) -> Vec<String> {
    if after.first().is_none_or(|token| token.text != "{") {
        return after.first().map(|token| token.text.clone()).into_iter().collect();
    }
    let mut names = Vec::new();
    let mut depth = 0;
    let mut fresh = false;
    for token in after {
        match token.text.as_str() {
            "{" => depth += 1,
            "}" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            break;
        }
        if depth == 1 && fresh {
            names.push(token.text.clone());
        }
        fresh = depth == 1 && (token.text == "{" || token.text == ",");
    }
    names.retain(|name| name != "}");
    names
}

/// Uses of a library outside its own rooms.
fn touches(source: &Source) -> Vec<String> {
    let own = &module_path(&source.path)[0];
    let tokens = tokens(&source.text);
    let mut complaints = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let Some(Library { name, rooms }) = LIBRARIES.iter().find(|l| l.name == token.text) else {
            continue;
        };
        let before = at.checked_sub(1).map_or("", |i| tokens[i].text.as_str());
        let is_path = tokens.get(at + 1).is_some_and(|next| next.text == "::");
        let is_named = is_path || ["use", "crate"].contains(&before);
        // `x::toml::` is somebody else's, `::toml::` is the library.
        let is_inner =
            before == "::" && at >= 2 && tokens[at - 2].text.starts_with(|c: char| c.is_alphanumeric());
        if !is_named || is_inner || rooms.contains(&own.as_str()) || rooms.contains(&source.path.as_str()) {
            continue;
        }
        complaints.push(format!("{}:{}: {name} is only for {}", source.path, token.line, rooms.join(", ")));
    }
    complaints
}

/// Tests can stop tokio's clock, but not the one of the standard library.
fn second_clock(source: &Source) -> Vec<String> {
    let tokens = tokens(&source.text);
    let mut complaints = Vec::new();
    for (at, window) in tokens.windows(5).enumerate() {
        let path: Vec<_> = window[..4].iter().map(|token| token.text.as_str()).collect();
        if path == ["std", "::", "time", "::"]
            && heads(&tokens[at + 4..]).iter().any(|name| name == "Instant")
        {
            complaints
                .push(format!("{}:{}: std's Instant; use tokio::time::Instant", source.path, window[0].line));
        }
    }
    complaints
}

fn unfinished(source: &Source) -> Vec<String> {
    let tokens = tokens(&source.text);
    let undone = |window: &[Token]| {
        let [a, b, c] = [0, 1, 2].map(|i| window[i].text.as_str());
        (["todo", "unimplemented"].contains(&a) && b == "!") || (a == "#" && b == "[" && c == "ignore")
    };
    let found = tokens.windows(3).filter(|window| undone(window));
    found.map(|window| format!("{}:{}: left undone", source.path, window[0].line)).collect()
}

fn too_long(source: &Source) -> Option<String> {
    let limit = if source.path == "src/main.rs" { MAX_LINES_OF_MAIN } else { MAX_LINES };
    let lines = source.text.lines().count();
    (lines > limit).then(|| format!("{}: {lines} lines, more than {limit}", source.path))
}

/// Modules of `lib.rs` that have no row in the map of its crate doc.
fn missing_from_the_map(lib: &str) -> Vec<String> {
    let tokens = tokens(lib);
    let modules = tokens.windows(2).filter(|pair| pair[0].text == "mod").map(|pair| &pair[1].text);
    let is_mapped =
        |module: &str| lib.lines().any(|line| line.starts_with(&format!("//! | [`{module}`] | ")));
    let missing = modules.filter(|module| !is_mapped(module));
    missing.map(|module| format!("src/lib.rs: the map in the crate doc lacks {module}")).collect()
}

/// `src/probe/read.rs` is `probe::read`.
fn module_path(path: &str) -> Vec<String> {
    let inner = path.trim_start_matches("src/").trim_end_matches(".rs");
    inner.split('/').filter(|part| *part != "mod").map(str::to_owned).collect()
}

/// A word, `::` or one character of code.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Token {
    text: String,
    line: usize,
}

/// The code of a file without comments, strings, characters and white space.
fn tokens(text: &str) -> Vec<Token> {
    let mut tokens: Vec<Token> = Vec::new();
    let mut line = 1;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let length = comment(rest).or_else(|| literal(rest)).unwrap_or(0);
        if length == 0 && !c.is_whitespace() {
            let word = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            let length = if rest.starts_with("::") { 2 } else { word.max(c.len_utf8()) };
            tokens.push(Token { text: rest[..length].to_owned(), line });
            rest = &rest[length..];
        } else {
            let length = length.max(c.len_utf8());
            line += rest[..length].matches('\n').count();
            rest = &rest[length..];
        }
    }
    tokens
}

/// The length of the comment that begins here.
fn comment(text: &str) -> Option<usize> {
    if text.starts_with("//") {
        return Some(text.find('\n').unwrap_or(text.len()));
    }
    if !text.starts_with("/*") {
        return None;
    }
    let mut depth = 0;
    for (at, _) in text.match_indices(['/', '*']) {
        if text[at..].starts_with("/*") {
            depth += 1;
        } else if text[at..].starts_with("*/") {
            depth -= 1;
            if depth == 0 {
                return Some(at + 2);
            }
        }
    }
    Some(text.len())
}

/// The length of the string or character that begins here.
fn literal(text: &str) -> Option<usize> {
    let raw = text.trim_start_matches(['b', 'c']);
    if let Some(quoted) = raw.strip_prefix('r') {
        let hashes = quoted.len() - quoted.trim_start_matches('#').len();
        if quoted[hashes..].starts_with('"') && text.len() - raw.len() <= 1 {
            let start = text.len() - quoted.len() + hashes + 1;
            let close = format!("\"{}", &quoted[..hashes]);
            return Some(text[start..].find(&close).map_or(text.len(), |at| start + at + close.len()));
        }
    }
    let (quote, inner) = if let Some(inner) = text.strip_prefix('"') {
        ('"', inner)
    } else {
        let inner = text.strip_prefix('\'')?;
        // A lifetime has no closing quote.
        if !inner.starts_with('\\') && inner.chars().nth(1) != Some('\'') {
            return None;
        }
        ('\'', inner)
    };
    let mut escaped = false;
    for (at, c) in inner.char_indices() {
        if c == quote && !escaped {
            return Some(at + 2);
        }
        escaped = c == '\\' && !escaped;
    }
    Some(text.len())
}

#[cfg(test)]
mod the_checker {
    use super::*;

    fn tree(files: &[(&str, &str)]) -> Vec<Source> {
        files.iter().map(|(path, text)| Source { path: (*path).into(), text: (*text).into() }).collect()
    }

    fn says(path: &str, text: &str) -> Vec<String> {
        complaints(&tree(&[(path, text)]))
    }

    #[test]
    fn complains_about_each_forbidden_edge_of_a_tree() {
        let found = complaints(&tree(&[
            ("src/domain.rs", "use crate::config::Plan;\n"),
            ("src/probe/read.rs", "use crate::domain::Delta;\n\nuse crate::record::Recorder;\n"),
            ("src/schedule.rs", "fn f(plan: &crate::config::Plan) {}\n"),
            ("src/serve.rs", "use crate::{domain::Target, expose, schedule::{Schedule, guard}};\n"),
            ("src/main.rs", "use sloprobe::{cli, daemon};\n"),
        ]));
        let beginnings = [
            "src/domain.rs:1: domain uses config, but may use only nothing",
            "src/probe/read.rs:3: probe uses record, but may use only domain, protocol",
            "src/schedule.rs:1: schedule uses config, ",
            "src/serve.rs:1: serve uses schedule, ",
            "src/main.rs:1: main uses daemon, but may use only cli",
        ];
        assert_eq!(found.len(), beginnings.len(), "{found:#?}");
        for (complaint, beginning) in found.iter().zip(beginnings) {
            assert!(complaint.starts_with(beginning), "{complaint}");
        }
    }

    #[test]
    fn sees_through_other_ways_to_write_the_root() {
        for (path, text) in [
            ("src/probe.rs", "use super::record::Recorder;"),
            ("src/probe/read.rs", "fn f() { super::super::record::x() }"),
            ("src/probe.rs", "mod tests { use super::super::record::Recorder; }"),
            ("src/probe.rs", "use crate as all;"),
            ("src/probe.rs", "use crate::*;"),
            ("src/probe.rs", "macro_rules! m { () => { $crate::record::x() } }"),
        ] {
            assert_eq!(says(path, text).len(), 1, "{text}");
        }
    }

    #[test]
    fn is_silent_about_allowed_edges_comments_and_strings() {
        for (path, text) in [
            ("src/probe.rs", "mod tests { use super::*; use crate::domain::fixture; }"),
            ("src/probe/read.rs", "use super::Job; mod tests { use super::super::Job; }"),
            ("src/probe/read.rs", "use crate::probe::phases::Phases; pub(crate) fn f() {}"),
            ("src/domain.rs", "//! See crate::record.\n/* crate::record /* */ reqwest::get */"),
            ("src/domain.rs", "const A: &str = \"\\\" crate::record::x\"; const B: char = '\"'; // '"),
            ("src/domain.rs", "const A: &str = r#\"\" crate::record::x\"#; fn f<'a>(x: &'a str) {}"),
            ("src/domain.rs", "use std::time::Duration; use tokio::time::Instant;"),
        ] {
            assert_eq!(says(path, text), Vec::<String>::new(), "{text}");
        }
    }

    #[test]
    fn complains_about_a_module_that_the_picture_lacks() {
        assert!(says("src/telepathy/mind.rs", "")[0].contains("has no row"));
    }

    #[test]
    fn keeps_each_library_in_its_rooms() {
        assert_eq!(says("src/probe/transport.rs", "use reqwest::Client;"), Vec::<String>::new());
        assert_eq!(says("src/serve.rs", "fn f() { axum::serve(a, b) }"), Vec::<String>::new());
        for (path, text) in [
            ("src/probe/read.rs", "use reqwest::Client;"),
            ("src/probe.rs", "fn f() -> ::reqwest::Error {}"),
            ("src/schedule.rs", "use prometheus as p;"),
            ("src/daemon.rs", "use axum::{Router, serve};"),
            ("src/daemon.rs", "use prometheus::Registry;"),
            ("src/cli/check.rs", "fn f() { toml::from_str(x) }"),
            ("src/probe.rs", "extern crate toml;"),
        ] {
            assert_eq!(says(path, text).len(), 1, "{text}");
        }
    }

    #[test]
    fn knows_the_second_clock() {
        for text in
            ["use std::time::Instant;", "use std::time::{Duration, Instant};", "std::time::Instant::now()"]
        {
            assert_eq!(says("src/probe.rs", text).len(), 1, "{text}");
        }
    }

    #[test]
    fn complains_about_what_is_left_undone() {
        for text in ["fn f() { todo!() }", "unimplemented!(\"later\");", "#[ignore = \"slow\"]\nfn t() {}"] {
            assert_eq!(unfinished(&tree(&[("src/probe.rs", text)])[0]).len(), 1, "{text}");
        }
    }

    #[test]
    fn complains_about_long_files() {
        for (path, limit) in [("src/probe.rs", 500), ("src/main.rs", 30)] {
            let with_lines = |count| too_long(&Source { path: path.into(), text: "\n".repeat(count) });
            assert_eq!(with_lines(limit), None);
            assert!(with_lines(limit + 1).is_some(), "{path}");
        }
    }

    #[test]
    fn misses_modules_in_the_map() {
        let lib = "//! | [`probe`] | sends |\n//! A [`record`].\n\npub mod probe;\npub mod record;\n";
        assert_eq!(missing_from_the_map(lib), ["src/lib.rs: the map in the crate doc lacks record"]);
    }
}
