//! The generated parts of the README, held against what the code says.
//!
//! `UPDATE_GOLDEN=1 cargo test --test docs` writes them anew.

mod common;

use std::fs;
use std::sync::Mutex;

use common::{root, run, sloprobe};
use sloprobe::catalogue;
use sloprobe::simulate::published;

/// Tests of this file run at the same time, and renewing one part must not undo another.
static README: Mutex<()> = Mutex::new(());

/// Compares the part between `<!-- name -->` and `<!-- /name -->`, or renews it when asked to.
fn hold(name: &str, generated: &str) {
    let _one_at_a_time = README.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let path = root().join("README.md");
    let readme = fs::read_to_string(&path).expect("README.md is there");
    let (open, close) = (format!("<!-- {name} -->\n"), format!("<!-- /{name} -->"));
    let start = readme.find(&open).unwrap_or_else(|| panic!("README.md lacks {open}")) + open.len();
    let end = start + readme[start..].find(&close).unwrap_or_else(|| panic!("README.md lacks {close}"));
    let part = format!("\n{}\n\n", generated.trim_end());
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, [&readme[..start], &part, &readme[end..]].concat())
            .expect("README.md can be written");
        return;
    }
    assert_eq!(readme[start..end], part, "to renew it: UPDATE_GOLDEN=1 cargo test --test docs");
}

#[test]
fn the_readme_has_the_table_of_metrics() {
    hold("metrics", &catalogue::markdown());
}

#[test]
fn the_readme_says_how_near_the_profiles_come() {
    hold("nearness", &published::nearness_report());
}

#[tokio::test]
async fn the_readme_has_the_help() {
    let help = run(&mut sloprobe(&["--help"])).await;
    hold("help", &format!("```text\n{}\n```", help.stdout.trim_end()));
}

#[tokio::test]
async fn the_readme_shows_the_forecast_for_the_example() {
    let mut command = sloprobe(&["check", "--offline", "-c", "config/example.toml"]);
    let keys = [("CHAT_PROD_KEY", "k"), ("GATEWAY_TOKEN", "t")];
    let check = run(command.current_dir(root()).envs(keys)).await;
    let table = check.stdout.lines().skip_while(|line| !line.starts_with("OBJECTIVE"));
    let table: Vec<_> = table.take_while(|line| !line.is_empty()).collect();
    hold("forecast", &format!("```text\n{}\n```", table.join("\n")));
}

#[tokio::test]
async fn the_configuration_of_the_readme_is_sound() {
    let readme = fs::read_to_string(root().join("README.md")).expect("README.md is there");
    let (_, rest) = readme.split_once("```toml\n").expect("README.md shows a configuration");
    let (example, _) = rest.split_once("```").expect("it ends");
    let folder = tempfile::tempdir().expect("a folder for a test");
    let path = folder.path().join("sloprobe.toml");
    fs::write(&path, example).expect("the file can be written");
    let mut command = sloprobe(&["check", "--offline", "-c", &path.to_string_lossy()]);
    let ended = run(command.env("CHAT_PROD_KEY", "k")).await;
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(example.lines().count() <= 10, "ten lines were promised");
}
