//! The files that Prometheus, Alertmanager and sloprobe are given: each passes the check of whoever reads it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::common::{root, sloprobe};
use crate::compose::{mounts, services};
use crate::{deployed, said};

/// The files that a service finds in this folder of its container, in a folder of this machine.
async fn as_mounted(service: &str, folder: &str) -> TempDir {
    let copy = TempDir::new().expect("a folder for the test");
    for (here, there, _) in mounts(&services().await[service]) {
        if let Some(name) = there.strip_prefix(folder) {
            fs::copy(&here, copy.path().join(name))
                .unwrap_or_else(|error| panic!("{}: {error}", here.display()));
        }
    }
    copy
}

async fn check_prometheus(folder: &Path) {
    let said =
        said(Command::new("promtool").args(["check", "config", "prometheus.yml"]).current_dir(folder)).await;
    assert!(said.contains("1 rule files found") && said.contains("rules found"), "{said}");
}

async fn check_alertmanager(folder: &Path) {
    let said =
        said(Command::new("amtool").args(["check-config", "alertmanager.yml"]).current_dir(folder)).await;
    assert!(said.contains("3 receivers") && said.contains("1 templates"), "{said}");
    // A template that is not there is no error to Alertmanager before it has something to tell.
    assert!(folder.join("sloprobe.tmpl").is_file(), "{} has no template", folder.display());
}

#[tokio::test]
async fn prometheus_takes_its_files() {
    check_prometheus(&root().join("deploy/prometheus")).await;
    check_prometheus(as_mounted("prometheus", "/etc/prometheus/").await.path()).await;
}

#[tokio::test]
async fn alertmanager_takes_its_files() {
    check_alertmanager(&root().join("deploy/alertmanager")).await;
    check_alertmanager(as_mounted("alertmanager", "/etc/alertmanager/").await.path()).await;
}

#[test]
fn the_containers_have_the_routes_of_the_example() {
    let routes = |path: &str| {
        let text = deployed(path);
        let start = text.find("templates:").expect("it has templates");
        let end = text.find("# Everything above").or_else(|| text.find("# A receiver without"));
        text[start..end.expect("it has receivers")].to_owned()
    };
    assert_eq!(routes("compose/alertmanager.yml"), routes("alertmanager/alertmanager.yml"));
}

#[tokio::test]
async fn sloprobe_takes_its_file_without_any_key() {
    let mut command = sloprobe(&["check", "--offline", "-c", "deploy/compose/sloprobe.toml"]);
    let told = said(command.current_dir(root()).env_remove("CHAT_PROD_KEY")).await;
    for objective in ["chat-ttft", "pace", "answers", "rag-quality"] {
        assert!(told.contains(objective), "{told}");
    }
}

/// Whom an alert with these labels goes to.
async fn receivers(labels: &[&str]) -> String {
    let mut command = Command::new("amtool");
    command
        .args(["config", "routes", "test", "--config.file=deploy/alertmanager/alertmanager.yml"])
        .args(labels);
    said(command.current_dir(root())).await.trim().to_owned()
}

#[tokio::test]
async fn critical_wakes_somebody_and_a_drill_does_not() {
    for (labels, receiver) in [
        (&["alertname=SloprobeTargetDown", "severity=critical", "target=t"][..], "pager"),
        (&["alertname=SloprobeTargetDown", "severity=critical", "target=t", "drill=60"], "drills"),
        (&["alertname=SloprobeStreamStalls", "severity=warning", "target=t"], "channel"),
        (&["alertname=SloprobeAbsent", "severity=critical"], "pager"),
        (&["alertname=SomethingElse"], "channel"),
    ] {
        assert_eq!(receivers(labels).await, receiver, "{labels:?}");
    }
}

/// Every name of an alert in the configuration is one that the rules know: a misspelt one would inhibit nothing, silently.
#[test]
fn the_alerts_that_are_named_exist() {
    let (settings, rules) =
        (deployed("alertmanager/alertmanager.yml"), deployed("compose/sloprobe.rules.yml"));
    let words = settings.split(|c: char| !c.is_ascii_alphanumeric());
    let named: Vec<_> = words.filter(|word| word.starts_with("Sloprobe")).collect();
    assert!(named.contains(&"SloprobeTargetDown"), "{named:?}");
    for alert in named {
        assert!(rules.contains(&format!("- alert: {alert}\n")), "no rule {alert}");
    }
}

/// The files that a source file takes into the binary.
fn included(source: &Path, found: &mut Vec<PathBuf>) {
    if source.is_dir() {
        for entry in fs::read_dir(source).expect("the folder can be listed") {
            included(&entry.expect("the folder can be listed").path(), found);
        }
    } else if source.extension().is_some_and(|extension| extension == "rs") && !source.ends_with("tests.rs") {
        let text = fs::read_to_string(source).expect("sources are UTF-8");
        let folder = source.parent().expect("it lies in a folder");
        let after = |call: &str| text.split(call).skip(1).map(str::to_owned).collect::<Vec<_>>();
        for part in [after("include_str!(\""), after("include_bytes!(\"")].concat() {
            let path = part.split('"').next().map(|path| folder.join(path).canonicalize());
            found.extend(path.and_then(Result::ok));
        }
    }
}

/// What `.dockerignore` keeps out of the build cannot be built in.
#[test]
fn the_image_is_built_from_what_reaches_its_build() {
    let mut files = Vec::new();
    included(&root().join("src"), &mut files);
    assert!(files.iter().any(|file| file.ends_with("demo.toml")), "{files:?}");
    let ignored = fs::read_to_string(root().join(".dockerignore")).expect("there is one");
    for folder in ignored.lines().filter(|line| !line.starts_with('#') && !line.contains('*')) {
        let folder = root().join(folder);
        let kept_out: Vec<_> = files.iter().filter(|file| file.starts_with(&folder)).collect();
        assert!(
            kept_out.is_empty(),
            "{kept_out:?} never reaches the build: .dockerignore has {}",
            folder.display()
        );
    }
}
