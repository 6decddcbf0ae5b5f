//! What comes beside the binary: the systemd unit, the manual, completions and the example, each tried by its own tool.

mod common;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use common::{Daemon, Ended, config, engine, get, healthy, root, run, sloprobe};
use tempfile::TempDir;

const REMEDY: &str = "run tests/run.sh, which installs what the tests need \
                      (Debian: apt-get install systemd groff-base zsh fish)";

/// The most that `systemd-analyze security` may say, in tenths: 10.0 is a service without any protection.
const EXPOSURE: &str = "20";

/// Runs a tool of others to its end.
fn tool(program: &str, args: &[&str]) -> Ended {
    let output = Command::new(program)
        .args(args)
        .env("SYSTEMD_COLORS", "0")
        .output()
        .unwrap_or_else(|error| panic!("{program} cannot be started: {error}\n    {REMEDY}"));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ended { code: output.status.code(), stdout: text(&output.stdout), stderr: text(&output.stderr) }
}

fn text(path: &Path) -> &str {
    path.to_str().expect("the path is UTF-8")
}

fn unit() -> String {
    fs::read_to_string(root().join("deploy/systemd/sloprobe.service")).expect("there is a unit")
}

/// The unit in a folder of its own, with the binary under test in the place of the one that it expects to be installed.
fn unit_of_this_binary() -> TempDir {
    let folder = TempDir::new().expect("a folder for a test");
    let unit = unit().replace("/usr/local/bin/sloprobe", env!("CARGO_BIN_EXE_sloprobe"));
    fs::write(folder.path().join("sloprobe.service"), unit).expect("it can be written to");
    folder
}

/// The values of a setting, in order.
fn values(setting: &str) -> Vec<String> {
    let unit = unit();
    let lines = unit.lines().filter_map(|line| line.strip_prefix(setting)?.strip_prefix('='));
    lines.map(str::to_owned).collect()
}

#[test]
fn systemd_has_no_complaint_about_the_unit() {
    let folder = unit_of_this_binary();
    let path = folder.path().join("sloprobe.service");
    // Its manual page is not installed here.
    let ended = tool("systemd-analyze", &["verify", "--man=no", text(&path)]);
    // systemd before 253 does not know this type, and keeps the one before it.
    let complaints: Vec<_> = ended.stderr.lines().filter(|line| !line.contains("notify-reload")).collect();
    assert_eq!((ended.code, ended.stdout.as_str(), complaints), (Some(0), "", Vec::new()));
    assert_eq!(values("Type"), ["notify", "notify-reload"]);
}

#[test]
fn the_unit_can_do_little_but_its_work() {
    let path = root().join("deploy/systemd/sloprobe.service");
    let threshold = format!("--threshold={EXPOSURE}");
    let ended =
        tool("systemd-analyze", &["security", "--offline=true", &threshold, "--no-pager", text(&path)]);
    assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
    assert!(ended.stdout.contains("Overall exposure level for sloprobe.service"), "{}", ended.stdout);
}

#[test]
fn the_unit_never_gives_up() {
    assert_eq!(values("Restart"), ["always"]);
    assert_eq!(values("StartLimitIntervalSec"), ["0"], "systemd would give up after five failed starts");
}

#[test]
fn sysusers_makes_the_user_of_the_unit() {
    let path = root().join("deploy/systemd/sloprobe.sysusers");
    let ended = tool("systemd-sysusers", &["--dry-run", text(&path)]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let line = fs::read_to_string(&path).expect("there is a file");
    let user = line.lines().find_map(|line| line.strip_prefix("u ")?.split(' ').next());
    assert_eq!(user.map(str::to_owned).into_iter().collect::<Vec<_>>(), values("User"));
}

/// The command of the unit with another configuration; nothing of the environment of the test reaches it.
fn started_by_the_unit(setting: &str, folder: &TempDir) -> Command {
    let [line] = &values(setting)[..] else { panic!("the unit has one {setting}") };
    let mut words = line.split(' ').map(|word| match word {
        "/etc/sloprobe/sloprobe.toml" => "sloprobe.toml",
        "/usr/local/bin/sloprobe" => env!("CARGO_BIN_EXE_sloprobe"),
        other => other,
    });
    let mut command = Command::new(words.next().expect("a command has a program"));
    command.args(words).env_clear().current_dir(folder);
    command
}

#[tokio::test]
async fn the_commands_of_the_unit_check_and_serve_and_read_a_key_from_a_file() {
    let address = engine(healthy).await;
    let folder = config(&format!(
        "[[targets]]\nname = 't'\nurl = 'http://{address}'\nmodel = 'm'\napi_key = {{ file = 'keys_t' }}\n"
    ));
    let refused = run(&mut started_by_the_unit("ExecStartPre", &folder)).await;
    assert_eq!(refused.code, Some(2), "the key is not there: {}", refused.stderr);
    fs::write(folder.path().join("keys_t"), "a-key-of-a-test\n").expect("it can be written to");
    let ended = run(&mut started_by_the_unit("ExecStartPre", &folder)).await;
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    let daemon = Daemon::start(&mut started_by_the_unit("ExecStart", &folder)).await;
    assert!(get(&daemon.address, "/-/healthy").await.is_ok());
    // Alerts tell by it a probe that has just started; a sandbox that hides /proc/stat would lose it.
    assert!(daemon.metrics().await.contains("\nprocess_start_time_seconds "));
}

/// All commands: each has its help among the golden files.
fn commands() -> BTreeSet<String> {
    let files = fs::read_dir(root().join("tests/golden")).expect("there are golden files");
    let names = files.map(|file| file.expect("it can be listed").file_name().into_string().expect("UTF-8"));
    names.filter_map(|name| Some(name.strip_prefix("help-")?.strip_suffix(".txt")?.to_owned())).collect()
}

#[tokio::test]
async fn every_command_has_a_manual_page_that_renders_without_a_warning() {
    let folder = TempDir::new().expect("a folder for a test");
    let out = folder.path().join("made/man1");
    let ended = run(&mut sloprobe(&["man", "--out", text(&out)])).await;
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));

    let commands = commands();
    assert!(commands.contains("run") && commands.contains("man"), "{commands:?}");
    for name in commands.iter().map(|command| format!("sloprobe-{command}")).chain(["sloprobe".into()]) {
        let page = out.join(format!("{name}.1"));
        let shown = tool("groff", &["-man", "-Tascii", "-ww", "-P-cbou", text(&page)]);
        assert_eq!((shown.code, shown.stderr.as_str()), (Some(0), ""), "{name}");
        let words: Vec<_> = shown.stdout.split_whitespace().collect();
        assert!(words.join(" ").contains(&format!("NAME {name} - ")), "{}", shown.stdout);
        for heading in ["OPTIONS", "EXAMPLES"] {
            assert!(
                shown.stdout.lines().any(|line| line == heading),
                "{name} lacks {heading}:\n{}",
                shown.stdout
            );
        }
        // Run together, examples could not be copied. The first such line is the synopsis.
        let examples = shown.stdout.lines().filter(|line| line.starts_with("       sloprobe ")).count();
        assert!(examples > 1, "{name} has no example on a line of its own:\n{}", shown.stdout);
    }
    let printed = run(&mut sloprobe(&["man"])).await;
    assert_eq!(printed.stdout, fs::read_to_string(out.join("sloprobe.1")).expect("it was written"));
}

