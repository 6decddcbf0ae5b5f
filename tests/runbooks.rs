//! The runbooks, held against the alerts that lead to them: each has its page, and what a page tells to paste works.

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use common::root;
use regex::Regex;
use sloprobe::catalogue::{self, Family, Kind, Label};
use sloprobe::config;
use sloprobe::rules::rule::{Alert, Group, Rule};
use sloprobe::rules::{self, Options, Watched};

const REMEDY: &str =
    "run tests/run.sh, which installs what the tests need (Debian: apt-get install prometheus)";

const HEADINGS: [&str; 3] = ["## Look first", "## What usually caused it", "## If it is a false alarm"];

/// Labels that Prometheus adds, and those of `sloprobe_target_info` that no configuration sets.
const SCRAPED: [&str; 4] = ["instance", "job", "pod", "region"];
const INFORMATION: [&str; 8] =
    ["api", "model", "served_model", "engine", "version", "fingerprint", "target", "revision"];

fn folder() -> PathBuf {
    root().join("deploy/runbooks")
}

fn groups() -> Vec<Group> {
    let plan =
        config::load_without_secrets(&root().join("config/example.toml")).expect("the example is sound");
    rules::groups(Watched { targets: &plan.targets, slos: &plan.slos }, &Options::default())
}

fn alerts(groups: &[Group]) -> impl Iterator<Item = &Alert> {
    groups.iter().flat_map(|group| &group.rules).filter_map(|rule| match rule {
        Rule::Alert(alert) => Some(alert),
        Rule::Record { .. } => None,
    })
}

/// The rules that put places together, which are written by hand: alerts with their severities, and recorded series.
#[derive(Debug)]
struct Places {
    alerts: Vec<(String, String)>,
    records: Vec<String>,
}

fn places() -> Places {
    let path = root().join("deploy/prometheus/places.rules.yml");
    let text = fs::read_to_string(path).expect("there are rules about places");
    let values = |key: &str| -> Vec<String> {
        text.lines().filter_map(|line| line.trim_start().strip_prefix(key)).map(str::to_owned).collect()
    };
    let (names, severities) = (values("- alert: "), values("severity: "));
    assert!(!names.is_empty() && names.len() == severities.len(), "{names:?} {severities:?}");
    Places { alerts: names.into_iter().zip(severities).collect(), records: values("- record: ") }
}

#[derive(Debug)]
struct Page {
    /// Of the file, without its ending.
    name: String,
    text: String,
}

/// Every page but the index, by name.
fn pages() -> Vec<Page> {
    let files = fs::read_dir(folder())
        .expect("there are runbooks")
        .map(|entry| entry.expect("it can be listed").path());
    let mut pages: Vec<_> = files
        .map(|path| {
            let name = path.file_name().expect("a file has a name").to_string_lossy().into_owned();
            let name = name.strip_suffix(".md").unwrap_or_else(|| panic!("{name} is no runbook")).to_owned();
            Page { name, text: fs::read_to_string(&path).expect("a runbook is text") }
        })
        .filter(|page| page.name != "README")
        .collect();
    pages.sort_by(|a, b| a.name.cmp(&b.name));
    pages
}

/// A piece of code, and the line of its page where it begins.
#[derive(Debug, PartialEq)]
struct Code {
    line: usize,
    code: String,
}

impl Page {
    fn fenced(&self, language: &str) -> Vec<Code> {
        let mut found = Vec::new();
        let mut open: Option<(bool, Code)> = None;
        for (index, line) in self.text.lines().map(str::trim).enumerate() {
            match (line.strip_prefix("```"), &mut open) {
                (Some(of), None) => {
                    open = Some((of == language, Code { line: index + 2, code: String::new() }));
                }
                (Some(_), Some(_)) => found.extend(open.take().filter(|(is_wanted, _)| *is_wanted)),
                (None, Some((_, fenced))) => fenced.code.extend([line, "\n"]),
                (None, None) => {}
            }
        }
        assert!(open.is_none(), "{}: a code block has no end", self.name);
        found.into_iter().map(|(_, fenced)| fenced).collect()
    }

