//! The catalogue as the table of the README.

use std::fmt::Write as _;

use super::{ALL, Family, Label, Scope};
use crate::domain::Measure;

pub fn markdown() -> String {
    let mut table = String::from("| metric | type | labels | meaning |\n|---|---|---|---|\n");
    for family in ALL {
        let _ = writeln!(
            table,
            "| `{}` | {} | {} | {} |",
            family.name,
            family.kind.name(),
            labels(family),
            family.help
        );
    }
    table
}

/// Their names, with the values of those that have a closed set of them.
fn labels(family: &Family) -> String {
    let own = family.label.and_then(|label| Some((label.name()?, label.values())));
    let metric = match family.scope {
        Scope::Compared(metrics) => Some(("metric", metrics.iter().map(|metric| metric.label()).collect())),
        Scope::Bounded => Some(("metric", Measure::ALL.iter().map(|measure| measure.name()).collect())),
        _ => None,
    };
    let closed: Vec<(&str, Vec<&str>)> = own.into_iter().chain(metric).collect();
    let described = |name: &str| match closed.iter().find(|(closed, _)| *closed == name) {
        Some((_, values)) => format!("`{name}`: {}", values.join(", ")),
        None => format!("`{name}`"),
    };
    let names = family.labels().into_iter().map(described);
    let information = (family.label == Some(Label::Info)).then(|| "information".to_owned());
    names.chain(information).collect::<Vec<_>>().join(", ")
}
