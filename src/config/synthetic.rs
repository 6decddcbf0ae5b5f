//! `synthetic_header`: by which gateways tell probes from users.

use super::reader::{Node, Scalar, Table};
use super::secret;
use crate::domain::{Header, HeaderValue};

const USUAL: (&str, &str) = ("x-synthetic", "sloprobe");
const REMEDY: &str = "write a name and a value, such as \"x-synthetic: sloprobe\", or false to send none";

/// What is sent where nothing else is said: one header. An empty list is none.
pub(super) fn usual() -> Vec<Header> {
    let (name, value) = USUAL;
    one(name, value)
}

fn one(name: &str, value: &str) -> Vec<Header> {
    vec![Header { name: name.to_owned(), value: HeaderValue::Open(value.to_owned()) }]
}

/// What a section says, or what holds without it.
pub(super) fn read(table: &Table<'_>, otherwise: Vec<Header>) -> Option<Vec<Header>> {
    table.or("synthetic_header", otherwise, |node| header(&node))
}

fn header(node: &Node<'_>) -> Option<Vec<Header>> {
    let Some(text) = node.as_text() else {
        return match node.scalar() {
            Some(Scalar::Flag(false)) => Some(Vec::new()),
            Some(Scalar::Flag(true)) => node.refuse("true names no header", REMEDY),
            _ => node.wrong_type("text or false", REMEDY),
        };
    };
    let Some((name, value)) = text.split_once(':') else {
        return node.refuse("not a header: there is no colon in it", REMEDY);
    };
    let (name, value) = (name.trim().to_ascii_lowercase(), value.trim());
    secret::open_header(node, &name, value, REMEDY)?;
    Some(one(&name, value))
}

/// A target's own headers and this one, if none of them has its name.
pub(super) fn with(mut own: Vec<Header>, mut synthetic: Vec<Header>) -> Vec<Header> {
    synthetic.retain(|new| own.iter().all(|header| header.name != new.name));
    own.append(&mut synthetic);
    own
}