    /// Code amid prose that names a metric of ours.
    fn inline_queries(&self) -> Vec<Code> {
        let mut is_fenced = false;
        let mut found = Vec::new();
        for (index, line) in self.text.lines().enumerate() {
            is_fenced ^= line.trim_start().starts_with("```");
            let spans = line.split('`').skip(1).step_by(2).filter(|_| !is_fenced);
            let queries = spans.filter(|span| metrics(span).next().is_some());
            found.extend(queries.map(|code| Code { line: index + 1, code: code.to_owned() }));
        }
        found
    }

    fn section(&self, heading: &str) -> &str {
        let (_, rest) =
            self.text.split_once(heading).unwrap_or_else(|| panic!("{} lacks {heading}", self.name));
        rest.split_once("\n## ").map_or(rest, |(section, _)| section)
    }
}

/// What a metric in a query may be.
#[derive(Debug, Clone, Copy)]
enum Source<'a> {
    Family(&'static Family),
    /// By the labels that the first part of its name tells.
    Record(&'a str),
}

impl Source<'_> {
    fn labels(self) -> BTreeSet<String> {
        let own: Vec<&str> = match self {
            Self::Family(family) if family.label == Some(Label::Info) => INFORMATION.to_vec(),
            Self::Family(family) => family.labels(),
            Self::Record(name) => name.split(':').next().unwrap_or_default().split('_').collect(),
        };
        let bucket = matches!(self, Self::Family(family) if matches!(family.kind, Kind::Histogram(_)));
        let bound = bucket.then_some("le");
        own.into_iter().chain(SCRAPED).chain(bound).map(str::to_owned).collect()
    }

    /// Whether a label can have this value; only closed sets are known.
    fn allows(self, label: &str, value: &str) -> bool {
        let Self::Family(Family { label: Some(own), .. }) = self else { return true };
        own.name() != Some(label) || own.values().contains(&value)
    }
}

/// Every name that a query can use.
fn sources<'a>(groups: &'a [Group], places: &'a Places) -> BTreeMap<String, Source<'a>> {
    let families = catalogue::ALL.into_iter().flat_map(|family| {
        let parts: &[&str] = match family.kind {
            // The last where Prometheus stores it as one series.
            Kind::Histogram(_) => &["_bucket", "_sum", "_count", ""],
            Kind::Counter | Kind::Gauge => &[""],
        };
        parts.iter().map(move |part| (format!("{}{part}", family.name), Source::Family(family)))
    });
    let records = groups.iter().flat_map(|group| &group.rules).filter_map(|rule| match rule {
        Rule::Record { name, .. } => Some((name.clone(), Source::Record(name))),
        Rule::Alert(_) => None,
    });
    let of_places = places.records.iter().map(|name| (name.clone(), Source::Record(name)));
    families.chain(records).chain(of_places).collect()
}

/// Words of a text that are meant as metrics of ours.
fn metrics(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == ':'));
    words.filter(|word| word.starts_with("sloprobe_") || word.contains(":sloprobe_"))
}

#[test]
fn every_alert_has_its_runbook_and_every_runbook_its_alert() {
    let groups = groups();
    let names: Vec<_> = pages().into_iter().map(|page| page.name).collect();
    let own = rules::alert_names(&groups).into_iter().map(str::to_owned);
    let mut wanted: Vec<_> = own.chain(places().alerts.into_iter().map(|(name, _)| name)).collect();
    wanted.sort_unstable();
    assert_eq!(names, wanted);
}

