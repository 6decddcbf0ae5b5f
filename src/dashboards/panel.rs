//! Panels: what is asked, how it is drawn, and what a person should do with it.

use serde_json::{Map, Value, json};

use super::{expr, look};
use crate::catalogue::Family;

/// The variable that every query asks.
pub(super) fn source() -> Value {
    json!({ "type": "prometheus", "uid": "${datasource}" })
}

/// One question to Prometheus.
#[derive(Debug, Clone)]
pub(super) struct Query {
    expr: String,
    legend: String,
    kind: Ask,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Ask {
    /// Over the time shown.
    Range,
    /// As it is at its end.
    Now,
    /// The same, with a row for each series.
    Rows,
    /// Buckets over the time shown.
    Buckets,
}

/// Over the time shown; the legend may name labels as `{{label}}`.
pub(super) fn range(expr: impl Into<String>, legend: &str) -> Query {
    Query { expr: expr.into(), legend: legend.to_owned(), kind: Ask::Range }
}

/// As it is at the end of the time shown.
pub(super) fn now(expr: impl Into<String>, legend: &str) -> Query {
    Query { expr: expr.into(), legend: legend.to_owned(), kind: Ask::Now }
}

/// A row of a table for each series.
pub(super) fn rows(expr: impl Into<String>) -> Query {
    Query { expr: expr.into(), legend: String::new(), kind: Ask::Rows }
}

/// How the values of a histogram spread over `$window`, for a heat map. Grafana knows by the format what the series of
/// buckets are, and a whole histogram by itself; it draws the latter where both are there.
fn spread(family: &Family) -> [Query; 2] {
    let grown = |suffix: &str, by: &str| {
        expr::sum(by, &format!("increase({}[$window])", expr::part(family, suffix, "")))
    };
    let buckets = Query { expr: grown("_bucket", "le"), legend: "{{le}}".to_owned(), kind: Ask::Buckets };
    [range(grown("", ""), "values"), buckets]
}

impl Query {
    fn json(&self, index: usize) -> Value {
        let letter = char::from(b'A' + index as u8).to_string();
        let is_range = matches!(self.kind, Ask::Range | Ask::Buckets);
        let format = match self.kind {
            Ask::Range | Ask::Now => "time_series",
            Ask::Rows => "table",
            Ask::Buckets => "heatmap",
        };
        json!({
            "datasource": source(), "refId": letter, "expr": self.expr, "legendFormat": self.legend, "format": format,
            "range": is_range, "instant": !is_range, "editorMode": "code",
        })
    }
}

/// A panel that is yet to be placed.
#[derive(Debug, Clone)]
pub(super) struct Panel {
    kind: &'static str,
    title: String,
    description: String,
    queries: Vec<Query>,
    defaults: Map<String, Value>,
    options: Value,
    overrides: Vec<Value>,
    transformations: Vec<Value>,
    pub(super) width: u64,
    pub(super) height: u64,
}

fn panel(kind: &'static str, title: &str, description: &str, unit: &str) -> Panel {
    let mut defaults = Map::new();
    defaults.insert("unit".into(), unit.into());
    Panel {
        kind,
        title: title.to_owned(),
        description: description.to_owned(),
        queries: Vec::new(),
        defaults,
        options: json!({}),
        overrides: Vec::new(),
        transformations: Vec::new(),
        width: 12,
        height: 8,
    }
}

/// One number, or a few, large.
pub(super) fn stat(title: &str, description: &str, unit: &str) -> Panel {
    let mut panel = panel("stat", title, description, unit).size(4, 4);
    panel.options = json!({
        "reduceOptions": { "calcs": ["lastNotNull"], "fields": "", "values": false },
        "colorMode": "value", "graphMode": "none", "justifyMode": "auto", "orientation": "auto", "textMode": "auto",
    });
    panel.steps(look::NEUTRAL, &[])
}

/// Lines over time.
pub(super) fn lines(title: &str, description: &str, unit: &str) -> Panel {
    let mut panel = panel("timeseries", title, description, unit);
    panel.options = json!({
        "legend": { "displayMode": "table", "placement": "bottom", "showLegend": true, "calcs": ["lastNotNull", "max"] },
        "tooltip": { "mode": "multi", "sort": "desc" },
    });
    // Workloads may be probed once in many minutes: a line bridges their gaps, but not an outage.
    let custom = json!({
        "drawStyle": "line", "lineWidth": 2, "fillOpacity": 0, "showPoints": "auto", "pointSize": 4, "spanNulls": 1_800_000,
        "axisSoftMin": 0, "stacking": { "mode": "none", "group": "A" },
    });
    panel.default("custom", custom).default("color", json!({ "mode": "palette-classic-by-name" }))
}

/// Parts of a whole over time.
pub(super) fn stacked(title: &str, description: &str, unit: &str) -> Panel {
    let custom = json!({
        "drawStyle": "line", "lineWidth": 1, "fillOpacity": 70, "showPoints": "never", "spanNulls": false, "axisSoftMin": 0,
        "stacking": { "mode": "normal", "group": "A" },
    });
    lines(title, description, unit).default("custom", custom)
}

/// The distribution of a histogram's values over time.
pub(super) fn heat(title: &str, description: &str, unit: &str, of: &Family) -> Panel {
    let mut panel = panel("heatmap", title, description, unit);
    panel.queries.extend(spread(of));
    panel.options = json!({
        "calculate": false, "cellGap": 1,
        "color": { "mode": "scheme", "scheme": "Cividis", "steps": 64, "reverse": false, "fill": look::GOOD },
        "filterValues": { "le": 1e-9 }, "legend": { "show": true },
        "tooltip": { "mode": "single", "show": true, "yHistogram": true, "showColorScale": true },
        "yAxis": { "axisPlacement": "left", "unit": unit, "reverse": false },
        "cellValues": { "unit": "short" }, "rowsFrame": { "layout": "auto" }, "showValue": "never",
    });
    panel
}

/// States over time, a line for each series, which its name tells apart.
pub(super) fn timeline(title: &str, description: &str, unit: &str) -> Panel {
    let mut panel = panel("state-timeline", title, description, unit).size(24, 7);
    panel.options = json!({
        "mergeValues": true, "showValue": "never", "alignValue": "left", "rowHeight": 0.85,
        "legend": { "displayMode": "list", "placement": "bottom", "showLegend": true, "calcs": [] },
        "tooltip": { "mode": "single", "sort": "none" },
    });
    panel
        .default("custom", json!({ "fillOpacity": 85, "lineWidth": 0, "spanNulls": false }))
        .default("color", json!({ "mode": "thresholds" }))
}

/// Rows and columns; the labels of the series are columns, too.
pub(super) fn table(title: &str, description: &str) -> Panel {
    let mut panel = panel("table", title, description, "short").size(24, 9);
    // A unit of all columns would read numbers into labels: version 0.10 would become 0.100.
    panel.defaults.remove("unit");
    panel.options = json!({ "showHeader": true, "cellHeight": "sm" });
    panel
        .default("custom", json!({ "align": "auto", "filterable": true, "cellOptions": { "type": "auto" } }))
        // What the whole table says when it is empty would else stand in each of its empty cells.
        .over(json!({
            "matcher": { "id": "byRegexp", "options": "/.*/" }, "properties": [{ "id": "noValue", "value": "–" }],
        }))
}

impl Panel {
    pub(super) fn size(mut self, width: u64, height: u64) -> Self {
        (self.width, self.height) = (width, height);
        self
    }

