//! A plan for one endpoint, made of what a command line says of it.

use std::path::Path;

use toml::{Table, Value};

use super::{Plan, Problems, load_text};

/// One target, with the usual workloads.
#[derive(Debug, Clone, Copy)]
pub struct Endpoint<'a> {
    pub url: &'a str,
    pub model: &'a str,
    pub api: &'a str,
    /// The environment variable that holds the key.
    pub key_env: Option<&'a str>,
}

impl Endpoint<'_> {
    /// Reads it as if it stood in a file, so that what is refused there is refused here.
    pub fn plan(self) -> Result<Plan, Problems> {
        let mut target = Table::from_iter(
            [("name", "endpoint"), ("url", self.url), ("model", self.model), ("api", self.api)]
                .map(|(key, text)| (key.to_owned(), Value::from(text))),
        );
        if let Some(variable) = self.key_env {
            let key = Table::from_iter([("env".to_owned(), Value::from(variable))]);
            target.insert("api_key".into(), key.into());
        }
        let file = Table::from_iter([("targets".to_owned(), Value::Array(vec![target.into()]))]);
        load_text("the command line", &file.to_string(), Path::new(""))
    }
}
