//! Names of fields: an override or a column that is spelt wrong does nothing, and says nothing.

use regex::Regex;
use serde_json::Value;

use super::super::dashboard::{Dashboard, Panel, labels_of, list, text};
use super::{Finding, House, finding};

pub(super) fn named(_: &House, dashboard: &Dashboard) -> Vec<Finding> {
    let mut found = Vec::new();
    for panel in dashboard.panels() {
        let unmatched =
            list(&panel.json["fieldConfig"], "overrides").iter().filter(|one| !matches_some(&panel, one));
        found.extend(
            unmatched.map(|one| finding(panel.title(), format!("no field is like {}", one["matcher"]))),
        );
        found.extend(columns(&panel).into_iter().map(|what| finding(panel.title(), what)));
    }
    found
}

fn is_table(target: &Value) -> bool {
    target["format"] == "table"
}

/// What the columns of a table are renamed to, by what they were.
fn organized<'a>(panel: &Panel<'a>, key: &str) -> Vec<(&'a str, &'a Value)> {
    let organizing = list(panel.json, "transformations").iter().filter(|one| one["id"] == "organize");
    let fields = organizing.filter_map(|one| one["options"][key].as_object()).flatten();
    fields.map(|(name, value)| (name.as_str(), value)).collect()
}

fn matches_some(panel: &Panel, one: &Value) -> bool {
    let wanted = text(&one["matcher"]["options"]);
    match text(&one["matcher"]["id"]) {
        "byName" => {
            let renamed = organized(panel, "renameByName");
            let is_column = renamed.iter().any(|(_, name)| *name == wanted) || is_label(panel, wanted);
            let is_legend = |legend: &&str| pattern(legend).is_match(wanted);
            legends(panel).iter().any(is_legend) || is_column
        }
        "byRegexp" => {
            let regex = Regex::new(wanted.trim_matches('/')).ok();
            let columns = organized(panel, "renameByName");
            let columns = columns.iter().filter_map(|(_, name)| name.as_str().map(str::to_owned));
            let mut names = legends(panel).into_iter().map(example).chain(columns);
            regex.is_some_and(|regex| names.any(|name| regex.is_match(&name)))
        }
        "byFrameRefID" => panel.targets().iter().any(|target| target["refId"] == wanted),
        "byType" => true,
        _ => false,
    }
}

fn legends<'a>(panel: &Panel<'a>) -> Vec<&'a str> {
    panel
        .targets()
        .iter()
        .filter(|target| !is_table(target))
        .map(|target| text(&target["legendFormat"]))
        .collect()
}

/// Everything that a legend may become.
fn pattern(legend: &str) -> Regex {
    let fixed = labels_of(legend).iter().fold(regex::escape(legend), |pattern, label| {
        pattern.replace(&regex::escape(&format!("{{{{{label}}}}}")), ".+")
    });
    Regex::new(&format!("^{fixed}$")).expect("an escaped text is a pattern")
}

/// Something that a legend may become.
fn example(legend: &str) -> String {
    labels_of(legend)
        .iter()
        .fold(legend.to_owned(), |text, label| text.replace(&format!("{{{{{label}}}}}"), "x"))
}

/// Whether a table has a column of this label: it stands in one of its expressions.
fn is_label(panel: &Panel, label: &str) -> bool {
    let is_in = |target: &Value| {
        let mut words = text(&target["expr"]).split(|c: char| !c.is_alphanumeric() && c != '_');
        is_table(target) && words.any(|word| word == label)
    };
    panel.targets().iter().any(is_in)
}

/// Columns that are arranged and are not there, and values that no one has named.
fn columns(panel: &Panel) -> Vec<String> {
    let tables: Vec<_> = panel.targets().iter().filter(|target| is_table(target)).collect();
    let value = |target: &&&Value| match tables.len() {
        1 => "Value".to_owned(),
        _ => format!("Value #{}", text(&target["refId"])),
    };
    let values: Vec<_> = tables.iter().map(|target| value(&target)).collect();
    let is_there =
        |name: &str| name == "Time" || values.iter().any(|value| value == name) || is_label(panel, name);
    let keys = ["renameByName", "excludeByName", "indexByName"];
    let mut found = Vec::new();
    for (name, _) in keys.iter().flat_map(|key| organized(panel, key)) {
        if !is_there(name) {
            found.push(format!("there is no column \"{name}\" to arrange"));
        }
    }
    let handled: Vec<_> =
        keys[..2].iter().flat_map(|key| organized(panel, key)).map(|(name, _)| name).collect();
    let nameless = values.iter().filter(|value| !handled.contains(&value.as_str()));
    found.extend(nameless.map(|value| format!("the column \"{value}\" has no name of its own")));
    found
}
