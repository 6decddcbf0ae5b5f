//! Queries as Grafana sends them: its variables filled in, its endpoints asked, and what came back held against what a
//! panel needs.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use sloprobe::domain::clock::{unix_seconds, wall_now};

use super::common::prometheus::{Prometheus, percent_encoded};
use super::dashboard::{Kind, Query, label_values, labels_of};

/// What a person chose above a dashboard.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Choice {
    pub target: &'static str,
    pub workload: &'static str,
}

/// Everything, as the dashboards put it.
pub const ALL: Choice = Choice { target: ".+", workload: ".+" };

/// How long the test looks back, and in which steps: it has not run for longer.
const LOOK_BACK: f64 = 90.0;
const STEP: f64 = 2.0;

#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    pub labels: BTreeMap<String, String>,
    pub values: Vec<f64>,
}

/// A text with every variable in it replaced, longer names first.
pub fn interpolated(text: &str, choice: &Choice) -> String {
    let values = [
        ("__rate_interval", "1m"),
        ("__interval_ms", "15000"),
        ("__interval", "15s"),
        ("__range_s", "3600"),
        ("__range", "1h"),
        ("window", "5m"),
        ("target", choice.target),
        ("workload", choice.workload),
        ("instance", ".+"),
    ];
    values.iter().fold(text.to_owned(), |text, (name, value)| {
        text.replace(&format!("${{{name}:regex}}"), value)
            .replace(&format!("${{{name}}}"), value)
            .replace(&format!("${name}"), value)
    })
}

/// The series that a query gives, as its kind is asked.
pub async fn ask(prometheus: &Prometheus, query: &Query, choice: &Choice) -> Result<Vec<Series>, String> {
    let expr = interpolated(&query.expr, choice);
    if expr.split('$').skip(1).any(|rest| !rest.starts_with(|c: char| c.is_ascii_digit())) {
        return Err(format!("a variable is left in {expr}"));
    }
    match query.kind {
        Kind::Variable => values_of(prometheus, &expr).await,
        Kind::Instant => {
            let data = prometheus.api(&format!("query?query={}", percent_encoded(&expr))).await?;
            series(&data, |one| vec![one["value"].clone()])
        }
        Kind::Range | Kind::Moments => {
            let now = unix_seconds(wall_now());
            let path = format!(
                "query_range?query={}&start={}&end={now}&step={STEP}",
                percent_encoded(&expr),
                now - LOOK_BACK
            );
            series(&prometheus.api(&path).await?, |one| {
                let points = |key: &str| one[key].as_array().cloned().unwrap_or_default();
                // Of a whole histogram, how many values it holds.
                let counts =
                    points("histograms").into_iter().map(|point| json!([point[0], point[1]["count"]]));
                points("values").into_iter().chain(counts).collect()
            })
        }
    }
}

/// What an answer holds; a number alone is a series without labels.
fn series(data: &Value, points: fn(&Value) -> Vec<Value>) -> Result<Vec<Series>, String> {
    let number = |point: &Value| point[1].as_str().and_then(|text| text.parse::<f64>().ok());
    if data["resultType"] == "scalar" {
        let values = number(&data["result"]).into_iter().collect();
        return Ok(vec![Series { labels: BTreeMap::new(), values }]);
    }
    let result = data["result"].as_array().ok_or_else(|| format!("no result: {data}"))?;
    let read = |one: &Value| Series {
        labels: serde_json::from_value(one["metric"].clone()).unwrap_or_default(),
        values: points(one).iter().filter_map(number).collect(),
    };
    Ok(result.iter().map(read).collect())
}

/// The values of a variable, by both of the ways in which versions of Grafana ask; each becomes a series.
async fn values_of(prometheus: &Prometheus, query: &str) -> Result<Vec<Series>, String> {
    let (expr, label) = label_values(query).ok_or_else(|| format!("{query} is no label_values(…)"))?;
    let matching = format!("match[]={}", percent_encoded(expr));
    let mut newer: Vec<String> =
        serde_json::from_value(prometheus.api(&format!("label/{label}/values?{matching}")).await?)
            .map_err(|error| error.to_string())?;
    let all = prometheus.api(&format!("series?{matching}")).await?;
    let mut older: Vec<String> =
        all.as_array().into_iter().flatten().map(|one| one[label].to_string()).collect();
    newer.sort();
    older.sort();
    older.dedup();
    if older != newer.iter().map(|value| format!("\"{value}\"")).collect::<Vec<_>>() {
        return Err(format!("the values are {newer:?} in one way and {older:?} in the other"));
    }
    let one = |value: String| Series { labels: [(label.to_owned(), value)].into(), values: vec![1.0] };
    Ok(newer.into_iter().map(one).collect())
}

/// Whether there is anything to draw: no number is nothing.
pub fn has_data(series: &[Series]) -> bool {
    series.iter().flat_map(|one| &one.values).any(|value| !value.is_nan())
}

/// Labels that Prometheus adds where there are several places to tell apart.
const OF_PLACES: [&str; 2] = ["region", "cluster"];

/// The name of a series in a legend, or which label it lacks.
pub fn name(legend: &str, one: &Series) -> Result<String, String> {
    let mut name = legend.to_owned();
    for label in labels_of(legend) {
        let value = one.labels.get(label).map(String::as_str).unwrap_or_default();
        if value.is_empty() && !OF_PLACES.contains(&label) {
            return Err(format!("{legend} has no {label} in {:?}", one.labels));
        }
        for written in [format!("{{{{{label}}}}}"), format!("{{{{ {label} }}}}")] {
            name = name.replace(&written, value);
        }
    }
    Ok(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_replaced_wherever_and_however_they_stand() {
        let choice = Choice { target: "a", workload: ".+" };
        let text =
            r#"x{target=~"$target",w=~"${workload:regex}"}[$__range] + $__range_s + rate(y[${window}])"#;
        let wanted = r#"x{target=~"a",w=~".+"}[1h] + 3600 + rate(y[5m])"#;
        assert_eq!(interpolated(text, &choice), wanted);
    }

    #[test]
    fn a_legend_needs_every_label_that_it_names() {
        let one = Series { labels: [("target".into(), "a".into())].into(), values: vec![f64::NAN] };
        assert_eq!(name("{{target}} p50", &one).as_deref(), Ok("a p50"));
        assert!(name("{{target}} {{slo}}", &one).is_err());
        assert!(!has_data(&[one]) && !has_data(&[]));
    }
}
