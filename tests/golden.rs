//! Texts that users and their tools rely on, held against what was agreed in `tests/golden/`.
//!
//! `UPDATE_GOLDEN=1 cargo test --test golden` writes them anew; read the difference before committing it.

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use common::{root, run, sloprobe};
use sloprobe::catalogue::{self, Form, Scope};
use sloprobe::config::{self, Outside, Plan};
use sloprobe::record::Recorder;

const UPDATE: &str = "UPDATE_GOLDEN=1 cargo test --test golden";
const KEY: &str = "sk-never-to-be-shown";

fn folder() -> PathBuf {
    root().join("tests/golden")
}

/// Compares with the golden file, or writes it when asked to.
fn hold(name: &str, said: &str) {
    let path = folder().join(name);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, said).expect("the golden file can be written");
        return;
    }
    let golden = fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("tests/golden/{name}: {error}\nto write it: {UPDATE}"));
    assert!(
        golden == said,
        "\ntests/golden/{name} (-) and what is said now (+) differ:\n{}if the new text is right: {UPDATE}\n",
        difference(&golden, said)
    );
}

/// Lines that were lost and lines that are new, in order, with their numbers.
fn difference(old: &str, new: &str) -> String {
    let (old, new): (Vec<_>, Vec<_>) = (old.lines().collect(), new.lines().collect());
    // common[i][j]: how many lines old[i..] and new[j..] share, in order.
    let mut common = vec![vec![0_usize; new.len() + 1]; old.len() + 1];
    for i in (0..old.len()).rev() {
        for j in (0..new.len()).rev() {
            common[i][j] = if old[i] == new[j] {
                common[i + 1][j + 1] + 1
            } else {
                common[i + 1][j].max(common[i][j + 1])
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut text = String::new();
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            (i, j) = (i + 1, j + 1);
        } else if j == new.len() || (i < old.len() && common[i + 1][j] >= common[i][j + 1]) {
            let _ = writeln!(text, "{:>4} - {}", i + 1, old[i]);
            i += 1;
        } else {
            let _ = writeln!(text, "{:>4} + {}", j + 1, new[j]);
            j += 1;
        }
    }
    if text.is_empty() { "  only the end of the last line\n".into() } else { text }
}

async fn help(args: &[&str]) -> String {
    let ended = run(&mut sloprobe(args)).await;
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{args:?}");
    ended.stdout
}

/// The commands that `sloprobe --help` lists, without `help` itself.
fn commands(help: &str) -> BTreeSet<String> {
    let (_, list) = help.split_once("Commands:\n").expect("the help lists the commands");
    let lines = list.lines().take_while(|line| !line.is_empty());
    let names = lines.filter_map(|line| line.strip_prefix("  ").filter(|rest| !rest.starts_with(' ')));
    names
        .filter_map(|line| line.split(' ').next())
        .filter(|&name| name != "help")
        .map(str::to_owned)
        .collect()
}

#[tokio::test]
async fn the_help_of_every_command_is_as_agreed() {
    let overview = help(&["--help"]).await;
    hold("help.txt", &overview);
    let commands = commands(&overview);
    assert!(commands.contains("run"), "{commands:?}");
    for command in &commands {
        hold(&format!("help-{command}.txt"), &help(&[command, "--help"]).await);
    }
    let files =
        fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    for file in files {
        let of = file.strip_prefix("help-").and_then(|rest| rest.strip_suffix(".txt"));
        assert!(of.is_none_or(|of| commands.contains(of)), "{file} is the help of no command: remove it");
    }
}

#[tokio::test]
async fn the_shipped_rules_are_those_of_the_example() {
    for (file, args) in [
        ("sloprobe.rules.yml", &[][..]),
        ("prometheusrule.yml", &["--kubernetes"]),
        ("openslo.yml", &["--openslo"]),
    ] {
        let ended =
            run(sloprobe(&["rules", "-c", "config/example.toml"]).args(args).current_dir(root())).await;
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{args:?}");
        hold(&format!("../../deploy/prometheus/{file}"), &ended.stdout);
    }
}

#[tokio::test]
async fn the_shipped_dashboards_are_those_of_the_catalogue() {
    let written = tempfile::tempdir().expect("a folder for a test");
    let ended = run(sloprobe(&["dashboards", "--out"]).arg(written.path())).await;
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    let names = |folder: &Path| -> BTreeSet<String> {
        let files = fs::read_dir(folder).expect("there are dashboards").map(|entry| entry.unwrap().path());
        let boards = files.filter(|path| path.extension().is_some_and(|extension| extension == "json"));
        boards.map(|path| path.file_name().unwrap().to_string_lossy().into_owned()).collect()
    };
    let found = names(written.path());
    assert_eq!(found.len(), 4);
    for name in &found {
        let text = fs::read_to_string(written.path().join(name)).expect("it was written");
        hold(&format!("../../grafana/{name}"), &text);
        let only = name.trim_start_matches("sloprobe-").trim_end_matches(".json");
        assert_eq!(run(&mut sloprobe(&["dashboards", only])).await.stdout, text);
    }
    assert_eq!(names(&root().join("grafana")), found, "grafana/ holds a dashboard that is no longer written");
}

#[tokio::test]
async fn the_rules_of_the_containers_are_those_of_their_configuration() {
    let ended = run(sloprobe(&["rules", "-c", "deploy/compose/sloprobe.toml"]).current_dir(root())).await;
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    hold("../../deploy/compose/sloprobe.rules.yml", &ended.stdout);
}

#[tokio::test]
async fn check_shows_what_would_be_sent_and_no_secret() {
    let ended = run(sloprobe(&["check", "--offline", "-c", "sloprobe.toml"])
        .current_dir(folder())
        .env("GOLDEN_KEY", KEY))
    .await;
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    assert!(!ended.stdout.contains(KEY));
    hold("check.txt", &ended.stdout);
}

fn plan() -> Plan {
    let text = fs::read_to_string(folder().join("sloprobe.toml")).expect("the configuration exists");
    let env = |_: &str| Some(KEY.to_owned());
    let file = |_: &Path| Err(std::io::ErrorKind::NotFound.into());
    config::parse(
        "sloprobe.toml",
        &text,
        &Outside { env: &env, file: &file, text: &|_| Err(std::io::ErrorKind::NotFound.into()) },
    )
    .expect("it is sound")
}

/// What a daemon exposes before its first probe, without the families of the process itself.
fn fresh_exposition(plan: &Plan) -> String {
    let recorder = Recorder::new(&plan.targets, &plan.slos);
    let text = recorder.text();
    let of_process =
        |line: &str| line.trim_start_matches("# HELP ").trim_start_matches("# TYPE ").starts_with("process_");
    text.split_inclusive('\n').filter(|line| !of_process(line)).collect()
}

/// Buckets of one series become one line, the bounds of each family come once at the end, and what differs
/// between builds and moments becomes constant.
fn condensed(exposition: &str) -> String {
    let mut text = String::new();
    let mut bounds: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let mut values = BTreeSet::new();
    for line in exposition.lines() {
        let (series, value) = line.rsplit_once(' ').expect("a line has a value");
        if let Some((name, labels, bound)) = bucket(series) {
            values.insert(value);
            let known = bounds.entry(name).or_default();
            if !known.contains(&bound) {
                known.push(bound);
            }
            if bound == "+Inf" {
                let values: Vec<_> = std::mem::take(&mut values).into_iter().collect();
                let _ = writeln!(text, "{name}{labels} {} in every bucket", values.join(" or "));
            }
        } else {
            let _ = writeln!(text, "{}", constant(line));
        }
    }
    for (name, bounds) in bounds {
        let _ = writeln!(text, "# BOUNDS {name} {}", bounds.join(" "));
    }
    text
}

/// The name, the other labels and the bound of a bucket; the bound comes last.
fn bucket(series: &str) -> Option<(&str, String, &str)> {
    let (labelled, bound) = series.split_once("le=\"").filter(|_| !series.starts_with('#'))?;
    let (name, labels) = labelled.split_once('{').expect("a bucket has labels");
    let labels = labels.trim_end_matches(',');
    let labels = if labels.is_empty() { String::new() } else { format!("{{{labels}}}") };
    Some((name, labels, bound.strip_suffix("\"}").expect("the bound comes last")))
}

fn constant(line: &str) -> String {
    const RELOADED: &str = "sloprobe_config_last_reload_success_timestamp_seconds";
    if let Some(value) = line.strip_prefix(RELOADED).and_then(|rest| rest.trim().parse::<f64>().ok()) {
        assert!(value > 1.7e9, "{line} is no time of day");
        format!("{RELOADED} now")
    } else if line.starts_with("sloprobe_build_info{") {
        assert!(line.contains(env!("CARGO_PKG_VERSION")), "{line}");
        "sloprobe_build_info{revision=…,version=…} 1".into()
    } else {
        line.to_owned()
    }
}

#[test]
fn every_series_exists_at_0_before_the_first_probe() {
    hold("metrics.txt", &condensed(&fresh_exposition(&plan())));
}

#[test]
fn a_fresh_exposition_has_as_many_series_as_check_announces() {
    let plan = plan();
    let exposition = fresh_exposition(&plan);
    let exposed = exposition.lines().filter(|line| !line.starts_with('#')).count();
    let at_start: usize = catalogue::ALL
        .iter()
        .map(|family| family.series_at_start(&plan.targets, &plan.slos, Form::CLASSIC))
        .sum();
    assert_eq!(exposed, at_start);
    let at_most = |wanted: Scope| -> usize {
        let families = catalogue::ALL.iter().filter(|family| family.scope == wanted);
        families.map(|family| family.series(&plan.targets, &plan.slos, Form::CLASSIC)).sum()
    };
    assert_eq!(at_most(Scope::Secure), 1, "one of the targets is reached over https");
    assert_eq!(at_most(Scope::Released), 2, "both targets have a release");
}

#[test]
fn a_difference_names_the_lines_that_changed() {
    assert_eq!(difference("a\nb\nc\n", "a\nx\nc\nd\n"), "   2 - b\n   2 + x\n   4 + d\n");
    assert_eq!(difference("a\n", "a"), "  only the end of the last line\n");
}
