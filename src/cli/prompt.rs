//! `sloprobe prompt`: what a probe says to the model, now or then.

use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use serde_json::{Value, json};

use super::{ConfigArgs, MISUSED, output};
use crate::daemon;
use crate::domain::{Expect, Prompt, Room, Seed, Workload};
use crate::workload::{self, Ruler, Source};

/// Show prompts: those of a workload, or the one that a probe sent
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sloprobe prompt --workload rag                                    a prompt such as probes send
  sloprobe prompt --workload rag --seed 9f3c0a55d0e7b2f1-17-1523    the prompt of one probe, again
  sloprobe prompt --workload short-chat --count 100 --json          one JSON object per line

The seed of a probe is in its log line and in `sloprobe once --json`. Nothing is sent.")]
pub(super) struct PromptArgs {
    #[command(flatten)]
    config: ConfigArgs,

    /// The workload
    #[arg(long, value_name = "NAME")]
    workload: String,

    /// Make the prompt of this seed again
    #[arg(long, value_name = "SEED", conflicts_with = "count")]
    seed: Option<Seed>,

    /// How many prompts
    #[arg(long, value_name = "N", default_value_t = 1)]
    count: usize,

    /// One JSON object per line and prompt, with the answer that is expected
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &PromptArgs) -> ExitCode {
    let plan = match args.config.load() {
        Ok(plan) => plan,
        Err(code) => return code,
    };
    let Some(workload) = plan.workloads.iter().find(|workload| *workload.name == args.workload) else {
        let names: Vec<_> = plan.workloads.iter().map(|workload| &*workload.name).collect();
        eprintln!(
            "--workload {}: there is no such workload\n    choose from {}",
            args.workload,
            names.join(", ")
        );
        return ExitCode::from(MISUSED);
    };
    for prompt in prompts(workload, args) {
        output::print(&if args.json { as_json(workload, &prompt) } else { as_text(&prompt) });
    }
    ExitCode::SUCCESS
}

fn prompts(workload: &Arc<Workload>, args: &PromptArgs) -> Vec<Prompt> {
    if let Some(seed) = args.seed {
        return vec![workload::prompt(workload, seed)];
    }
    let mut source = Source::new(workload, daemon::origin(), Ruler::default());
    // No target is asked, so there is none that could be sent too much.
    source.learner().fit("", Room { context: Some(u32::MAX), input: None });
    (0..args.count).map(|_| source.next_prompt()).collect()
}

fn as_text(prompt: &Prompt) -> String {
    let turns = prompt.turns.iter().map(|turn| match prompt.turns.len() {
        1 => turn.text.clone(),
        _ => format!("<{}>\n{}", turn.role.name(), turn.text),
    });
    turns.collect::<Vec<_>>().join("\n\n") + "\n"
}

fn as_json(workload: &Workload, prompt: &Prompt) -> String {
    let turn = |turn: &crate::domain::Turn| json!({ "role": turn.role.name(), "content": turn.text });
    let line = json!({
        "workload": &*workload.name,
        "seed": prompt.seed.to_string(),
        "messages": prompt.turns.iter().map(turn).collect::<Vec<_>>(),
        "max_tokens": prompt.max_tokens,
        "depth": prompt.depth.map(|depth| depth.0),
        "expect": expectation(&prompt.expect),
    });
    line.to_string() + "\n"
}

fn expectation(expect: &Expect) -> Value {
    match expect {
        Expect::Anything => Value::Null,
        Expect::Text(text) => json!({ "text": text }),
        Expect::Sequence(words) => json!({ "sequence": words }),
        Expect::Pattern(pattern) => json!({ "pattern": pattern.as_str() }),
        Expect::Length(length) => json!({ "length": length }),
    }
}
