//! `sloprobe simulate`: an inference server to practise on.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::process::ExitCode;

use anyhow::Context as _;
use tokio::net::TcpListener;

use super::signals::Signals;
use super::{MISUSED, output};
use crate::domain::Secret;
use crate::simulate::faults::{Fault, KNOWN};
use crate::simulate::{self, Profile, Settings, published};

const EXAMPLES: &str = "\
Examples:
  sloprobe simulate
      a healthy chat deployment on http://127.0.0.1:8200
  sloprobe simulate --profile qwen2.5-72b-vllm --max-num-batched-tokens 64
      small steps: smooth gaps, late first tokens
  sloprobe simulate --fault stall=5s@10,share=0.1 --fault http-503=30,count=3
      one answer in ten pauses for 5 s after 10 tokens; three requests get a 503
  sloprobe simulate --fault wrong,share=0.05 --fault lost-middle
      one answer in twenty is wrong, and so is each whose fact lies amid the prompt
  curl -d '{\"faults\":[\"upgrade=0.33.0\"]}' http://127.0.0.1:8200/sim/faults
      change the faults of a running server; an empty list makes it healthy again
  curl http://127.0.0.1:8200/sim/log
      what was sent when, to the nanosecond
  sloprobe simulate --list
      all profiles and faults";

/// Serve a simulated inference engine: OpenAI-compatible, timed by a model of continuous batching.
#[derive(Debug, Clone, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct SimulateArgs {
    /// Where to listen; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8200")]
    listen: SocketAddr,
    /// Which engine to imitate; see --list
    #[arg(long, value_name = "NAME", default_value_t)]
    profile: Profile,
    /// Name of the served model [default: the profile's]
    #[arg(long, value_name = "NAME")]
    model: Option<String>,
    /// What /version says, for example 0.33.0
    #[arg(long, value_name = "VERSION")]
    version_string: Option<String>,
    /// Seed of jitter, lengths, texts and faults
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,
    /// Token budget of a step, for example 64 or 8192
    #[arg(long, value_name = "TOKENS", value_parser = clap::value_parser!(u32).range(1..))]
    max_num_batched_tokens: Option<u32>,
    /// Most sequences in a step
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..))]
    max_num_seqs: Option<u32>,
    /// Compute prompts whole, before any decoding
    #[arg(long)]
    no_chunked_prefill: bool,
    /// Share the computing of prompts that begin alike: on or off [default: the profile's]
    #[arg(long, value_name = "ON_OR_OFF", value_parser = on_or_off, num_args = 0..=1, default_missing_value = "on")]
    prefix_cache: Option<bool>,
    /// Most tokens of prompt and answer together
    #[arg(long, value_name = "TOKENS", value_parser = clap::value_parser!(u32).range(2..))]
    max_model_len: Option<u32>,
    /// Environment variable that holds the key which clients must send
    #[arg(long, value_name = "VARIABLE")]
    api_key_env: Option<String>,
    /// What goes wrong; may be repeated; see --list
    #[arg(long, value_name = "NAME[=VALUE][,share=0..1][,count=N]")]
    fault: Vec<Fault>,
    /// Show all profiles and faults, and exit
    #[arg(long)]
    list: bool,
    /// Put the published loads through the model, show how near it comes, and exit
    #[arg(long)]
    nearness: bool,
}

fn on_or_off(text: &str) -> Result<bool, String> {
    match text {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err("write on or off".to_owned()),
    }
}

impl SimulateArgs {
    fn settings(&self) -> Settings {
        let mut settings = Settings::of(self.profile);
        let engine = &mut settings.engine;
        if let Some(tokens) = self.max_num_batched_tokens {
            engine.max_num_batched_tokens = tokens;
        }
        if let Some(count) = self.max_num_seqs {
            engine.max_num_seqs = count as usize;
        }
        if let Some(tokens) = self.max_model_len {
            engine.max_model_len = tokens;
        }
        if let Some(cache) = self.prefix_cache {
            engine.prefix_cache = cache;
        }
        if self.no_chunked_prefill {
            engine.chunked_prefill = false;
        }
        if let Some(seed) = self.seed {
            engine.seed = seed;
            settings.seed = seed;
        }
        if let Some(model) = &self.model {
            settings.model.clone_from(model);
        }
        if let Some(version) = &self.version_string {
            settings.version.clone_from(version);
        }
        settings.faults.clone_from(&self.fault);
        settings
    }
}

