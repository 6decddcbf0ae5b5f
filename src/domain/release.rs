//! What a target ran for a while: the thing that two measurements are compared by.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use super::{Engine, Identity};

/// The number of a release in the history that it stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReleaseId(pub i64);

/// A stretch of time in which a target was one thing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Release {
    pub id: ReleaseId,
    pub target: Arc<str>,
    pub makeup: Makeup,
    /// When it was first seen.
    pub began: SystemTime,
    /// When the release before it had stayed away long enough: from here on, what is measured is this one's alone.
    /// None while both answer in turn.
    pub settled: Option<SystemTime>,
}

/// What makes one release different from another.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Makeup {
    /// The name of the engine; empty while it is not known.
    pub engine: String,
    pub version: Option<String>,
    /// The model behind the name that the configuration uses.
    pub model: Option<String>,
    /// What the server calls its present self in its answers.
    pub fingerprint: Option<String>,
    /// The labels of the configuration.
    pub labels: BTreeMap<String, String>,
    /// The newest word that a person said about the target.
    pub mark: Option<String>,
}

impl Makeup {
    /// What is known of a target that has not answered yet.
    pub fn of(identity: &Identity, labels: &BTreeMap<String, String>) -> Self {
        Self {
            engine: match identity.engine {
                Engine::Auto | Engine::Other => String::new(),
                known => known.name().to_owned(),
            },
            version: identity.version.clone(),
            model: identity.model.clone(),
            labels: labels.clone(),
            ..Self::default()
        }
    }
}

/// Such as "vllm 0.33.0 (driver 580)".
impl fmt::Display for Makeup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = [Some(self.engine.as_str()).filter(|engine| !engine.is_empty()), self.version.as_deref()];
        let words: Vec<&str> = known.into_iter().flatten().collect();
        f.write_str(if words.is_empty() { "an engine that is not known" } else { "" })?;
        f.write_str(&words.join(" "))?;
        self.mark.as_ref().map_or(Ok(()), |mark| write!(f, " ({mark})"))
    }
}

impl fmt::Display for Release {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.makeup.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_makeup_reads_like_a_name() {
        let labels = BTreeMap::new();
        let mut makeup = Makeup::of(&Identity::of(Engine::Vllm), &labels);
        assert_eq!(makeup.to_string(), "vllm");
        makeup.version = Some("0.33.0".into());
        makeup.mark = Some("driver 580".into());
        assert_eq!(makeup.to_string(), "vllm 0.33.0 (driver 580)");
        assert_eq!(Makeup::default().to_string(), "an engine that is not known");
    }
}