#[tokio::test]
async fn a_manual_that_cannot_be_written_is_told() {
    let ended = run(&mut sloprobe(&["man", "--out", "/dev/null/man1"])).await;
    assert_eq!(ended.code, Some(1));
    assert!(ended.stderr.starts_with("sloprobe: cannot write to /dev/null/man1: "), "{}", ended.stderr);
}

async fn completions(shell: &str) -> String {
    let ended = run(&mut sloprobe(&["completions", shell])).await;
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{shell}");
    ended.stdout
}

/// What bash offers at the Tab key after these words, the last of which may be half a word.
fn offered(script: &Path, words: &[&str]) -> BTreeSet<String> {
    let last = words.len() - 1;
    let ask = format!(
        "source {}\nCOMP_WORDS=({})\nCOMP_CWORD={last}\nfunction=$(complete -p sloprobe)\nfunction=${{function#*-F }}\n\
         ${{function%% *}} sloprobe '{}' '{}'\nprintf '%s\\n' \"${{COMPREPLY[@]}}\"\n",
        script.display(),
        words.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" "),
        words[last],
        words[last - 1],
    );
    let ended = tool("bash", &["--norc", "-c", &ask]);
    // A bash that reads no keys cannot be told how to sort, and says so.
    let complaints: Vec<_> = ended.stderr.lines().filter(|line| !line.contains("compopt: ")).collect();
    assert_eq!((ended.code, complaints), (Some(0), Vec::new()), "{words:?}");
    ended.stdout.lines().map(str::to_owned).collect()
}

#[tokio::test]
async fn bash_completes_commands_options_and_values() {
    let folder = TempDir::new().expect("a folder for a test");
    let script = folder.path().join("sloprobe.bash");
    fs::write(&script, completions("bash").await).expect("it can be written to");

    let all = offered(&script, &["sloprobe", ""]);
    assert!(commands().is_subset(&all), "{all:?}");
    assert_eq!(offered(&script, &["sloprobe", "sim"]), BTreeSet::from(["simulate".to_owned()]));
    assert_eq!(offered(&script, &["sloprobe", "check", "--off"]), BTreeSet::from(["--offline".to_owned()]));
    assert_eq!(offered(&script, &["sloprobe", "config", "ex"]), BTreeSet::from(["example".to_owned()]));
    let formats = offered(&script, &["sloprobe", "run", "--log-format", ""]);
    assert_eq!(formats, BTreeSet::from(["json".to_owned(), "text".to_owned()]));
}

#[tokio::test]
async fn zsh_and_fish_can_read_their_completions() {
    let folder = TempDir::new().expect("a folder for a test");
    for (shell, parse) in [("zsh", "-n"), ("fish", "--no-execute")] {
        let script = folder.path().join(shell);
        fs::write(&script, completions(shell).await).expect("it can be written to");
        let ended = tool(shell, &[parse, text(&script)]);
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{shell}");
    }
}

/// That `sloprobe check` finds it sound is tested where the README shows what it says about it.
#[tokio::test]
async fn the_example_is_printed_as_it_is() {
    let printed = run(&mut sloprobe(&["config", "example"])).await;
    assert_eq!((printed.code, printed.stderr.as_str()), (Some(0), ""));
    let example = fs::read_to_string(root().join("config/example.toml")).expect("there is an example");
    assert_eq!(printed.stdout, example);
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    for args in [&["config", "example"][..], &["completions", "bash"], &["man"]] {
        let mut child =
            sloprobe(args).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it can be started");
        drop(child.stdout.take());
        let ended = child.wait_with_output().expect("it ends");
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert_eq!((ended.status.code(), said.as_str()), (Some(0), ""), "{args:?}");
    }
}