/// Serves until SIGINT or SIGTERM.
pub(super) async fn run(args: SimulateArgs) -> anyhow::Result<ExitCode> {
    if args.list {
        output::print(&list());
        return Ok(ExitCode::SUCCESS);
    }
    if args.nearness {
        output::print(&published::nearness_report());
        return Ok(ExitCode::SUCCESS);
    }
    let key = match args.api_key_env.as_deref().map(std::env::var).transpose() {
        Ok(key) => key.map(Secret::new),
        Err(error) => {
            let variable = args.api_key_env.unwrap_or_default();
            eprintln!(
                "sloprobe simulate: --api-key-env {variable}: {error}; set it, or leave the option out"
            );
            return Ok(ExitCode::from(MISUSED));
        }
    };
    let listener = match TcpListener::bind(args.listen).await {
        Ok(listener) => listener,
        Err(error) => {
            eprintln!(
                "sloprobe simulate: cannot listen on {}: {error}; choose another address with --listen",
                args.listen
            );
            return Ok(ExitCode::from(MISUSED));
        }
    };
    let mut signals = Signals::catch().context("cannot catch signals")?;
    let mut settings = args.settings();
    settings.api_key = key;
    let model = settings.model.clone();
    let handle = simulate::start(listener, settings).context("cannot serve")?;
    output::print(&greeting(args.profile, &model, handle.address(), args.api_key_env.as_deref()));
    signals.next().await;
    handle.stop().await;
    Ok(ExitCode::SUCCESS)
}

fn greeting(profile: Profile, model: &str, address: SocketAddr, key: Option<&str>) -> String {
    let authorization =
        key.map_or_else(String::new, |variable| format!(" -H \"authorization: Bearer ${variable}\""));
    format!(
        "listening on http://{address}/v1, model {model}\nprofile {profile}: {}\ntry: curl -N http://{address}/v1/\
         chat/completions{authorization} -H 'content-type: application/json' -d '{{\"model\":\"{model}\",\
         \"stream\":true,\"max_tokens\":50,\"messages\":[{{\"role\":\"user\",\"content\":\"Hello\"}}]}}'\n",
        profile.description()
    )
}

fn list() -> String {
    let mut text = String::from("Profiles (--profile NAME):\n");
    for profile in Profile::ALL {
        let _ = writeln!(text, "  {:<24}{}", profile.name(), profile.description());
    }
    text.push_str("\nFaults (--fault NAME[=VALUE][,share=0..1][,count=N], or POST /sim/faults):\n");
    for (_, example, meaning) in KNOWN {
        let _ = writeln!(text, "  {example:<24}{meaning}");
    }
    text
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        args: SimulateArgs,
    }

    fn parse(line: &str) -> Result<SimulateArgs, String> {
        Line::try_parse_from(std::iter::once("simulate").chain(line.split_whitespace()))
            .map(|line| line.args)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn options_override_the_profile() {
        let args =
            parse("--profile qwen2.5-72b-vllm --max-num-batched-tokens 64 --no-chunked-prefill --seed 9");
        let settings = args.expect("valid").settings();
        assert_eq!(settings.engine.max_num_batched_tokens, 64);
        assert!(!settings.engine.chunked_prefill);
        assert_eq!((settings.seed, settings.engine.seed), (9, 9));
        assert_eq!(settings.model, "Qwen2.5-72B-Instruct-GPTQ-Int4");
    }

    #[test]
    fn unknown_profile_and_fault_name_the_known_ones() {
        let error = parse("--profile nope").expect_err("unknown profile");
        assert!(error.contains("mindie-atb"), "{error}");
        let error = parse("--fault nope").expect_err("unknown fault");
        assert!(error.contains("slow-prefill"), "{error}");
    }

    #[tokio::test]
    async fn port_in_use_and_missing_key_end_with_code_2() {
        let taken = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = taken.local_addr().expect("an address");
        for line in [format!("--listen {address}"), "--api-key-env SLOPROBE_NO_SUCH_VARIABLE".to_owned()] {
            let code = run(parse(&line).expect("valid")).await.expect("an exit code");
            assert_eq!(format!("{code:?}"), format!("{:?}", ExitCode::from(2)), "{line}");
        }
    }

    #[test]
    fn list_shows_every_profile_and_fault() {
        let text = list();
        assert!(Profile::ALL.iter().all(|profile| text.contains(profile.name())));
        assert!(KNOWN.iter().all(|(name, ..)| text.contains(name)));
    }
}
