//! An endpoint given on the command line, for a first look without a configuration file.

use std::process::ExitCode;

use clap::Args;
use clap::builder::PossibleValuesParser;

use super::MISUSED;
use crate::config::{Endpoint, Plan, Problem};
use crate::domain::Api;

/// Which key of a target each flag stands for.
const FLAGS: [(&str, &str); 4] =
    [("url", "--url"), ("api", "--api"), ("model", "--model"), ("api_key", "--key-env")];

#[derive(Debug, Args)]
#[command(next_help_heading = "Without a configuration file")]
pub(super) struct EndpointArgs {
    /// Probe this endpoint with the usual three workloads; no configuration file is read
    #[arg(long, value_name = "URL", requires = "model")]
    url: Option<String>,

    /// The model's name, as the server knows it
    #[arg(long, value_name = "NAME", requires = "url")]
    model: Option<String>,

    /// What the endpoint speaks
    #[arg(
        long,
        value_name = "API",
        requires = "url",
        default_value = "openai-chat",
        value_parser = PossibleValuesParser::new(Api::NAMES.map(|(name, _)| name))
    )]
    api: String,

    /// The environment variable that holds the key (a key itself would be seen in the list of processes)
    #[arg(long, value_name = "VARIABLE", requires = "url")]
    key_env: Option<String>,
}

impl EndpointArgs {
    /// The plan of the endpoint, if one is given; otherwise every problem is printed and the exit code given.
    pub(super) fn plan(&self) -> Option<Result<Plan, ExitCode>> {
        let endpoint = Endpoint {
            url: self.url.as_ref()?,
            model: self.model.as_ref()?,
            api: &self.api,
            key_env: self.key_env.as_deref(),
        };
        Some(endpoint.plan().map_err(|problems| {
            problems.iter().for_each(|problem| eprintln!("{}", describe(problem)));
            ExitCode::from(MISUSED)
        }))
    }
}

/// A problem of the text that was made of the flags, told of the flag.
fn describe(problem: &Problem) -> String {
    let key = problem.subject.strip_prefix("targets[0].").unwrap_or(&problem.subject);
    let flag =
        FLAGS.iter().find(|(name, _)| key.split('.').next() == Some(name)).map_or(key, |(_, flag)| flag);
    format!("{flag}: {}\n    {}", problem.what, problem.remedy)
}
