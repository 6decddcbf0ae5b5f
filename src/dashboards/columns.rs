//! Tables that put several queries together: a row for each set of labels, a column for each query.

use serde_json::{Map, Value, json};

use super::panel::{Column, Panel, rows};

/// The queries of a table and what they are called.
#[derive(Debug, Clone)]
pub(super) struct Columns {
    labels: Vec<&'static str>,
    /// Without a column, only the labels of a query are shown.
    queries: Vec<(String, Option<Column>)>,
}

impl Columns {
    /// With these labels first, in this order.
    pub(super) fn new(labels: &[&'static str]) -> Self {
        Self { labels: labels.to_vec(), queries: Vec::new() }
    }

    pub(super) fn add(mut self, expr: impl Into<String>, column: Column) -> Self {
        self.queries.push((expr.into(), Some(column)));
        self
    }

    /// A query whose labels are what it is asked for.
    pub(super) fn text(mut self, expr: impl Into<String>) -> Self {
        self.queries.push((expr.into(), None));
        self
    }

    pub(super) fn fill(&self, mut panel: Panel) -> Panel {
        let (mut hidden, mut renamed, mut places) = (Map::new(), Map::new(), Map::new());
        hidden.insert("Time".into(), true.into());
        for label in &self.labels {
            places.insert((*label).to_owned(), places.len().into());
        }
        for (index, (expr, column)) in self.queries.iter().enumerate() {
            panel = panel.ask(rows(expr.clone()));
            let value = value_of(index, self.queries.len());
            if let Some(column) = column {
                panel = panel.over(column.json());
                renamed.insert(value.clone(), column.name().into());
                places.insert(value, places.len().into());
            } else {
                hidden.insert(value, true.into());
            }
        }
        panel.transform("merge", &json!({})).transform(
            "organize",
            &json!({ "excludeByName": hidden, "renameByName": renamed, "indexByName": places }),
        )
    }
}

/// What Grafana calls the value of a query of a table.
fn value_of(index: usize, of: usize) -> String {
    if of == 1 { "Value".to_owned() } else { format!("Value #{}", char::from(b'A' + index as u8)) }
}

/// An override for lines that stand beside the one that matters.
pub(super) fn dashed(names: &str) -> Value {
    json!({
        "matcher": { "id": "byRegexp", "options": names },
        "properties": [
            { "id": "custom.lineStyle", "value": { "fill": "dash", "dash": [4, 4] } },
            { "id": "custom.lineWidth", "value": 1 },
        ],
    })
}