#[test]
fn every_runbook_has_the_same_sections_and_fits_a_tired_reader() {
    let step = Regex::new(r"(?m)^\d+\. ").unwrap();
    for page in pages() {
        let Page { name, text } = &page;
        let headings: Vec<_> = text.lines().filter(|line| line.starts_with("## ")).collect();
        assert_eq!(headings, HEADINGS, "{name}");
        assert_eq!(text.lines().next(), Some(&*format!("# {name}")));
        let lines = text.lines().count();
        assert!((30..=80).contains(&lines), "{name} has {lines} lines");
        let first = page.section(HEADINGS[0]);
        let steps = step.find_iter(first).count();
        assert!((2..=5).contains(&steps), "{name} has {steps} steps to look at first");
        assert!(first.contains("```promql"), "{name} has nothing to paste");
        for heading in &HEADINGS[1..] {
            assert!(page.section(heading).contains("\n- "), "{name} has no list under {heading}");
        }
    }
}

#[test]
fn the_index_lists_every_alert_with_its_severity() {
    let mut wanted: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let groups = groups();
    for alert in alerts(&groups) {
        wanted.entry(alert.name).or_default().insert(alert.severity.label());
    }
    let wanted: BTreeSet<_> = wanted
        .into_iter()
        .map(|(name, severities)| (name.to_owned(), Vec::from_iter(severities).join(" or ")))
        .chain(places().alerts)
        .collect();

    let index = fs::read_to_string(folder().join("README.md")).expect("there is an index");
    let row = Regex::new(r"(?m)^\| \[(\w+)\]\((\w+)\.md\) \| ([a-z ]+) \| \S.* \|$").unwrap();
    let rows = row.captures_iter(&index).map(|row| row.extract().1);
    let listed: Vec<_> = rows
        .map(|[name, file, severity]| {
            assert_eq!(name, file);
            (name.to_owned(), severity.to_owned())
        })
        .collect();
    assert_eq!(listed.len(), wanted.len(), "an alert is listed twice, or a row cannot be read");
    assert_eq!(listed.into_iter().collect::<BTreeSet<_>>(), wanted);
}

#[test]
fn runbooks_lead_to_pages_that_exist() {
    let link = Regex::new(r"\]\(([^)#]+)\)").unwrap();
    for Page { name, text } in pages() {
        for link in link.captures_iter(&text) {
            assert!(folder().join(&link[1]).exists(), "{name} leads to {}", &link[1]);
        }
    }
}

#[test]
fn prometheus_itself_accepts_every_query() {
    let mut file = String::from("groups:\n- name: runbooks\n  rules:\n");
    let mut queries = 0;
    for page in pages() {
        for Code { line, code } in page.fenced("promql").into_iter().chain(page.inline_queries()) {
            // The name tells whoever reads promtool's complaint where the query stands.
            queries += 1;
            let _ = write!(file, "  - record: {}:line_{line}:query_{queries}\n    expr: |-\n", page.name);
            for line in code.lines() {
                let _ = writeln!(file, "      {line}");
            }
        }
    }
    let folder = tempfile::tempdir().expect("a folder for a test");
    let path = folder.path().join("runbooks.rules.yml");
    fs::write(&path, &file).expect("the file can be written");
    let ended = Command::new("promtool")
        .args(["check", "rules"])
        .arg(&path)
        .output()
        .unwrap_or_else(|error| panic!("promtool cannot be started: {error}\n    {REMEDY}"));
    let said = String::from_utf8_lossy(&[ended.stdout, ended.stderr].concat()).into_owned();
    assert!(ended.status.success(), "{said}");
    assert!(said.contains(&format!("SUCCESS: {queries} rules found")), "{said}");
    assert!(queries > 60, "{queries} queries were found: the pages are read wrongly");
}