    pub(super) fn ask(mut self, query: Query) -> Self {
        self.queries.push(query);
        self
    }

    pub(super) fn default(mut self, name: &str, value: Value) -> Self {
        self.defaults.insert(name.to_owned(), value);
        self
    }

    /// What it says in place of "No data". A single number says it in grey: by itself it would take the colour of 0.
    pub(super) fn when_empty(self, text: &str) -> Self {
        let is_stat = self.kind == "stat";
        let panel = self.default("noValue", text.into());
        if is_stat { panel.mapped(&[look::no_number(text)]) } else { panel }
    }

    /// Colours by value: one below the first bound, then one from each bound on.
    pub(super) fn steps(self, base: &str, rising: &[(f64, &str)]) -> Self {
        self.default("thresholds", look::steps(base, rising))
            .default("color", json!({ "mode": "thresholds" }))
    }

    /// Words in place of numbers.
    pub(super) fn mapped(mut self, mappings: &[Value]) -> Self {
        let known = self.defaults.entry("mappings").or_insert_with(|| json!([]));
        if let Some(known) = known.as_array_mut() {
            known.extend_from_slice(mappings);
        }
        self
    }

    /// The words alone give colours. With thresholds, Grafana would show those in the place of the words.
    pub(super) fn in_words(self, mappings: &[Value]) -> Self {
        self.mapped(mappings).default("color", json!({ "mode": "fixed", "fixedColor": look::NEUTRAL }))
    }

