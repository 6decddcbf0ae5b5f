//! Dashboards as Grafana reads them: classic JSON, and what the checks ask of it.

use std::fs;
use std::path::Path;

use serde_json::Value;

#[derive(Debug, Clone)]
pub struct Dashboard {
    pub json: Value,
}

/// A panel that is no row, wherever it lies.
#[derive(Debug, Clone, Copy)]
pub struct Panel<'a> {
    pub json: &'a Value,
    /// The variable for each of whose values it is shown, or its row with it; else empty.
    pub repeat: &'a str,
}

/// Everything that is asked of Prometheus.
#[derive(Debug, Clone)]
pub struct Query {
    /// The title of its panel, or what else it is of.
    pub owner: String,
    pub kind: Kind,
    pub expr: String,
    /// Texts that name series by their labels, `{{label}}`.
    pub legends: Vec<String>,
    /// The variable that has one value at a time here; else empty.
    pub repeat: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// One point in time.
    Instant,
    /// Every step of the time that is shown.
    Range,
    /// The values of a variable.
    Variable,
    /// Annotations whose time is the value, in milliseconds.
    Moments,
}

impl Dashboard {
    /// Those that are shipped.
    pub fn shipped() -> Vec<Self> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("grafana");
        let entries = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
        paths.sort();
        let read = |path| serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
        paths.iter().map(|path| Self { json: read(path) }).collect()
    }

    pub fn uid(&self) -> &str {
        text(&self.json["uid"])
    }

    pub fn panels(&self) -> Vec<Panel<'_>> {
        let mut found = Vec::new();
        let mut row = "";
        for json in list(&self.json, "panels") {
            // What follows an open row is in it; what is in a closed one lies inside.
            if json["type"] == "row" {
                row = text(&json["repeat"]);
            }
            let own = if json["type"] == "row" { list(json, "panels") } else { std::slice::from_ref(json) };
            found.extend(
                own.iter().map(|json| Panel { json, repeat: json["repeat"].as_str().unwrap_or(row) }),
            );
        }
        found
    }

    pub fn variables(&self) -> &[Value] {
        list(&self.json["templating"], "list")
    }

    pub fn variable(&self, name: &str) -> Option<&Value> {
        self.variables().iter().find(|variable| variable["name"] == name)
    }

    pub fn has_variable(&self, name: &str) -> bool {
        self.variable(name).is_some()
    }

    /// Annotations without the ones that Grafana itself keeps.
    pub fn annotations(&self) -> Vec<&Value> {
        list(&self.json["annotations"], "list").iter().filter(|one| one["builtIn"] != 1).collect()
    }

    pub fn queries(&self) -> Vec<Query> {
        let panels = self.panels();
        let of_panels = panels.iter().flat_map(Panel::queries);
        let of_variables = self.variables().iter().filter(|variable| variable["type"] == "query");
        let of_variables = of_variables.map(|variable| Query {
            owner: format!("variable {}", text(&variable["name"])),
            kind: Kind::Variable,
            expr: variable_query(variable).to_owned(),
            legends: Vec::new(),
            repeat: String::new(),
        });
        let of_annotations = self.annotations().into_iter().map(|annotation| Query {
            owner: format!("annotation {}", text(&annotation["name"])),
            kind: if annotation["useValueForTime"] == true { Kind::Moments } else { Kind::Range },
            expr: text(&annotation["expr"]).to_owned(),
            legends: annotation_texts(annotation),
            repeat: String::new(),
        });
        of_panels.chain(of_variables).chain(of_annotations).collect()
    }
}

impl<'a> Panel<'a> {
    pub fn kind(&self) -> &'a str {
        text(&self.json["type"])
    }

    pub fn title(&self) -> &'a str {
        text(&self.json["title"])
    }

    pub fn targets(&self) -> &'a [Value] {
        list(self.json, "targets")
    }

    /// What its fields are by default.
    pub fn defaults(&self) -> &'a Value {
        &self.json["fieldConfig"]["defaults"]
    }

    /// The properties that overrides set, by their id.
    pub fn overridden(&self, id: &str) -> Vec<&'a Value> {
        let overrides = list(&self.json["fieldConfig"], "overrides").iter();
        let properties = overrides.flat_map(|one| list(one, "properties"));
        properties.filter(|property| property["id"] == id).map(|property| &property["value"]).collect()
    }

    fn queries(&self) -> Vec<Query> {
        let query = |target: &Value| Query {
            owner: self.title().to_owned(),
            kind: if target["instant"] == true { Kind::Instant } else { Kind::Range },
            expr: text(&target["expr"]).to_owned(),
            legends: vec![text(&target["legendFormat"]).to_owned()],
            repeat: self.repeat.to_owned(),
        };
        self.targets().iter().map(query).collect()
    }
}

/// The query of a variable, as older and newer versions of Grafana write it.
fn variable_query(variable: &Value) -> &str {
    variable["query"].as_str().unwrap_or_else(|| text(&variable["query"]["query"]))
}

/// Tags are left out: those of labels that a series lacks are left out by Grafana, too.
fn annotation_texts(annotation: &Value) -> Vec<String> {
    ["titleFormat", "textFormat"].map(|key| text(&annotation[key]).to_owned()).into()
}

/// The labels that a legend names.
pub fn labels_of(legend: &str) -> Vec<&str> {
    let opened = legend.split("{{").skip(1);
    opened.filter_map(|rest| rest.split_once("}}")).map(|(label, _)| label.trim()).collect()
}

/// The expression and the label of `label_values(expression, label)`.
pub fn label_values(query: &str) -> Option<(&str, &str)> {
    let inner = query.trim().strip_prefix("label_values(")?.strip_suffix(')')?;
    let (expr, label) = inner.rsplit_once(',')?;
    Some((expr.trim(), label.trim()))
}

pub fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

pub fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value[key].as_array().map(Vec::as_slice).unwrap_or_default()
}

/// Every value in this one, itself first, each with the key that it stands under.
pub fn walk<'a>(value: &'a Value, key: &'a str, visit: &mut impl FnMut(&'a str, &'a Value)) {
    visit(key, value);
    match value {
        Value::Array(items) => items.iter().for_each(|item| walk(item, key, visit)),
        Value::Object(fields) => fields.iter().for_each(|(key, field)| walk(field, key, visit)),
        _ => {}
    }
}
