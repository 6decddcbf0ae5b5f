//! What the user adds to every request: fields of their own, and how much a model should reason.

use std::fmt;

use serde_json::{Map, Value};

/// Of a target or of a workload; a workload's wins.
#[derive(Clone, Default, PartialEq)]
pub struct Extra {
    /// Merged into the body, tables with tables.
    pub fields: Map<String, Value>,
    /// `None` where nothing is said.
    pub reasoning: Option<Reasoning>,
}

/// How much a model should think before it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reasoning {
    Off,
    Low,
    /// Nothing is sent.
    Default,
}

impl Reasoning {
    pub const NAMES: [(&'static str, Self); 3] =
        [("off", Self::Off), ("low", Self::Low), ("default", Self::Default)];
}

impl Extra {
    /// This one's wishes with another's over them.
    #[must_use]
    pub fn under(&self, over: &Self) -> Self {
        let mut fields = self.fields.clone();
        merge(&mut fields, &over.fields);
        Self { fields, reasoning: over.reasoning.or(self.reasoning) }
    }

    /// What is to be asked for; `None` is nothing.
    pub fn asks(&self) -> Option<Reasoning> {
        self.reasoning.filter(|&reasoning| reasoning != Reasoning::Default)
    }
}

/// Puts fields over others. Two tables of one name become one; whatever else is there already gives way.
pub fn merge(under: &mut Map<String, Value>, over: &Map<String, Value>) {
    for (key, value) in over {
        match (under.get_mut(key), value) {
            (Some(Value::Object(inner)), Value::Object(more)) => merge(inner, more),
            _ => {
                under.insert(key.clone(), value.clone());
            }
        }
    }
}

/// The names alone: what somebody writes into a request may be private.
impl fmt::Debug for Extra {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.fields.keys().collect();
        f.debug_struct("Extra").field("fields", &names).field("reasoning", &self.reasoning).finish()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn extra(fields: &Value, reasoning: Option<Reasoning>) -> Extra {
        Extra { fields: fields.as_object().cloned().unwrap_or_default(), reasoning }
    }

    #[test]
    fn tables_are_merged_and_the_workload_wins() {
        let target = extra(
            &json!({ "temperature": 1, "provider": { "only": ["a"], "sort": "price" } }),
            Some(Reasoning::Low),
        );
        let workload = extra(&json!({ "temperature": 0, "provider": { "only": ["b"] } }), None);
        let both = target.under(&workload);
        let expected = json!({ "temperature": 0, "provider": { "only": ["b"], "sort": "price" } });
        assert_eq!(both, extra(&expected, Some(Reasoning::Low)));
        let quiet = target.under(&extra(&json!({}), Some(Reasoning::Default)));
        assert_eq!((target.asks(), quiet.asks()), (Some(Reasoning::Low), None));
    }

    #[test]
    fn a_value_is_never_shown() {
        let shown = format!("{:?}", extra(&json!({ "user": "private" }), None));
        assert!(shown.contains("user") && !shown.contains("private"), "{shown}");
    }
}
