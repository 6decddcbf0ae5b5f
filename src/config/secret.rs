//! Keys and headers: read from the environment or a file, never from the configuration, never repeated.

use std::path::Path;

use super::context::{self, Outside};
use super::keys;
use super::reader::Node;
use crate::domain::{Header, HeaderValue, Secret};

/// Words of a header's or a parameter's name that mark its value as a secret.
const SECRET_WORDS: [&str; 13] = [
    "apikey",
    "auth",
    "authorization",
    "bearer",
    "cookie",
    "credential",
    "credentials",
    "key",
    "passwd",
    "password",
    "secret",
    "sig",
    "token",
];

/// How the values begin that are secrets under any name.
const SECRET_STARTS: [&str; 3] = ["bearer ", "basic ", "sk-"];

/// The connection's own headers, and those that the protocol sets.
const OWN_HEADERS: [&str; 9] = [
    "accept",
    "accept-encoding",
    "connection",
    "content-length",
    "content-type",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

const UNFIT: &str = "contains characters that cannot stand in an HTTP header";
const FIT: &str = "write one line of plain ASCII";

/// `{ env = "NAME" }` or `{ file = "/path" }`.
pub(super) fn reference(node: &Node<'_>, outside: &Outside<'_>) -> Option<Secret> {
    let key = node.shown_key();
    let remedy = format!("write {key} = {{ env = \"NAME\" }} or {key} = {{ file = \"/path\" }}");
    if node.as_text().is_some() {
        return node.refuse("a secret written into the configuration is refused", remedy);
    }
    if !node.is_table() {
        return node.wrong_type("a table", remedy);
    }
    let table = node.table(&keys::SECRET)?;
    match (table.get("env"), table.get("file")) {
        (Some(env), None) => from_env(&env, outside),
        (None, Some(file)) => from_file(&file, outside),
        (Some(_), Some(_)) => node.refuse("names both a variable and a file", remedy),
        // An unknown key was noted, and is what was meant.
        (None, None) if !table.is_empty() => None,
        (None, None) => node.refuse_reference("names neither a variable nor a file", remedy),
    }
}

fn from_env(node: &Node<'_>, outside: &Outside<'_>) -> Option<Secret> {
    let name = node.text("CHAT_PROD_KEY")?;
    if name.is_empty() || name.contains(['=', '\0']) {
        return node
            .refuse("not the name of an environment variable", "write a name such as \"CHAT_PROD_KEY\"");
    }
    // Someone will put the key itself here: only what is plainly the name of a variable is repeated.
    let plain = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    let plain = name.len() <= 64 && name.bytes().all(plain);
    let source = format!("the environment variable {}", if plain { name } else { "of this name" });
    let remedy = if plain {
        "set it where sloprobe is started, or name another one"
    } else {
        "write the name of a variable, not the secret itself, and set it where sloprobe is started"
    };
    match (outside.env)(name) {
        Some(text) => usable(node, &text, &source),
        None => node.refuse(format!("{source} is not set"), remedy),
    }
}

fn from_file(node: &Node<'_>, outside: &Outside<'_>) -> Option<Secret> {
    let path = node.text("/run/secrets/chat-prod-key")?;
    match (outside.file)(Path::new(path)) {
        Ok(text) => usable(node, &text, "the file"),
        Err(error) => node.refuse(
            format!("no secret can be read here: {}", context::explain(&error)),
            "name a readable file that holds the secret alone; a relative path starts at this file's folder",
        ),
    }
}

/// Files and shells like to add a line break, which no header can carry.
fn usable(node: &Node<'_>, text: &str, source: &str) -> Option<Secret> {
    let text = text.trim();
    if text.is_empty() {
        node.refuse(format!("{source} is empty"), "put the secret into it")
    } else if !fits_header(text) {
        let what = format!("{source} holds characters that cannot stand in an HTTP header");
        node.refuse(what, "let it hold the secret alone: one line of plain ASCII")
    } else {
        Some(Secret::new(text))
    }
}

pub(super) fn headers(node: &Node<'_>, keyed: bool, outside: &Outside<'_>) -> Option<Vec<Header>> {
    let entries = node.entries("{ \"x-team\" = \"sre\" }")?;
    let mut seen: Vec<String> = Vec::new();
    let mut headers = Vec::new();
    for entry in &entries {
        let name = entry.key().to_ascii_lowercase();
        let named = header_name(entry, &name, keyed, &seen);
        let value = header_value(entry, &name, outside);
        seen.push(name.clone());
        headers.push(named.and(value).map(|value| Header { name, value }));
    }
    headers.into_iter().collect()
}

fn header_name(node: &Node<'_>, name: &str, keyed: bool, seen: &[String]) -> Option<()> {
    let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    if name.is_empty() || name.len() > 256 || !name.bytes().all(token) {
        node.refuse("not the name of a header", "write letters, digits and hyphens, such as \"x-team\"")
    } else if OWN_HEADERS.contains(&name) {
        node.refuse("sloprobe sets this header itself", "remove it")
    } else if keyed && name == "authorization" {
        node.refuse("api_key sets this header already", "keep one of the two")
    } else if seen.iter().any(|earlier| earlier == name) {
        node.refuse("the same header twice: upper and lower case do not differ", "keep one of the two")
    } else {
        Some(())
    }
}

/// Whether a header that is no secret may have this name and value, where both stand in one text.
pub(super) fn open_header(node: &Node<'_>, name: &str, value: &str, remedy: &str) -> Option<()> {
    header_name(node, name, false, &[])?;
    if looks_secret(name, value) {
        node.refuse("a secret written into the configuration is refused", remedy)
    } else if name == "traceparent" {
        node.refuse("traceparent = true of a target sets this header", remedy)
    } else if value.is_empty() {
        node.refuse("the header has no value", remedy)
    } else if !fits_header(value) {
        node.refuse(UNFIT, FIT)
    } else {
        Some(())
    }
}

fn header_value(node: &Node<'_>, name: &str, outside: &Outside<'_>) -> Option<HeaderValue> {
    let Some(text) = node.as_text() else {
        if node.is_table() {
            return reference(node, outside).map(HeaderValue::Secret);
        }
        return node.wrong_type("text or a table", "write text, { env = \"NAME\" } or { file = \"/path\" }");
    };
    if looks_secret(name, text) {
        return reference(node, outside).map(HeaderValue::Secret);
    }
    if !fits_header(text) {
        return node.refuse(UNFIT, FIT);
    }
    Some(HeaderValue::Open(text.trim().to_owned()))
}

fn looks_secret(name: &str, value: &str) -> bool {
    let lower = value.trim().to_ascii_lowercase();
    sounds_secret(name) || SECRET_STARTS.iter().any(|start| lower.starts_with(start))
}

/// Whether a value under this name is probably a secret.
pub(super) fn sounds_secret(name: &str) -> bool {
    name.to_ascii_lowercase().split(['-', '_', '.']).any(|word| SECRET_WORDS.contains(&word))
}

fn fits_header(text: &str) -> bool {
    text.bytes().all(|byte| (b' '..=b'~').contains(&byte) || byte == b'\t')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets_are_known_by_their_words() {
        for name in ["Authorization", "api-key", "x-api-key", "X_Auth_Token", "cookie", "apikey"] {
            assert!(sounds_secret(name), "{name}");
        }
        for name in ["x-team", "api-version", "keep-alive", "author", "monkey"] {
            assert!(!sounds_secret(name), "{name}");
        }
    }
}