    /// A series of this name always has this colour.
    pub(super) fn coloured(mut self, colours: &[(&str, &str)]) -> Self {
        self.overrides.extend(colours.iter().map(|(name, colour)| look::named_colour(name, colour)));
        self
    }

    pub(super) fn option(mut self, name: &str, value: Value) -> Self {
        self.options[name] = value;
        self
    }

    pub(super) fn over(mut self, override_: Value) -> Self {
        self.overrides.push(override_);
        self
    }

    pub(super) fn transform(mut self, id: &str, options: &Value) -> Self {
        self.transformations.push(json!({ "id": id, "options": options }));
        self
    }

    /// The number is a share, so its axis ends at 1.
    pub(super) fn share(self) -> Self {
        self.default("min", json!(0)).default("max", json!(1))
    }

    pub(super) fn json(&self, id: usize, x: u64, y: u64) -> Value {
        let targets: Vec<_> =
            self.queries.iter().enumerate().map(|(index, query)| query.json(index)).collect();
        json!({
            "id": id, "type": self.kind, "title": self.title, "description": self.description, "datasource": source(),
            "gridPos": { "x": x, "y": y, "w": self.width, "h": self.height }, "targets": targets,
            "fieldConfig": { "defaults": self.defaults, "overrides": self.overrides },
            "options": self.options, "transformations": self.transformations,
        })
    }
}

/// What an objective promises, drawn across lines: an override for series whose names begin so.
pub(super) fn promises() -> Value {
    json!({
        "matcher": { "id": "byRegexp", "options": "/^promised/" },
        "properties": [
            { "id": "color", "value": { "mode": "fixed", "fixedColor": look::PROMISE } },
            { "id": "custom.lineStyle", "value": { "fill": "dash", "dash": [10, 6] } },
            { "id": "custom.lineWidth", "value": 1 },
            { "id": "custom.showPoints", "value": "never" },
        ],
    })
}

/// A column of a table, by the name it has after the rows were put together.
#[derive(Debug, Clone)]
pub(super) struct Column {
    name: &'static str,
    properties: Vec<Value>,
}

pub(super) fn column(name: &'static str, unit: &str) -> Column {
    Column { name, properties: vec![json!({ "id": "unit", "value": unit })] }
}

impl Column {
    fn with(mut self, id: &str, value: &Value) -> Self {
        self.properties.push(json!({ "id": id, "value": value }));
        self
    }

    /// Its cells are coloured by value.
    pub(super) fn steps(self, base: &str, rising: &[(f64, &str)]) -> Self {
        self.with("thresholds", &look::steps(base, rising)).lit()
    }

    pub(super) fn mapped(self, mappings: &[Value]) -> Self {
        self.with("mappings", &mappings.into())
    }

    fn lit(self) -> Self {
        self.with("custom.cellOptions", &json!({ "type": "color-background", "mode": "basic" }))
    }

    /// Words whose colours the mappings give; what has no word has no colour.
    pub(super) fn words(self, mappings: &[Value]) -> Self {
        self.mapped(mappings).steps(look::CLEAR, &[])
    }

    pub(super) fn decimals(self, decimals: u32) -> Self {
        self.with("decimals", &decimals.into())
    }

    pub(super) fn width(self, width: u32) -> Self {
        self.with("custom.width", &width.into())
    }

    pub(super) fn link(self, title: &str, url: &str) -> Self {
        self.with("links", &json!([{ "title": title, "url": url }]))
    }

    pub(super) fn name(&self) -> &'static str {
        self.name
    }

    pub(super) fn json(&self) -> Value {
        json!({ "matcher": { "id": "byName", "options": self.name }, "properties": self.properties })
    }
}
