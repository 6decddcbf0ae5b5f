//! The real tools: helm, kustomize, promtool, and a validator that knows the schemas of Kubernetes.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

use super::common::root;

/// A helm that was built without naming one would take a version that the chart refuses.
const KUBE_VERSION: &str = "--kube-version=1.27.0";

const REMEDY: &str = "run tests/run.sh, which installs what the tests need into target/tools";

/// How a command ended and what it said.
#[derive(Debug)]
pub struct Said {
    pub is_good: bool,
    pub stdout: String,
    pub stderr: String,
}

impl Said {
    /// What was printed by a command that must not fail.
    pub fn good(self) -> String {
        assert!(self.is_good, "{}{}", self.stdout, self.stderr);
        self.stdout
    }

    /// What was complained of by a command that must fail.
    pub fn bad(self) -> String {
        assert!(!self.is_good, "this should have been refused: {}", self.stdout);
        self.stderr
    }
}

fn tools() -> PathBuf {
    root().join("target/tools")
}

pub fn chart() -> PathBuf {
    root().join("deploy/helm/sloprobe")
}

/// Runs a tool: the one that `tests/run.sh` installed, or that of this machine.
pub fn ask<Arg: AsRef<std::ffi::OsStr>>(name: &str, args: impl IntoIterator<Item = Arg>) -> Said {
    let own = tools().join("bin").join(name);
    let program = if own.exists() { own } else { PathBuf::from(name) };
    // No cluster is asked anything, even where somebody has one at hand.
    let done = Command::new(&program).args(args).env("KUBECONFIG", "/dev/null").output();
    let Output { status, stdout, stderr } =
        done.unwrap_or_else(|error| panic!("{} cannot be started: {error}\n    {REMEDY}", program.display()));
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    Said { is_good: status.success(), stdout: text(stdout), stderr: text(stderr) }
}

/// What helm makes of the chart for the release `sloprobe`.
pub fn template(args: &[&str]) -> Said {
    let chart = chart();
    ask("helm", ["template", "sloprobe", &chart.to_string_lossy(), KUBE_VERSION].iter().chain(args))
}

/// What helm says after an installation with these values. Only a cluster makes it say so; here a copy of the chart has one
/// more template, which renders the notes as an object.
pub fn notes(args: &[&str]) -> String {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let copy = folder.path().join("sloprobe");
    ask("cp", [Path::new("-r"), &chart(), &copy]).good();
    let object = "notes: {{ include (print $.Template.BasePath \"/NOTES.txt\") . | toJson }}\n";
    std::fs::write(copy.join("templates/notes.yaml"), object).expect("it can be written");
    let command =
        ["template", "sloprobe", &copy.to_string_lossy(), KUBE_VERSION, "-s", "templates/notes.yaml"];
    let said = ask("helm", command.iter().chain(args)).good();
    plain(&said)[0]["notes"].as_str().expect("a text").to_owned()
}

/// The documents of YAML text as one list, each held against the schema of its kind.
pub fn validated(yaml: &str) -> Value {
    let crds = tools().join("crds");
    read(yaml, &["--crds", &crds.to_string_lossy()])
}

/// The documents of YAML text as one list.
pub fn plain(yaml: &str) -> Value {
    read(yaml, &["--plain"])
}

fn read(yaml: &str, args: &[&str]) -> Value {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let file = folder.path().join("objects.yaml");
    std::fs::write(&file, yaml).expect("it can be written");
    let script = root().join("tests/kubernetes/objects.py");
    let python = tools().join("venv/bin/python");
    assert!(python.exists(), "{} is missing\n    {REMEDY}", python.display());
    let paths = [script, file];
    let [script, file] = paths.each_ref().map(|path| path.to_string_lossy());
    let said = ask(
        &python.to_string_lossy(),
        [&script].into_iter().map(AsRef::as_ref).chain(args.iter().copied()).chain([&*file]),
    );
    serde_json::from_str(&said.good()).expect("it prints JSON")
}

/// `promtool check rules` on these groups; JSON is YAML.
pub fn check_rules(groups: &Value) {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let file = folder.path().join("rules.yml");
    std::fs::write(&file, serde_json::json!({ "groups": groups }).to_string()).expect("it can be written");
    let said = ask("promtool", [Path::new("check"), Path::new("rules"), &file]).good();
    assert!(said.contains("SUCCESS"), "{said}");
}