#[test]
fn queries_use_only_metrics_labels_and_values_that_exist() {
    let (groups, places) = (groups(), places());
    let sources = sources(&groups, &places);
    let selector = Regex::new(r"([A-Za-z_:][\w:]*)\{([^}]*)\}").unwrap();
    let matcher = Regex::new(r#"(\w+)\s*(?:=~|!~|!=|=)\s*"([^"]*)""#).unwrap();
    let grouping = Regex::new(r"\b(?:by|without)\s*\(([^)]*)\)").unwrap();
    for page in pages() {
        for Code { line, code } in page.fenced("promql") {
            let place = format!("{}.md:{line}", page.name);
            let mut labels = BTreeSet::new();
            for name in metrics(&code) {
                let source =
                    sources.get(name).unwrap_or_else(|| panic!("{place}: there is no metric {name}"));
                labels.extend(source.labels());
            }
            for selector in selector.captures_iter(&code) {
                let Some(source) = sources.get(&selector[1]) else { continue };
                for matcher in matcher.captures_iter(&selector[2]) {
                    let [label, values] = matcher.extract().1;
                    assert!(source.labels().contains(label), "{place}: {} has no {label}", &selector[1]);
                    let mut values = values.split('|');
                    assert!(values.all(|value| source.allows(label, value)), "{place}: {}", &matcher[0]);
                }
            }
            let grouped = grouping.captures_iter(&code).map(|labels| labels.extract().1);
            for label in grouped.flat_map(|[labels]| labels.split(", ")) {
                assert!(labels.contains(label), "{place}: no metric of it has {label}");
            }
        }
    }
}

/// Prose names a histogram as a whole, and may name what its own alert reads: that exists if it fires.
#[test]
fn prose_names_only_metrics_that_exist() {
    let (groups, places) = (groups(), places());
    let mut known: BTreeSet<&str> = catalogue::ALL.iter().map(|family| family.name).collect();
    let sources = sources(&groups, &places);
    known.extend(sources.keys().map(String::as_str));
    for page in pages() {
        let own: BTreeSet<_> = alerts(&groups)
            .filter(|alert| alert.name == page.name)
            .flat_map(|alert| metrics(&alert.expr))
            .collect();
        for name in metrics(&page.text) {
            assert!(known.contains(name) || own.contains(name), "{}: there is no metric {name}", page.name);
        }
    }
}

#[test]
fn commands_have_only_options_that_exist() {
    let command =
        Regex::new(r"\bsloprobe (once|check|prompt|rules|run|compare|report|mark)\b([^`|>\n]*)").unwrap();
    let option = Regex::new(r"--[a-z-]+").unwrap();
    let mut seen = 0;
    for Page { name, text } in pages() {
        for command in command.captures_iter(&text) {
            let [command, rest] = command.extract().1;
            let help = root().join(format!("tests/golden/help-{command}.txt"));
            let help = fs::read_to_string(help).expect("every command has its help");
            for option in option.find_iter(rest) {
                seen += 1;
                let known = option_names(&help).contains(option.as_str());
                assert!(known, "{name}: sloprobe {command} has no {}", option.as_str());
            }
        }
    }
    assert!(seen > 20, "{seen} options were found: the pages are read wrongly");
}

/// Options at the head of a line of a help text.
fn option_names(help: &str) -> BTreeSet<&str> {
    let lines = help.lines().map(str::trim).filter(|line| line.starts_with('-'));
    lines.flat_map(|line| line.split([' ', ',', '[', '='])).filter(|word| word.starts_with("--")).collect()
}

#[test]
fn code_is_found_by_its_language_and_with_its_line() {
    let text = "# A\n\n1. Look at `sloprobe_up`:\n\n   ```promql\n   up\n   == 0\n   ```\n\n```sh\nls\n```\nand `x`\n";
    let page = Page { name: "A".into(), text: text.into() };
    assert_eq!(page.fenced("promql"), [Code { line: 6, code: "up\n== 0\n".into() }]);
    assert_eq!(page.inline_queries(), [Code { line: 3, code: "sloprobe_up".into() }]);
    assert_eq!(page.fenced("sh"), [Code { line: 11, code: "ls\n".into() }]);
}
