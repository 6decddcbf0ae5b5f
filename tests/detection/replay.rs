//! Lets the engine of a real Prometheus evaluate rules over invented series, months in a minute.
//!
//! `promtool test rules` only says whether samples are what a test expects. So every question here expects
//! none at all: the complaint then lists the samples it `got:`, and that is how numbers come out.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::process::Command;

use tempfile::TempDir;

use super::rules::Rules;

const REMEDY: &str =
    "run tests/run.sh, which installs what the tests need (Debian: apt-get install prometheus)";

/// A rule for the replay itself: the second in which an alert first fired. A subquery could ask for that
/// afterwards, but promtool lets no query load more than some thousand samples.
pub const FIRST_FIRING: &str = "replay:alerts:first_firing_seconds";

/// Rules and the series to evaluate them over.
#[derive(Debug)]
pub struct Replay {
    rules: Rules,
    /// The seconds between two points at which a series can have a sample.
    pub grid: u32,
    /// What fires before this second is not noted.
    since: u32,
    /// The seconds between two evaluations.
    every: u64,
    series: String,
}

/// One sample of an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Sample {
    pub labels: BTreeMap<String, String>,
    pub value: f64,
}

impl Replay {
    pub fn new(rules: Rules, grid: u32, since: u32) -> Self {
        let every = rules.interval.as_secs();
        Self { rules, grid, since, every, series: String::new() }
    }

    /// Evaluates more rarely than in life. That is where promtool's time goes: half a millisecond for every target and
    /// evaluation.
    pub fn every(self, seconds: u64) -> Self {
        Self { every: seconds, ..self }
    }

    /// Adds a series such as `up{job="a"}`, with its values in the notation of promtool.
    pub fn series(&mut self, series: &str, values: &str) {
        writeln!(self.series, "  - series: '{series}'\n    values: '{values}'").expect("text grows");
    }

    /// Evaluates the rules up to this second, and then each of the questions; the answers are in their order.
    pub fn ask(&self, second: u32, questions: &[String]) -> Vec<Vec<Sample>> {
        let folder = TempDir::new().expect("a folder for the replay");
        let write = |name, text: String| {
            fs::write(folder.path().join(name), text).expect("the folder can be written to");
        };
        write("rules.yml", self.rules.yaml());
        write("replay.yml", first_firing(self.since));
        write("test.yml", self.test(second, questions));
        let ended = Command::new("promtool")
            .args(["test", "rules", "test.yml"])
            .current_dir(folder.path())
            // Its garbage collector takes a third of the time if it may, and memory is not short.
            .env("GOGC", "400")
            .output()
            .unwrap_or_else(|error| panic!("promtool cannot be started: {error}\n    {REMEDY}"));
        let said = String::from_utf8_lossy(&[ended.stdout, ended.stderr].concat()).into_owned();
        let samples = got(&said);
        // It is content only when no question has an answer.
        assert_eq!(ended.status.success(), samples.is_empty(), "promtool says: {}", first_lines(&said));
        let mut answers = vec![Vec::new(); questions.len()];
        for mut sample in samples {
            let number = sample.labels.remove("question").expect("every question marks its answer");
            answers[number.parse::<usize>().expect("a number")].push(sample);
        }
        answers
    }

    fn test(&self, second: u32, questions: &[String]) -> String {
        // promtool evaluates all groups at one pace, whatever they declare, and in no fixed order unless it is
        // told one.
        let mut test = format!(
            "rule_files: [rules.yml, replay.yml]\nevaluation_interval: {}s\n\
             group_eval_order: [{}, replay]\n\
             tests:\n- interval: {}s\n  input_series:\n{}  promql_expr_test:\n",
            self.every,
            self.rules.names().join(", "),
            self.grid,
            self.series
        );
        for (number, question) in questions.iter().enumerate() {
            // promtool leaves out questions without an answer, so each answer carries the number of its own.
            let marked = format!(r#"label_replace({question}, "question", "{number}", "", "")"#);
            writeln!(test, "  - expr: '{marked}'\n    eval_time: {second}s\n    exp_samples: []")
                .expect("text grows");
        }
        test
    }
}

/// Keeps what it said before, as long as there is a sample of it within the longest interval.
fn first_firing(since: u32) -> String {
    format!(
        "groups:\n- name: replay\n  rules:\n  - record: {FIRST_FIRING}\n    expr: \
         last_over_time({FIRST_FIRING}[10m]) or ALERTS{{alertstate=\"firing\"}} * time() >= {since}\n"
    )
}

/// A complaint can be as long as the series.
fn first_lines(said: &str) -> String {
    said.lines().take(20).map(|line| line.chars().take(400).collect::<String>() + "\n").collect()
}

/// All samples in the complaints of promtool.
fn got(said: &str) -> Vec<Sample> {
    let mut samples = Vec::new();
    for line in said.lines().filter_map(|line| line.trim_start().strip_prefix("got: ")) {
        let mut rest = line;
        while let Some((_, labels_on)) = rest.split_once('{') {
            let (labels, after) = labels(labels_on);
            let (value, next) = after.split_once(", ").unwrap_or((after, ""));
            let value = value.trim().parse().unwrap_or_else(|_| panic!("no number: {value:?} in {line}"));
            samples.push(Sample { labels, value });
            rest = next;
        }
    }
    samples
}

/// Reads `a="x", b="y"}`; a value may hold escaped quotes. Gives what follows as well.
fn labels(mut text: &str) -> (BTreeMap<String, String>, &str) {
    let mut labels = BTreeMap::new();
    loop {
        text = text.trim_start_matches([',', ' ']);
        if let Some(after) = text.strip_prefix('}') {
            return (labels, after);
        }
        let (name, value_on) = text.split_once("=\"").expect("a label has a value in quotes");
        let mut escaped = false;
        let end = value_on.find(|c| {
            let ends = c == '"' && !escaped;
            escaped = c == '\\' && !escaped;
            ends
        });
        let end = end.expect("quotes are closed");
        labels.insert(name.to_owned(), value_on[..end].replace("\\\"", "\"").replace("\\\\", "\\"));
        text = &value_on[end + 1..];
    }
}

#[test]
fn what_promtool_got_is_read_back() {
    let said = concat!(
        "Unit Testing:  test.yml\n  FAILED:\n    expr: \"x\", time: 2h,\n        exp: nil\n",
        r#"        got: {question="0", target="a"} 3.9E+03, name{question="1", target="a,\"b}"} 1E+00"#,
        "\n"
    );
    let sample = |pairs: [(&str, &str); 2], value| Sample {
        labels: pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
        value,
    };
    let expected = [
        sample([("question", "0"), ("target", "a")], 3900.0),
        sample([("question", "1"), ("target", "a,\"b}")], 1.0),
    ];
    assert_eq!(got(said), expected);
}
